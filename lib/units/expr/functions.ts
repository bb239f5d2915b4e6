/** Functions of values as expr 1.17.8 computes them (builtin/lib.go). */
import type { FunctionName } from "./ast.ts";
import { isLess, negate, toInteger } from "./arithmetic.ts";
import { FormulaError } from "./formula_error.ts";
import { enter, type Frame } from "./frame.ts";
import { isArray, isNumber, nameType, type Value } from "./value.ts";

/** Each element that a function visits takes a step. Throws FormulaError for a value that a function does not take, and beyond a bound. */
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

/** Half away from zero. */
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

/** What is no array sorts to an empty one, as in expr. A step for each element; there are at most 14 comparisons for each. */
function sortAscending(value: Value, frame: Frame): readonly Value[] {
  if (!isArray(value)) return [];
  return enter(frame, value, 0).toSorted((a, b) => isLess(a, b) ? -1 : isLess(b, a) ? 1 : 0);
}

interface Call {
  readonly name: string;
  readonly frame: Frame;
}

interface Extreme extends Call {
  /** Says whether an item takes the place of the best one so far. */
  readonly isBetter: (best: Value, item: Value) => boolean;
}

/** Of numbers and of arrays of them, however nested; nil if there is none. Anything else is given back if it is alone. */
function findExtreme(items: readonly Value[], { isBetter, ...call }: Extreme): Value {
  const [only = null] = items;
  if (items.length === 1 && !isNumber(only) && !isArray(only)) return only;
  let best: Value = null;
  for (const found of listNumbers(items, call)) {
    if (best === null || isBetter(best, found)) best = found;
  }
  return best;
}

/** The numbers of arguments and of the arrays among them, however nested. */
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
 * An array within an array is summed by itself first, and an argument that is an array is not: doubles notice the order.
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
