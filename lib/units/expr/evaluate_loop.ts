/** Functions that look at each element of an array. */
import { compute } from "./arithmetic.ts";
import type { LoopNode, Node } from "./ast.ts";
import { FormulaError } from "./formula_error.ts";
import { type Frame, spend } from "./frame.ts";
import { isArray, nameType, type Value } from "./value.ts";

/** Throws FormulaError. Looks at no element behind the one that settles the answer. */
export function evaluateLoop(node: LoopNode, frame: Frame): Value {
  const list = frame.run(node.array, frame);
  if (!isArray(list)) throw new FormulaError(`${node.name}() takes an array and not ${nameType(list)}`);
  const read = (part: Node | null | undefined, element: Value, acc: Value = null): Value => {
    if (part) return frame.run(part, { ...frame, element, acc });
    spend(frame, 1);
    return element;
  };
  const isHit = (element: Value) => requireBool(node, read(node.body, element));
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
      return list.map((element) => read(node.body, element));
    case "filter":
      return list.flatMap((element) => isHit(element) ? [read(node.result, element)] : []);
    case "find": {
      const found = node.isFromEnd === true ? list.findLastIndex(isHit) : list.findIndex(isHit);
      if (found < 0 && node.mustFind === true) {
        throw new FormulaError("no element passes the filter: index is out of range");
      }
      return found < 0 ? null : read(node.result, list[found] ?? null);
    }
    case "count":
      return countHits(list, { isHit, limit: node.limit ?? null });
    case "sum":
      if (node.isFromRight === true) return list.reduceRight((total, element) => compute("+", element, total));
      return list.reduce<Value>((total, element) => compute("+", read(node.body, element), total), 0n);
    case "reduce":
      return reduceList(list, { node, frame, read });
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
  readonly read: (part: Node | null, element: Value, acc: Value) => Value;
}

function reduceList(list: readonly Value[], { node, frame, read }: Reducing): Value {
  if (node.initial !== null) {
    const initial = frame.run(node.initial, frame);
    return list.reduce<Value>((acc, element) => read(node.body, element, acc), initial);
  }
  const [first, ...rest] = list;
  if (first === undefined) throw new FormulaError("reduce() of an empty array needs a third argument to begin with");
  return rest.reduce<Value>((acc, element) => read(node.body, element, acc), first);
}

function requireBool({ name }: LoopNode, value: Value): boolean {
  if (typeof value !== "boolean") {
    throw new FormulaError(`the predicate of ${name}() is ${nameType(value)} and no bool`);
  }
  return value;
}
