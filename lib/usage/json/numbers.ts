/** Reads numbers of JSON, as `JSON.parse` does. */
import { type Cursor, unexpected, UTF8 } from "./cursor.ts";

/** Integers and short fractions are added up digit by digit, which is exact below 2^53; others are left to `Number`. */
export function readNumber(cursor: Cursor): number {
  const { bytes, at: start } = cursor;
  const isNegative = bytes[start] === MINUS;
  const first = isNegative ? start + 1 : start;
  let at = first;
  let digits = 0;
  let byte = bytes[at] ?? END;
  for (; byte >= ZERO && byte <= NINE && digits < MAX_EXACT; byte = bytes[++at] ?? END) {
    digits = digits * 10 + byte - ZERO;
  }
  const integers = at - first;
  if (integers === 0 || (integers > 1 && bytes[first] === ZERO)) return readLongNumber(cursor);
  let decimals = 0;
  if (byte === POINT) {
    for (byte = bytes[++at] ?? END; byte >= ZERO && byte <= NINE && digits < MAX_EXACT; byte = bytes[++at] ?? END) {
      digits = digits * 10 + byte - ZERO;
      decimals++;
    }
    if (decimals === 0 || decimals >= POWERS_OF_TEN.length) return readLongNumber(cursor);
    digits /= POWERS_OF_TEN[decimals] ?? 1;
  }
  if (isOfNumber(byte)) return readLongNumber(cursor);
  cursor.at = at;
  return isNegative ? -digits : digits;
}

/** One digit more and all are still below 2^53. */
const MAX_EXACT = (Number.MAX_SAFE_INTEGER - 9) / 10;
/** Those that are exact, so that one division rounds once. */
const POWERS_OF_TEN = Array.from({ length: 23 }, (_, exponent) => 10 ** exponent);

const END = -1;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const NUMBER = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$/;
/** No number needs as many characters. */
const MAX_NUMBER_LENGTH = 400;

/** By its text. */
function readLongNumber(cursor: Cursor): number {
  const { bytes } = cursor;
  let end = cursor.at;
  while (isOfNumber(bytes[end] ?? END)) end++;
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
