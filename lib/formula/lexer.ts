/**
 * Splits the text of a formula into tokens, as expr's lexer does.
 *
 * Strings are refused here already: a formula computes with numbers.
 */
import { parseGoFloat } from "../units/numbers.ts";
import { quote } from "../units/untrusted.ts";
import { FormulaError } from "./syntax.ts";

interface Token {
  readonly kind: "operator" | "bracket" | "number" | "identifier" | "end";
  readonly text: string;
  /** Its position in the text. */
  readonly at: number;
}

/** Splits the text into tokens. Throws FormulaError at a character that starts no token. Clauses: R62. */
export function tokenize(source: string): readonly Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < source.length) {
    const skipped = skipBlank(source, at);
    if (skipped > at) {
      at = skipped;
      continue;
    }
    const token = scanToken(source, at);
    // The text directly after # is its name, for example #acc.
    const name = token.text === "#" ? scanWord(source, at + 1) : "";
    tokens.push(token);
    at += token.text.length;
    if (name !== "") tokens.push({ kind: "identifier", text: name, at });
    at += name.length;
  }
  tokens.push({ kind: "end", text: "", at: source.length });
  return tokens;
}

const LETTER = /[\p{L}_$]/u;

const WORD = /[\p{L}\p{Nd}_$]+/uy;

/** Go's unicode.IsSpace. */
const BLANK = /[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/y;

/** Words that are always operators. */
const WORDS: ReadonlySet<string> = new Set([
  ...["in", "or", "and", "not", "let", "if", "else"],
  ...["matches", "contains", "startsWith", "endsWith"],
]);

/** A second character that belongs to the first one, whether or not such an operator exists. */
const SECONDS: Readonly<Record<string, string>> = {
  "|": "|",
  ":": ":",
  "?": ".?",
  ".": ".",
  "#": "#",
  ...Object.fromEntries([..."&!=*<>"].map((first) => [first, "&=*"])),
};

function skipBlank(source: string, at: number): number {
  BLANK.lastIndex = at;
  if (BLANK.test(source)) return BLANK.lastIndex;
  if (source.startsWith("//", at)) {
    const end = source.indexOf("\n", at);
    return end < 0 ? source.length : end + 1;
  }
  if (!source.startsWith("/*", at)) return at;
  const end = source.indexOf("*/", at + 2);
  if (end < 0) throw new FormulaError("a comment is not closed: end it with */");
  return end + 2;
}

function scanToken(source: string, at: number): Token {
  const character = String.fromCodePoint(source.codePointAt(at) ?? 0);
  if (/[0-9]/.test(character)) return { kind: "number", text: scanNumber(source, at), at };
  if (character === "." && /[0-9]/.test(source[at + 1] ?? "")) {
    return { kind: "number", text: scanNumber(source, at), at };
  }
  if (/['"`]/.test(character) || (/[bB]/.test(character) && /['"]/.test(source[at + 1] ?? ""))) {
    throw new FormulaError("strings are not supported: a formula computes with numbers");
  }
  if (LETTER.test(character) || /\p{Nd}/u.test(character)) {
    const text = scanWord(source, at);
    return { kind: WORDS.has(text) ? "operator" : "identifier", text, at };
  }
  if ("()[]{}".includes(character)) return { kind: "bracket", text: character, at };
  const second = source[at + 1] ?? "";
  if (second !== "" && SECONDS[character]?.includes(second)) return { kind: "operator", text: character + second, at };
  if ("|:?.#,;%+-^/&!=*<>".includes(character)) return { kind: "operator", text: character, at };
  throw new FormulaError(`${quote(character)} is not part of the language: remove it`);
}

/** Returns a word, which may be empty. */
function scanWord(source: string, at: number): string {
  WORD.lastIndex = at;
  return WORD.exec(source)?.[0] ?? "";
}

/** Takes a text that looks like a number, as Lexer.scanNumber does. The parser checks it. */
function scanNumber(source: string, at: number): string {
  const digits = /^0[xX]/.test(source.slice(at, at + 2))
    ? "0-9a-fA-F_"
    : /^0[oO]/.test(source.slice(at, at + 2))
    ? "0-7_"
    : /^0[bB]/.test(source.slice(at, at + 2))
    ? "01_"
    : "0-9_";
  // 1..3 is a range, and not the number 1. followed by something.
  const range = new RegExp(`(?:0[xXoObB])?[${digits}]*(?=\\.\\.)`, "y");
  const full = new RegExp(`(?:0[xXoObB])?[${digits}]*(?:\\.[${digits}]*)?(?:[eE][+-]?[${digits}]*)?`, "y");
  range.lastIndex = full.lastIndex = at;
  const text = range.exec(source)?.[0] ?? full.exec(source)?.[0] ?? "";
  if (scanWord(source, at + text.length) !== "") {
    throw new FormulaError(`${quote(text + scanWord(source, at + text.length))} is not a number`);
  }
  return text;
}

/** Returns an integer or a float. Throws FormulaError for any other text, and for a number that is too large. */
export function parseLiteral(text: string): bigint | number {
  const plain = text.replaceAll("_", "").toLowerCase();
  const isInteger = /^(?:0x[0-9a-f]+|0b[01]+|0o[0-7]+|[0-9]+)$/.test(plain);
  if (isInteger) return parseInteger(plain, text);
  const value = parseGoFloat(plain);
  if (value === null) throw new FormulaError(`${quote(text)} is not a number`);
  return value;
}

const MAX_INTEGER = 2n ** 63n - 1n;

function parseInteger(plain: string, text: string): bigint {
  const value = BigInt(plain);
  if (value > MAX_INTEGER) throw new FormulaError(`integer ${quote(text)} is too large: write it as a float`);
  return value;
}

export interface Tokens {
  readonly current: () => Token;
  /** The token after the current one. */
  readonly peek: () => Token;
  readonly is: (kind: Token["kind"], text?: string) => boolean;
  /** Moves to the next token; at the end it stays there. */
  readonly next: () => void;
  /** Moves past a token that must be here. */
  readonly expect: (kind: Token["kind"], text: string) => void;
  /** Moves past a name, and returns it. */
  readonly expectIdentifier: () => string;
  /** Throws FormulaError for a token that is not allowed here, by default the current one. */
  readonly fail: (token?: Token) => never;
}

interface TokensOptions {
  /** Where the user's text begins in the source, and its length: messages leave out what KEDA writes around it. */
  readonly begin: number;
  readonly length: number;
}

/** The list ends with an `end` token. */
export function createTokens(list: readonly Token[], { begin, length }: TokensOptions): Tokens {
  const last: Token = list.at(-1) ?? { kind: "end", text: "", at: 0 };
  let index = 0;
  const current = () => list[index] ?? last;
  const is = (kind: Token["kind"], text?: string) =>
    current().kind === kind && (text === undefined || current().text === text);
  const next = () => {
    index++;
  };
  const fail = ({ text, at } = current()): never => {
    if (at >= begin + length) throw new FormulaError("unexpected end of the formula: are its brackets in pairs?");
    throw new FormulaError(`unexpected ${quote(text)} at character ${at - begin + 1}`);
  };
  const expect = (kind: Token["kind"], text: string) => is(kind, text) ? next() : fail();
  const expectIdentifier = () => {
    const { text } = current();
    if (!is("identifier")) fail();
    next();
    return text;
  };
  return { current, peek: () => list[index + 1] ?? last, is, next, expect, expectIdentifier, fail };
}
