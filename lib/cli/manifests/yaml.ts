/**
 * Reads YAML and JSON files of Kubernetes objects, with the line and column of every field.
 *
 * Scalars mean what they mean to kubectl. Depth, aliases and errors are limited, because files may come from
 * strangers.
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
import { isRecord, joinPath, type Problem, quote } from "../../units/untrusted.ts";
import { findExcess } from "../../runtime/yaml.ts";

/** A place in a file; both are counted from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/**
 * `duplicate`: a field that kubectl silently replaces by a later one. `refused`: kubectl does not read the document.
 */
interface Fault extends Problem {
  readonly kind: "refused" | "duplicate";
  readonly place: Place;
}

export interface YamlDocument {
  /** The document as JSON; `null` when it is empty or cannot be read. */
  readonly value: unknown;
  readonly faults: readonly Fault[];
  /** Returns the place of a path's key; that of the nearest parent when the path does not exist. */
  locate(path: string): Place;
}

/** Reads every document of a file. Never throws: what is wrong is in the documents' faults. */
export function parseYaml(text: string): readonly YamlDocument[] {
  const excess = findExcess(text);
  if (excess !== null) return [refuseAll(`Cannot read YAML: ${excess}`)];
  return toYamlDocuments(text);
}

/** A file that is not parsed. */
function refuseAll(message: string): YamlDocument {
  const place = { line: 1, column: 1 };
  return { value: null, faults: [{ kind: "refused", path: "", message, place }], locate: () => place };
}

function toYamlDocuments(text: string): readonly YamlDocument[] {
  const counter = new LineCounter();
  const options = { lineCounter: counter, schema: "failsafe", prettyErrors: false, uniqueKeys: false } as const;
  const toPlace = (offset: number): Place => {
    const { line, col } = counter.linePos(offset);
    return { line, column: col };
  };
  return [...parseAllDocuments(text, options)].map((document) => toYamlDocument(document, toPlace));
}

const MAX_DEPTH = 100;

const MAX_FAULTS = 100;

/** Far above what a manifest has, far below what could exhaust the memory. */
const MAX_ALIASED_NODES = 10_000;

type ToPlace = (offset: number) => Place;

/** The state of one document. It is read in order, since an alias means the last anchor before it. */
interface YamlContext {
  readonly toPlace: ToPlace;
  readonly faults: Fault[];
  readonly anchors: Map<string, Node>;
  readonly targets: Map<Node, Node>;
  aliasedNodes: number;
}

function toYamlDocument(document: Document, toPlace: ToPlace): YamlDocument {
  const reading: YamlContext = { toPlace, faults: [], anchors: new Map(), targets: new Map(), aliasedNodes: 0 };
  for (const { message, pos: [offset] } of document.errors) {
    addFault(reading, { kind: "refused", path: "", message: `Cannot read YAML: ${message}`, offset });
  }
  const root = document.contents;
  const value = document.errors.length > 0 ? null : toValue(root, { path: "", depth: 0, isAliased: false }, reading);
  return { value, faults: reading.faults, locate: (path) => toPlace(findOffset(root, path, reading.targets)) };
}

function addFault(
  { faults, toPlace }: YamlContext,
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

function toValue(node: Node | null, position: Position, reading: YamlContext): unknown {
  if (node === null) return null;
  const { path, depth, isAliased } = position;
  const refuse = (message: string) => {
    addFault(reading, { kind: "refused", path, message, offset: getOffset(node) });
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
  const value = getScalar(node);
  return typeof value === "number" && !Number.isFinite(value)
    ? refuse(`Cannot use ${value} as number: JSON has no such number`)
    : value;
}

function toRecord(pairs: readonly Pair<Node, Node | null>[], at: Position, reading: YamlContext): unknown {
  const own = new Map<string, unknown>();
  const merged: unknown[] = [];
  for (const { key: keyNode, value: valueNode } of pairs) {
    const key = getKey(keyNode, reading.targets);
    const path = key === null ? at.path : joinPath(at.path, key);
    const fault = { path, offset: getOffset(keyNode) };
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

/** Returns the offset of the field of a path, in characters; that of its nearest parent where the field is missing. */
function findOffset(root: Node | null, path: string, targets: ReadonlyMap<Node, Node>): number {
  let [node, offset, rest] = [root, root === null ? 0 : getOffset(root), path];
  while (node !== null && rest !== "") {
    const step = stepInto(targets.get(node) ?? node, rest.replace(/^\./, ""), targets);
    if (step === null) return offset;
    ({ node, offset, rest } = step);
  }
  return offset;
}

/** Returns the offset at which a node starts, in characters. */
function getOffset(node: Node): number {
  return node.range?.[0] ?? 0;
}

/**
 * Returns the name of a field; `null` for a key that is not a scalar. JSON has only text here: `on:` is the field "true".
 */
function getKey(node: Node, targets: ReadonlyMap<Node, Node>): string | null {
  const target = targets.get(node) ?? node;
  return isScalar(target) ? String(getScalar(target)) : null;
}

/** Returns the value of a scalar; `null` for another node. */
function getScalar(node: Node): ScalarValue {
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
      : { node: item, offset: getOffset(item), rest: path.slice(written.length) };
  }
  if (!isMap<Node, Node | null>(node)) return null;
  const steps = node.items.flatMap(({ key: keyNode, value }): readonly Step[] => {
    const key = getKey(keyNode, targets);
    const rest = key === null ? null : restAfter(key, path);
    return rest === null ? [] : [{ node: value, offset: getOffset(keyNode), rest }];
  });
  return steps.toReversed().toSorted((a, b) => a.rest.length - b.rest.length)[0] ?? null;
}

/** Returns the rest of a path after a key, which may be escaped by joinPath(); `null` if the path has another key. */
function restAfter(key: string, path: string): string | null {
  for (const written of [key, joinPath("", key)]) {
    const rest = path.startsWith(written) ? path.slice(written.length) : null;
    if (rest !== null && /^([.[]|$)/.test(rest)) return rest;
  }
  return null;
}

/** A scalar as the file has it. */
interface Scalar {
  readonly text: string;
  /** True when it is neither in quotes nor a block. */
  readonly isPlain: boolean;
  /** The explicit tag, such as `tag:yaml.org,2002:str` for `!!str`; `null` without one. */
  readonly tag: string | null;
}

export type ScalarValue = string | number | boolean | null;

/** Returns the value of a scalar. Never throws. */
export function resolveScalar({ text, isPlain, tag }: Scalar): ScalarValue {
  if (tag === null) return isPlain ? resolvePlain(text) : text;
  return RESOLVED_TAGS.includes(tag) ? resolvePlain(text) : text;
}

const RESOLVED_TAGS = ["bool", "int", "float", "null"].map((name) => `tag:yaml.org,2002:${name}`);

const SCALAR_WORDS: ReadonlyMap<string, ScalarValue> = new Map<string, ScalarValue>([
  ...["", "~", "null", "Null", "NULL"].map((word) => [word, null] as const),
  ...["y", "Y", "yes", "Yes", "YES", "on", "On", "ON"].map((word) => [word, true] as const),
  ...["true", "True", "TRUE"].map((word) => [word, true] as const),
  ...["n", "N", "no", "No", "NO", "off", "Off", "OFF"].map((word) => [word, false] as const),
  ...["false", "False", "FALSE"].map((word) => [word, false] as const),
  ...[".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"].map((word) => [word, Infinity] as const),
  ...["-.inf", "-.Inf", "-.INF"].map((word) => [word, -Infinity] as const),
  ...[".nan", ".NaN", ".NAN"].map((word) => [word, NaN] as const),
]);

function resolvePlain(text: string): ScalarValue {
  const word = SCALAR_WORDS.get(text);
  if (word !== undefined) return word;
  return /^[-+.0-9]/.test(text) ? parseNumber(text.replaceAll("_", "")) ?? text : text;
}

/** Bases are those of Go: 0x, 0o, 0b, and a leading 0 is octal when all digits are octal (08 is 8). */
function parseNumber(text: string): number | null {
  const [, sign, digits = ""] = /^([-+]?)(.*)$/s.exec(text) ?? [];
  const factor = sign === "-" ? -1 : 1;
  if (/^0(x[0-9a-f]+|o[0-7]+|b[01]+)$/i.test(digits)) return factor * Number(digits);
  if (/^0[0-7]+$/.test(digits)) return factor * parseInt(digits, 8);
  return /^(\.\d+|\d+(\.\d*)?)(e[-+]?\d+)?$/i.test(digits) ? factor * Number(digits) : null;
}
