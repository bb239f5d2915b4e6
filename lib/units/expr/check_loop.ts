/** The types of functions that look at each element of an array. */
import type { LoopNode } from "./ast.ts";
import type { Place, Typed } from "./check_place.ts";
import { FormulaError } from "./formula_error.ts";
import { ANY_ARRAY, BOOL, INT, isOpen, nameKind, toDeclared, type Type, UNKNOWN } from "./types.ts";

/** Throws FormulaError. */
export function checkLoop(place: Place, node: LoopNode): Typed {
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
  return { node: lowered, type: readType(name, { array: array.type, element, body: body?.type ?? null }) };
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

function readType(name: LoopNode["name"], { array, element, body }: Parts): Type {
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
