/** Functions of values as expr 1.17.8 computes them (builtin/lib.go). */
import type { FunctionName } from "./ast.ts";
import { isLess, negate, toInteger } from "./arithmetic.ts";
import { FormulaError } from "./formula_error.ts";
import { isArray, isNumber, nameType, type Value } from "./value.ts";

/** Throws FormulaError for a value that a function does not take. */
export function callFunction(name: FunctionName, items: readonly Value[]): Value {
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
      return sortAscending(first);
    case "max":
      return findExtreme(items, { name, isBetter: (best, item) => isLess(best, item) });
    case "min":
      return findExtreme(items, { name, isBetter: (best, item) => isLess(item, best) });
    case "mean":
      return computeMean(items);
    case "median":
      return computeMedian(items);
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

/** What is no array sorts to an empty one, as in expr. */
function sortAscending(value: Value): readonly Value[] {
  if (!isArray(value)) return [];
  return value.toSorted((a, b) => isLess(a, b) ? -1 : isLess(b, a) ? 1 : 0);
}

interface Extreme {
  readonly name: string;
  /** Says whether an item takes the place of the best one so far. */
  readonly isBetter: (best: Value, item: Value) => boolean;
}

/** Of numbers and of arrays of them, however nested; nil if there is none. Anything else is given back if it is alone. */
function findExtreme(items: readonly Value[], { name, isBetter }: Extreme): Value {
  const [only = null] = items;
  if (items.length === 1 && !isNumber(only) && !isArray(only)) return only;
  let best: Value = null;
  for (const item of items) {
    for (const found of isArray(item) ? listNumbers(name, item) : [item]) {
      if (!isNumber(found)) throw new FormulaError(`${name}() takes numbers and not ${nameType(found)}`);
      if (best === null || isBetter(best, found)) best = found;
    }
  }
  return best;
}

function listNumbers(name: string, items: readonly Value[]): readonly (bigint | number)[] {
  return items.flatMap((item) => {
    if (isArray(item)) return listNumbers(name, item);
    if (!isNumber(item)) throw new FormulaError(`${name}() takes numbers and not ${nameType(item)}`);
    return [item];
  });
}

function computeMean(items: readonly Value[]): number {
  const { count, total } = sumUp(items);
  return count === 0 ? 0 : total / count;
}

/**
 * An array within an array is summed by itself first, and an argument that is an array is not: doubles notice the order.
 */
function sumUp(items: readonly Value[], isNested = false): { readonly count: number; readonly total: number } {
  let [count, total] = [0, 0];
  for (const item of items.flatMap((one) => isArray(one) && !isNested ? one : [one])) {
    const part = isArray(item) ? sumUp(item, true) : { count: 1, total: toFloat("mean", item) };
    count += part.count;
    total += part.total;
  }
  return { count, total };
}

function computeMedian(items: readonly Value[]): number {
  const values = listNumbers("median", items).map(Number).sort(compareFloats);
  const middle = Math.floor(values.length / 2);
  const [below = 0, above = 0] = [values[middle - 1], values[middle]];
  return values.length % 2 === 1 ? above : (below + above) / 2;
}

/** NaN comes first. */
function compareFloats(a: number, b: number): number {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(b)) - Number(Number.isNaN(a));
  return a < b ? -1 : a > b ? 1 : 0;
}
