/**
 * What is drawn in place: a full screen for views that refresh, and one progress line on stderr.
 *
 * The terminal is restored on every way out of the process.
 */
import { TERMINAL, type Text, toLine, writeDiagnostic, writeOutput } from "./output.ts";
import { createStyle, type TextOptions } from "./text.ts";

/** Characters across and lines down. */
export interface ScreenSize {
  readonly columns: number;
  readonly rows: number;
}

/** How large the terminal is, and how it is written to. */
interface ScreenOptions {
  readonly getSize?: () => ScreenSize;
  /** Returns false when the reader of stdout has ended. */
  readonly write?: (text: Text) => boolean;
}

/** A terminal's own screen; disposal leaves it. */
export interface Screen extends Disposable {
  /** As many lines as there are rows, each as wide as the terminal. */
  readonly draw: (toLines: (size: ScreenSize) => readonly Text[]) => boolean;
}

/** Enters the alternate screen, without a cursor. */
export function openScreen({ getSize = getConsoleSize, write = writeOutput }: ScreenOptions = {}): Screen {
  let drawn: ScreenSize | null = null;
  let isOpen = true;
  function close(): void {
    for (const name of END_EVENTS) globalThis.removeEventListener(name, close);
    if (isOpen) write([TERMINAL.wrapLines, TERMINAL.showCursor, TERMINAL.leaveScreen]);
    isOpen = false;
  }
  for (const name of END_EVENTS) globalThis.addEventListener(name, close);
  write([TERMINAL.enterScreen, TERMINAL.hideCursor, TERMINAL.cutLines]);
  return {
    draw(toLines) {
      const size = getSize();
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

/** Returns the size of the terminal, or 80 x 24 where it is not known. */
export function getConsoleSize(): ScreenSize {
  try {
    const { columns, rows } = Deno.consoleSize();
    return columns > 0 && rows > 0 ? { columns, rows } : MIN_SIZE;
  } catch {
    return MIN_SIZE;
  }
}

/** What ends a process without unwinding it. */
const END_EVENTS = ["unload", "error", "unhandledrejection"] as const;

const MIN_SIZE: ScreenSize = { columns: 80, rows: 24 };

/** Returns the options for a text that is printed once. Lines of a pipe are not broken. */
export function getTextOptions(): TextOptions {
  const isTerminal = Deno.stdout.isTerminal();
  return { style: createStyle(isTerminal && !Deno.noColor), columns: isTerminal ? getConsoleSize().columns : Infinity };
}

/** Returns as many lines as a screen has rows, and clears the rest of each. */
export function fillScreen(lines: readonly Text[], rows: number): readonly Text[] {
  return Array.from({ length: rows }, (_, row) => [lines[row] ?? "", TERMINAL.clearLineEnd]);
}

interface ProgressLine extends Disposable {
  /** Replaces the text before. */
  readonly show: (text: string) => void;
}

/** Opens a line on stderr that is written over, and is empty where stderr is not a terminal. Disposal clears it. */
export function openProgressLine(
  { isTerminal = Deno.stderr.isTerminal(), write = writeDiagnostic }: {
    readonly isTerminal?: boolean;
    readonly write?: (text: Text) => void;
  } = {},
): ProgressLine {
  const show = (text: string) => {
    if (isTerminal) write([TERMINAL.toLineStart, TERMINAL.clearLineEnd, toLine(text)]);
  };
  return { show, [Symbol.dispose]: () => show("") };
}
