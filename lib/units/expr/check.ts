/** Refuses what expr's checker refuses before a formula runs: unknown names, and types that do not fit (R62). */
import { quote } from "../untrusted.ts";
import type { Node, UnaryNode } from "./ast.ts";
import { checkBinary } from "./check_binary.ts";
import { checkCall } from "./check_call.ts";
import { checkLoop } from "./check_loop.ts";
import type { Place, Typed } from "./check_place.ts";
import { FormulaError } from "./formula_error.ts";
import { FUNCTION_NAMES, LOOP_NAMES } from "./ast.ts";
import { REFUSED_FUNCTIONS } from "./operators.ts";
import { BOOL, FLOAT, INT, isNumeric, isOpen, nameKind, NIL, toArray, type Type, unite, UNKNOWN } from "./types.ts";

export interface Checked extends Typed {
  /** The triggers that it uses, in the order of their first use. */
  readonly names: readonly string[];
}

/** Throws FormulaError. `triggers` are floats; `null` takes every unknown name for one. */
export function checkFormula(node: Node, triggers: ReadonlySet<string> | null): Checked {
  const used = new Set<string>();
  const variables: ReadonlyMap<string, Type> = new Map();
  const visits = { count: 0 };
  const outer = { triggers, variables, element: null, hasAcc: false, depth: 0, used, visits, check };
  return { ...check(outer, node), names: [...used] };
}

/** Of nodes within nodes: what runs a formula calls itself, and a stack has an end. */
const MAX_DEPTH = 400;
/** Nodes in one walk through a formula. */
export const MAX_VISITS = 10_000;

function check(outer: Place, node: Node): Typed {
  if (outer.depth >= MAX_DEPTH) throw new FormulaError(`nested deeper than ${MAX_DEPTH} levels: simplify it`);
  if (++outer.visits.count > MAX_VISITS) throw new FormulaError(`more than ${MAX_VISITS} parts: simplify it`);
  const place = { ...outer, depth: outer.depth + 1 };
  switch (node.kind) {
    case "constant":
      return { node, type: readType(node.value) };
    case "name":
      return { node, type: checkName(place, node.name) };
    case "pointer":
      return { node, type: checkPointer(place, node.name) };
    case "unary":
      return checkUnary(place, node);
    case "binary":
      return checkBinary(place, node);
    case "index":
      return checkIndex(place, node);
    case "array": {
      const items = node.items.map((item) => check(place, item));
      return {
        node: { ...node, items: items.map((item) => item.node) },
        type: toArray(items.map((item) => item.type)),
      };
    }
    case "if":
      return checkIf(place, node);
    case "let":
      return checkLet(place, node);
    case "call":
      return checkCall(place, node);
    case "loop":
      return checkLoop(place, node);
  }
}

function readType(value: unknown): Type {
  if (value === null) return NIL;
  return typeof value === "bigint" ? INT : typeof value === "number" ? FLOAT : BOOL;
}

function checkName({ triggers, variables, used }: Place, name: string): Type {
  const variable = variables.get(name);
  if (variable !== undefined) return variable;
  if (name === "$env") throw new FormulaError('"$env" is not supported: name the trigger');
  if (triggers?.has(name) === false || (triggers === null && isFunction(name))) {
    if (isFunction(name)) throw new FormulaError(`${quote(name)} is a function: call it with (...)`);
    const known = triggers === null ? [] : [...triggers];
    const cause = known.length === 0
      ? "no trigger has a name"
      : `the named triggers are ${known.map(quote).join(", ")}`;
    throw new FormulaError(`unknown name ${quote(name)}: ${cause}`);
  }
  used.add(name);
  return FLOAT;
}

function isFunction(name: string): boolean {
  return [...FUNCTION_NAMES, ...LOOP_NAMES].some((known) => known === name) || REFUSED_FUNCTIONS.has(name);
}

function checkPointer({ element, hasAcc }: Place, name: "element" | "acc"): Type {
  if (element === null) throw new FormulaError('"#" is used outside of a predicate: it is the element of an array');
  if (name === "element") return element;
  if (!hasAcc) throw new FormulaError('"#acc" is used outside of reduce(): only reduce() has it');
  return UNKNOWN;
}

function checkUnary(place: Place, node: UnaryNode): Typed {
  const { node: operand, type } = check(place, node.operand);
  const lowered = { ...node, operand };
  if (node.operator === "not") {
    if (type.kind === "bool" || isOpen(type)) return { node: lowered, type: BOOL };
  } else if (isNumeric(type) || isOpen(type)) {
    return { node: lowered, type: isOpen(type) ? UNKNOWN : type };
  }
  throw new FormulaError(`operator ${quote(node.operator)} does not go with ${nameKind(type)}`);
}

function checkIndex(place: Place, node: Extract<Node, { kind: "index" }>): Typed {
  const [array, index] = [check(place, node.array), check(place, node.index)];
  const lowered: Node = { kind: "index", array: array.node, index: index.node };
  if (isOpen(array.type)) return { node: lowered, type: UNKNOWN };
  if (array.type.kind !== "array") {
    throw new FormulaError(`cannot index ${nameKind(array.type)}: only arrays have elements`);
  }
  if (index.type.kind !== "int" && !isOpen(index.type)) {
    throw new FormulaError(`an index must be an integer and not ${nameKind(index.type)}: write int(...)`);
  }
  return { node: lowered, type: array.type.element };
}

function checkIf(place: Place, node: Extract<Node, { kind: "if" }>): Typed {
  const condition = check(place, node.condition);
  if (condition.type.kind !== "bool" && !isOpen(condition.type)) {
    throw new FormulaError(`a condition must be a bool and not ${nameKind(condition.type)}: compare it, as in a > 0`);
  }
  const [then, otherwise] = [check(place, node.then), check(place, node.otherwise)];
  const lowered: Node = { kind: "if", condition: condition.node, then: then.node, otherwise: otherwise.node };
  return { node: lowered, type: unite(then.type, otherwise.type) };
}

function checkLet(place: Place, node: Extract<Node, { kind: "let" }>): Typed {
  const { triggers, variables } = place;
  const { name } = node;
  const isTaken = triggers?.has(name) === true || variables.has(name) || isFunction(name);
  if (isTaken) throw new FormulaError(`cannot define ${quote(name)} anew: choose another name`);
  const value = check(place, node.value);
  const body = check({ ...place, variables: new Map([...variables, [name, value.type]]) }, node.body);
  return { node: { ...node, value: value.node, body: body.node }, type: body.type };
}
