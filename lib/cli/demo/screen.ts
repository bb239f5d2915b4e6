/**
 * The terminal that a demo draws on: frames in place, each in one write, on a screen of its own; given back as it was,
 * whatever ends the run.
 */
import { writeOutput } from "../output.ts";

/** Characters across and lines down. */
export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** How large the terminal is, and how it is written to. */
export interface ScreenOptions {
  readonly readSize?: () => Size;
  /** False when nobody reads any more. */
  readonly write?: (text: string) => boolean;
}

/** A terminal's own screen; disposal leaves it. */
export interface Screen extends Disposable {
  /** As many lines as there are rows, each as wide as the terminal. */
  readonly draw: (toLines: (size: Size) => readonly string[]) => boolean;
}

/** Enters a screen of its own, without a cursor. */
export function openScreen({ readSize = readConsoleSize, write = writeOutput }: ScreenOptions = {}): Screen {
  let drawn: Size | null = null;
  let isOpen = true;
  function close(): void {
    for (const name of ENDS) globalThis.removeEventListener(name, close);
    if (isOpen) write(`${WRAPS}${SHOWS_CURSOR}${LEAVES}`);
    isOpen = false;
  }
  for (const name of ENDS) globalThis.addEventListener(name, close);
  write(`${ENTERS}${HIDES_CURSOR}${CUTS}`);
  return {
    draw(toLines) {
      const size = readSize();
      const isNew = drawn?.columns !== size.columns || drawn.rows !== size.rows;
      drawn = size;
      // Written over and not cleared: nothing flickers.
      return write(`${isNew ? CLEARS : ""}${HOME}${toLines(size).slice(0, size.rows).join("\r\n")}`);
    },
    [Symbol.dispose]: close,
  };
}

/** A terminal that does not say is taken for the smallest that everybody has. */
export function readConsoleSize(): Size {
  try {
    const { columns, rows } = Deno.consoleSize();
    return columns > 0 && rows > 0 ? { columns, rows } : SMALLEST;
  } catch {
    return SMALLEST;
  }
}

/** What ends a process without unwinding it. */
const ENDS = ["unload", "error", "unhandledrejection"] as const;

const SMALLEST: Size = { columns: 80, rows: 24 };

/** https://invisible-island.net/xterm/ctlseqs/ctlseqs.html */
const [ENTERS, LEAVES] = ["\x1b[?1049h", "\x1b[?1049l"];
const [HIDES_CURSOR, SHOWS_CURSOR] = ["\x1b[?25l", "\x1b[?25h"];
const [CUTS, WRAPS] = ["\x1b[?7l", "\x1b[?7h"];
const [CLEARS, HOME] = ["\x1b[2J", "\x1b[H"];
