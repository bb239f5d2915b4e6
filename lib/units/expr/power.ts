/**
 * x to the power of y as Go's math.Pow computes it: by squaring, to the last bit. Only a fractional exponent (other than a
 * half) goes through exp and log, whose last bit differs between processors in Go too.
 * https://cs.opensource.google/go/go/+/refs/tags/go1.26.0:src/math/pow.go
 */
export function power(x: number, y: number): number {
  // JavaScript says NaN to both, C and Go say 1.
  if (x === 1 || (x === -1 && Math.abs(y) === Infinity)) return 1;
  const hasDigits = Number.isFinite(x) && x !== 0 && Number.isFinite(y) && y !== 0;
  if (!hasDigits || (x < 0 && !Number.isInteger(y)) || Math.abs(y) >= 2 ** 63) return x ** y;
  if (y === 0.5) return Math.sqrt(x);
  if (y === -0.5) return 1 / Math.sqrt(x);
  if (y === 1) return x;
  return powerBySquaring(x, y);
}

/** Beyond it the result is 0 or infinite whatever follows. */
const MAX_EXPONENT = 2 ** 12;

function powerBySquaring(x: number, y: number): number {
  const whole = Math.trunc(Math.abs(y));
  const fraction = Math.abs(y) - whole;
  const rest = fraction > 0.5 ? fraction - 1 : fraction;
  let mantissa = fraction === 0 ? 1 : Math.exp(rest * Math.log(x));
  let exponent = 0;
  let { mantissa: factor, exponent: shift } = split(x);
  for (let bits = BigInt(fraction > 0.5 ? whole + 1 : whole); bits !== 0n; bits >>= 1n) {
    if (Math.abs(shift) > MAX_EXPONENT) {
      exponent += shift;
      break;
    }
    if ((bits & 1n) === 1n) {
      mantissa *= factor;
      exponent += shift;
    }
    factor *= factor;
    shift *= 2;
    if (factor < 0.5) {
      factor += factor;
      shift--;
    }
  }
  return y < 0 ? scale(1 / mantissa, -exponent) : scale(mantissa, exponent);
}

/** A finite number but zero as mantissa * 2^exponent, the mantissa from 0.5 to 1. */
function split(value: number): { mantissa: number; exponent: number } {
  // A subnormal number is made normal first.
  const isTiny = Math.abs(value) < 2 ** -1022;
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, isTiny ? value * 2 ** 52 : value);
  const high = view.getUint32(0);
  const exponent = ((high >>> 20) & 0x7ff) - 1022;
  view.setUint32(0, (high & 0x800fffff) | (1022 << 20));
  return { mantissa: view.getFloat64(0), exponent: isTiny ? exponent - 52 : exponent };
}

/** mantissa * 2^exponent, rounded once. */
function scale(mantissa: number, exponent: number): number {
  if (mantissa === 0 || !Number.isFinite(mantissa)) return mantissa;
  const { mantissa: fraction, exponent: own } = split(mantissa);
  const total = exponent + own;
  if (total > 1024) return fraction * Infinity;
  if (total < -1074) return fraction * 0;
  return total < -1021 ? fraction * 2 ** (total + 53) * 2 ** -53 : fraction * 2 * 2 ** (total - 1);
}
