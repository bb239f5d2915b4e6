/**
 * Thousandths ("milli") as bigint, the unit of every external metric, from doubles and back (R17, R63).
 * Neither way is `Math.round(1000 * value)`: Go prints a double with three decimals, which rounds its exact value and ties to even.
 */

/** Of a metric's value or target: rounded to three decimals, ties to even. Negative and not finite is 0, too large is 2^63-1 (R17). */
export function toMilli(value: number): bigint {
  if (!Number.isFinite(value) || value <= 0) return 0n;
  const { mantissa, exponent } = decompose(value);
  const scaled = mantissa * 1000n;
  if (exponent >= 0) return cap(exponent > MAX_EXPONENT ? MAX_MILLI : scaled << BigInt(exponent));
  return cap(divideToEven(scaled, -exponent));
}

/** Of a formula's result or target: 1000 * value, cut towards zero, at most 2^63-1 either way; `null` for NaN and infinities (R63). */
export function truncMilli(value: number): bigint | null {
  if (!Number.isFinite(value)) return null;
  const product = Math.trunc(1000 * value);
  const isLarge = Math.abs(product) >= 2 ** 63;
  if (isLarge) return product < 0 ? -MAX_MILLI : MAX_MILLI;
  return BigInt(product);
}

/**
 * As Quantity.AsApproximateFloat64 gives it: n * 0.001 and not n / 1000, so 9m is 0.009000000000000001 (R63). A quantity of more than 18 digits
 * is kept in billionths, and multiplied by 1e-9.
 */
export function milliToDouble(milli: bigint): number {
  return milli < 10n ** 18n ? Number(milli) * 0.001 : Number(milli * 1_000_000n) * 1e-9;
}

/** An int64, in which Kubernetes carries thousandths. */
const MAX_MILLI = 2n ** 63n - 1n;
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
