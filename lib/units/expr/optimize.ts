/**
 * Rewrites a formula as expr 1.17.8 does before it runs it (optimizer/). None of it is for speed here: the rewritten formula
 * can give another value, since sum([a, b, c]) becomes a + (b + c), and can miss an error, since count(x, p) > 0 stops at the first hit.
 */
import type { Node } from "./ast.ts";
import { fold } from "./fold.ts";
import { rewrite } from "./rewrite.ts";

/** In expr's order. Throws FormulaError for a constant that cannot be computed. */
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
  const values = right.items.flatMap((item) => readInteger(item) ?? []);
  if (values.length < right.items.length) return node;
  return { ...node, operator: "in integers", right: { kind: "constant", value: values } };
}

/** integer in 1..3 */
function toComparisons(node: Node): Node {
  if (node.kind !== "binary" || node.operator !== "in" || node.isInteger !== true) return node;
  const { left, right: range } = node;
  if (range.kind !== "binary" || range.operator !== "..") return node;
  if (readInteger(range.left) === null || readInteger(range.right) === null) return node;
  const from: Node = { kind: "binary", operator: ">=", left, right: range.left };
  const to: Node = { kind: "binary", operator: "<=", left, right: range.right };
  return { kind: "binary", operator: "and", left: from, right: to };
}

/** map(filter(x, p), f) */
function mapFiltered(node: Node): Node {
  if (node.kind !== "loop" || node.name !== "map" || node.body === null) return node;
  const { array } = node;
  if (array.kind !== "loop" || array.name !== "filter" || array.result !== undefined) return node;
  return { ...array, result: node.body };
}

/** len(filter(x, p)); what a map() around the filter would compute is not computed. */
function countFiltered(node: Node): Node {
  const [filter] = node.kind === "call" && node.name === "len" ? node.items : [];
  if (filter?.kind !== "loop" || filter.name !== "filter") return node;
  const { array, body } = filter;
  return { kind: "loop", name: "count", array, body, initial: null };
}

/** filter(x, p)[0] and first(filter(x, p)), or from the end. */
function findFiltered(node: Node, { call, index }: { readonly call: "first" | "last"; readonly index: bigint }): Node {
  const isIndex = node.kind === "index" && readInteger(node.index) === index;
  const isCall = node.kind === "call" && node.name === call;
  const filter = isIndex ? node.array : isCall ? node.items[0] : undefined;
  if (filter?.kind !== "loop" || filter.name !== "filter") return node;
  return { ...filter, name: "find", mustFind: isIndex, isFromEnd: call === "last" };
}

/** all(x, p) and all(x, q); any() or any(); none() and none() */
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

/** sum([a, b, c]) of elements that are not all constant. */
function sumFromRight(node: Node): Node {
  const isListed = node.kind === "loop" && node.name === "sum" && node.body === null && node.array.kind === "array";
  return isListed && node.array.items.length >= 2 ? { ...node, isFromRight: true } : node;
}

/** count(x, p) > 0 and >= 1 */
function toAny(node: Node): Node {
  if (node.kind !== "binary") return node;
  const { operator, left, right } = node;
  if (left.kind !== "loop" || left.name !== "count" || left.body === null) return node;
  const least = readInteger(right);
  const isAny = (operator === ">" && least === 0n) || (operator === ">=" && least === 1n);
  return isAny ? { ...left, name: "any" } : node;
}

/** count(x, p) compared with a constant stops where the answer is certain. */
function limitCount(node: Node): Node {
  if (node.kind !== "binary") return node;
  const { operator, left, right } = node;
  if (left.kind !== "loop" || left.name !== "count" || left.body === null) return node;
  const bound = readInteger(right);
  if (bound === null || bound < 0n) return node;
  const isOpen = operator === ">" || operator === "<=";
  if (!isOpen && operator !== ">=" && operator !== "<") return node;
  const limit = isOpen ? bound + 1n : bound;
  return limit > 1n ? { ...node, left: { ...left, limit } } : node;
}

function readInteger(node: Node): bigint | null {
  return node.kind === "constant" && typeof node.value === "bigint" ? node.value : null;
}

/** Says whether two parts of trees are written alike, up to the first difference. As in expr 1 and 1.0 are. */
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
