/**
 * Checks the types of a formula before it runs.
 *
 * Refuses what expr's checker refuses: unknown names, and types that do not fit. Some nodes get more exact, because their
 * type decides how they run.
 */
import { quote } from "../units/untrusted.ts";
import {
  type BinaryNode,
  type CallNode,
  FormulaError,
  FUNCTION_NAMES,
  LOOP_NAMES,
  type LoopNode,
  type Node,
  REFUSED_FUNCTIONS,
  type UnaryNode,
} from "./syntax.ts";

type Type =
  | { readonly kind: "nil" | "bool" | "int" | "float" }
  /** Not known before the run. `any` is what a function declares as unknown; it differs where two types are united. */
  | { readonly kind: "unknown" | "any" }
  | { readonly kind: "array"; readonly element: Type };

const NIL: Type = { kind: "nil" };

const BOOL: Type = { kind: "bool" };

const INT: Type = { kind: "int" };

const FLOAT: Type = { kind: "float" };

const ANY: Type = { kind: "any" };

const UNKNOWN: Type = { kind: "unknown" };

const ANY_ARRAY: Type = { kind: "array", element: ANY };

/** Returns whether the type is not known. */
function isOpen({ kind }: Type): boolean {
  return kind === "unknown" || kind === "any";
}

/** Returns whether it is certainly an integer or a float. */
function isNumeric({ kind }: Type): boolean {
  return kind === "int" || kind === "float";
}

/** Returns whether both types can be what `isFit` accepts: one is, and the other is too or is not known. */
function canBoth(left: Type, right: Type, isFit: (type: Type) => boolean): boolean {
  return (isFit(left) || isOpen(left)) && (isFit(right) || isOpen(right));
}

/** Returns whether == may compare them. */
function isComparable(left: Type, right: Type): boolean {
  if (isOpen(left) || isOpen(right) || left.kind === "nil" || right.kind === "nil") return true;
  return left.kind === right.kind || (isNumeric(left) && isNumeric(right));
}

/** Returns the type of + - and *. */
function promote(left: Type, right: Type): Type {
  if (isOpen(left) || isOpen(right)) return UNKNOWN;
  return left.kind === "float" || right.kind === "float" ? FLOAT : INT;
}

/** Returns the type of both branches of a condition. */
function unite(then: Type, otherwise: Type): Type {
  if (then.kind === "nil") return otherwise;
  if (otherwise.kind === "nil") return then;
  if (!isAssignable(then, otherwise)) return UNKNOWN;
  if (then.kind !== "array" || otherwise.kind !== "array") return then;
  const isSame = isAssignable(then.element, otherwise.element) && isAssignable(otherwise.element, then.element);
  return isSame ? then : ANY_ARRAY;
}

/** Returns the type of `left ?? right`. */
function coalesce(left: Type, right: Type): Type {
  if (left.kind === "nil") return right;
  return right.kind === "nil" || isAssignable(right, left) ? left : UNKNOWN;
}

/** Returns the type of an array literal. */
function toArray(items: readonly Type[]): Type {
  const [first = UNKNOWN] = items;
  const isUniform = items.every((item) => isSameKind(item, first));
  return isUniform ? { kind: "array", element: items.at(-1) ?? UNKNOWN } : ANY_ARRAY;
}

/** Returns the type of a predicate's result, as the function that it becomes declares it. */
function toDeclared(type: Type): Type {
  if (type.kind === "array") return ANY_ARRAY;
  return type.kind === "unknown" ? ANY : type;
}

/** Returns the name of a type for messages. */
function nameKind({ kind }: Type): string {
  return {
    nil: "nil",
    bool: "a bool",
    int: "an integer",
    float: "a float",
    array: "an array",
    any: "unknown",
    unknown: "unknown",
  }[kind];
}

function isAssignable(from: Type, to: Type): boolean {
  if (from.kind === "unknown" || to.kind === "unknown") return false;
  if (from.kind === "nil") return to.kind === "any" || to.kind === "array";
  return to.kind === "any" || from.kind === to.kind;
}

/** expr compares reflect kinds; nil and unknown values have none. */
function isSameKind(a: Type, b: Type): boolean {
  const toKind = ({ kind }: Type) => kind === "nil" ? "unknown" : kind;
  return toKind(a) === toKind(b);
}

interface Checked extends Typed {
  /** The triggers that it uses, in the order of their first use. */
  readonly names: readonly string[];
}

/**
 * Returns the checked formula. Throws FormulaError. `triggers` are floats; with `null` every unknown name is a trigger.
 * Clauses: R62.
 */
export function checkFormula(node: Node, triggers: ReadonlySet<string> | null): Checked {
  const used = new Set<string>();
  const variables: ReadonlyMap<string, Type> = new Map();
  const visits = { count: 0 };
  const outer = { triggers, variables, element: null, hasAcc: false, depth: 0, used, visits, check };
  return { ...check(outer, node), names: [...used] };
}

/** Nodes within nodes: the evaluation is recursive, and the stack is limited. */
const MAX_DEPTH = 400;

/** Nodes in one walk through a formula. */
export const MAX_VISITS = 10_000;

function check(outer: CheckContext, node: Node): Typed {
  if (outer.depth >= MAX_DEPTH) throw new FormulaError(`nested deeper than ${MAX_DEPTH} levels: simplify it`);
  if (++outer.visits.count > MAX_VISITS) throw new FormulaError(`more than ${MAX_VISITS} parts: simplify it`);
  const place = { ...outer, depth: outer.depth + 1 };
  switch (node.kind) {
    case "constant":
      return { node, type: findNodeType(node.value) };
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

function findNodeType(value: unknown): Type {
  if (value === null) return NIL;
  return typeof value === "bigint" ? INT : typeof value === "number" ? FLOAT : BOOL;
}

function checkName({ triggers, variables, used }: CheckContext, name: string): Type {
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

function checkPointer({ element, hasAcc }: CheckContext, name: "element" | "acc"): Type {
  if (element === null) throw new FormulaError('"#" is used outside of a predicate: it is the element of an array');
  if (name === "element") return element;
  if (!hasAcc) throw new FormulaError('"#acc" is used outside of reduce(): only reduce() has it');
  return UNKNOWN;
}

function checkUnary(place: CheckContext, node: UnaryNode): Typed {
  const { node: operand, type } = check(place, node.operand);
  const lowered = { ...node, operand };
  if (node.operator === "not") {
    if (type.kind === "bool" || isOpen(type)) return { node: lowered, type: BOOL };
  } else if (isNumeric(type) || isOpen(type)) {
    return { node: lowered, type: isOpen(type) ? UNKNOWN : type };
  }
  throw new FormulaError(`operator ${quote(node.operator)} does not go with ${nameKind(type)}`);
}

function checkIndex(place: CheckContext, node: Extract<Node, { kind: "index" }>): Typed {
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

function checkIf(place: CheckContext, node: Extract<Node, { kind: "if" }>): Typed {
  const condition = check(place, node.condition);
  if (condition.type.kind !== "bool" && !isOpen(condition.type)) {
    throw new FormulaError(`a condition must be a bool and not ${nameKind(condition.type)}: compare it, as in a > 0`);
  }
  const [then, otherwise] = [check(place, node.then), check(place, node.otherwise)];
  const lowered: Node = { kind: "if", condition: condition.node, then: then.node, otherwise: otherwise.node };
  return { node: lowered, type: unite(then.type, otherwise.type) };
}

function checkLet(place: CheckContext, node: Extract<Node, { kind: "let" }>): Typed {
  const { triggers, variables } = place;
  const { name } = node;
  const isTaken = triggers?.has(name) === true || variables.has(name) || isFunction(name);
  if (isTaken) throw new FormulaError(`cannot define ${quote(name)} again: choose another name`);
  const value = check(place, node.value);
  const body = check({ ...place, variables: new Map([...variables, [name, value.type]]) }, node.body);
  return { node: { ...node, value: value.node, body: body.node }, type: body.type };
}

/** Returns the type of a binary operator. Throws FormulaError. */
function checkBinary(place: CheckContext, node: BinaryNode): Typed {
  const [left, right] = [place.check(place, node.left), place.check(place, node.right)];
  const type = findBinaryType(node.operator, left.type, right.type);
  if (type === null) {
    const hint = node.operator === "%" && canBoth(left.type, right.type, isNumeric)
      ? ": a trigger's value is a float, write int(...)"
      : "";
    throw new FormulaError(
      `operator ${quote(node.operator)} does not go with ${nameKind(left.type)} and ${nameKind(right.type)}${hint}`,
    );
  }
  const isInteger = left.type.kind === "int" && (node.operator === "in" || right.type.kind === "int");
  return { node: { ...node, left: left.node, right: right.node, isInteger }, type };
}

/** Returns `null` if the types do not fit together. */
function findBinaryType(operator: BinaryNode["operator"], left: Type, right: Type): Type | null {
  switch (operator) {
    case "==":
    case "!=":
      return isComparable(left, right) ? BOOL : null;
    case "and":
    case "or":
      return canBoth(left, right, ({ kind }) => kind === "bool") ? BOOL : null;
    case "<":
    case "<=":
    case ">":
    case ">=":
      return canBoth(left, right, isNumeric) ? BOOL : null;
    case "+":
    case "-":
    case "*":
      return canBoth(left, right, isNumeric) ? promote(left, right) : null;
    case "/":
    case "**":
      return canBoth(left, right, isNumeric) ? FLOAT : null;
    case "%":
      return canBoth(left, right, ({ kind }) => kind === "int") ? INT : null;
    case "..":
      return canBoth(left, right, ({ kind }) => kind === "int") ? { kind: "array", element: INT } : null;
    case "??":
      return coalesce(left, right);
    case "in":
      if (right.kind === "array") return isComparable(left, right.element) ? BOOL : null;
      return isOpen(right) ? BOOL : null;
    case "in integers":
      return BOOL;
  }
}

/** Returns the type of a call. Throws FormulaError. */
function checkCall(place: CheckContext, node: CallNode): Typed {
  const items = node.items.map((item) => place.check(place, item));
  const type = findCallType(node.name, items.map((item) => toDeclared(item.type)));
  return { node: { ...node, items: items.map((item) => item.node) }, type };
}

function findCallType(name: CallNode["name"], items: readonly Type[]): Type {
  const [first] = items;
  const isMany = name === "max" || name === "min" || name === "mean" || name === "median";
  if (first === undefined || (items.length > 1 && !isMany)) {
    throw new FormulaError(`${name}() takes ${isMany ? "at least " : ""}one argument and has ${items.length}`);
  }
  switch (name) {
    case "abs":
      return requireNumber(name, first);
    case "ceil":
    case "floor":
    case "round":
    case "float":
      requireNumber(name, first);
      return FLOAT;
    case "int":
      requireNumber(name, first);
      return INT;
    case "len":
      requireArray(name, first);
      return INT;
    case "first":
    case "last":
      requireArray(name, first);
      return ANY;
    case "sort":
      requireArray(name, first);
      return ANY_ARRAY;
    case "max":
    case "min":
    case "mean":
    case "median":
      return findAggregateType(name, items);
  }
}

/** Arguments after an array or an unknown value are not checked. The type is that of the first argument, as in expr. */
function findAggregateType(name: CallNode["name"], items: readonly Type[]): Type {
  const isList = (item: Type) => isOpen(item) || item.kind === "array";
  const end = items.findIndex(isList);
  for (const item of end < 0 ? items : items.slice(0, end)) requireNumber(name, item);
  return end < 0 ? items[0] ?? ANY : ANY;
}

function requireNumber(name: string, type: Type): Type {
  if (isNumeric(type) || isOpen(type)) return type;
  const hint = name === "float" && type.kind === "bool" ? ", as a formula's value must be: write (...) ? 1 : 0" : "";
  throw new FormulaError(`${name}() takes a number and not ${nameKind(type)}${hint}`);
}

function requireArray(name: string, type: Type): void {
  if (type.kind !== "array" && !isOpen(type)) {
    throw new FormulaError(`${name}() takes an array and not ${nameKind(type)}`);
  }
}

/** Returns the type of a function with a predicate. Throws FormulaError. */
function checkLoop(place: CheckContext, node: LoopNode): Typed {
  const { name } = node;
  const array = place.check(place, node.array);
  if (array.type.kind !== "array" && !isOpen(array.type)) {
    throw new FormulaError(`${name}() takes an array and not ${nameKind(array.type)}`);
  }
  const element = array.type.kind === "array" ? array.type.element : UNKNOWN;
  const inner = { ...place, element, hasAcc: name === "reduce" };
  const body = node.body === null ? null : place.check(inner, node.body);
  if (body?.type.kind === "nil") throw new FormulaError(`the predicate of ${name}() is nil: it must give a value`);
  if (body !== null && WANTS_BOOL.has(name)) requireBool(name, body.type);
  const initial = node.initial === null ? null : place.check(place, node.initial).node;
  const lowered = { ...node, array: array.node, body: body?.node ?? null, initial };
  return { node: lowered, type: findLoopType(name, { array: array.type, element, body: body?.type ?? null }) };
}

const WANTS_BOOL: ReadonlySet<string> = new Set(["all", "any", "none", "one", "filter", "find", "count"]);

function requireBool(name: string, type: Type): void {
  if (type.kind === "bool" || isOpen(type)) return;
  throw new FormulaError(`the predicate of ${name}() must be a bool and not ${nameKind(type)}: compare, as in # > 0`);
}

interface Parts {
  readonly array: Type;
  readonly element: Type;
  readonly body: Type | null;
}

function findLoopType(name: LoopNode["name"], { array, element, body }: Parts): Type {
  switch (name) {
    case "all":
    case "any":
    case "none":
    case "one":
      return BOOL;
    case "count":
      return INT;
    case "filter":
      return array.kind === "array" ? { kind: "array", element } : ANY_ARRAY;
    case "map":
      return { kind: "array", element: body ?? UNKNOWN };
    case "find":
      return element;
    case "sum":
      return body === null ? element : toDeclared(body);
    case "reduce":
      return body ?? UNKNOWN;
  }
}

interface Typed {
  /** The node, with what its type makes certain. */
  readonly node: Node;
  readonly type: Type;
}

interface CheckContext {
  /** `null` = any name that is not defined is a trigger. */
  readonly triggers: ReadonlySet<string> | null;
  readonly variables: ReadonlyMap<string, Type>;
  /** The type of #; `null` outside of predicates. */
  readonly element: Type | null;
  /** Within reduce(), where #acc is. */
  readonly hasAcc: boolean;
  readonly depth: number;
  /** Names of triggers that are used, in order; the checker adds to it. */
  readonly used: Set<string>;
  /** Counts visits of nodes: parts of a chain of comparisons are visited more than once. */
  readonly visits: { count: number };
  /** Checks a node within this one. */
  readonly check: (place: CheckContext, node: Node) => Typed;
}
