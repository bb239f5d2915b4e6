/** Runs a formula. */
import { compute, isEqual, isLess, negate, toInteger } from "./arithmetic.ts";
import type { BinaryNode, Node } from "./ast.ts";
import { evaluateLoop } from "./evaluate_loop.ts";
import { type Frame, spend } from "./frame.ts";
import { callFunction } from "./functions.ts";
import { FormulaError } from "./formula_error.ts";
import { isArray, nameType, type Value } from "./value.ts";

/**
 * Steps that one run may take: nodes that are evaluated, and elements that are made or visited. Each element of each array has
 * cost a step, so this bounds also how many there are.
 */
export const MAX_STEPS = 10_000;

/** Throws FormulaError. A trigger without a value is nil. */
export function evaluate(node: Node, values: Readonly<Record<string, number | null>>): Value {
  return evaluateNode(node, {
    values,
    variables: null,
    element: null,
    acc: null,
    steps: { left: MAX_STEPS },
    run: evaluateNode,
  });
}

/** Evaluates a part, and the parts in it by `frame.run`. Throws FormulaError. */
export function evaluateNode(node: Node, frame: Frame): Value {
  spend(frame, 1);
  switch (node.kind) {
    case "constant":
      return node.value;
    case "name":
      return readName(node.name, frame);
    case "pointer":
      return node.name === "element" ? frame.element : frame.acc;
    case "unary": {
      const value = frame.run(node.operand, frame);
      if (node.operator === "not") return !requireBool(value);
      return node.operator === "-" ? negate(value) : value;
    }
    case "binary":
      return runBinary(node, frame);
    case "index":
      return readElement(frame.run(node.array, frame), frame.run(node.index, frame));
    case "array":
      return node.items.map((item) => frame.run(item, frame));
    case "if":
      return frame.run(requireBool(frame.run(node.condition, frame)) ? node.then : node.otherwise, frame);
    case "let": {
      const variables = { name: node.name, value: frame.run(node.value, frame), outer: frame.variables };
      return frame.run(node.body, { ...frame, variables });
    }
    case "call":
      return callFunction(node.name, node.items.map((item) => frame.run(item, frame)), frame);
    case "loop":
      return evaluateLoop(node, frame);
  }
}

function readName(name: string, { variables, values }: Frame): Value {
  for (let variable = variables; variable !== null; variable = variable.outer) {
    if (variable.name === name) return variable.value;
  }
  return Object.hasOwn(values, name) ? values[name] ?? null : null;
}

function runBinary(node: BinaryNode, frame: Frame): Value {
  const { operator } = node;
  const left = frame.run(node.left, frame);
  // These look at the right side only if the left one leaves it open, and give it as it is.
  if (operator === "??") return left ?? frame.run(node.right, frame);
  if (operator === "and") return requireBool(left) ? frame.run(node.right, frame) : false;
  if (operator === "or") return requireBool(left) ? true : frame.run(node.right, frame);
  const right = frame.run(node.right, frame);
  switch (operator) {
    case "==":
      return equals(node, { left, right, frame });
    case "!=":
      return !equals(node, { left, right, frame });
    case "<":
      return isLess(left, right);
    case ">":
      return isLess(right, left);
    case "<=":
      return isLess(left, right) || isEqual(left, right, frame);
    case ">=":
      return isLess(right, left) || isEqual(left, right, frame);
    case "in":
      return isIn(left, right, frame);
    case "in integers":
      return isInIntegers(left, right, frame);
    case "..":
      return toRange(toInteger(left), toInteger(right), frame);
    default:
      return compute(operator, left, right);
  }
}

/** Two integers by type, of which one has turned out to be none, are not compared: `find([1], # > 1) == 1`. */
function equals(
  { isInteger }: BinaryNode,
  { left, right, frame }: { readonly left: Value; readonly right: Value; readonly frame: Frame },
): boolean {
  if (isInteger === true && (typeof left !== "bigint" || typeof right !== "bigint")) {
    throw new FormulaError(`cannot compare ${nameType(left)} with ${nameType(right)} as integers`);
  }
  return isEqual(left, right, frame);
}

function isIn(needle: Value, list: Value, frame: Frame): boolean {
  if (list === null) return false;
  if (!isArray(list)) throw new FormulaError(`"in" takes an array and not ${nameType(list)}`);
  return list.some((item) => {
    spend(frame, 1);
    return isEqual(item, needle, frame);
  });
}

function isInIntegers(needle: Value, list: Value, frame: Frame): boolean {
  const sought = needle === null ? 0n : needle;
  if (typeof sought !== "bigint") throw new FormulaError(`cannot find ${nameType(needle)} among integers`);
  return isIn(sought, list, frame);
}

function toRange(from: bigint, to: bigint, frame: Frame): readonly bigint[] {
  if (to < from) return [];
  spend(frame, to - from + 1n);
  return Array.from({ length: Number(to - from) + 1 }, (_, offset) => from + BigInt(offset));
}

/** A negative index counts from the end. */
function readElement(list: Value, index: Value): Value {
  if (!isArray(list)) throw new FormulaError(`cannot index ${nameType(list)}`);
  const place = Number(toInteger(index));
  const item = list.at(place);
  if (item === undefined) {
    throw new FormulaError(`index ${place} is out of range: the array has ${list.length} elements`);
  }
  return item;
}

function requireBool(value: Value): boolean {
  if (typeof value !== "boolean") throw new FormulaError(`a condition is ${nameType(value)} and no bool`);
  return value;
}
