/** Prints lines to stdout and stderr. Texts from a cluster or a file cannot control the terminal. */
import { redact } from "../../runtime/secrets.ts";
import { escapeUnseen, replaceUnseen } from "../../runtime/unseen.ts";

/** What is printed: a string, a sequence, or parts in their order. */
export type Text = string | Sequence | readonly Text[];

/** Characters that a terminal obeys. */
class Sequence {
  readonly #characters: string;

  constructor(characters: string) {
    this.#characters = characters;
  }

  get characters(): string {
    return this.#characters;
  }
}
export type { Sequence };

/** Where a terminal writes, and how. https://invisible-island.net/xterm/ctlseqs/ctlseqs.html */
export const TERMINAL = {
  enterScreen: new Sequence("\x1b[?1049h"),
  leaveScreen: new Sequence("\x1b[?1049l"),
  hideCursor: new Sequence("\x1b[?25l"),
  showCursor: new Sequence("\x1b[?25h"),
  cutLines: new Sequence("\x1b[?7l"),
  wrapLines: new Sequence("\x1b[?7h"),
  clearScreen: new Sequence("\x1b[2J"),
  toTop: new Sequence("\x1b[H"),
  toNextLine: new Sequence("\r\n"),
  toLineStart: new Sequence("\r"),
  clearLineEnd: new Sequence("\x1b[K"),
};

/** Returns the sequence of a style. https://en.wikipedia.org/wiki/ANSI_escape_code#SGR */
export function toStyle(...codes: readonly number[]): Sequence {
  return new Sequence(`\x1b[${codes.join(";")}m`);
}

/** Returns the text on one line: line breaks and tabs become spaces. */
export function toLine(text: string): string;
export function toLine(text: Text): Text;
export function toLine(text: Text): Text {
  if (typeof text === "string") return replaceUnseen(text.replace(/[\t-\r\x85\u2028\u2029]+/g, " "));
  return isSequence(text) ? text : text.map((part) => toLine(part));
}

/** Returns JSON of a value. A reader gets back what the value holds, and a terminal obeys nothing of it. */
export function toJson(value: unknown, indent = 0): string {
  return escapeUnseen(JSON.stringify(value, null, indent));
}

/** Returns the characters that are written for a text. */
export function toCharacters(text: Text): string {
  if (typeof text === "string") return replaceUnseen(text.replaceAll("\r\n", "\n"));
  return isSequence(text) ? text.characters : text.map(toCharacters).join("");
}

/** Writes all of a text to stdout. Returns false when the reader of the pipe has ended, as `head` does. */
export function writeOutput(text: Text): boolean {
  try {
    writeAll(Deno.stdout, text);
    return true;
  } catch (error) {
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
    return false;
  }
}

/** Writes each text to stdout as one line. Returns false when the reader of the pipe has ended. */
export function writeLines(lines: readonly Text[]): boolean {
  return writeOutput(lines.map((line) => [toLine(line), "\n"]));
}

/** Writes a text to stderr. Never throws. */
export function writeDiagnostic(text: Text): void {
  try {
    writeAll(Deno.stderr, text);
  } catch {
    // Closed, or full of log lines that have no reader.
  }
}

/** Writes a message to stderr as one line, with the program's name before it. Never throws. */
export function writeError(message: string): void {
  writeDiagnostic(`podfit: ${toLine(redact(message))}\n`);
}

function isSequence(text: Exclude<Text, string>): text is Sequence {
  return text instanceof Sequence;
}

function writeAll(stream: Pick<typeof Deno.stdout, "writeSync">, text: Text): void {
  // A pipe may accept a part at a time.
  for (let rest = encoder.encode(toCharacters(text)); rest.length > 0;) rest = rest.subarray(stream.writeSync(rest));
}

const encoder = new TextEncoder();
