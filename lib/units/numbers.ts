/**
 * Numbers as Go and JSON parse them, and thousandths as the HPA controller rounds them.
 *
 * KEDA parses metadata with Go's strconv and encoding/json, which are stricter than Number() in some points and more
 * lenient in others. Thousandths are a bigint, because Go rounds a double's exact value.
 */

/**
 * strconv.ParseFloat(text, 64): also `.5`, `+5`, `inf`, `NaN`. Returns `null` for other texts and for numbers beyond a
 * double. Stricter than Go: also `null` for hexadecimal numbers, underscores and more than 1,100 characters.
 * https://pkg.go.dev/strconv
 * Clauses: R15.
 */
export function parseGoFloat(text: string): number | null {
  if (text.length > MAX_FLOAT_LENGTH) return null;
  if (DECIMAL.test(text)) return toFinite(Number(text));
  const [, sign, word] = /^([+-]?)(inf|infinity|nan)$/i.exec(text) ?? [];
  if (word === undefined) return null;
  if (word.toLowerCase() === "nan") return sign === "" ? NaN : null;
  return sign === "-" ? -Infinity : Infinity;
}

/** strconv.ParseInt(text, 10, bits): also `+5` and `007`. Returns `null` for other texts, and outside of the range. */
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

/**
 * Returns a JSON number as a double: no `+5`, `.5`, `5.`, `0x10`, `NaN`. `null` for other texts, and for numbers beyond
 * a double.
 */
export function parseJsonNumber(text: string): number | null {
  return JSON_NUMBER.test(text) ? toFinite(Number(text)) : null;
}

/** Returns a JSON number that fits an int64: no fraction and no exponent, as Go decodes it. `null` for other texts. */
export function parseJsonInteger(text: string): bigint | null {
  return /^-?(?:0|[1-9][0-9]*)$/.test(text) ? parseGoInteger(text, 64) : null;
}

const TRUE: readonly string[] = ["1", "t", "T", "TRUE", "true", "True"];

const FALSE: readonly string[] = ["0", "f", "F", "FALSE", "false", "False"];

/** No 64-bit integer is longer, except with leading zeros; BigInt() of a long text is slow. */
const MAX_LENGTH = 64;

const JSON_NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;

/** The exact value of a double has at most 1,075 digits after the point. */
const MAX_FLOAT_LENGTH = 1100;

const DECIMAL = /^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/;

function toFinite(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}

/**
 * Converts a metric's value or target: rounded to three decimals, ties to even. Negative and not finite is 0, too large
 * is 2^63-1. Clauses: R17, R63.
 */
export function toMilli(value: number): bigint {
  if (!Number.isFinite(value) || value <= 0) return 0n;
  const { mantissa, exponent } = decompose(value);
  const scaled = mantissa * 1000n;
  if (exponent >= 0) return cap(exponent > MAX_EXPONENT ? MAX_MILLI : scaled << BigInt(exponent));
  return cap(divideToEven(scaled, -exponent));
}

/**
 * Converts a formula's result or target: 1000 * value, cut towards zero, at most 2^63-1 in either direction; `null` for
 * NaN and infinities. Clauses: R63.
 */
export function truncMilli(value: number): bigint | null {
  if (!Number.isFinite(value)) return null;
  const product = Math.trunc(1000 * value);
  const isLarge = Math.abs(product) >= 2 ** 63;
  if (isLarge) return product < 0 ? -MAX_MILLI : MAX_MILLI;
  return BigInt(product);
}

/**
 * Converts as Quantity.AsApproximateFloat64 does: n * 0.001 and not n / 1000, so 9m is 0.009000000000000001. A quantity
 * of more than 18 digits is stored in billionths, and multiplied by 1e-9. Clauses: R63.
 */
export function milliToDouble(milli: bigint): number {
  return milli < 10n ** 18n ? Number(milli) * 0.001 : Number(milli * 1_000_000n) * 1e-9;
}

/** The limit of an int64, in which Kubernetes stores thousandths. */
export const MAX_MILLI = 2n ** 63n - 1n;

/** A mantissa of 53 bits shifted further is beyond MAX_MILLI anyway. */
const MAX_EXPONENT = 64;

function cap(milli: bigint): bigint {
  return milli > MAX_MILLI ? MAX_MILLI : milli;
}

/** A positive double as mantissa * 2^exponent, exactly. */
function decompose(value: number): { readonly mantissa: bigint; readonly exponent: number } {
  const bits = new BigUint64Array(new Float64Array([value]).buffer)[0] ?? 0n;
  const biased = Number(bits >> 52n);
  const fraction = bits & (2n ** 52n - 1n);
  return biased === 0
    ? { mantissa: fraction, exponent: -1074 }
    : { mantissa: fraction + 2n ** 52n, exponent: biased - 1075 };
}

/** numerator / 2^shift to the nearest integer, ties to even. */
function divideToEven(numerator: bigint, shift: number): bigint {
  const bits = BigInt(shift);
  const quotient = numerator >> bits;
  const rest = numerator - (quotient << bits);
  const half = 1n << (bits - 1n);
  const isUp = rest > half || (rest === half && quotient % 2n === 1n);
  return isUp ? quotient + 1n : quotient;
}
