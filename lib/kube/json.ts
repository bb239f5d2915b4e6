/**
 * How is a large JSON text parsed without a long block of the event loop? In pieces: JSON.parse gets at most 64 KiB at a
 * time, and the work between two pieces can wait for a turn of the event loop.
 *
 * The API server accepts objects of 1.5 MiB, and each author of one decides when podfit parses it. So the bound acts
 * before the parse. The result is complete, so that no object is lost and none looks smaller than it is.
 */
import type { LoopSlice } from "../runtime/event_loop.ts";

/**
 * Returns what JSON.parse returns, but `null` for a large value within more than 32 others: an author of one object could
 * otherwise make a list unreadable. Rejects with a SyntaxError.
 */
export async function parseJson(text: string, slice: Pick<LoopSlice, "run">): Promise<unknown> {
  if (isSmallJson(text)) return await slice.run((): unknown => JSON.parse(text));
  const parser = new PieceParser(text, slice);
  const { value, end } = await parser.parse(0, 0);
  if (skipSpace(text, end) < text.length) throw unexpected(text, end);
  return value;
}

/** Returns whether the text is parsed in one piece. */
export function isSmallJson(text: string): boolean {
  return text.length <= MAX_PIECE;
}

/** UTF-16 code units in a piece. Most objects are smaller, and pieces of this size take about a millisecond. */
const MAX_PIECE = 64 * 1024;

/** Of `\u0000`, the longest escape of a string. */
const ESCAPE_LENGTH = 6;

/** Of large values in each other. In the objects of the API there are at most seven. */
const MAX_DEPTH = 32;

interface Parsed {
  readonly value: unknown;
  /** The index after the value. */
  readonly end: number;
}

class PieceParser {
  readonly #text: string;
  readonly #slice: Pick<LoopSlice, "run">;

  constructor(text: string, slice: Pick<LoopSlice, "run">) {
    this.#text = text;
    this.#slice = slice;
  }

  /** `at`: where the value begins, or space before it. */
  async parse(at: number, depth: number): Promise<Parsed> {
    const start = skipSpace(this.#text, at);
    const end = await this.#slice.run(() => findEnd(this.#text, start));
    if (end !== null) return { value: await this.#parsePiece(start, end), end };
    const first = this.#text[start];
    if (first === '"') return await this.#parseString(start);
    if (depth > MAX_DEPTH) return await this.#skip(start);
    if (first === "[") return await this.#parseArray(start, depth);
    if (first === "{") return await this.#parseObject(start, depth);
    throw unexpected(this.#text, start);
  }

  async #parseArray(start: number, depth: number): Promise<Parsed> {
    const all: unknown[] = [];
    const end = await this.#parseMembers(start, {
      close: "]",
      readKey: (at) => Promise.resolve({ value: null, end: at }),
      addSmall(text) {
        for (const one of JSON.parse(`[${text}]`)) all.push(one);
      },
      addLarge: (_, value) => void all.push(value),
    }, depth);
    return { value: all, end };
  }

  async #parseObject(start: number, depth: number): Promise<Parsed> {
    const all: [string, unknown][] = [];
    const end = await this.#parseMembers(start, {
      close: "}",
      readKey: async (at) => {
        const key = await this.parse(at, depth + 1);
        const colon = skipSpace(this.#text, key.end);
        if (typeof key.value !== "string" || this.#text[colon] !== ":") throw unexpected(this.#text, colon);
        return { value: key.value, end: colon + 1 };
      },
      addSmall(text) {
        for (const one of Object.entries(JSON.parse(`{${text}}`))) all.push(one);
      },
      addLarge: (key, value) => void all.push([String(key), value]),
    }, depth);
    // Unlike an assignment, this makes an own property of each key, as JSON.parse does.
    return { value: await this.#slice.run(() => Object.fromEntries(all)), end };
  }

  /** Parses runs of small members together, and each large one by itself. Returns the index after the value. */
  async #parseMembers(start: number, { close, readKey, addSmall, addLarge }: Members, depth: number): Promise<number> {
    const text = this.#text;
    const first = skipSpace(text, start + 1);
    if (text[first] === close) return first + 1;
    for (let at = first;;) {
      const end = await this.#slice.run(() => findRun(text, at, close));
      if (end === at) throw unexpected(text, at);
      if (end !== null) {
        await this.#slice.run(() => addSmall(text.slice(at, end)));
        at = end;
      } else {
        const key = await readKey(at);
        const member = await this.parse(key.end, depth + 1);
        addLarge(key.value, member.value);
        at = skipSpace(text, member.end);
      }
      if (text[at] === close) return at + 1;
      if (text[at] !== ",") throw unexpected(text, at);
      at = skipSpace(text, at + 1);
    }
  }

  async #skip(start: number): Promise<Parsed> {
    const skipped = { at: start, depth: 0, isInString: false };
    while (!await this.#slice.run(() => skipPiece(this.#text, skipped)));
    return { value: null, end: skipped.at };
  }

  async #parseString(start: number): Promise<Parsed> {
    const parts: string[] = [];
    for (let at = start + 1;;) {
      const { end, isLast } = await this.#slice.run(() => findStringPiece(this.#text, at));
      parts.push(await this.#slice.run(() => JSON.parse(`"${this.#text.slice(at, end)}"`)));
      at = end;
      if (isLast) return { value: parts.join(""), end: end + 1 };
    }
  }

  #parsePiece(start: number, end: number): Promise<unknown> {
    return this.#slice.run(() => JSON.parse(this.#text.slice(start, end)));
  }
}

/** How the members of an array or object are parsed. The key of a member of an array is `null`. */
interface Members {
  readonly close: "]" | "}";
  readonly readKey: (at: number) => Promise<Parsed>;
  readonly addSmall: (text: string) => void;
  readonly addLarge: (key: unknown, value: unknown) => void;
}

const [TAB, SPACE, QUOTE, COMMA, BACKSLASH, LOWER_U] = [9, 32, 34, 44, 92, 117];

const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [91, 93, 123, 125];

function skipSpace(text: string, from: number): number {
  let at = from;
  for (let code = text.charCodeAt(at); code === SPACE || (code >= TAB && code <= 13); code = text.charCodeAt(++at));
  return at;
}

/**
 * Returns the index after the value or member that begins here: of a `,` or of the end of what contains it. `null` =
 * it has more than MAX_PIECE. JSON.parse finds what is wrong within it.
 */
function findEnd(text: string, start: number): number | null {
  let depth = 0;
  const limit = Math.min(text.length, start + MAX_PIECE);
  for (let at = start; at < limit; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = findQuote(text, at + 1, limit);
      // A key of an object or a string alone also ends here.
      if (depth === 0) return at < limit ? at + 1 : null;
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++;
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      if (depth === 0) return at;
      if (--depth === 0) return at + 1;
    } else if (code === COMMA && depth === 0) return at;
  }
  return limit === text.length && limit > start ? limit : null;
}

/** Returns the end of as many members as fit into a piece; `null` if not even the first one does. */
function findRun(text: string, start: number, close: string): number | null {
  let end: number | null = null;
  let depth = 0;
  const limit = Math.min(text.length, start + MAX_PIECE);
  const closing = close.charCodeAt(0);
  for (let at = start; at < limit; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = findQuote(text, at + 1, limit);
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++;
    else if (depth === 0 && code === closing) return at;
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth--;
    else if (code === COMMA && depth === 0) end = at;
  }
  return end;
}

/** How far a value is skipped. */
interface Skipped {
  at: number;
  depth: number;
  isInString: boolean;
}

/** Skips a piece of an array or object, and returns whether that was its end. */
function skipPiece(text: string, skipped: Skipped): boolean {
  const limit = Math.min(text.length, skipped.at + MAX_PIECE);
  while (skipped.at < limit) {
    const code = text.charCodeAt(skipped.at++);
    if (skipped.isInString) {
      if (code === BACKSLASH) skipped.at++;
      else if (code === QUOTE) skipped.isInString = false;
    } else if (code === QUOTE) skipped.isInString = true;
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) skipped.depth++;
    else if ((code === CLOSE_BRACE || code === CLOSE_BRACKET) && --skipped.depth === 0) return true;
  }
  if (skipped.at >= text.length) throw unexpected(text, text.length);
  return false;
}

/** Returns the index of the quote that ends the string; `limit` if it is not before that. */
function findQuote(text: string, start: number, limit: number): number {
  for (let at = start; at < limit; at++) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH) at++;
    else if (code === QUOTE) return at;
  }
  return limit;
}

/** Returns the end of the part of a string that fits into a piece. No escape is cut. */
function findStringPiece(text: string, start: number): { readonly end: number; readonly isLast: boolean } {
  const limit = start + MAX_PIECE - ESCAPE_LENGTH;
  let at = start;
  while (at < limit) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return { end: at, isLast: true };
    if (Number.isNaN(code)) throw new SyntaxError("Unterminated string");
    at += code !== BACKSLASH ? 1 : text.charCodeAt(at + 1) === LOWER_U ? ESCAPE_LENGTH : 2;
  }
  return { end: at, isLast: false };
}

function unexpected(text: string, at: number): SyntaxError {
  return new SyntaxError(at < text.length ? `Unexpected "${text[at]}" at ${at}` : "Unexpected end of the text");
}
