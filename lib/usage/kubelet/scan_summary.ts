/**
 * How are the numbers of a summary found without building objects? In one pass over its bytes, into rows of numbers.
 *
 * A kubelet writes the same text again and again, and only the values in it change. So the scanner remembers the text
 * between two values, a `Piece`, and compares it eight bytes at a time. Text that it has not seen before is scanned byte
 * by byte. At anything unexpected it gives up: then `parseSummary` reads the same bytes, and its answer counts.
 *
 * Measured with 110 pods of two containers, 356 kB: 0.4 of the time of JSON.parse, and `parseSummary` 1.05.
 * https://www.rfc-editor.org/rfc/rfc8259
 */
import {
  type Cursor,
  isAt,
  isTextAgain,
  parseNumber,
  parseWord,
  type RememberedText,
  rememberText,
  skipSpace,
  skipText,
  skipToEnd,
  skipValue,
  UTF8,
} from "../json/scanner.ts";
import { MAX_NAME_LENGTH, parseSummary, type SummaryOptions, type SummaryReading, toTime } from "./parse_summary.ts";
import { COLUMN, CONTAINER, GIVE_UP, isTextAt, type KnownPods, NODE, POD, SummaryRows } from "./summary_rows.ts";

/** Reads the summaries of one node, one at a time. */
export class SummaryReader {
  readonly #scanner: SummaryScanner;
  readonly #known: KnownPods = new Map();

  /** Nodes may share a scanner: their kubelets write alike. */
  constructor(scanner: SummaryScanner) {
    this.#scanner = scanner;
  }

  /** Returns the same as `parseSummary`, and rows unless the scanner gave up. Never throws; keeps nothing of `bytes`. */
  read(bytes: Uint8Array, options: SummaryOptions): SummaryReading {
    return this.#scanner.scan(bytes, this.#known, options) ?? parseSummary(bytes, options);
  }
}

/** Scans one body at a time. What it remembers of one body makes the next ones faster, and changes no result. */
export class SummaryScanner {
  readonly #rows = new SummaryRows();
  readonly #values = this.#rows.values;
  #summary = newSummaryPlace();
  #bytes: Uint8Array = NO_BYTES;
  #view: DataView = NO_VIEW;
  #cursor = newCursor(NO_BYTES);
  /** What was remembered in the present body, and the pieces of all of them. */
  #learned = 0;
  #remembered = 0;
  #pieces = 0;
  /** The newest time of the usual form, and the newest day. */
  readonly #time = new Int32Array(TIME_BYTES / 4).fill(-1);
  #timeMs = NaN;
  #day = "";
  #dayMs = NaN;

  /** Returns `null` if it gives up. `known`: of the node, and brought up to date. */
  scan(bytes: Uint8Array, known: KnownPods, options: SummaryOptions): SummaryReading | null {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#cursor = newCursor(bytes);
    this.#learned = 0;
    this.#remembered = 0;
    this.#rows.begin(bytes, known, options);
    try {
      return this.#scanSummary();
    } catch (error) {
      this.#rows.discard();
      // The functions that both parsers use throw a SyntaxError.
      if (error === GIVE_UP || error instanceof SyntaxError) return null;
      throw error;
    } finally {
      this.#bytes = NO_BYTES;
      this.#view = NO_VIEW;
      this.#cursor = newCursor(NO_BYTES);
      this.#rows.release();
      if (this.#pieces > MAX_PIECES) this.#forgetPieces();
    }
  }

  #scanSummary(): SummaryReading {
    const cursor = this.#cursor;
    if (skipSpace(cursor) !== RECORD) throw GIVE_UP;
    cursor.at = this.#scanRecord(cursor.at + 1, this.#summary, NODE);
    if (skipSpace(cursor) !== END) throw GIVE_UP;
    return this.#rows.end();
  }

  /** Scans an object from behind its bracket, puts its values at `base`, and returns the place behind its end. */
  #scanRecord(from: number, place: Place, base: number): number {
    const view = this.#view;
    let at = from;
    let seen = 0;
    let piece = place.start;
    while (true) {
      let next = piece.next;
      if (next === null || !isTextAgain(next, view, at)) {
        next = piece.other;
        if (next === null || !isTextAgain(next, view, at)) next = this.#learn(at, place, piece);
      }
      at += next.length;
      piece = next;
      const { kind, bit, column, inner } = next.field;
      if ((seen & bit) !== 0) throw GIVE_UP;
      seen |= bit;
      switch (kind) {
        case SKIPPED:
          at = this.#skip(at);
          break;
        case NUMBER:
          at = this.#scanNumber(at, base + column);
          break;
        case TIME:
          at = this.#scanTime(at, base + column);
          break;
        case TEXT:
          at = this.#scanText(at, base + column);
          break;
        case INNER:
          this.#values[base + column] = 1;
          at = this.#scanRecord(at, inner, base);
          break;
        case EMPTY:
          break;
        case UNREAD_OBJECT:
          at = this.#skipObject(at, inner);
          break;
        case ENDED:
          return at;
        case POD_REF:
          at = this.#scanRecord(at, inner, base);
          if (!this.#rows.addPod()) return this.#skipRest(at);
          break;
        case CONTAINERS:
          at = this.#scanList(at, inner, CONTAINER);
          break;
        case PODS:
          at = this.#scanList(at, inner, POD);
          break;
      }
    }
  }

  /** Scans the pods, or the containers of a pod, from behind the bracket. `base`: POD or CONTAINER. */
  #scanList(from: number, place: Place, base: number): number {
    const rows = this.#rows;
    rows.beginList(base);
    let at = this.#skipSpace(from);
    if (this.#bytes[at] === LIST_END) return at + 1;
    while (true) {
      if (this.#bytes[at] !== RECORD) throw GIVE_UP;
      rows.beginEntry(base);
      at = this.#skipSpace(this.#scanRecord(at + 1, place, base));
      rows.endEntry(base);
      if (this.#bytes[at] === LIST_END) return at + 1;
      if (this.#bytes[at] !== COMMA) throw GIVE_UP;
      at = this.#skipSpace(at + 1);
    }
  }

  /** Scans the text up to the next value, or the end of the object, and keeps it as what comes after `piece`. */
  #learn(from: number, place: Place, piece: Piece): Piece {
    if (++this.#learned > MAX_LEARNED) throw GIVE_UP;
    this.#cursor.at = from;
    const field = scanKey(this.#cursor, place, piece === place.start);
    const length = this.#cursor.at - from;
    if (length > MAX_PIECE_BYTES) return { ...newPiece(NO_BYTES, field), length };
    const next = newPiece(this.#bytes.subarray(from, this.#cursor.at), field);
    piece.other = piece.next;
    piece.next = next;
    this.#pieces++;
    return next;
  }

  #forgetPieces(): void {
    this.#summary = newSummaryPlace();
    this.#pieces = 0;
  }

  /** Scans a number and puts it at `to`. `parseNumber` parses the rare forms. */
  #scanNumber(from: number, to: number): number {
    const bytes = this.#bytes;
    let at = from;
    // Up to nine digits are a small integer, which is faster to add to; up to 15 are exact.
    let number = 0;
    let digit = (bytes[at] ?? END) - ZERO;
    for (const end = from + 9; digit >= 0 && digit <= 9 && at < end; digit = (bytes[++at] ?? END) - ZERO) {
      number = 10 * number + digit;
    }
    if (digit >= 0 && digit <= 9) {
      const middle = at;
      let rest = 0;
      for (const end = from + 15; digit >= 0 && digit <= 9 && at < end; digit = (bytes[++at] ?? END) - ZERO) {
        rest = 10 * rest + digit;
      }
      number = number * (POWERS_OF_TEN[at - middle] ?? NaN) + rest;
    }
    const point = at;
    if (digit === POINT - ZERO && point <= from + 9) {
      let decimals = 0;
      digit = (bytes[++at] ?? END) - ZERO;
      for (const end = point + 7; digit >= 0 && digit <= 9 && at < end; digit = (bytes[++at] ?? END) - ZERO) {
        decimals = 10 * decimals + digit;
      }
      // One division rounds once, as `Number` does.
      const power = POWERS_OF_TEN[at - point - 1] ?? NaN;
      number = (number * power + decimals) / power;
    }
    const isEnd = digit === COMMA - ZERO || digit === RECORD_END - ZERO || digit === NEW_LINE - ZERO;
    const isShort = isEnd && point > from && at !== point + 1 && (bytes[from] !== ZERO || point === from + 1);
    if (!isShort) return this.#scanRareNumber(from, to);
    this.#values[to] = number;
    return at;
  }

  #scanRareNumber(from: number, to: number): number {
    const first = this.#bytes[from] ?? END;
    if (first !== MINUS && (first < ZERO || first > NINE)) throw GIVE_UP;
    this.#cursor.at = from;
    this.#values[to] = parseNumber(this.#cursor);
    return this.#cursor.at;
  }

  /** Scans a time from behind its quote, and puts there its ms and where its text is. */
  #scanTime(from: number, to: number): number {
    const values = this.#values;
    const end = from + TIME_BYTES;
    if (this.#bytes[end] === QUOTE) {
      const ms = this.#isNewestTime(from) ? this.#timeMs : this.#parseTime(from);
      if (ms > 0) {
        values[to] = ms;
        values[to + 1] = from;
        values[to + 2] = end;
        return end + 1;
      }
    }
    const after = this.#scanText(from, to + 1);
    const text = after - 1 - from <= MAX_NAME_LENGTH ? this.#decode(from, after - 1) : "";
    values[to] = toTime(text) ?? NaN;
    return after;
  }

  #isNewestTime(at: number): boolean {
    const view = this.#view;
    const time = this.#time;
    for (let index = 0; index < time.length; index++) {
      if (view.getInt32(at + 4 * index, true) !== time[index]) return false;
    }
    return true;
  }

  /** `2026-11-20T11:58:35Z`, as Go writes a time in UTC. NaN for another form. */
  #parseTime(at: number): number {
    const bytes = this.#bytes;
    const isTime = bytes[at + 10] === LETTER_T && bytes[at + 13] === COLON && bytes[at + 16] === COLON &&
      bytes[at + 19] === LETTER_Z;
    if (!isTime) return NaN;
    if (!isTextAt(bytes, this.#day, { start: at, end: at + DAY_BYTES })) {
      this.#day = this.#decode(at, at + DAY_BYTES);
      this.#dayMs = /^\d{4}-\d\d-\d\d$/.test(this.#day) ? Date.parse(`${this.#day}T00:00:00Z`) : NaN;
    }
    const hours = parseTwoDigits(bytes, at + 11);
    const minutes = parseTwoDigits(bytes, at + 14);
    const seconds = parseTwoDigits(bytes, at + 17);
    if (!(hours < 24 && minutes < 60 && seconds < 60) || !(this.#dayMs > 0)) return NaN;
    for (let index = 0; index < this.#time.length; index++) {
      this.#time[index] = this.#view.getInt32(at + 4 * index, true);
    }
    return this.#timeMs = this.#dayMs + ((hours * 60 + minutes) * 60 + seconds) * 1000;
  }

  /** Scans a text from behind its quote, and puts there where it is. */
  #scanText(from: number, to: number): number {
    const bytes = this.#bytes;
    let at = from;
    for (let byte = bytes[at] ?? END; byte !== QUOTE; byte = bytes[++at] ?? END) {
      if (byte === BACKSLASH || byte < SPACE || byte > LAST_ASCII) throw GIVE_UP;
    }
    this.#values[to] = from;
    this.#values[to + 1] = at;
    return at + 1;
  }

  /** Skips a value of any kind. */
  #skip(from: number): number {
    const bytes = this.#bytes;
    let at = from;
    let byte = bytes[at] ?? END;
    if (byte === QUOTE) {
      // The times of a container are mostly the same.
      if (bytes[from + 1 + TIME_BYTES] === QUOTE && this.#isNewestTime(from + 1)) return from + 2 + TIME_BYTES;
    } else {
      while (byte >= ZERO && byte <= NINE) byte = bytes[++at] ?? END;
      if (at > from && (byte === COMMA || byte === RECORD_END || byte === NEW_LINE)) return at;
    }
    this.#cursor.at = from;
    skipValue(this.#cursor);
    return this.#cursor.at;
  }

  /** Skips an object from behind its bracket. That of another container is mostly the same. */
  #skipObject(from: number, { start }: Place): number {
    if (start.next !== null && isTextAgain(start.next, this.#view, from)) return from + start.next.length;
    const end = this.#skipRest(from);
    if (end - from <= MAX_PIECE_BYTES && this.#remembered < MAX_REMEMBERED) {
      this.#remembered++;
      start.next = newPiece(this.#bytes.subarray(from, end), END_FIELD);
    }
    return end;
  }

  /** Skips the rest of an object. */
  #skipRest(from: number): number {
    this.#cursor.at = from;
    skipToEnd(this.#cursor, 1);
    return this.#cursor.at;
  }

  #skipSpace(from: number): number {
    const bytes = this.#bytes;
    let at = from;
    for (let byte = bytes[at] ?? END; byte === SPACE || byte === NEW_LINE; byte = bytes[++at] ?? END);
    if ((bytes[at] ?? END) > SPACE) return at;
    this.#cursor.at = at;
    skipSpace(this.#cursor);
    return this.#cursor.at;
  }

  #decode(start: number, end: number): string {
    return UTF8.decode(this.#bytes.subarray(start, end));
  }
}

/**
 * The text between two values: a comma, the key, and the start of its value, such as its quote; or the end of the
 * object. It leads to what came after it before.
 */
interface Piece extends RememberedText {
  readonly field: Field;
  next: Piece | null;
  /** The one before `next`: some containers lack a field. */
  other: Piece | null;
}

/** What is done with a value. */
type Field =
  & FieldPart
  & (
    | {
      readonly kind: typeof SKIPPED | typeof NUMBER | typeof TIME | typeof TEXT | typeof EMPTY | typeof ENDED;
      readonly inner: null;
    }
    /** `inner`: the object, or each of the list. */
    | {
      readonly kind: typeof INNER | typeof UNREAD_OBJECT | typeof POD_REF | typeof CONTAINERS | typeof PODS;
      readonly inner: Place;
    }
  );

interface FieldPart {
  readonly name: Uint8Array;
  /** A field that comes twice in its object is unexpected. */
  readonly bit: number;
  /** Where its value is put, from the base of its object. */
  readonly column: number;
  /** The byte that its value starts with. */
  readonly opens: number;
}

/** A kind of object at one depth, as its text differs by depth. */
interface Place {
  readonly fields: readonly Field[];
  /** Comes before the first field. */
  readonly start: Piece;
}

const SKIPPED = 0;
const NUMBER = 1;
const TIME = 2;
const TEXT = 3;
const INNER = 4;
const ENDED = 5;
const POD_REF = 6;
const CONTAINERS = 7;
const PODS = 8;
/** A list that is null: its text is already scanned. */
const EMPTY = 9;
/** An object of which nothing is read, and whose text is mostly the same. */
const UNREAD_OBJECT = 10;

const END = -1;
const NEW_LINE = 0x0a;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const LETTER_T = 0x54;
const LETTER_Z = 0x5a;
const LIST = 0x5b;
const BACKSLASH = 0x5c;
const LIST_END = 0x5d;
const RECORD = 0x7b;
const RECORD_END = 0x7d;
const LAST_ASCII = 0x7f;
const ANY_BYTE = -2;

/** `2026-11-20T11:58:35Z` */
const TIME_BYTES = 20;
const DAY_BYTES = 10;

const POWERS_OF_TEN = [1, 10, 100, 1e3, 1e4, 1e5, 1e6];

/** Longer text between values is spaces. */
const MAX_PIECE_BYTES = 512;

/** Objects of which nothing is read, in one body. */
const MAX_REMEMBERED = 8;

/** A kubelet's body has some hundred pieces, which are learned once. One that always has new ones is not worth it. */
const MAX_LEARNED = 1000;

/** Of all kubelets together; then they are learned again. */
const MAX_PIECES = 10_000;

const UTF8_ENCODER = new TextEncoder();

const NO_BYTES = new Uint8Array();
const NO_VIEW = new DataView(NO_BYTES.buffer);

function newCursor(bytes: Uint8Array): Cursor {
  return { bytes, at: 0, omitted: 0, texts: [] };
}

/** Returns a number above 99 for what is not two digits. */
function parseTwoDigits(bytes: Uint8Array, at: number): number {
  const tens = (bytes[at] ?? END) - ZERO;
  const ones = (bytes[at + 1] ?? END) - ZERO;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? 10 * tens + ones : 100;
}

function newPiece(bytes: Uint8Array, field: Field): Piece {
  return { ...rememberText(bytes), field, next: null, other: null };
}

/** Scans the text from the end of a value to the start of the next one, and returns the field of that. */
function scanKey(cursor: Cursor, place: Place, isFirst: boolean): Field {
  let byte = skipSpace(cursor);
  if (byte === RECORD_END) {
    cursor.at++;
    return END_FIELD;
  }
  if (!isFirst) {
    if (byte !== COMMA) throw GIVE_UP;
    cursor.at++;
    byte = skipSpace(cursor);
  }
  if (byte !== QUOTE) throw GIVE_UP;
  const start = cursor.at + 1;
  const isEscaped = skipText(cursor);
  // It may be the key of a field that is read.
  if (isEscaped && place.fields.length > 0) throw GIVE_UP;
  const field = findField(place, cursor.bytes, { start, end: cursor.at - 1 });
  if (skipSpace(cursor) !== COLON) throw GIVE_UP;
  cursor.at++;
  byte = skipSpace(cursor);
  if (byte === field.opens) cursor.at++;
  // Go writes an empty list as null.
  else if (field.opens === LIST && parseWord(cursor) === null) return newField(EMPTY, field.bit);
  else if (field.opens !== ANY_BYTE) throw GIVE_UP;
  return field;
}

function findField(
  { fields }: Place,
  bytes: Uint8Array,
  { start, end }: { readonly start: number; readonly end: number },
): Field {
  for (const field of fields) if (field.name.length === end - start && isAt(bytes, start, field.name)) return field;
  return OTHER_FIELD;
}

/** A field that may be in any object. */
function newField(kind: typeof SKIPPED | typeof ENDED | typeof EMPTY, bit = 0): Field {
  return { name: NO_BYTES, bit, column: COLUMN.unread, opens: ANY_BYTE, kind, inner: null };
}

const END_FIELD = newField(ENDED);
const OTHER_FIELD = newField(SKIPPED);

function newPlace(makers: Readonly<Record<string, MakeField>>): Place {
  const fields = Object.entries(makers).map(([name, make], index) => make(UTF8_ENCODER.encode(name), 1 << index));
  return { fields, start: newPiece(NO_BYTES, END_FIELD) };
}

type MakeField = (name: Uint8Array, bit: number) => Field;

function number(column: number): MakeField {
  return (name, bit) => ({ name, bit, column, opens: ANY_BYTE, kind: NUMBER, inner: null });
}

function time(column: number): MakeField {
  return (name, bit) => ({ name, bit, column, opens: QUOTE, kind: TIME, inner: null });
}

function text(column: number): MakeField {
  return (name, bit) => ({ name, bit, column, opens: QUOTE, kind: TEXT, inner: null });
}

function record(
  inner: Place,
  column: number = COLUMN.unread,
  kind: typeof INNER | typeof UNREAD_OBJECT | typeof POD_REF = INNER,
): MakeField {
  return (name, bit) => ({ name, bit, column, opens: RECORD, kind, inner });
}

function list(inner: Place, kind: typeof CONTAINERS | typeof PODS): MakeField {
  return (name, bit) => ({ name, bit, column: COLUMN.unread, opens: LIST, kind, inner });
}

function unread(): MakeField {
  return record(newPlace({}), COLUMN.unread, UNREAD_OBJECT);
}

function newCpu(): MakeField {
  const full = newPlace({ total: number(COLUMN.full), avg10: number(COLUMN.avg10), avg60: number(COLUMN.avg60) });
  const psi = newPlace({
    full: record(full, COLUMN.hasFull),
    some: record(newPlace({ total: number(COLUMN.some) }), COLUMN.hasSome),
  });
  return record(
    newPlace({ time: time(COLUMN.at), usageCoreNanoSeconds: number(COLUMN.counter), psi: record(psi) }),
    COLUMN.hasCpu,
  );
}

/** `psi`: what is read of it. */
function newMemory(psi: MakeField): MakeField {
  return record(
    newPlace({ usageBytes: number(COLUMN.usage), workingSetBytes: number(COLUMN.workingSet), psi }),
    COLUMN.hasMemory,
  );
}

/** The fields that are read: the same as those of `parseSummary`. */
function newSummaryPlace(): Place {
  const container = newPlace({
    name: text(COLUMN.name),
    startTime: time(COLUMN.started),
    cpu: newCpu(),
    memory: newMemory(record(newPlace({ full: record(newPlace({ avg10: number(COLUMN.memoryStall) })) }))),
    swap: record(newPlace({})),
  });
  const pod = newPlace({
    podRef: record(newPlace({ uid: text(COLUMN.name) }), COLUMN.unread, POD_REF),
    startTime: time(COLUMN.started),
    containers: list(container, CONTAINERS),
    cpu: newCpu(),
    memory: newMemory(unread()),
    swap: record(newPlace({})),
  });
  const node = newPlace({ nodeName: text(COLUMN.name), cpu: record(newPlace({ time: time(COLUMN.at) })) });
  return newPlace({ node: record(node), pods: list(pod, PODS) });
}
