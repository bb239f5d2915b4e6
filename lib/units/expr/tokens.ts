/** A formula's tokens, read from the first to the last. */
import { quote } from "../untrusted.ts";
import { FormulaError } from "./formula_error.ts";
import type { Token } from "./lexer.ts";

export interface Tokens {
  readonly current: () => Token;
  /** The one after the current one. */
  readonly peek: () => Token;
  readonly is: (kind: Token["kind"], text?: string) => boolean;
  /** At the end it stays there. */
  readonly next: () => void;
  /** Goes on behind a token that must stand here. */
  readonly expect: (kind: Token["kind"], text: string) => void;
  /** Goes on behind a name, and gives it. */
  readonly expectIdentifier: () => string;
  /** Throws FormulaError for a token, by default the current one, which may not stand where it does. */
  readonly fail: (token?: Token) => never;
}

export interface TokensOptions {
  /** Where in the source the user's text begins, and how long it is: what KEDA writes around it is not told. */
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
