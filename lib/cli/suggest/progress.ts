/** One line on a terminal's stderr that says how far it is; nothing elsewhere. */

export interface Progress extends Disposable {
  /** Replaces what it said before. */
  readonly show: (text: string) => void;
}

/** Disposal clears the line. */
export function createProgress(): Progress {
  const isShown = Deno.stderr.isTerminal();
  const write = (text: string) => {
    try {
      if (isShown) Deno.stderr.writeSync(new TextEncoder().encode(`\r\u001b[K${text}`));
    } catch {
      // Nobody reads it.
    }
  };
  return { show: (text) => write(text), [Symbol.dispose]: () => write("") };
}
