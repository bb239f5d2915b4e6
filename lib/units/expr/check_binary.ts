/** The types of operators with two operands. */
import { quote } from "../untrusted.ts";
import type { BinaryNode } from "./ast.ts";
import type { Place, Typed } from "./check_place.ts";
import { FormulaError } from "./formula_error.ts";
import {
  BOOL,
  canBoth,
  coalesce,
  FLOAT,
  INT,
  isComparable,
  isNumeric,
  isOpen,
  nameKind,
  promote,
  type Type,
} from "./types.ts";

/** Throws FormulaError. */
export function checkBinary(place: Place, node: BinaryNode): Typed {
  const [left, right] = [place.check(place, node.left), place.check(place, node.right)];
  const type = readType(node.operator, left.type, right.type);
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

/** `null` = they do not go together. */
function readType(operator: BinaryNode["operator"], left: Type, right: Type): Type | null {
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
