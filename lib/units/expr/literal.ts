/** Numbers as a formula writes them: `3`, `1_000`, `0x10`, `0b11`, `0o17`, `2.5`, `1e3`. */
import { quote } from "../untrusted.ts";
import { FormulaError } from "./formula_error.ts";

/** An integer or a float. Throws FormulaError for what is neither, and for what is too large. */
export function parseLiteral(text: string): bigint | number {
  const plain = text.replaceAll("_", "").toLowerCase();
  const isInteger = /^(?:0x[0-9a-f]+|0b[01]+|0o[0-7]+|[0-9]+)$/.test(plain);
  if (isInteger) return parseInteger(plain, text);
  const value = FLOAT.test(plain) ? Number(plain) : NaN;
  if (!Number.isFinite(value)) throw new FormulaError(`${quote(text)} is no number`);
  return value;
}

const FLOAT = /^(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?$/;
const MAX_INTEGER = 2n ** 63n - 1n;

function parseInteger(plain: string, text: string): bigint {
  const value = BigInt(plain);
  if (value > MAX_INTEGER) throw new FormulaError(`integer ${quote(text)} is too large: write it as a float`);
  return value;
}
