/**
 * Kubernetes quantities: parsed to millicores, bytes, thousandths or doubles, compared and formatted.
 *
 * All parsers round as the API server does.
 */
import type { Resource } from "./resources.ts";
import { type Parsed, quote } from "./untrusted.ts";

type ParsedAmount = Parsed<{ amount: number }>;

interface ParseAmountOptions {
  /**
   * Accepts JSON numbers with a fraction. A pod's manifest and the answer of an adapter may have them, an autoscaler's
   * schema does not allow them.
   */
  readonly floats?: boolean;
}

/**
 * Parses any value and never throws. A signed value gives a signed amount, rounded away from zero; the caller checks
 * the sign.
 * https://pkg.go.dev/k8s.io/apimachinery/pkg/api/resource#Quantity
 */
export function parseAmount(value: unknown, resource: Resource, options: ParseAmountOptions = {}): ParsedAmount {
  const parsed = parseNanos(value, options);
  if (!parsed.ok) return parsed;
  const unitNanos = resource === "cpu" ? 1_000_000n : 1_000_000_000n;
  const magnitude = divideUp(parsed.nanos < 0n ? -parsed.nanos : parsed.nanos, unitNanos);
  if (magnitude > BigInt(Number.MAX_SAFE_INTEGER)) return refuse(value, "too large");
  return { ok: true, amount: Number(parsed.nanos < 0n ? -magnitude : magnitude) };
}

type ParsedMilli = Parsed<{ milli: bigint }>;

/**
 * Returns thousandths as Quantity.MilliValue does: rounded away from zero, but exact for any size. Parses any value and
 * never throws.
 */
export function parseMilli(value: unknown, options: ParseAmountOptions = {}): ParsedMilli {
  const parsed = parseNanos(value, options);
  if (!parsed.ok) return parsed;
  const { nanos } = parsed;
  return { ok: true, milli: nanos < 0n ? -divideUp(-nanos, 1_000_000n) : divideUp(nanos, 1_000_000n) };
}

type ParsedDouble = Parsed<{ value: number }>;

/**
 * Converts as Quantity.AsApproximateFloat64 does, to the last bit: digits times a power of ten, and not the nearest
 * double. Never throws.
 */
export function quantityToDouble(value: string): ParsedDouble {
  const parsed = parseNanos(value);
  if (!parsed.ok) return parsed;
  const [, sign = "", whole = "", fraction = "", suffix = ""] = QUANTITY.exec(value) ?? [];
  const { factor, exponent } = parseSuffix(suffix) ?? { factor: 1n, exponent: 0n };
  const length = whole.replace(/^0+(?=.)/, "").length + fraction.length;
  const power = Number(exponent) - fraction.length;
  const binaryDigits = Math.trunc((factor.toString(2).length - 1) * 0.3);
  // Kubernetes stores these as an int64 and a power of ten, all others in billionths.
  const isShort = factor === 1n ? length <= 18 && power >= -9 : fraction === "" && length + binaryDigits <= 14;
  const magnitude = isShort
    ? Number(BigInt(whole + fraction) * factor) * Number(`1e${power}`)
    : Number(parsed.nanos < 0n ? -parsed.nanos : parsed.nanos) * 1e-9;
  // Only binary ones are limited to an int64.
  if (factor > 1n && magnitude >= 2 ** 63) return { ok: true, value: sign === "-" ? -(2 ** 63) : 2 ** 63 };
  return { ok: true, value: sign === "-" ? -magnitude : magnitude };
}

/**
 * Compares two quantities for sort(): negative, zero or positive. Exact to Kubernetes' billionths: 200u cores are more
 * than 100u, though both are 1 millicore rounded up. Throws RangeError for a value that parseAmount() refuses.
 */
export function compareQuantities(a: unknown, b: unknown): number {
  const [left, right] = [parseNanos(a), parseNanos(b)];
  if (!left.ok || !right.ok) throw new RangeError(`Cannot compare ${quote(a)} with ${quote(b)}: not quantities`);
  return left.nanos < right.nanos ? -1 : left.nanos > right.nanos ? 1 : 0;
}

/**
 * Returns the double that Go's AsApproximateFloat64 makes of a quantity once the API server has stored it, where 0.05
 * is written 50m: a whole number times ten to a multiple of three. `null` for a value that parseAmount() refuses.
 */
export function toStoredDouble(value: unknown): number | null {
  const parsed = parseNanos(value);
  if (!parsed.ok) return null;
  let { nanos: mantissa } = parsed;
  let exponent = -9;
  while (mantissa !== 0n && mantissa % 1000n === 0n) {
    mantissa /= 1000n;
    exponent += 3;
  }
  // Not 10 ** exponent, whose last digit differs between engines.
  return Number(mantissa) * Number(`1e${exponent}`);
}

/**
 * Writes an amount as the shortest text that Kubernetes parses to the same amount: `250m`, `2`, `64Mi`, `10M`,
 * `1234567`. Throws RangeError for a number that is not a safe integer.
 */
export function formatAmount(amount: number, resource: Resource): string {
  if (!Number.isSafeInteger(amount)) throw new RangeError(`Cannot format amount ${amount}: not a safe integer`);
  if (amount === 0) return "0";
  if (resource === "cpu") return amount % 1000 === 0 ? `${amount / 1000}` : `${amount}m`;
  const unit = SHOWN_UNITS.find((one) => amount % one[0] === 0);
  return unit === undefined ? `${amount}` : `${amount / unit[0]}${unit[1]}`;
}

/** What a suffix multiplies by: `factor` times ten to the power of `exponent`. */
interface Scale {
  readonly factor: bigint;
  readonly exponent: bigint;
}

/**
 * Parses a suffix such as `Mi`, `m`, `e3` or the empty one; `null` for another text. `E` alone is exa, `E` or `e` with
 * digits is a power of ten.
 */
export function parseSuffix(suffix: string): Scale | null {
  const scale = SCALES.get(suffix);
  if (scale !== undefined) return scale;
  const [, sign, digits] = /^[eE]([+-]?)([0-9]+)$/.exec(suffix) ?? [];
  if (digits === undefined) return null;
  return { factor: 1n, exponent: sign === "-" ? -BigInt(digits) : BigInt(digits) };
}

/** No sensible quantity is longer. The limit keeps the numbers below small. */
const MAX_LENGTH = 64;

/** The schema allows two digits, and the digits that MAX_LENGTH allows could not balance a larger one. */
const MAX_EXPONENT = 99n;

const QUANTITY = /^([+-]?)([0-9]*)(?:\.([0-9]*))?(.*)$/;

const SCALES: ReadonlyMap<string, Scale> = new Map([
  ...["n", "u", "m", "", "k", "M", "G", "T", "P", "E"].map((suffix, index): [string, Scale] => [
    suffix,
    { factor: 1n, exponent: BigInt(3 * index - 9) },
  ]),
  ...["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].map((suffix, index): [string, Scale] => [
    suffix,
    { factor: 1024n ** BigInt(index + 1), exponent: 0n },
  ]),
]);

/**
 * The first unit that divides an amount is used. Ki is after M, so that 512000000 is shown as 512M and not 500000Ki.
 */
const SHOWN_UNITS: readonly (readonly [bytes: number, suffix: string])[] = [
  [1024 ** 5, "Pi"],
  [1024 ** 4, "Ti"],
  [1024 ** 3, "Gi"],
  [1024 ** 2, "Mi"],
  [1000 ** 5, "P"],
  [1000 ** 4, "T"],
  [1000 ** 3, "G"],
  [1000 ** 2, "M"],
  [1024, "Ki"],
  [1000, "k"],
];

type ParsedNanos = { readonly ok: true; readonly nanos: bigint } | Extract<ParsedAmount, { ok: false }>;

/** Returns billionths, the finest that the API server keeps. Finer amounts are rounded away from zero. */
function parseNanos(value: unknown, options: ParseAmountOptions = {}): ParsedNanos {
  if (typeof value === "number") {
    if (!Number.isFinite(value)) return refuse(value, "not a finite number");
    if (!Number.isInteger(value) && options.floats !== true) {
      return refuse(value, "a number with a fraction must be quoted");
    }
  } else if (typeof value !== "string") {
    return refuse(value, "must be a string or an integer");
  }
  const text = String(value);
  if (text === "") return refuse(value, "empty");
  if (text.length > MAX_LENGTH) return refuse(value, `longer than ${MAX_LENGTH} characters`);
  if (/\s/.test(text)) return refuse(value, "contains a space");

  const [, sign = "", whole = "", fraction = "", suffix = ""] = QUANTITY.exec(text) ?? [];
  if (whole === "" && fraction === "") return refuse(value, "does not start with a number");
  const scale = parseSuffix(suffix);
  if (scale === null) return refuse(value, `unknown suffix ${quote(suffix)}${toHint(suffix)}`);
  if (scale.exponent > MAX_EXPONENT || scale.exponent < -MAX_EXPONENT) {
    return refuse(value, `exponent ${quote(suffix)} is out of range`);
  }
  const exponent = scale.exponent - BigInt(fraction.length) + 9n;
  const numerator = BigInt(whole + fraction) * scale.factor * (exponent > 0n ? 10n ** exponent : 1n);
  const nanos = divideUp(numerator, exponent < 0n ? 10n ** -exponent : 1n);
  return { ok: true, nanos: sign === "-" ? -nanos : nanos };
}

function refuse(value: unknown, cause: string): Extract<ParsedAmount, { ok: false }> {
  return { ok: false, message: `Cannot parse quantity ${quote(value)}: ${cause}` };
}

function divideUp(numerator: bigint, divisor: bigint): bigint {
  return (numerator + divisor - 1n) / divisor;
}

/** Suggests a suffix for the usual mistakes: 1K, 512MB, 1gib. */
function toHint(suffix: string): string {
  const [, letter, binary] = /^([kmgtp])(i?)b?$/i.exec(suffix) ?? [];
  if (letter === undefined) return "";
  const upper = letter.toUpperCase();
  const decimal = upper === "K" ? "k" : upper;
  return binary === "" ? `, write ${decimal} or ${upper}i` : `, write ${upper}i`;
}
