/**
 * The functions and the arithmetic of a formula: integers of 64 bits and doubles, as Go computes them.
 *
 * The frame of a run is here too: its variables, and the steps that are left.
 */
import { quote } from "../units/untrusted.ts";
import { FormulaError, type FunctionName, isArray, isNumber, nameType, type Node, type Value } from "./syntax.ts";

/**
 * Arrays within arrays: the functions here are recursive, and the stack is limited. The parser accepts no deeper array
 * literals.
 */
const MAX_NESTING = 200;

export interface Frame {
  readonly values: Readonly<Record<string, number | null>>;
  /** The variables of `let`, the last one first. */
  readonly variables: Variable | null;
  readonly element: Value;
  readonly acc: Value;
  /** The steps that are left for the whole run. */
  readonly steps: { left: number };
  /** Runs a part in a frame. */
  readonly run: (node: Node, frame: Frame) => Value;
}

interface Variable {
  readonly name: string;
  readonly value: Value;
  readonly outer: Variable | null;
}

/** Throws FormulaError if a run takes more steps than allowed. */
export function spend({ steps }: Frame, count: number | bigint): void {
  if (count > steps.left) throw new FormulaError("takes more than 10,000 steps: look at fewer elements");
  steps.left -= Number(count);
}

/**
 * Spends a step for each element of `list`, and returns it. `depth` is the number of arrays around it. Throws
 * FormulaError beyond a limit.
 */
function enter(frame: Frame, list: readonly Value[], depth: number): readonly Value[] {
  requireDepth(depth);
  spend(frame, list.length);
  return list;
}

/** Throws FormulaError if an array is nested too deeply. */
function requireDepth(depth: number): void {
  if (depth < MAX_NESTING) return;
  throw new FormulaError(`arrays are nested deeper than ${MAX_NESTING} levels: simplify it`);
}

/**
 * Returns the result of a function. Each element that it visits takes a step. Throws FormulaError for a value that the
 * function does not accept, and beyond a limit.
 */
export function callFunction(name: FunctionName, items: readonly Value[], frame: Frame): Value {
  const [first = null] = items;
  switch (name) {
    case "abs":
      return toAbsolute(first);
    case "ceil":
      return Math.ceil(toFloat(name, first));
    case "floor":
      return Math.floor(toFloat(name, first));
    case "round":
      return roundAway(toFloat(name, first));
    case "int":
      return toInteger(first);
    case "float":
      return toFloat(name, first);
    case "len":
      return BigInt(toList(name, first).length);
    case "first":
      return isArray(first) ? first[0] ?? null : null;
    case "last":
      return isArray(first) ? first.at(-1) ?? null : null;
    case "sort":
      return sortAscending(first, frame);
    case "max":
      return findExtreme(items, { name, frame, isBetter: (best, item) => isLess(best, item) });
    case "min":
      return findExtreme(items, { name, frame, isBetter: (best, item) => isLess(item, best) });
    case "mean":
      return computeMean(items, frame);
    case "median":
      return computeMedian(items, { name, frame });
  }
}

/** Rounds half away from zero. */
function roundAway(value: number): number {
  const whole = Math.trunc(value);
  return Math.abs(value - whole) >= 0.5 ? whole + Math.sign(value) : whole;
}

function toFloat(name: string, value: Value): number {
  if (!isNumber(value)) throw new FormulaError(`${name}() takes a number and not ${nameType(value)}`);
  return Number(value);
}

function toAbsolute(value: Value): Value {
  if (typeof value === "number") return Math.abs(value);
  if (typeof value !== "bigint") throw new FormulaError(`abs() takes a number and not ${nameType(value)}`);
  return value < 0n ? negate(value) : value;
}

function toList(name: string, value: Value): readonly Value[] {
  if (!isArray(value)) throw new FormulaError(`${name}() takes an array and not ${nameType(value)}`);
  return value;
}

/**
 * A value that is not an array sorts to an empty array, as in expr. Each element takes a step; there are at most 14
 * comparisons per element.
 */
function sortAscending(value: Value, frame: Frame): readonly Value[] {
  if (!isArray(value)) return [];
  return enter(frame, value, 0).toSorted((a, b) => isLess(a, b) ? -1 : isLess(b, a) ? 1 : 0);
}

interface Call {
  readonly name: string;
  readonly frame: Frame;
}

interface Extreme extends Call {
  /** Returns whether an item replaces the best one so far. */
  readonly isBetter: (best: Value, item: Value) => boolean;
}

/**
 * Takes numbers and arrays of them at any depth; nil if there are none. A single value of another type is returned
 * unchanged.
 */
function findExtreme(items: readonly Value[], { isBetter, ...call }: Extreme): Value {
  const [only = null] = items;
  if (items.length === 1 && !isNumber(only) && !isArray(only)) return only;
  let best: Value = null;
  for (const found of listNumbers(items, call)) {
    if (best === null || isBetter(best, found)) best = found;
  }
  return best;
}

/** Returns the numbers among the arguments and their arrays, at any depth. */
function listNumbers(items: readonly Value[], { name, frame }: Call): readonly (bigint | number)[] {
  const numbers: (bigint | number)[] = [];
  const collect = (list: readonly Value[], depth: number) => {
    for (const item of list) {
      if (isArray(item)) {
        collect(enter(frame, item, depth), depth + 1);
        continue;
      }
      if (!isNumber(item)) throw new FormulaError(`${name}() takes numbers and not ${nameType(item)}`);
      numbers.push(item);
    }
  };
  collect(items, 0);
  return numbers;
}

function computeMean(items: readonly Value[], frame: Frame): number {
  const { count, total } = sumUp(items, frame);
  return count === 0 ? 0 : total / count;
}

/**
 * An array within an array is summed separately first, and an argument that is an array is not. The order changes the
 * result of doubles.
 */
function sumUp(
  items: readonly Value[],
  frame: Frame,
  depth = 0,
): { readonly count: number; readonly total: number } {
  let [count, total] = [0, 0];
  const isNested = depth > 0;
  for (const item of items.flatMap((one) => isArray(one) && !isNested ? enter(frame, one, depth) : [one])) {
    const part = isArray(item)
      ? sumUp(enter(frame, item, depth + 1), frame, depth + 1)
      : { count: 1, total: toFloat("mean", item) };
    count += part.count;
    total += part.total;
  }
  return { count, total };
}

function computeMedian(items: readonly Value[], call: Call): number {
  const values = listNumbers(items, call).map(Number).sort(compareFloats);
  const middle = Math.floor(values.length / 2);
  const [below = 0, above = 0] = [values[middle - 1], values[middle]];
  return values.length % 2 === 1 ? above : (below + above) / 2;
}

/** NaN comes first. */
function compareFloats(a: number, b: number): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(b)) - Number(Number.isNaN(a));
  return a < b ? -1 : a > b ? 1 : 0;
}

export type Arithmetic = "+" | "-" | "*" | "/" | "%" | "**";

/** Throws FormulaError for a value that is not a number. Clauses: R62. */
export function compute(operator: Arithmetic, left: Value, right: Value): bigint | number {
  if (!isNumber(left) || !isNumber(right)) {
    throw new FormulaError(`cannot compute ${nameType(left)} ${operator} ${nameType(right)}`);
  }
  if (operator === "/") return Number(left) / Number(right);
  if (operator === "**") return power(Number(left), Number(right));
  if (typeof left === "bigint" && typeof right === "bigint") return computeIntegers(operator, left, right);
  if (operator === "%") throw new FormulaError("cannot compute % of a float: write int(...)");
  return computeFloats(operator, Number(left), Number(right));
}

/** Returns -value. Throws FormulaError for a value that is not a number. */
export function negate(value: Value): bigint | number {
  if (typeof value === "bigint") return toFitting(-value);
  if (typeof value !== "number") throw new FormulaError(`cannot negate ${nameType(value)}`);
  return -value;
}

/** Returns whether left < right. Throws FormulaError for a value that is not a number. */
export function isLess(left: Value, right: Value): boolean {
  if (!isNumber(left) || !isNumber(right)) {
    throw new FormulaError(`cannot compare ${nameType(left)} with ${nameType(right)}`);
  }
  if (typeof left === "bigint" && typeof right === "bigint") return left < right;
  return Number(left) < Number(right);
}

/**
 * Compares like expr's ==: 1 equals 1.0, and arrays are compared by their elements up to the first difference. Each
 * element of both takes a step. Throws FormulaError beyond a limit.
 */
export function isEqual(left: Value, right: Value, frame: Frame, depth = 0): boolean {
  if (isNumber(left) && isNumber(right)) {
    return typeof left === typeof right ? left === right : Number(left) === Number(right);
  }
  if (!isArray(left) || !isArray(right)) return left === right;
  requireDepth(depth);
  return left.length === right.length && left.every((item, index) => {
    spend(frame, 2);
    return isEqual(item, right[index] ?? null, frame, depth + 1);
  });
}

/**
 * Cuts a float towards zero. Throws FormulaError for a value that is not a number, and for a float outside of 64 bits.
 */
export function toInteger(value: Value): bigint {
  if (typeof value === "bigint") return value;
  if (typeof value !== "number") throw new FormulaError(`cannot make ${nameType(value)} an integer`);
  if (!Number.isFinite(value)) throw new FormulaError(`cannot make ${quote(value)} an integer`);
  return toFitting(BigInt(Math.trunc(value)));
}

/** Throws FormulaError for an integer that does not fit into 64 bits. */
function toFitting(value: bigint): bigint {
  if (BigInt.asIntN(64, value) !== value) {
    throw new FormulaError("an integer is beyond 64 bits: compute with floats, as in 1.0 * a");
  }
  return value;
}

function computeIntegers(operator: "+" | "-" | "*" | "%", left: bigint, right: bigint): bigint {
  switch (operator) {
    case "+":
      return toFitting(left + right);
    case "-":
      return toFitting(left - right);
    case "*":
      return toFitting(left * right);
    case "%":
      if (right === 0n) throw new FormulaError("cannot compute % by 0");
      return left % right;
  }
}

function computeFloats(operator: "+" | "-" | "*", left: number, right: number): number {
  switch (operator) {
    case "+":
      return left + right;
    case "-":
      return left - right;
    case "*":
      return left * right;
  }
}

/**
 * x to the power of y as Go's math.Pow computes it: by squaring, to the last bit. Only a fractional exponent (other
 * than a half) goes through exp and log, whose last bit differs between processors in Go too.
 * https://cs.opensource.google/go/go/+/refs/tags/go1.26.0:src/math/pow.go
 */
function power(x: number, y: number): number {
  // JavaScript returns NaN for both; C and Go return 1.
  if (x === 1 || (x === -1 && Math.abs(y) === Infinity)) return 1;
  const hasDigits = Number.isFinite(x) && x !== 0 && Number.isFinite(y) && y !== 0;
  if (!hasDigits || (x < 0 && !Number.isInteger(y)) || Math.abs(y) >= 2 ** 63) return x ** y;
  if (y === 0.5) return Math.sqrt(x);
  if (y === -0.5) return 1 / Math.sqrt(x);
  if (y === 1) return x;
  return powerBySquaring(x, y);
}

/** Beyond this exponent the result is 0 or infinite. */
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

/** Splits a finite number other than zero into mantissa * 2^exponent, the mantissa from 0.5 to 1. */
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

/** Returns mantissa * 2^exponent, rounded once. */
function scale(mantissa: number, exponent: number): number {
  if (mantissa === 0 || !Number.isFinite(mantissa)) return mantissa;
  const { mantissa: fraction, exponent: own } = split(mantissa);
  const total = exponent + own;
  if (total > 1024) return fraction * Infinity;
  if (total < -1074) return fraction * 0;
  return total < -1021 ? fraction * 2 ** (total + 53) * 2 ** -53 : fraction * 2 * 2 ** (total - 1);
}
