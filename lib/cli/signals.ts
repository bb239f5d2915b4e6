/** Turns SIGTERM and SIGINT into an AbortSignal. */
import { EXIT } from "./exit_codes.ts";

/** Disposal stops listening. */
export interface Ending extends Disposable {
  /** Aborts when the process is asked to end. */
  readonly signal: AbortSignal;
}

/**
 * Starts listening. `onStop` is called before the signal aborts; a second SIGTERM or SIGINT ends the process at once.
 */
export function listenForSignals(onStop: () => void = () => {}): Ending {
  const ending = new AbortController();
  const onSignal = () => {
    if (ending.signal.aborted) Deno.exit(EXIT.interrupted);
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
