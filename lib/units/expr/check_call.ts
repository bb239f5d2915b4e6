/** The types of functions of values (expr's builtin.Validate). */
import type { CallNode } from "./ast.ts";
import type { Place, Typed } from "./check_place.ts";
import { FormulaError } from "./formula_error.ts";
import { ANY, ANY_ARRAY, FLOAT, INT, isNumeric, isOpen, nameKind, toDeclared, type Type } from "./types.ts";

/** Throws FormulaError. */
export function checkCall(place: Place, node: CallNode): Typed {
  const items = node.items.map((item) => place.check(place, item));
  const type = readType(node.name, items.map((item) => toDeclared(item.type)));
  return { node: { ...node, items: items.map((item) => item.node) }, type };
}

function readType(name: CallNode["name"], items: readonly Type[]): Type {
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
      return readAggregate(name, items);
  }
}

/** What follows an array, or something unknown, is not looked at; and the type is that of the first item, whatever the others are. */
function readAggregate(name: CallNode["name"], items: readonly Type[]): Type {
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
