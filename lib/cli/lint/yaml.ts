/**
 * Reads YAML and JSON as kubectl does: for each document its value, the faults that only the text shows, and the line
 * of a path such as `spec.policy.cooldown`. Aliases and depth are bounded, because a file of a few lines can expand to
 * terabytes.
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
import { findExcess } from "../../runtime/yaml.ts";
import type { Problem } from "../../units/problem.ts";
import { isRecord, joinPath, quote } from "../../units/untrusted.ts";
import { findOffset, keyOf, offsetOf, scalarOf } from "./nodes.ts";

/** A place in a file; both are counted from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/**
 * `duplicate`: a field that kubectl silently replaces by a later one. `refused`: kubectl does not read the document.
 */
export interface Fault extends Problem {
  readonly kind: "refused" | "duplicate";
  readonly place: Place;
}

export interface YamlDocument {
  /** The document as JSON; `null` when it is empty or cannot be read. */
  readonly value: unknown;
  readonly faults: readonly Fault[];
  /** Gives the place of a path's key; that of the nearest parent when the path does not exist. */
  locate(path: string): Place;
}

/** Reads every document of a file. Never throws: what is wrong is in the documents' faults. */
export function readYaml(text: string): readonly YamlDocument[] {
  const excess = findExcess(text);
  if (excess !== null) return [refuseAll(`Cannot read YAML: ${excess}`)];
  return readDocuments(text);
}

/** A file that is not read at all. */
function refuseAll(message: string): YamlDocument {
  const place = { line: 1, column: 1 };
  return { value: null, faults: [{ kind: "refused", path: "", message, place }], locate: () => place };
}

function readDocuments(text: string): readonly YamlDocument[] {
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
/** Far above what a manifest has, far below what could exhaust the memory. */
const MAX_ALIASED_NODES = 10_000;

type ToPlace = (offset: number) => Place;

/**
 * What is collected while one document is read. It is read in order, since an alias means the last anchor before it.
 */
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

/** Where in the document a value is read. */
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
  // Of merged objects the first wins, and the object's own fields win over all of them.
  const inherited = merged.filter(isRecord).toReversed().flatMap((record) => Object.entries(record));
  return Object.fromEntries([...inherited, ...own]);
}

function isMergeKey(node: Node): boolean {
  return isScalar(node) && node.type === "PLAIN" && node.source === "<<";
}
