/**
 * Which manager set which field? Sets of fields, how lists merge, and metadata.managedFields.
 * A path is its elements (`f:spec`, `k:{"name":"main"}`, `v:"x"`) joined by newlines. The time of an entry in
 * managedFields moves with each change of its fields.
 * https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
 */
import { isObject, type Json, type JsonObject, listAt, objectAt, textAt } from "../../json.ts";
import { isDeepEqual } from "../../../units/equality.ts";

/** A set of fields as the nested object of FieldsV1. */
export function toTree(fields: FieldSet): JsonObject {
  const root: JsonObject = {};
  for (const path of [...fields].sort()) {
    let here = root;
    for (const element of path.split("\n")) {
      const next = here[element];
      here = isObject(next) ? next : here[element] = {};
    }
    here["."] = {};
  }
  return prune(root);
}

/** The set of fields of a FieldsV1. */
export function parseTree(tree: Json | undefined): FieldSet {
  const found = new Set<string>();
  collect(tree, "");
  return found;

  function collect(node: Json | undefined, path: string): void {
    const entries = isObject(node) ? Object.entries(node) : [];
    if (entries.length === 0 && path !== "") found.add(path);
    for (const [element, child] of entries) {
      if (element === ".") found.add(path);
      else collect(child, path === "" ? element : `${path}\n${element}`);
    }
  }
}

/** The element of a keyed list's item; `null` where it lacks a key. A protocol left out is TCP. */
export function toItemElement(name: string, item: Json): string | null {
  if (OWNED_SETS.includes(name)) return typeof item === "string" ? `v:${JSON.stringify(item)}` : null;
  const keys = OWNED_KEYS[name];
  if (keys === undefined || !isObject(item)) return null;
  const values: [string, Json][] = [];
  for (const key of keys) {
    const value = item[key] ?? (key === "protocol" ? "TCP" : null);
    if (value === null) return null;
    values.push([key, value]);
  }
  return `k:${JSON.stringify(Object.fromEntries(values))}`;
}

/**
 * The keys by which a strategic merge patch merges lists of objects. Any other list is replaced as a whole.
 * https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy
 */
export const MERGE_KEYS: Readonly<Record<string, string>> = {
  addresses: "type",
  conditions: "type",
  containers: "name",
  env: "name",
  ephemeralContainers: "name",
  hostAliases: "ip",
  hostIPs: "ip",
  imagePullSecrets: "name",
  initContainers: "name",
  ownerReferences: "uid",
  podIPs: "ip",
  ports: "containerPort",
  resourceClaims: "name",
  secrets: "name",
  taints: "key",
  topologySpreadConstraints: "topologyKey",
  volumeDevices: "devicePath",
  volumeMounts: "mountPath",
  volumes: "name",
};

/** Lists of texts that a strategic merge patch adds to. */
export const MERGED_SETS: readonly string[] = ["finalizers"];

/** Who writes, by what way and when. */
export interface Writer {
  readonly manager: string;
  readonly operation: "Update" | "Apply";
  readonly apiVersion: string;
  /** "" = the object itself. */
  readonly subresource: string;
  /** The time in the format of metadata, in whole seconds. */
  readonly time: string;
}

/** The entries after an update that made `after` of `before`. */
export function trackUpdate(before: JsonObject, after: JsonObject, writer: Writer): readonly JsonObject[] {
  const { changed, removed } = compareFields(toOwnable(before, writer), toOwnable(after, writer));
  const entries = listAt(before, "metadata", "managedFields");
  const own = entries.find((entry) => isOf(entry, writer));
  const others = entries.filter((entry) => entry !== own).flatMap((entry) => takeAway(entry, [changed, removed]));
  const kept = own === undefined ? [] : takeAway(own, [removed]);
  if (changed.size === 0) return inOrder([...others, ...kept]);
  const fields = new Set([...kept.flatMap((entry) => [...parseTree(entry.fieldsV1)]), ...changed]);
  return inOrder([...others, toEntry(writer, fields)]);
}

/** The entry of managedFields that says that this writer owns these fields. */
export function toEntry(writer: Writer, fields: FieldSet): JsonObject {
  const { manager, operation, apiVersion, time, subresource } = writer;
  return {
    manager,
    operation,
    apiVersion,
    time,
    fieldsType: "FieldsV1",
    fieldsV1: toTree(fields),
    ...(subresource === "" ? {} : { subresource }),
  };
}

/** Is this the entry of that writer? */
export function isOf(entry: JsonObject, writer: Writer): boolean {
  return (["manager", "operation", "apiVersion", "subresource"] as const)
    .every((key) => textAt(entry, key) === writer[key]);
}

/** The entry without these fields, the same one if it had none; nothing when it is left without any. */
export function takeAway(entry: JsonObject, taken: readonly FieldSet[]): readonly JsonObject[] {
  const fields = parseTree(entry.fieldsV1);
  const left = new Set([...fields].filter((path) => !taken.some((set) => set.has(path))));
  if (left.size === fields.size) return [entry];
  return left.size === 0 ? [] : [{ ...entry, fieldsV1: toTree(left) }];
}

/** Entries in the order of their times, as the API server shows them. */
export function inOrder(entries: readonly JsonObject[]): readonly JsonObject[] {
  const keys = ["operation", "time", "manager", "apiVersion", "subresource"];
  return entries.toSorted((a, b) => {
    const key = keys.find((key) => textAt(a, key) !== textAt(b, key));
    return key !== undefined && textAt(a, key) < textAt(b, key) ? -1 : key === undefined ? 0 : 1;
  });
}

/** The object without fields that have no owner: names, versions, and what this kind of write cannot set. */
export function toOwnable(object: JsonObject, { subresource }: Pick<Writer, "subresource">): JsonObject {
  const { apiVersion: _version, kind: _kind, metadata: _metadata, status, ...rest } = object;
  if (subresource === "status") return { metadata: {}, ...(status === undefined ? {} : { status }) };
  return { metadata: pickOwned(objectAt(object, "metadata")), ...rest };
}

/** Paths of fields, each as the elements of a FieldsV1 joined by line feeds. */
export type FieldSet = ReadonlySet<string>;

/** The fields that an update set, and those that it removed. */
interface FieldChanges {
  /** The fields that were added or have another value. */
  readonly changed: FieldSet;
  readonly removed: FieldSet;
}

/** What an update did to the fields of an object. */
function compareFields(before: JsonObject, after: JsonObject): FieldChanges {
  const changes = { changed: new Set<string>(), removed: new Set<string>() };
  compareMembers(before, after, { path: "", changes });
  return changes;
}

interface Member {
  readonly path: string;
  readonly value: Json;
  readonly isItem: boolean;
}

/** The members of a value that have owners of their own. A leaf has none, nor has an atomic list or object. */
export function listMembers(
  value: Json,
  { name, path }: { readonly name: string; readonly path: string },
): readonly Member[] {
  const below = path === "" ? "" : `${path}\n`;
  if (isObject(value)) {
    if (ATOMIC_OBJECTS.includes(name)) return [];
    return Object.entries(value).map(([key, one]) => ({ path: `${below}f:${key}`, value: one, isItem: false }));
  }
  if (!Array.isArray(value)) return [];
  const members: Member[] = [];
  for (const item of value) {
    const element = toItemElement(name, item);
    if (element === null) return [];
    members.push({ path: `${below}${element}`, value: item, isItem: true });
  }
  return members;
}

interface Place {
  readonly path: string;
  readonly changes: { readonly changed: Set<string>; readonly removed: Set<string> };
}

function compareMembers(before: Json, after: Json, { path, changes }: Place): void {
  const place = { name: nameOf(path), path };
  const [old, now] = [listMembers(before, place), listMembers(after, place)];
  const former = new Map(old.map((member) => [member.path, member.value]));
  const isLeaf = old.length === 0 && now.length === 0;
  if (isLeaf || Array.isArray(before) !== Array.isArray(after)) {
    if (!isDeepEqual(before, after)) changes.changed.add(path);
    if (isLeaf) return;
  }
  for (const member of now) {
    const value = former.get(member.path);
    former.delete(member.path);
    if (value === undefined) addAll(changes.changed, member);
    else if (!isDeepEqual(value, member.value)) compareMembers(value, member.value, { path: member.path, changes });
  }
  for (const [gone, value] of former) addAll(changes.removed, { path: gone, value });
}

function addAll(fields: Set<string>, { path, value }: Pick<Member, "path" | "value">): void {
  fields.add(path);
  for (const member of listMembers(value, { name: nameOf(path), path })) addAll(fields, member);
}

/** The field that a path ends with; none for an item of a list. */
export function nameOf(path: string): string {
  const last = path.slice(path.lastIndexOf("\n") + 1);
  return last.startsWith("f:") ? last.slice(2) : "";
}

/** A node that is itself a member and has none below is written `{}`. */
function prune(node: JsonObject): JsonObject {
  const entries = Object.entries(node);
  if (entries.length === 1 && entries[0]?.[0] === ".") return {};
  return Object.fromEntries(
    entries.map(([key, child]) => [key, key === "." ? {} : prune(isObject(child) ? child : {})]),
  );
}

/** The keys by which managers own single items of a list; other lists have one owner. */
const OWNED_KEYS: Readonly<Record<string, readonly string[]>> = {
  addresses: ["type"],
  conditions: ["type"],
  containers: ["name"],
  env: ["name"],
  ephemeralContainers: ["name"],
  hostAliases: ["ip"],
  imagePullSecrets: ["name"],
  initContainers: ["name"],
  ownerReferences: ["uid"],
  podIPs: ["ip"],
  ports: ["containerPort", "protocol"],
  resourceClaims: ["name"],
  secrets: ["name"],
  topologySpreadConstraints: ["topologyKey", "whenUnsatisfiable"],
  volumeDevices: ["devicePath"],
  volumeMounts: ["mountPath"],
  volumes: ["name"],
};

/** Lists of texts of which managers own single ones. */
const OWNED_SETS: readonly string[] = ["finalizers"];

/** Objects with one owner. */
const ATOMIC_OBJECTS: readonly string[] = [
  "effectiveSelector",
  "fieldRef",
  "involvedObject",
  "nodeSelector",
  "related",
  "roleRef",
  "selector",
  "scopeSelector",
];

function pickOwned(metadata: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(metadata).filter(([key]) => !SYSTEM.includes(key)));
}

const SYSTEM = [
  "name",
  "namespace",
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "selfLink",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "managedFields",
];
