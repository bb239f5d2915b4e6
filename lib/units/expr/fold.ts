/** Computes what is constant before a formula runs (expr's optimizer/fold.go). It shows: `a > 0 and false` is false also where a is nil. */
import { type Arithmetic, compute, negate } from "./arithmetic.ts";
import type { BinaryNode, Node, UnaryNode } from "./ast.ts";
import { rewrite } from "./rewrite.ts";
import type { Value } from "./value.ts";

/** Until nothing more changes. Throws FormulaError for what cannot be computed, e.g. 1 % 0, also where it would never run. */
export function fold(node: Node): Node {
  let [tree, hasChanged] = [node, true];
  for (let passes = 0; hasChanged && passes < MAX_PASSES; passes++) {
    hasChanged = false;
    tree = rewrite(tree, (part) => {
      const folded = foldNode(part);
      hasChanged ||= folded !== part;
      return folded;
    });
  }
  return tree;
}

const MAX_PASSES = 1000;
const ARITHMETIC: ReadonlySet<string> = new Set<Arithmetic>(["+", "-", "*", "/", "%", "**"]);

function foldNode(node: Node): Node {
  switch (node.kind) {
    case "unary":
      return foldUnary(node);
    case "binary":
      return foldBinary(node);
    case "array": {
      const values = node.items.map(readScalar);
      const isConstant = values.length > 0 && values.every((value) => value !== null);
      return isConstant ? { kind: "constant", value: values } : node;
    }
    case "loop": {
      const { array, body } = node;
      if (node.name !== "filter" || array.kind !== "loop" || array.name !== "filter") return node;
      if (body === null || array.body === null) return node;
      return { ...node, array: array.array, body: { kind: "binary", operator: "and", left: array.body, right: body } };
    }
    default:
      return node;
  }
}

function foldUnary(node: UnaryNode): Node {
  const value = readScalar(node.operand);
  if (node.operator === "not") return typeof value === "boolean" ? { kind: "constant", value: !value } : node;
  if (typeof value !== "bigint" && typeof value !== "number") return node;
  return { kind: "constant", value: node.operator === "-" ? negate(value) : value };
}

function foldBinary(node: BinaryNode): Node {
  const { operator, left, right } = node;
  const [a, b] = [readScalar(left), readScalar(right)];
  if (operator === "and" || operator === "or") {
    const neutral = operator === "and";
    if (a === neutral) return right;
    if (b === neutral) return left;
    return typeof a === "boolean" || typeof b === "boolean" ? { kind: "constant", value: !neutral } : node;
  }
  const areIntegers = typeof a === "bigint" && typeof b === "bigint";
  if (operator === "==") {
    const areSame = areIntegers || (typeof a === "boolean" && typeof b === "boolean");
    return areSame ? { kind: "constant", value: a === b } : node;
  }
  const areNumbers = a !== null && b !== null && typeof a !== "boolean" && typeof b !== "boolean";
  if (!isArithmetic(operator) || !areNumbers || (operator === "%" && !areIntegers)) return node;
  return { kind: "constant", value: compute(operator, a, b) };
}

function isArithmetic(operator: string): operator is Arithmetic {
  return ARITHMETIC.has(operator);
}

/** Of a constant, its value; `null` for nil, arrays and what is no constant. */
function readScalar(node: Node): Exclude<Value, readonly Value[]> {
  if (node.kind !== "constant" || typeof node.value === "object") return null;
  return node.value;
}
