/** Computes with integers of 64 bits and doubles as expr's runtime does, but that an integer which does not fit is an error: Go wraps it (R62). */
import { quote } from "../untrusted.ts";
import { FormulaError } from "./formula_error.ts";
import { type Frame, requireDepth, spend } from "./frame.ts";
import { power } from "./power.ts";
import { isArray, isNumber, nameType, type Value } from "./value.ts";

export type Arithmetic = "+" | "-" | "*" | "/" | "%" | "**";

/** Throws FormulaError for what is no number. */
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

/** -value. Throws FormulaError for what is no number. */
export function negate(value: Value): bigint | number {
  if (typeof value === "bigint") return toFitting(-value);
  if (typeof value !== "number") throw new FormulaError(`cannot negate ${nameType(value)}`);
  return -value;
}

/** Says whether left < right. Throws FormulaError for what is no number. */
export function isLess(left: Value, right: Value): boolean {
  if (!isNumber(left) || !isNumber(right)) {
    throw new FormulaError(`cannot compare ${nameType(left)} with ${nameType(right)}`);
  }
  if (typeof left === "bigint" && typeof right === "bigint") return left < right;
  return Number(left) < Number(right);
}

/**
 * As expr's ==: 1 equals 1.0, and arrays are equal by their elements, up to the first that differs. Each element of both takes
 * a step. Throws FormulaError beyond a bound.
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

/** Cuts a float towards zero. Throws FormulaError for what is no number, and for a float that no integer of 64 bits is. */
export function toInteger(value: Value): bigint {
  if (typeof value === "bigint") return value;
  if (typeof value !== "number") throw new FormulaError(`cannot make ${nameType(value)} an integer`);
  if (!Number.isFinite(value)) throw new FormulaError(`cannot make ${quote(value)} an integer`);
  return toFitting(BigInt(Math.trunc(value)));
}

/** Throws FormulaError for what does not fit into 64 bits. */
export function toFitting(value: bigint): bigint {
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
