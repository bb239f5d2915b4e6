/**
 * Sets of fields, as managedFields have them: which paths differ between two objects, and the FieldsV1 tree that a set
 * is written as. A path is its elements (`f:spec`, `k:{"name":"main"}`, `v:"x"`) joined by newlines.
 * https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
 */
import { isObject, isSame, type Json, type JsonObject } from "../../json.ts";
import { ATOMIC_OBJECTS, OWNED_KEYS, OWNED_SETS } from "./list_keys.ts";

/** Paths of fields, each as the elements of a FieldsV1 joined by line feeds. */
export type FieldSet = ReadonlySet<string>;

/** The fields that an update set, and those that it removed. */
export interface FieldChanges {
  /** The fields that were added or have another value. */
  readonly changed: FieldSet;
  readonly removed: FieldSet;
}

/** What an update did to the fields of an object. */
export function compareFields(before: JsonObject, after: JsonObject): FieldChanges {
  const changes = { changed: new Set<string>(), removed: new Set<string>() };
  compareMembers(before, after, { path: "", changes });
  return changes;
}

/** The fields that an applied object sets: its leaves and the items of its keyed lists. */
export function listApplied(object: JsonObject): FieldSet {
  const found = new Set<string>();
  for (const { path, value, isItem } of listMembers(object, { name: "", path: "" })) collect(value, path, isItem);
  return found;

  function collect(value: Json, path: string, isItem: boolean): void {
    const members = listMembers(value, { name: nameOf(path), path });
    if (isItem || members.length === 0) found.add(path);
    for (const member of members) collect(member.value, member.path, member.isItem);
  }
}

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
export function readTree(tree: Json | undefined): FieldSet {
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

/** `.spec.containers[name="main"].image`, as conflicts name it. */
export function formatPath(path: string): string {
  return path.split("\n").map((element) => {
    if (element.startsWith("f:")) return `.${element.slice(2)}`;
    if (element.startsWith("v:")) return `[=${element.slice(2)}]`;
    const keys = Object.entries(JSON.parse(element.slice(2)));
    return `[${keys.map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(",")}]`;
  }).join("");
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

interface Member {
  readonly path: string;
  readonly value: Json;
  readonly isItem: boolean;
}

/** The members of a value that have owners of their own. A leaf has none, nor has an atomic list or object. */
function listMembers(value: Json, { name, path }: { readonly name: string; readonly path: string }): readonly Member[] {
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
    if (!isSame(before, after)) changes.changed.add(path);
    if (isLeaf) return;
  }
  for (const member of now) {
    const value = former.get(member.path);
    former.delete(member.path);
    if (value === undefined) addAll(changes.changed, member);
    else if (!isSame(value, member.value)) compareMembers(value, member.value, { path: member.path, changes });
  }
  for (const [gone, value] of former) addAll(changes.removed, { path: gone, value });
}

function addAll(fields: Set<string>, { path, value }: Pick<Member, "path" | "value">): void {
  fields.add(path);
  for (const member of listMembers(value, { name: nameOf(path), path })) addAll(fields, member);
}

/** The field that a path ends with; none for an item of a list, whose own fields are no list. */
function nameOf(path: string): string {
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
