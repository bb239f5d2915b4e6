/** How a command hears that it is to end: by SIGTERM or SIGINT. A second one ends the process at once. */

export interface Ending extends Disposable {
  readonly signal: AbortSignal;
}

export function listenForSignals(onStop: () => void = () => {}): Ending {
  const ending = new AbortController();
  const onSignal = () => {
    if (ending.signal.aborted) Deno.exit(130);
    onStop();
    ending.abort();
  };
  // Windows has no SIGTERM.
  const signals = Deno.build.os === "windows" ? ["SIGINT"] as const : ["SIGTERM", "SIGINT"] as const;
  for (const name of signals) Deno.addSignalListener(name, onSignal);
  return {
    signal: ending.signal,
    [Symbol.dispose]() {
      for (const name of signals) Deno.removeSignalListener(name, onSignal);
    },
  };
}
