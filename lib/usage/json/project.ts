/**
 * Reads from JSON what a shape names and builds nothing of the rest. `JSON.parse` makes a value of everything: 31 MiB of
 * `{},` are 1.9 GiB and seconds of a blocked event loop, though a kubelet's summary needs a few numbers of a few pods.
 * Here time grows with the bytes, by some nanoseconds each, and memory with what is kept.
 * https://www.rfc-editor.org/rfc/rfc8259
 */
import { type Cursor, decodeEscaped, isAt, readWord, unexpected, UTF8 } from "./cursor.ts";
import { readNumber } from "./numbers.ts";
import type { Field, ListShape, RecordShape, Shape } from "./shape.ts";

/** What was read, and how many entries of lists were beyond their bound. */
export interface Projection {
  readonly value: unknown;
  readonly omitted: number;
}

/**
 * Reads UTF-8 JSON. Gives what `JSON.parse` would have given of the parts that the shape names; of the rest only strings
 * and brackets are checked. Throws a SyntaxError for what is no JSON. Nests as deep as the shape, whatever the bytes say.
 */
export function projectJson(bytes: Uint8Array, shape: Shape): Projection {
  const cursor: Cursor = { bytes, at: 0, omitted: 0, texts: new Array(KEPT_TEXTS).fill("") };
  const value = readValue(cursor, shape);
  if (skipSpace(cursor) !== END) throw unexpected(cursor);
  return { value, omitted: cursor.omitted };
}

/** An entry that is not wanted. */
const LEFT_OUT = Symbol("left out");
const EMPTY_RECORD: Readonly<Record<string, never>> = Object.freeze({});
const EMPTY_LIST: readonly never[] = Object.freeze([]);

function readValue(cursor: Cursor, shape: Shape): unknown {
  const byte = skipSpace(cursor);
  if (byte === RECORD) {
    if (shape !== "value" && shape.kind === "record") return readRecord(cursor, shape);
    skipNested(cursor);
    return EMPTY_RECORD;
  }
  if (byte === LIST) {
    if (shape !== "value" && shape.kind === "list") return readList(cursor, shape);
    skipNested(cursor);
    return EMPTY_LIST;
  }
  if (byte === QUOTE) return readText(cursor);
  return byte >= SMALL_A ? readWord(cursor) : readNumber(cursor);
}

function readRecord(cursor: Cursor, { fields, wanted }: RecordShape): unknown {
  const record: Record<string, unknown> = {};
  cursor.at++;
  if (skipSpace(cursor) === RECORD_END) {
    cursor.at++;
    return record;
  }
  while (true) {
    const field = readKey(cursor, fields);
    if (field === null) skipValue(cursor);
    else {
      const value = readValue(cursor, field.shape);
      record[field.name] = value;
      if (wanted !== null && wanted.field === field.name && !wanted.isWanted(value)) {
        skipToEnd(cursor, 1);
        return LEFT_OUT;
      }
    }
    if (!hasNext(cursor, RECORD_END)) return record;
  }
}

function readList(cursor: Cursor, { entry, maxEntries }: ListShape): unknown {
  const list: unknown[] = [];
  cursor.at++;
  if (skipSpace(cursor) === LIST_END) {
    cursor.at++;
    return list;
  }
  do {
    if (list.length < maxEntries) {
      const value = readValue(cursor, entry);
      if (value !== LEFT_OUT) list.push(value);
    } else {
      skipValue(cursor);
      cursor.omitted++;
    }
  } while (hasNext(cursor, LIST_END));
  return list;
}

/** Passes over a comma, or the bracket that ends the value. */
function hasNext(cursor: Cursor, end: number): boolean {
  const byte = skipSpace(cursor);
  if (byte !== COMMA && byte !== end) throw unexpected(cursor);
  cursor.at++;
  return byte === COMMA;
}

/** Passes over a key and its colon; `null` for a field that is not read. */
function readKey(cursor: Cursor, fields: readonly Field[]): Field | null {
  if (skipSpace(cursor) !== QUOTE) throw unexpected(cursor);
  const start = cursor.at + 1;
  const isEscaped = skipText(cursor);
  const end = cursor.at - 1;
  if (skipSpace(cursor) !== COLON) throw unexpected(cursor);
  cursor.at++;
  if (isEscaped) {
    const name = decodeEscaped(cursor, start, end);
    return fields.find((field) => field.name === name) ?? null;
  }
  for (const field of fields) {
    if (field.bytes.length === end - start && isAt(cursor.bytes, start, field.bytes)) return field;
  }
  return null;
}

/** What stands behind the last byte. */
const END = -1;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const LIST = 0x5b;
const BACKSLASH = 0x5c;
const LIST_END = 0x5d;
/** The words of JSON are of small letters. */
const SMALL_A = 0x61;
const RECORD = 0x7b;
const RECORD_END = 0x7d;
const SPACE = 0x20;

/** How many strings a cursor keeps. */
const KEPT_TEXTS = 64;

/** Reads a string, whose first quote the cursor is at. */
function readText(cursor: Cursor): string {
  const start = cursor.at + 1;
  const isEscaped = skipText(cursor);
  const end = cursor.at - 1;
  if (isEscaped) return decodeEscaped(cursor, start, end);
  const { bytes, texts } = cursor;
  // The times and names of a summary come again and again, and to compare is cheaper than to decode.
  const length = end - start;
  const slot = (7 * (bytes[end - 1] ?? 0) + length) % KEPT_TEXTS;
  const kept = texts[slot] ?? "";
  if (kept.length === length && isTextAt(bytes, start, kept)) return kept;
  return texts[slot] = UTF8.decode(bytes.subarray(start, end));
}

/** Says so of ASCII alone. */
function isTextAt(bytes: Uint8Array, start: number, text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const byte = bytes[start + index] ?? END;
    if (byte !== text.charCodeAt(index) || byte > LAST_ASCII) return false;
  }
  return true;
}

const LAST_ASCII = 0x7f;

/** The next byte that is no space, where the cursor stays; END behind the last one. */
function skipSpace(cursor: Cursor): number {
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
function skipText(cursor: Cursor): boolean {
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
function skipValue(cursor: Cursor): void {
  const byte = skipSpace(cursor);
  if (byte === QUOTE) skipText(cursor);
  else if (byte === RECORD || byte === LIST) skipNested(cursor);
  else {
    const { bytes, at: start } = cursor;
    while (cursor.at < bytes.length && KINDS[bytes[cursor.at] ?? 0] === OTHER) cursor.at++;
    if (cursor.at === start) throw unexpected(cursor);
  }
}

/** Passes over an object or a list, whose first bracket the cursor is at. */
function skipNested(cursor: Cursor): void {
  cursor.at++;
  skipToEnd(cursor, 1);
}

/** Passes over everything up to the end of the outermost of `depth` brackets that are open. */
function skipToEnd(cursor: Cursor, depth: number): void {
  const { bytes } = cursor;
  let open = depth;
  for (let at = cursor.at; at < bytes.length; at++) {
    const kind = KINDS[bytes[at] ?? 0];
    if (kind === TEXT) {
      cursor.at = at;
      skipText(cursor);
      at = cursor.at - 1;
    } else if (kind === OPENS) open++;
    else if (kind === ENDS && --open === 0) {
      cursor.at = at + 1;
      return;
    }
  }
  cursor.at = bytes.length;
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
