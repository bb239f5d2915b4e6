/** A place in the bytes of JSON, and the reading of what is rare in a summary. */

/** Where reading is. */
export interface Cursor {
  readonly bytes: Uint8Array;
  at: number;
  /** Entries of lists that were beyond their bound. */
  omitted: number;
  /** Some that were read, as the same text is likely to come again. */
  readonly texts: string[];
}

/** Replaces what is no UTF-8, as a Response does. */
export const UTF8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** Reads a string with escapes, which stands between these places. */
export function decodeEscaped({ bytes }: Cursor, start: number, end: number): string {
  return JSON.parse(UTF8.decode(bytes.subarray(start - 1, end + 1)));
}

/** Says whether these bytes stand there. */
export function isAt(bytes: Uint8Array, start: number, expected: Uint8Array): boolean {
  for (let index = 0; index < expected.length; index++) {
    if (bytes[start + index] !== expected[index]) return false;
  }
  return true;
}

/** Reads `true`, `false` or `null`. */
export function readWord(cursor: Cursor): boolean | null {
  const { bytes, at } = cursor;
  const word = WORDS.find(({ text }) => isAt(bytes, at, text));
  if (word === undefined) throw unexpected(cursor);
  cursor.at = at + word.text.length;
  return word.value;
}

const WORDS = ([["true", true], ["false", false], ["null", null]] as const)
  .map(([text, value]) => ({ text: new TextEncoder().encode(text), value }));

/** Without the place: the same fault has the same words each time. */
export function unexpected({ bytes, at }: Cursor): SyntaxError {
  const byte = bytes[at];
  if (byte === undefined) return new SyntaxError("it ends too early");
  return new SyntaxError(`unexpected ${JSON.stringify(UTF8.decode(bytes.subarray(at, at + 1)))}`);
}
