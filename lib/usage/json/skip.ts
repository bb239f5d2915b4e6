/**
 * Passes over what is not read. Only strings and brackets are looked at there: what else is wrong in what nobody reads
 * does no harm. The bytes have names of this file's own, as the engine makes faster code of those than of imported ones.
 */
import { type Cursor, unexpected } from "./cursor.ts";

/** What stands behind the last byte. */
const END = -1;
const SPACE = 0x20;
const QUOTE = 0x22;
const LIST = 0x5b;
const BACKSLASH = 0x5c;
const RECORD = 0x7b;

/** The next byte that is no space, where the cursor stays; END behind the last one. */
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

/** Passes over a string, whose first quote the cursor is at. Says whether there are escapes in it. */
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

/** Passes over a value of any kind. */
export function skipValue(cursor: Cursor): void {
  const byte = skipSpace(cursor);
  if (byte === QUOTE) skipText(cursor);
  else if (byte === RECORD || byte === LIST) skipNested(cursor);
  else {
    const { bytes, at: start } = cursor;
    const { length } = bytes;
    let at = start;
    while (at < length && KINDS[bytes[at] ?? 0] === OTHER) at++;
    if (at === start) throw unexpected(cursor);
    cursor.at = at;
  }
}

/** Passes over an object or a list, whose first bracket the cursor is at. */
export function skipNested(cursor: Cursor): void {
  cursor.at++;
  skipToEnd(cursor, 1);
}

/** Passes over everything up to the end of the outermost of `depth` brackets that are open. */
export function skipToEnd(cursor: Cursor, depth: number): void {
  const { bytes } = cursor;
  const { length } = bytes;
  let open = depth;
  for (let at = cursor.at; at < length; at++) {
    const kind = KINDS[bytes[at] ?? 0];
    if (kind === OTHER || kind === SEPARATES) continue;
    if (kind === TEXT) {
      // As skipText, without a call for each of many short strings.
      for (at++; at < length; at++) {
        const byte = bytes[at] ?? END;
        if (byte > BACKSLASH) continue;
        if (byte === QUOTE) break;
        if (byte === BACKSLASH) at++;
      }
    } else if (kind === OPENS) open++;
    else if (--open === 0) {
      cursor.at = at + 1;
      return;
    }
  }
  cursor.at = length;
  throw unexpected(cursor);
}

const OTHER = 0;
const TEXT = 1;
const OPENS = 2;
const ENDS = 3;
const SEPARATES = 4;
/** What each byte means outside of strings. */
const KINDS = new Uint8Array(256);
for (const [characters, kind] of [['"', TEXT], ["[{", OPENS], ["]}", ENDS], [", \t\r\n", SEPARATES]] as const) {
  for (const byte of new TextEncoder().encode(characters)) KINDS[byte] = kind;
}
