/**
 * Compiles and runs a formula of scalingModifiers, in the subset of the language expr that KEDA uses.
 *
 * Parse, check types, optimize, evaluate. An evaluation has a limit of steps.
 */
import type { Program, ProgramResult } from "../model/scaled_object.ts";
import { type Parsed, quote } from "../units/untrusted.ts";
import { checkFormula } from "./check.ts";
import { callFunction, compute, type Frame, isEqual, isLess, negate, spend, toInteger } from "./functions.ts";
import { createTokens, tokenize } from "./lexer.ts";
import { optimize } from "./optimize.ts";
import { parseFormula } from "./parser.ts";
import { type BinaryNode, FormulaError, isArray, type LoopNode, nameType, type Node, type Value } from "./syntax.ts";

type CompiledExpr = Parsed<{ program: Program }>;

interface CompileOptions {
  /** The triggers that a formula may use; any other name is refused. Without it every unknown name is a trigger. */
  readonly names?: readonly string[];
}

/** Compiles `formula` as KEDA does, wrapped in float(...). Never throws, for any text. Clauses: R62, R63. */
export function compileExpr(text: string, { names }: CompileOptions = {}): CompiledExpr {
  try {
    return { ok: true, program: compile(text, names ?? null) };
  } catch (error) {
    if (!(error instanceof FormulaError)) throw error;
    return { ok: false, message: `Cannot compile formula ${quote(text)}: ${error.message}` };
  }
}

const MAX_LENGTH = 4096;

function compile(text: string, names: readonly string[] | null): Program {
  if (text.trim() === "") throw new FormulaError("empty");
  if (text.length > MAX_LENGTH) throw new FormulaError(`longer than ${MAX_LENGTH} characters`);
  const triggers = names === null ? null : new Set(names);
  const { before, after } = wrap(text);
  const tokens = createTokens(tokenize(before + text + after), { begin: before.length, length: text.length });
  const checked = checkFormula(parseFormula(tokens, { triggers: triggers ?? new Set() }), triggers);
  const node = optimize(checked.node);
  return { names: checked.names, run: (values) => toResult(text, () => evaluate(node, values)) };
}

/**
 * KEDA's castToFloatIfNecessary():
 * https://github.com/kedacore/keda/blob/v2.21.0/apis/keda/v1alpha1/scaledobject_webhook.go
 */
function wrap(text: string): { readonly before: string; readonly after: string } {
  const name = "_kedaCompositeResult";
  if (text.includes("??")) {
    if (text.startsWith(`let ${name} = `)) return { before: "", after: "" };
    return { before: `let ${name} = (`, after: `); ${name} == nil ? nil : float(${name})` };
  }
  return text.startsWith("float(") ? { before: "", after: "" } : { before: "float(", after: ")" };
}

function toResult(text: string, run: () => Value): ProgramResult {
  const toError = (cause: string): ProgramResult => ({
    kind: "error",
    message: `Cannot compute formula ${quote(text)}: ${cause}`,
  });
  try {
    const value = run();
    if (value === null) return { kind: "nil" };
    if (typeof value === "number") return { kind: "number", value };
    return toError(`the result is ${nameType(value)} and not a float: write float((...))`);
  } catch (error) {
    if (!(error instanceof FormulaError)) throw error;
    return toError(error.message);
  }
}

/**
 * Steps that one run may take. Each evaluated node, and each element that is made or visited, is a step, so this limits
 * the number of elements too.
 */
export const MAX_STEPS = 10_000;

/** Returns the value of a formula. Throws FormulaError. A trigger without a value is nil. */
function evaluate(node: Node, values: Readonly<Record<string, number | null>>): Value {
  return evaluateNode(node, {
    values,
    variables: null,
    element: null,
    acc: null,
    steps: { left: MAX_STEPS },
    run: evaluateNode,
  });
}

/** Returns the value of a node; its parts are evaluated by `frame.run`. Throws FormulaError. */
export function evaluateNode(node: Node, frame: Frame): Value {
  spend(frame, 1);
  switch (node.kind) {
    case "constant":
      return node.value;
    case "name":
      return getVariable(node.name, frame);
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
      return getElement(frame.run(node.array, frame), frame.run(node.index, frame));
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

function getVariable(name: string, { variables, values }: Frame): Value {
  for (let variable = variables; variable !== null; variable = variable.outer) {
    if (variable.name === name) return variable.value;
  }
  return Object.hasOwn(values, name) ? values[name] ?? null : null;
}

function runBinary(node: BinaryNode, frame: Frame): Value {
  const { operator } = node;
  const left = frame.run(node.left, frame);
  // These operators evaluate the right side only if the left side does not decide, and return it unchanged.
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

/** Two integers by type are not compared if one of them is not an integer at run time: `find([1], # > 1) == 1`. */
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
function getElement(list: Value, index: Value): Value {
  if (!isArray(list)) throw new FormulaError(`cannot index ${nameType(list)}`);
  const place = Number(toInteger(index));
  const item = list.at(place);
  if (item === undefined) {
    throw new FormulaError(`index ${place} is out of range: the array has ${list.length} elements`);
  }
  return item;
}

function requireBool(value: Value, what = "a condition"): boolean {
  if (typeof value !== "boolean") throw new FormulaError(`${what} is ${nameType(value)} and not a bool`);
  return value;
}

/** Throws FormulaError. Visits no element after the one that decides the result. */
function evaluateLoop(node: LoopNode, frame: Frame): Value {
  const list = frame.run(node.array, frame);
  if (!isArray(list)) throw new FormulaError(`${node.name}() takes an array and not ${nameType(list)}`);
  const run = (part: Node | null | undefined, element: Value, acc: Value = null): Value => {
    if (part) return frame.run(part, { ...frame, element, acc });
    spend(frame, 1);
    return element;
  };
  const predicate = `the predicate of ${node.name}()`;
  const isHit = (element: Value) => requireBool(run(node.body, element), predicate);
  switch (node.name) {
    case "all":
      return list.every(isHit);
    case "any":
      return list.some(isHit);
    case "none":
      return !list.some(isHit);
    case "one":
      return list.filter(isHit).length === 1;
    case "map":
      return list.map((element) => run(node.body, element));
    case "filter":
      return list.flatMap((element) => isHit(element) ? [run(node.result, element)] : []);
    case "find": {
      const found = node.isFromEnd === true ? list.findLastIndex(isHit) : list.findIndex(isHit);
      if (found < 0 && node.mustFind === true) {
        throw new FormulaError("no element passes the filter: index is out of range");
      }
      return found < 0 ? null : run(node.result, list[found] ?? null);
    }
    case "count":
      return countHits(list, { isHit, limit: node.limit ?? null });
    case "sum":
      if (node.isFromRight === true) return list.reduceRight((total, element) => compute("+", element, total));
      return list.reduce<Value>((total, element) => compute("+", run(node.body, element), total), 0n);
    case "reduce":
      return reduceList(list, { node, frame, run });
  }
}

interface Counting {
  readonly isHit: (element: Value) => boolean;
  readonly limit: bigint | null;
}

function countHits(list: readonly Value[], { isHit, limit }: Counting): bigint {
  let count = 0n;
  for (const element of list) {
    if (isHit(element)) count++;
    if (count === limit) break;
  }
  return count;
}

interface Reducing {
  readonly node: LoopNode;
  readonly frame: Frame;
  readonly run: (part: Node | null, element: Value, acc: Value) => Value;
}

function reduceList(list: readonly Value[], { node, frame, run }: Reducing): Value {
  if (node.initial !== null) {
    const initial = frame.run(node.initial, frame);
    return list.reduce<Value>((acc, element) => run(node.body, element, acc), initial);
  }
  const [first, ...rest] = list;
  if (first === undefined) throw new FormulaError("reduce() of an empty array needs a third argument to begin with");
  return rest.reduce<Value>((acc, element) => run(node.body, element, acc), first);
}
