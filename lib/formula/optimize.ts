/**
 * Rewrites a formula before it runs, as expr 1.17.8 does.
 *
 * This is not for speed: the rewritten formula can have another value, because sum([a, b, c]) becomes a + (b + c). It can
 * also skip an error, because count(x, p) > 0 stops at the first match.
 */
import { MAX_VISITS } from "./check.ts";
import { type Arithmetic, compute, negate } from "./functions.ts";
import { type BinaryNode, FormulaError, type Node, type UnaryNode, type Value } from "./syntax.ts";

/** Applies the rewrites in expr's order. Throws FormulaError for a constant that cannot be computed. */
export function optimize(node: Node): Node {
  return REWRITES.reduce((tree, visit) => rewrite(tree, visit), fold(rewrite(node, toIntegerSet)));
}

const REWRITES: readonly ((node: Node) => Node)[] = [
  toComparisons,
  mapFiltered,
  countFiltered,
  (node) => findFiltered(node, { call: "last", index: -1n }),
  (node) => findFiltered(node, { call: "first", index: 0n }),
  combinePredicates,
  sumFromRight,
  toAny,
  limitCount,
];

/** integer in [1, 2, 3]: the value must then be an integer, or nil, which counts as 0. */
function toIntegerSet(node: Node): Node {
  if (node.kind !== "binary" || node.operator !== "in" || node.isInteger !== true) return node;
  const { right } = node;
  if (right.kind !== "array" || right.items.length === 0) return node;
  const values = right.items.flatMap((item) => findInteger(item) ?? []);
  if (values.length < right.items.length) return node;
  return { ...node, operator: "in integers", right: { kind: "constant", value: values } };
}

/** integer in 1..3 becomes two comparisons. */
function toComparisons(node: Node): Node {
  if (node.kind !== "binary" || node.operator !== "in" || node.isInteger !== true) return node;
  const { left, right: range } = node;
  if (range.kind !== "binary" || range.operator !== "..") return node;
  if (findInteger(range.left) === null || findInteger(range.right) === null) return node;
  const from: Node = { kind: "binary", operator: ">=", left, right: range.left };
  const to: Node = { kind: "binary", operator: "<=", left, right: range.right };
  return { kind: "binary", operator: "and", left: from, right: to };
}

/** map(filter(x, p), f) becomes one loop. */
function mapFiltered(node: Node): Node {
  if (node.kind !== "loop" || node.name !== "map" || node.body === null) return node;
  const { array } = node;
  if (array.kind !== "loop" || array.name !== "filter" || array.result !== undefined) return node;
  return { ...array, result: node.body };
}

/** len(filter(x, p)) becomes count(): a map() around the filter is then not evaluated. */
function countFiltered(node: Node): Node {
  const [filter] = node.kind === "call" && node.name === "len" ? node.items : [];
  if (filter?.kind !== "loop" || filter.name !== "filter") return node;
  const { array, body } = filter;
  return { kind: "loop", name: "count", array, body, initial: null };
}

/** filter(x, p)[0] and first(filter(x, p)) become find(), also from the end. */
function findFiltered(node: Node, { call, index }: { readonly call: "first" | "last"; readonly index: bigint }): Node {
  const isIndex = node.kind === "index" && findInteger(node.index) === index;
  const isCall = node.kind === "call" && node.name === call;
  const filter = isIndex ? node.array : isCall ? node.items[0] : undefined;
  if (filter?.kind !== "loop" || filter.name !== "filter") return node;
  return { ...filter, name: "find", mustFind: isIndex, isFromEnd: call === "last" };
}

/** all(x, p) and all(x, q) become one loop; so do any() or any(), and none() and none(). */
function combinePredicates(node: Node): Node {
  if (node.kind !== "binary" || (node.operator !== "and" && node.operator !== "or")) return node;
  const { operator, left, right } = node;
  if (left.kind !== "loop" || right.kind !== "loop" || left.name !== right.name) return node;
  if (left.name !== "all" && left.name !== "any" && left.name !== "none") return node;
  if (operator !== (left.name === "any" ? "or" : "and") || !isAlike(left.array, right.array)) return node;
  if (left.body === null || right.body === null) return node;
  const both: Node = {
    kind: "binary",
    operator: left.name === "all" ? "and" : "or",
    left: left.body,
    right: right.body,
  };
  return { ...left, body: combinePredicates(both) };
}

/** sum([a, b, c]) adds from the right if not all elements are constant. */
function sumFromRight(node: Node): Node {
  const isListed = node.kind === "loop" && node.name === "sum" && node.body === null && node.array.kind === "array";
  return isListed && node.array.items.length >= 2 ? { ...node, isFromRight: true } : node;
}

/** count(x, p) > 0 and >= 1 become any(). */
function toAny(node: Node): Node {
  if (node.kind !== "binary") return node;
  const { operator, left, right } = node;
  if (left.kind !== "loop" || left.name !== "count" || left.body === null) return node;
  const bound = findInteger(right);
  const isAny = (operator === ">" && bound === 0n) || (operator === ">=" && bound === 1n);
  return isAny ? { ...left, name: "any" } : node;
}

/** count(x, p) that is compared with a constant stops when the result is certain. */
function limitCount(node: Node): Node {
  if (node.kind !== "binary") return node;
  const { operator, left, right } = node;
  if (left.kind !== "loop" || left.name !== "count" || left.body === null) return node;
  const bound = findInteger(right);
  if (bound === null || bound < 0n) return node;
  const isOpen = operator === ">" || operator === "<=";
  if (!isOpen && operator !== ">=" && operator !== "<") return node;
  const limit = isOpen ? bound + 1n : bound;
  return limit > 1n ? { ...node, left: { ...left, limit } } : node;
}

function findInteger(node: Node): bigint | null {
  return node.kind === "constant" && typeof node.value === "bigint" ? node.value : null;
}

/**
 * Returns whether two parts of trees are written the same, up to the first difference. As in expr, 1 and 1.0 are the
 * same.
 */
function isAlike(a: unknown, b: unknown): boolean {
  if (isNumeral(a) && isNumeral(b)) return String(a) === String(b);
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a === b;
  const [ours, theirs] = [Object.entries(a), Object.entries(b)];
  return ours.length === theirs.length &&
    ours.every(([key, value], index) => key === theirs[index]?.[0] && isAlike(value, theirs[index]?.[1]));
}

function isNumeral(value: unknown): boolean {
  return typeof value === "bigint" || typeof value === "number";
}

/**
 * Folds constants until nothing changes. Throws FormulaError for what cannot be computed, such as 1 % 0, also in a part
 * that would never run.
 */
function fold(node: Node): Node {
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
      const values = node.items.map(findScalar);
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
  const value = findScalar(node.operand);
  if (node.operator === "not") return typeof value === "boolean" ? { kind: "constant", value: !value } : node;
  if (typeof value !== "bigint" && typeof value !== "number") return node;
  return { kind: "constant", value: node.operator === "-" ? negate(value) : value };
}

function foldBinary(node: BinaryNode): Node {
  const { operator, left, right } = node;
  const [a, b] = [findScalar(left), findScalar(right)];
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

/** Returns the value of a constant; `null` for nil, arrays and other nodes. */
function findScalar(node: Node): Exclude<Value, readonly Value[]> {
  if (node.kind !== "constant" || typeof node.value === "object") return null;
  return node.value;
}

/**
 * Returns the tree with each node replaced by `visit`, parts first. Throws FormulaError for a tree of too many parts:
 * `x in 1..3` becomes two comparisons of x, so trees grow and can double with each level.
 */
function rewrite(node: Node, visit: (node: Node) => Node): Node {
  let visits = 0;
  const go = (part: Node): Node => {
    if (++visits > MAX_VISITS) throw new FormulaError(`more than ${MAX_VISITS} parts: simplify it`);
    return rewriteParts(part, { go, visit });
  };
  return go(node);
}

interface Rewriting {
  readonly go: (node: Node) => Node;
  readonly visit: (node: Node) => Node;
}

function rewriteParts(node: Node, { go, visit }: Rewriting): Node {
  switch (node.kind) {
    case "constant":
    case "name":
    case "pointer":
      return visit(node);
    case "unary":
      return visit({ ...node, operand: go(node.operand) });
    case "binary":
      return visit({ ...node, left: go(node.left), right: go(node.right) });
    case "index":
      return visit({ ...node, array: go(node.array), index: go(node.index) });
    case "array":
    case "call":
      return visit({ ...node, items: node.items.map(go) });
    case "if":
      return visit({ ...node, condition: go(node.condition), then: go(node.then), otherwise: go(node.otherwise) });
    case "let":
      return visit({ ...node, value: go(node.value), body: go(node.body) });
    case "loop":
      // As in expr, `result` is not visited again.
      return visit({
        ...node,
        array: go(node.array),
        body: node.body === null ? null : go(node.body),
        initial: node.initial === null ? null : go(node.initial),
      });
  }
}
