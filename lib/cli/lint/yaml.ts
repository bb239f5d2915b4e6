/**
 * Reads YAML, and with it JSON, as kubectl does, and keeps where everything stands: each document's value for the
 * parser, the faults that only the text shows, and for a path such as `spec.policy.cooldown` its line. Aliases and
 * depth are bounded: a file of a few lines can stand for terabytes.
 */
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseAllDocuments,
} from "yaml";
import type { Problem } from "../../units/problem.ts";
import { isRecord, joinPath, quote } from "../../units/untrusted.ts";
import { findOffset, keyOf, offsetOf, scalarOf } from "./nodes.ts";

export interface Place {
  readonly line: number;
  readonly column: number;
}

/** `duplicate`: kubectl keeps the last of the fields without a word. `refused`: by kubectl or any reader of YAML. */
export interface Fault extends Problem {
  readonly kind: "refused" | "duplicate";
  readonly place: Place;
}

export interface YamlDocument {
  /** `null` when it is empty or cannot be read at all. */
  readonly value: unknown;
  readonly faults: readonly Fault[];
  /** Of the key, or where the path does not exist, of the nearest parent. */
  locate(path: string): Place;
}

export function readYaml(text: string): readonly YamlDocument[] {
  const counter = new LineCounter();
  const options = { lineCounter: counter, schema: "failsafe", prettyErrors: false, uniqueKeys: false } as const;
  const toPlace = (offset: number): Place => {
    const { line, col } = counter.linePos(offset);
    return { line, column: col };
  };
  return [...parseAllDocuments(text, options)].map((document) => readDocument(document, toPlace));
}

const MAX_DEPTH = 100;
const MAX_FAULTS = 100;
/** Far above any manifest, far below a bomb. */
const MAX_ALIASED_NODES = 10_000;

type ToPlace = (offset: number) => Place;

/** What is gathered while one document is read, in its order, as an alias means the anchor last seen. */
interface Reading {
  readonly toPlace: ToPlace;
  readonly faults: Fault[];
  readonly anchors: Map<string, Node>;
  readonly targets: Map<Node, Node>;
  aliasedNodes: number;
}

function readDocument(document: Document, toPlace: ToPlace): YamlDocument {
  const reading: Reading = { toPlace, faults: [], anchors: new Map(), targets: new Map(), aliasedNodes: 0 };
  for (const { message, pos: [offset] } of document.errors) {
    addFault(reading, { kind: "refused", path: "", message: `Cannot read YAML: ${message}`, offset });
  }
  const root = document.contents;
  const value = document.errors.length > 0 ? null : toValue(root, { path: "", depth: 0, isAliased: false }, reading);
  return { value, faults: reading.faults, locate: (path) => toPlace(findOffset(root, path, reading.targets)) };
}

function addFault(
  { faults, toPlace }: Reading,
  { offset, ...fault }: Omit<Fault, "place"> & { readonly offset: number },
): void {
  if (faults.length < MAX_FAULTS) faults.push({ ...fault, place: toPlace(offset) });
}

interface Position {
  readonly path: string;
  readonly depth: number;
  readonly isAliased: boolean;
}

function toValue(node: Node | null, position: Position, reading: Reading): unknown {
  if (node === null) return null;
  const { path, depth, isAliased } = position;
  const refuse = (message: string) => {
    addFault(reading, { kind: "refused", path, message, offset: offsetOf(node) });
    return null;
  };
  if (isAliased && ++reading.aliasedNodes > MAX_ALIASED_NODES) {
    return reading.aliasedNodes > MAX_ALIASED_NODES + 1
      ? null
      : refuse(`Cannot use aliases that stand for more than ${MAX_ALIASED_NODES} values`);
  }
  if (depth > MAX_DEPTH) return refuse(`Cannot use what is nested more than ${MAX_DEPTH} levels deep`);
  if (isAlias(node)) {
    const target = reading.anchors.get(node.source);
    if (target === undefined) return refuse(`Cannot use alias ${quote(`*${node.source}`)}: no such anchor before it`);
    reading.targets.set(node, target);
    return toValue(target, { path, depth: depth + 1, isAliased: true }, reading);
  }
  if ("anchor" in node && node.anchor !== undefined) reading.anchors.set(node.anchor, node);
  if (isMap<Node, Node | null>(node)) return toRecord(node.items, position, reading);
  if (isSeq<Node>(node)) {
    return node.items.map((item, index) =>
      toValue(item, { path: `${path}[${index}]`, depth: depth + 1, isAliased }, reading)
    );
  }
  const value = scalarOf(node);
  return typeof value === "number" && !Number.isFinite(value)
    ? refuse(`Cannot use ${value} as number: JSON has no such number`)
    : value;
}

function toRecord(pairs: readonly Pair<Node, Node | null>[], at: Position, reading: Reading): unknown {
  const own = new Map<string, unknown>();
  const merged: unknown[] = [];
  for (const { key: keyNode, value: valueNode } of pairs) {
    const key = keyOf(keyNode, reading.targets);
    const path = key === null ? at.path : joinPath(at.path, key);
    const fault = { path, offset: offsetOf(keyNode) };
    if (key === null) {
      addFault(reading, { ...fault, kind: "refused", message: "Cannot use a list, an object or an alias as field" });
      continue;
    }
    if (own.has(key)) {
      const message = `Cannot use field ${quote(key)} twice: only the last one counts, remove the others`;
      addFault(reading, { ...fault, kind: "duplicate", message });
    }
    const value = toValue(valueNode, { path, depth: at.depth + 1, isAliased: at.isAliased }, reading);
    if (isMergeKey(keyNode)) merged.push(...(Array.isArray(value) ? value : [value]));
    else own.set(key, value);
  }
  // The first of merged objects wins, and a field of one's own over all.
  const inherited = merged.filter(isRecord).toReversed().flatMap((record) => Object.entries(record));
  return Object.fromEntries([...inherited, ...own]);
}

function isMergeKey(node: Node): boolean {
  return isScalar(node) && node.type === "PLAIN" && node.source === "<<";
}
