/** How are the bytes of JSON scanned? Numbers and words are parsed, and values that no shape names are skipped. */

/** The position in the bytes. */
export interface Cursor {
  readonly bytes: Uint8Array;
  at: number;
  /** Entries of lists that were beyond their bound. */
  omitted: number;
  /** Recent texts, because the same text is likely to come again. */
  readonly texts: string[];
}

/** Replaces invalid UTF-8, as a Response does. */
export const UTF8 = new TextDecoder("utf-8", { ignoreBOM: true });

/** Parses a string with escapes between these positions. */
export function decodeEscaped({ bytes }: Cursor, start: number, end: number): string {
  return JSON.parse(UTF8.decode(bytes.subarray(start - 1, end + 1)));
}

/** Returns whether these bytes are at the position. */
export function isAt(bytes: Uint8Array, start: number, expected: Uint8Array): boolean {
  for (let index = 0; index < expected.length; index++) {
    if (bytes[start + index] !== expected[index]) return false;
  }
  return true;
}

/** Parses `true`, `false` or `null`. */
export function parseWord(cursor: Cursor): boolean | null {
  const { bytes, at } = cursor;
  const word = WORDS.find(({ text }) => isAt(bytes, at, text));
  if (word === undefined) throw unexpected(cursor);
  cursor.at = at + word.text.length;
  return word.value;
}

/** Without the position: the same fault has the same message each time. */
export function unexpected({ bytes, at }: Cursor): SyntaxError {
  const byte = bytes[at];
  if (byte === undefined) return new SyntaxError("it ends too early");
  return new SyntaxError(`unexpected ${JSON.stringify(UTF8.decode(bytes.subarray(at, at + 1)))}`);
}

/** Integers and short fractions are added digit by digit, which is exact below 2^53; `Number` parses the others. */
export function parseNumber(cursor: Cursor): number {
  const { bytes, at: start } = cursor;
  const isNegative = bytes[start] === MINUS;
  const first = isNegative ? start + 1 : start;
  let at = first;
  let digits = 0;
  let byte = bytes[at] ?? END_OF_NUMBERS;
  for (; byte >= ZERO && byte <= NINE && digits < MAX_EXACT; byte = bytes[++at] ?? END_OF_NUMBERS) {
    digits = digits * 10 + byte - ZERO;
  }
  const integers = at - first;
  if (integers === 0 || (integers > 1 && bytes[first] === ZERO)) return parseLongNumber(cursor);
  let decimals = 0;
  if (byte === POINT) {
    for (
      byte = bytes[++at] ?? END_OF_NUMBERS;
      byte >= ZERO && byte <= NINE && digits < MAX_EXACT;
      byte = bytes[++at] ?? END_OF_NUMBERS
    ) {
      digits = digits * 10 + byte - ZERO;
      decimals++;
    }
    if (decimals === 0 || decimals >= POWERS_OF_TEN.length) return parseLongNumber(cursor);
    digits /= POWERS_OF_TEN[decimals] ?? 1;
  }
  if (isOfNumber(byte)) return parseLongNumber(cursor);
  cursor.at = at;
  return isNegative ? -digits : digits;
}

/** Moves the cursor to the next byte that is not a space and returns it; END after the last byte. */
export function skipSpace(cursor: Cursor): number {
  const { bytes } = cursor;
  const { length } = bytes;
  for (let at = cursor.at; at < length; at++) {
    const byte = bytes[at] ?? END;
    if (byte > SPACE || (byte !== SPACE && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) {
      cursor.at = at;
      return byte;
    }
  }
  cursor.at = length;
  return END;
}

/** Skips a string; the cursor is at its first quote. Returns whether it has escapes. */
export function skipText(cursor: Cursor): boolean {
  const { bytes } = cursor;
  const { length } = bytes;
  let isEscaped = false;
  for (let at = cursor.at + 1; at < length; at++) {
    const byte = bytes[at] ?? END;
    if (byte > BACKSLASH) continue;
    if (byte === QUOTE) {
      cursor.at = at + 1;
      return isEscaped;
    }
    if (byte === BACKSLASH) {
      isEscaped = true;
      at++;
    } else if (byte < SPACE) {
      cursor.at = at;
      throw unexpected(cursor);
    }
  }
  cursor.at = length;
  throw unexpected(cursor);
}

/** Skips a value of any kind. */
export function skipValue(cursor: Cursor): void {
  const byte = skipSpace(cursor);
  if (byte === QUOTE) skipText(cursor);
  else if (byte === RECORD || byte === LIST) skipNested(cursor);
  else {
    const { bytes, at: start } = cursor;
    const { length } = bytes;
    let at = start;
    while (at < length && ENDS_SCALAR[bytes[at] ?? 0] === 0) at++;
    if (at === start) throw unexpected(cursor);
    cursor.at = at;
  }
}

/** Skips an object or a list; the cursor is at its first bracket. */
export function skipNested(cursor: Cursor): void {
  cursor.at++;
  skipToEnd(cursor, 1);
}

/** Skips everything up to the end of the outermost of `depth` open brackets. */
export function skipToEnd(cursor: Cursor, depth: number): void {
  const { bytes } = cursor;
  const { length } = bytes;
  let open = depth;
  // Outside of strings most bytes are digits, spaces and commas, which need two comparisons.
  for (let at = cursor.at; at < length; at++) {
    const byte = bytes[at] ?? END;
    if (byte === QUOTE) {
      // Like skipText, without a call for each of many short strings.
      for (at++; at < length; at++) {
        const byte = bytes[at] ?? END;
        if (byte > BACKSLASH) continue;
        if (byte === QUOTE) break;
        if (byte === BACKSLASH) at++;
      }
    } else if (byte >= LIST) {
      // The brackets of lists and of objects differ in this bit.
      const bracket = byte | 0x20;
      if (bracket === RECORD) open++;
      else if (bracket === RECORD_END && --open === 0) {
        cursor.at = at + 1;
        return;
      }
    }
  }
  cursor.at = length;
  throw unexpected(cursor);
}

/** Text that may come again, in a form that is fast to compare. */
export interface RememberedText {
  readonly length: number;
  readonly bytes: Uint8Array;
  /**
   * Eight bytes each: at 0, `second`, `third` and eight before the end, which may be the same, and then the rest from 24
   * on. Empty below eight bytes.
   */
  readonly floats: readonly number[];
  readonly second: number;
  readonly third: number;
}

/** Returns a copy of the text. */
export function rememberText(text: Uint8Array): RememberedText {
  const bytes = text.slice();
  const view = new DataView(bytes.buffer);
  const last = bytes.length - 8;
  const [second, third] = [Math.min(8, last), Math.min(16, last)];
  const floats: number[] = [];
  if (last >= 0) { for (const at of [0, second, third, last]) floats.push(view.getFloat64(at, true)); }
  for (let at = 24; at < last; at += 8) floats.push(view.getFloat64(at, true));
  return { length: bytes.length, bytes, floats, second, third };
}

/**
 * Returns whether the text is there again. Two floats are equal only if their bytes are, or if all of these are 0 or
 * 0x80, which JSON has inside of strings only and which end none.
 */
export function isTextAgain(
  { length, bytes, floats, second, third }: RememberedText,
  view: DataView,
  at: number,
): boolean {
  if (at + length > view.byteLength) return false;
  if (length < 8) {
    for (let index = 0; index < length; index++) if (view.getUint8(at + index) !== bytes[index]) return false;
    return true;
  }
  // Most text is short: without a loop the processor has no end of it to guess.
  if (
    view.getFloat64(at, true) !== floats[0] || view.getFloat64(at + second, true) !== floats[1] ||
    view.getFloat64(at + third, true) !== floats[2] || view.getFloat64(at + length - 8, true) !== floats[3]
  ) return false;
  for (let index = 4; index < floats.length; index++) {
    if (view.getFloat64(at + 8 * (index - 1), true) !== floats[index]) return false;
  }
  return true;
}

/** Bytes that end a number or a word: quotes, brackets, commas and spaces. */
const ENDS_SCALAR = new Uint8Array(256);
for (const byte of new TextEncoder().encode('"[{]}, \t\r\n')) ENDS_SCALAR[byte] = 1;

const WORDS = ([["true", true], ["false", false], ["null", null]] as const)
  .map(([text, value]) => ({ text: new TextEncoder().encode(text), value }));

/** With one more digit all numbers are still below 2^53. */
const MAX_EXACT = (Number.MAX_SAFE_INTEGER - 9) / 10;

/** The exact powers, so that one division rounds once. */
const POWERS_OF_TEN = Array.from({ length: 23 }, (_, exponent) => 10 ** exponent);

const END_OF_NUMBERS = -1;

const MINUS = 0x2d;

const POINT = 0x2e;

const ZERO = 0x30;

const NINE = 0x39;

const NUMBER = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$/;

/** Longer than any useful number. */
const MAX_NUMBER_LENGTH = 400;

/** By its text. */
function parseLongNumber(cursor: Cursor): number {
  const { bytes } = cursor;
  let end = cursor.at;
  while (isOfNumber(bytes[end] ?? END_OF_NUMBERS)) end++;
  const text = end - cursor.at > MAX_NUMBER_LENGTH ? "" : UTF8.decode(bytes.subarray(cursor.at, end));
  if (!NUMBER.test(text)) throw unexpected(cursor);
  cursor.at = end;
  return Number(text);
}

/** Digits, signs, the point, and e. */
function isOfNumber(byte: number): boolean {
  return (byte >= ZERO && byte <= NINE) || byte === POINT || byte === MINUS || byte === 0x2b || byte === 0x65 ||
    byte === 0x45;
}

/** The value after the last byte. */
const END = -1;

const SPACE = 0x20;

const QUOTE = 0x22;

const LIST = 0x5b;

const BACKSLASH = 0x5c;

const RECORD = 0x7b;

const RECORD_END = 0x7d;
