/**
 * The terminal that a demo draws on: frames in place, each in one write, on a screen of its own; given back as it was,
 * whatever ends the run.
 */
import { TERMINAL, type Text, toLine, writeOutput } from "../terminal/output.ts";

/** Characters across and lines down. */
export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** How large the terminal is, and how it is written to. */
export interface ScreenOptions {
  readonly readSize?: () => Size;
  /** False when nobody reads any more. */
  readonly write?: (text: Text) => boolean;
}

/** A terminal's own screen; disposal leaves it. */
export interface Screen extends Disposable {
  /** As many lines as there are rows, each as wide as the terminal. */
  readonly draw: (toLines: (size: Size) => readonly Text[]) => boolean;
}

/** Enters a screen of its own, without a cursor. */
export function openScreen({ readSize = readConsoleSize, write = writeOutput }: ScreenOptions = {}): Screen {
  let drawn: Size | null = null;
  let isOpen = true;
  function close(): void {
    for (const name of ENDS) globalThis.removeEventListener(name, close);
    if (isOpen) write([TERMINAL.wrapLines, TERMINAL.showCursor, TERMINAL.leaveScreen]);
    isOpen = false;
  }
  for (const name of ENDS) globalThis.addEventListener(name, close);
  write([TERMINAL.enterScreen, TERMINAL.hideCursor, TERMINAL.cutLines]);
  return {
    draw(toLines) {
      const size = readSize();
      const isNew = drawn?.columns !== size.columns || drawn.rows !== size.rows;
      drawn = size;
      // Written over and not cleared: nothing flickers.
      const lines = toLines(size).slice(0, size.rows).map((
        line,
        at,
      ) => [at === 0 ? "" : TERMINAL.toNextLine, toLine(line)]);
      return write([isNew ? TERMINAL.clearScreen : "", TERMINAL.toTop, lines]);
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
