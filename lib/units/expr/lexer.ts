/** Cuts a formula into tokens, as expr 1.17.8 does (parser/lexer). Strings are refused here already: a formula computes with numbers (R62). */
import { quote } from "../untrusted.ts";
import { FormulaError } from "./formula_error.ts";

export interface Token {
  readonly kind: "operator" | "bracket" | "number" | "identifier" | "end";
  readonly text: string;
  /** Where it begins. */
  readonly at: number;
}

/** Throws FormulaError at a character that begins no token. */
export function tokenize(source: string): readonly Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < source.length) {
    const skipped = skipBlank(source, at);
    if (skipped > at) {
      at = skipped;
      continue;
    }
    const token = readToken(source, at);
    // What follows # at once is its name, whatever it looks like: #acc.
    const name = token.text === "#" ? readWord(source, at + 1) : "";
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
/** Words that are operators wherever they stand. */
const WORDS: ReadonlySet<string> = new Set([
  ...["in", "or", "and", "not", "let", "if", "else"],
  ...["matches", "contains", "startsWith", "endsWith"],
]);
/** A second character that the first one takes with it, whether or not there is such an operator. */
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

function readToken(source: string, at: number): Token {
  const character = String.fromCodePoint(source.codePointAt(at) ?? 0);
  if (/[0-9]/.test(character)) return { kind: "number", text: readNumber(source, at), at };
  if (character === "." && /[0-9]/.test(source[at + 1] ?? "")) {
    return { kind: "number", text: readNumber(source, at), at };
  }
  if (/['"`]/.test(character) || (/[bB]/.test(character) && /['"]/.test(source[at + 1] ?? ""))) {
    throw new FormulaError("strings are not supported: a formula computes with numbers");
  }
  if (LETTER.test(character) || /\p{Nd}/u.test(character)) {
    const text = readWord(source, at);
    return { kind: WORDS.has(text) ? "operator" : "identifier", text, at };
  }
  if ("()[]{}".includes(character)) return { kind: "bracket", text: character, at };
  const second = source[at + 1] ?? "";
  if (second !== "" && SECONDS[character]?.includes(second)) return { kind: "operator", text: character + second, at };
  if ("|:?.#,;%+-^/&!=*<>".includes(character)) return { kind: "operator", text: character, at };
  throw new FormulaError(`${quote(character)} is no part of the language: remove it`);
}

/** A word, which may be empty. */
function readWord(source: string, at: number): string {
  WORD.lastIndex = at;
  return WORD.exec(source)?.[0] ?? "";
}

/** As Lexer.scanNumber: what looks like a number. Whether it is one is seen when it is parsed. */
function readNumber(source: string, at: number): string {
  const digits = /^0[xX]/.test(source.slice(at, at + 2))
    ? "0-9a-fA-F_"
    : /^0[oO]/.test(source.slice(at, at + 2))
    ? "0-7_"
    : /^0[bB]/.test(source.slice(at, at + 2))
    ? "01_"
    : "0-9_";
  // 1..3 is a range and not the number 1. with something behind it.
  const range = new RegExp(`(?:0[xXoObB])?[${digits}]*(?=\\.\\.)`, "y");
  const full = new RegExp(`(?:0[xXoObB])?[${digits}]*(?:\\.[${digits}]*)?(?:[eE][+-]?[${digits}]*)?`, "y");
  range.lastIndex = full.lastIndex = at;
  const text = range.exec(source)?.[0] ?? full.exec(source)?.[0] ?? "";
  if (readWord(source, at + text.length) !== "") {
    throw new FormulaError(`${quote(text + readWord(source, at + text.length))} is no number`);
  }
  return text;
}
