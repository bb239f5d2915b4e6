/** One line on a terminal's stderr that says how far it is; nothing elsewhere. */
import { TERMINAL, toLine, writeDiagnostic } from "../terminal/output.ts";

export interface Progress extends Disposable {
  /** Replaces what it said before. */
  readonly show: (text: string) => void;
}

/** Disposal clears the line. */
export function createProgress(): Progress {
  const isShown = Deno.stderr.isTerminal();
  const write = (text: string) => {
    if (isShown) writeDiagnostic([TERMINAL.toLineStart, TERMINAL.clearLineEnd, toLine(text)]);
  };
  return { show: (text) => write(text), [Symbol.dispose]: () => write("") };
}
