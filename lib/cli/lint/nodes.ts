/**
 * Finds the fields of a YAML file by path, and reads its scalars. Paths are those of the parser's problems:
 * `spec.policy.cooldown`, `spec.selector.matchLabels.app`, `items[0].metadata`. `targets` maps each alias to the node
 * that it stands for.
 */
import { isMap, isScalar, isSeq, type Node } from "yaml";
import { joinPath } from "../../units/untrusted.ts";
import { resolveScalar, type ScalarValue } from "./scalar.ts";

/** Gives the offset of the field of a path, in characters; that of its nearest parent where the field is missing. */
export function findOffset(root: Node | null, path: string, targets: ReadonlyMap<Node, Node>): number {
  let [node, offset, rest] = [root, root === null ? 0 : offsetOf(root), path];
  while (node !== null && rest !== "") {
    const step = stepInto(targets.get(node) ?? node, rest.replace(/^\./, ""), targets);
    if (step === null) return offset;
    ({ node, offset, rest } = step);
  }
  return offset;
}

/** Gives the offset at which a node starts, in characters. */
export function offsetOf(node: Node): number {
  return node.range?.[0] ?? 0;
}

/**
 * Gives the name of a field; `null` for a key that is no scalar. JSON has only text here: `on:` is the field "true".
 */
export function keyOf(node: Node, targets: ReadonlyMap<Node, Node>): string | null {
  const target = targets.get(node) ?? node;
  return isScalar(target) ? String(scalarOf(target)) : null;
}

/** Gives the value of a scalar; `null` for another node. */
export function scalarOf(node: Node): ScalarValue {
  if (!isScalar(node)) return null;
  return resolveScalar({ text: node.source ?? "", isPlain: node.type === "PLAIN", tag: node.tag ?? null });
}

interface Step {
  readonly node: Node | null;
  readonly offset: number;
  readonly rest: string;
}

/** A field's name may hold dots, so the longest name that the path begins with is used, and the last of equal ones. */
function stepInto(node: Node, path: string, targets: ReadonlyMap<Node, Node>): Step | null {
  if (isSeq<Node>(node)) {
    const [written, index] = /^\[(\d+)\]/.exec(path) ?? [];
    const item = node.items[Number(index)];
    return written === undefined || item === undefined
      ? null
      : { node: item, offset: offsetOf(item), rest: path.slice(written.length) };
  }
  if (!isMap<Node, Node | null>(node)) return null;
  const steps = node.items.flatMap(({ key: keyNode, value }): readonly Step[] => {
    const key = keyOf(keyNode, targets);
    const rest = key === null ? null : restAfter(key, path);
    return rest === null ? [] : [{ node: value, offset: offsetOf(keyNode), rest }];
  });
  return steps.toReversed().toSorted((a, b) => a.rest.length - b.rest.length)[0] ?? null;
}

/**
 * Gives what follows a key in a path, where the key is as it is or as joinPath() escapes it; `null` if it is another.
 */
function restAfter(key: string, path: string): string | null {
  for (const written of [key, joinPath("", key)]) {
    const rest = path.startsWith(written) ? path.slice(written.length) : null;
    if (rest !== null && /^([.[]|$)/.test(rest)) return rest;
  }
  return null;
}
