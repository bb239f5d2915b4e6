/**
 * How is a part of a large JSON answer parsed? A shape names the fields, and nothing else is built in memory.
 *
 * `JSON.parse` builds everything: 31 MiB of `{},` become 1.9 GiB and block the event loop for seconds. Here time grows
 * with the bytes, and memory with the kept fields.
 * https://www.rfc-editor.org/rfc/rfc8259
 */
import {
  type Cursor,
  decodeEscaped,
  isAt,
  parseNumber,
  parseWord,
  skipNested,
  skipSpace,
  skipText,
  skipToEnd,
  skipValue,
  unexpected,
  UTF8,
} from "./scanner.ts";

/** The result, and how many entries of lists were beyond their bound. */
export interface Projection {
  readonly value: unknown;
  readonly omitted: number;
}

/**
 * Parses UTF-8 JSON. Returns the same as `JSON.parse` for the parts that the shape names; in the rest only strings and
 * brackets are checked. Throws a SyntaxError for invalid JSON. The depth is bounded by the shape.
 */
export function projectJson(bytes: Uint8Array, shape: Shape): Projection {
  const cursor: Cursor = { bytes, at: 0, omitted: 0, texts: new Array(KEPT_TEXTS).fill("") };
  const value = parseValue(cursor, shape);
  if (skipSpace(cursor) !== END) throw unexpected(cursor);
  return { value, omitted: cursor.omitted };
}

/**
 * Like `projectJson` for an object with a large list, entry by entry, so that the caller may pause in between. Yields
 * each entry, `undefined` for an unwanted one. Returns how many were beyond the bound, or `null` without such a list.
 * Throws a SyntaxError when it reaches invalid JSON, and if the value is not an object.
 */
export function* projectEntries(
  bytes: Uint8Array,
  field: string,
  list: ListShape,
): Generator<unknown, number | null> {
  const cursor: Cursor = { bytes, at: 0, omitted: 0, texts: new Array(KEPT_TEXTS).fill("") };
  if (skipSpace(cursor) !== RECORD) throw unexpected(cursor);
  const { fields } = recordShape({ [field]: list });
  let hasList = false;
  cursor.at++;
  if (peek(cursor) === RECORD_END) cursor.at++;
  else {
    do {
      if (parseKey(cursor, fields, 0) === -1) skipValue(cursor);
      else if (skipSpace(cursor) === LIST) {
        hasList = true;
        yield* parseEntries(cursor, list);
      } // Go writes an empty list as null.
      else hasList = parseValue(cursor, "value") === null;
    } while (hasNext(cursor, RECORD_END));
  }
  if (skipSpace(cursor) !== END) throw unexpected(cursor);
  return hasList ? cursor.omitted : null;
}

/**
 * The wanted part of a value. `value`: a number, text, true, false or null. A value of another kind than its shape is
 * returned empty: a list instead of a number is `[]`.
 */
export type Shape = "value" | RecordShape | ListShape;

/** An object with the fields to read. Made by `recordShape`. */
export interface RecordShape {
  readonly kind: "record";
  readonly fields: readonly Field[];
  readonly wanted: Wanted | null;
}

/** A list whose entries are alike. */
export interface ListShape {
  readonly kind: "list";
  readonly entry: Shape;
  /** Those beyond it are counted and left out. */
  readonly maxEntries: number;
}

/** Returns the shape of an object with these fields. Names are ASCII, without quotes and backslashes. */
export function recordShape(fields: Readonly<Record<string, Shape>>, wanted: Wanted | null = null): RecordShape {
  const list = Object.entries(fields).map(([name, shape]) => ({ name, shape, bytes: new TextEncoder().encode(name) }));
  return { kind: "record", fields: list, wanted };
}

function* parseEntries(cursor: Cursor, { entry, maxEntries }: ListShape): Generator<unknown, void> {
  let read = 0;
  cursor.at++;
  if (skipSpace(cursor) === LIST_END) {
    cursor.at++;
    return;
  }
  do {
    if (read++ < maxEntries) {
      const value = parseValue(cursor, entry);
      yield value === LEFT_OUT ? undefined : value;
    } else {
      skipValue(cursor);
      cursor.omitted++;
    }
  } while (hasNext(cursor, LIST_END));
}

/** Marks an unwanted entry. */
const LEFT_OUT = Symbol("left out");

const EMPTY_RECORD: Readonly<Record<string, never>> = Object.freeze({});

const EMPTY_LIST: readonly never[] = Object.freeze([]);

function parseValue(cursor: Cursor, shape: Shape): unknown {
  const byte = skipSpace(cursor);
  if (byte === RECORD) {
    if (shape !== "value" && shape.kind === "record") return parseRecord(cursor, shape);
    skipNested(cursor);
    return EMPTY_RECORD;
  }
  if (byte === LIST) {
    if (shape !== "value" && shape.kind === "list") return parseList(cursor, shape);
    skipNested(cursor);
    return EMPTY_LIST;
  }
  if (byte === QUOTE) return parseText(cursor);
  return byte >= SMALL_A ? parseWord(cursor) : parseNumber(cursor);
}

function parseRecord(cursor: Cursor, { fields, wanted }: RecordShape): unknown {
  const record: Record<string, unknown> = {};
  cursor.at++;
  if (peek(cursor) === RECORD_END) {
    cursor.at++;
    return record;
  }
  let expected = 0;
  while (true) {
    const index = parseKey(cursor, fields, expected);
    const field = index === -1 ? undefined : fields[index];
    if (field === undefined) skipValue(cursor);
    else {
      expected = index + 1;
      const value = parseValue(cursor, field.shape);
      record[field.name] = value;
      if (wanted !== null && wanted.field === field.name && !wanted.isWanted(value)) {
        skipToEnd(cursor, 1);
        return LEFT_OUT;
      }
    }
    if (!hasNext(cursor, RECORD_END)) return record;
  }
}

function parseList(cursor: Cursor, { entry, maxEntries }: ListShape): unknown {
  const list: unknown[] = [];
  cursor.at++;
  if (skipSpace(cursor) === LIST_END) {
    cursor.at++;
    return list;
  }
  do {
    if (list.length < maxEntries) {
      const value = parseValue(cursor, entry);
      if (value !== LEFT_OUT) list.push(value);
    } else {
      skipValue(cursor);
      cursor.omitted++;
    }
  } while (hasNext(cursor, LIST_END));
  return list;
}

/** Skips a comma, or the bracket that ends the value. */
function hasNext(cursor: Cursor, end: number): boolean {
  const byte = peek(cursor);
  if (byte !== COMMA && byte !== end) throw unexpected(cursor);
  cursor.at++;
  return byte === COMMA;
}

/** Skips a key and its colon, and returns the index of its field; -1 for a field that is not read. */
function parseKey(cursor: Cursor, fields: readonly Field[], expected: number): number {
  if (peek(cursor) !== QUOTE) throw unexpected(cursor);
  const { bytes } = cursor;
  const start = cursor.at + 1;
  const guess = expected < fields.length ? fields[expected] : undefined;
  let index = -1;
  // A kubelet writes the fields in the same order each time.
  if (guess !== undefined && isAt(bytes, start, guess.bytes) && bytes[start + guess.bytes.length] === QUOTE) {
    index = expected;
    cursor.at = start + guess.bytes.length + 1;
  } else {
    const isEscaped = skipText(cursor);
    index = isEscaped
      ? findIndexOf(fields, decodeEscaped(cursor, start, cursor.at - 1))
      : findIndexAt(fields, bytes, start, cursor.at - 1);
  }
  if (peek(cursor) !== COLON) throw unexpected(cursor);
  cursor.at++;
  return index;
}

function findIndexOf(fields: readonly Field[], name: string): number {
  return fields.findIndex((field) => field.name === name);
}

function findIndexAt(fields: readonly Field[], bytes: Uint8Array, start: number, end: number): number {
  for (let index = 0; index < fields.length; index++) {
    const name = fields[index]?.bytes;
    if (name !== undefined && name.length === end - start && isAt(bytes, start, name)) return index;
  }
  return -1;
}

/** Like skipSpace, for places that rarely have space. */
function peek(cursor: Cursor): number {
  const byte = cursor.bytes[cursor.at] ?? END;
  return byte > SPACE ? byte : skipSpace(cursor);
}

/** The value after the last byte. */
const END = -1;

const QUOTE = 0x22;

const COMMA = 0x2c;

const COLON = 0x3a;

const LIST = 0x5b;

const LIST_END = 0x5d;

/** The words of JSON are of small letters. */
const SMALL_A = 0x61;

const RECORD = 0x7b;

const RECORD_END = 0x7d;

const SPACE = 0x20;

/** How many strings a cursor keeps. */
const KEPT_TEXTS = 64;

/** Parses a string; the cursor is at its first quote. */
function parseText(cursor: Cursor): string {
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

/** Works for ASCII text only. */
function isTextAt(bytes: Uint8Array, start: number, text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const byte = bytes[start + index] ?? END;
    if (byte !== text.charCodeAt(index) || byte > LAST_ASCII) return false;
  }
  return true;
}

const LAST_ASCII = 0x7f;

/** Decides by one field whether an entry of a list is wanted, as soon as that field is parsed. */
interface Wanted {
  readonly field: string;
  readonly isWanted: (value: unknown) => boolean;
}

/** A field that is read. */
interface Field {
  readonly name: string;
  /** As they stand between the quotes. */
  readonly bytes: Uint8Array;
  readonly shape: Shape;
}
