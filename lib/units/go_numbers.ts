/**
 * Numbers and booleans in texts as Go's strconv and encoding/json read them, which KEDA uses (R15). They are stricter than Number() in some points and laxer in others.
 * https://pkg.go.dev/strconv
 */

/**
 * strconv.ParseFloat(text, 64): also `.5`, `+5`, `inf`, `NaN`. `null` for other texts, for numbers beyond a double, and (this
 * is stricter than Go) for hexadecimal ones and underscores.
 */
export function parseGoFloat(text: string): number | null {
  if (DECIMAL.test(text)) return toFinite(Number(text));
  const [, sign, word] = /^([+-]?)(inf|infinity|nan)$/i.exec(text) ?? [];
  if (word === undefined) return null;
  if (word.toLowerCase() === "nan") return sign === "" ? NaN : null;
  return sign === "-" ? -Infinity : Infinity;
}

/** strconv.ParseInt(text, 10, bits): also `+5` and `007`. `null` for other texts, and beyond the range. */
export function parseGoInteger(text: string, bits: 32 | 64): bigint | null {
  if (!/^[+-]?[0-9]+$/.test(text) || text.length > MAX_LENGTH) return null;
  const value = BigInt(text.startsWith("+") ? text.slice(1) : text);
  const limit = 2n ** BigInt(bits - 1);
  return value >= -limit && value < limit ? value : null;
}

/** strconv.ParseBool; `null` for other texts. */
export function parseGoBoolean(text: string): boolean | null {
  if (TRUE.includes(text)) return true;
  return FALSE.includes(text) ? false : null;
}

/** A JSON number as a double: no `+5`, `.5`, `5.`, `0x10`, `NaN`. `null` for other texts, and for numbers beyond a double. */
export function parseJsonNumber(text: string): number | null {
  return JSON_NUMBER.test(text) ? toFinite(Number(text)) : null;
}

/** A JSON number that fits an int64: no fraction and no exponent, as Go decodes it. `null` for other texts. */
export function parseJsonInteger(text: string): bigint | null {
  return /^-?(?:0|[1-9][0-9]*)$/.test(text) ? parseGoInteger(text, 64) : null;
}

const TRUE: readonly string[] = ["1", "t", "T", "TRUE", "true", "True"];
const FALSE: readonly string[] = ["0", "f", "F", "FALSE", "false", "False"];
/** No 64-bit integer is longer but by leading zeros; BigInt() of a long text is slow. */
const MAX_LENGTH = 64;

const JSON_NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;
const DECIMAL = /^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/;

function toFinite(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}
