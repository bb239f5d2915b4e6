/**
 * Server-side apply: merges what a manager applies into an object, takes back what it applied before and no longer
 * does, and refuses to change what others own unless it is forced.
 * https://kubernetes.io/docs/reference/using-api/server-side-apply/
 */
import { formatPath, listApplied, readTree, toItemElement } from "./fields.ts";
import { isObject, isSame, type Json, type JsonObject, listAt, textAt } from "../../json.ts";
import { inOrder, isOf, takeAway, toEntry, toOwnable, type Writer } from "./managed_fields.ts";
import { Refusal } from "../refusal.ts";

/** An object after an apply, and who owns its fields. */
export interface Applied {
  readonly object: JsonObject;
  readonly managedFields: readonly JsonObject[];
}

/** Merges what was applied into an object. Throws a Refusal for fields that others own. */
export function applyObject(
  before: JsonObject,
  sent: JsonObject,
  { writer, isForced }: { readonly writer: Writer; readonly isForced: boolean },
): Applied {
  const { metadata = {}, ...content } = toOwnable(sent, writer);
  // Metadata without labels and the like has nothing to own.
  const applied: JsonObject = isSame(metadata, {}) ? content : { metadata, ...content };
  const fields = listApplied(applied);
  const entries = listAt(before, "metadata", "managedFields");
  const own = entries.find((entry) => isOf(entry, writer));
  const others = entries.filter((entry) => entry !== own);
  const contested = new Set([...fields].filter((path) => {
    const [was, wanted] = [readPath(before, path), readPath(applied, path)];
    // An item's fields have paths of their own.
    return was === undefined || (!/(^|\n)k:[^\n]*$/.test(path) && !isSame(was, wanted));
  }));
  const conflicts = others.flatMap((entry) =>
    [...readTree(entry.fieldsV1)].filter((path) => contested.has(path)).map((path) => ({ entry, path }))
  );
  if (conflicts.length > 0 && !isForced) throw toConflict(conflicts);
  const kept = others.flatMap((entry) => takeAway(entry, [contested]));
  const held = new Set([...fields, ...kept.flatMap((entry) => [...readTree(entry.fieldsV1)])]);
  const gone = own === undefined ? [] : [...readTree(own.fieldsV1)].filter((path) => !held.has(path));
  const merged = gone.reduce(removePath, mergeApplied(before, applied, "") as JsonObject);
  const isUnchanged = own !== undefined && contested.size === 0 && gone.length === 0;
  return { object: merged, managedFields: inOrder([...kept, isUnchanged ? own : toEntry(writer, fields)]) };
}

interface Conflict {
  readonly entry: JsonObject;
  readonly path: string;
}

function toConflict(conflicts: readonly Conflict[]): Refusal {
  const causes = conflicts.map(({ entry, path }) => {
    const subresource = textAt(entry, "subresource");
    const through = subresource === "" ? "" : ` with subresource "${subresource}"`;
    return {
      reason: "FieldManagerConflict",
      message: `conflict with "${textAt(entry, "manager")}"${through} using ${textAt(entry, "apiVersion")}`,
      field: formatPath(path),
    };
  });
  const [first] = causes;
  const told = causes.length === 1 && first !== undefined
    ? `1 conflict: ${first.message}: ${first.field}`
    : `${causes.length} conflicts: ${causes.map(({ message, field }) => `${message}: ${field}`).join("\n")}`;
  return new Refusal(409, { message: `Apply failed with ${told}`, reason: "Conflict", details: { causes } });
}

function mergeApplied(before: Json | undefined, applied: Json, name: string): Json {
  if (isObject(applied)) {
    const merged = isObject(before) ? { ...before } : {};
    for (const [key, value] of Object.entries(applied)) merged[key] = mergeApplied(merged[key], value, key);
    return merged;
  }
  if (!Array.isArray(applied) || !Array.isArray(before)) return applied;
  const elements = applied.map((item) => toItemElement(name, item));
  if (elements.some((element) => element === null)) return applied;
  const kept = before.map((item) => {
    const index = elements.indexOf(toItemElement(name, item));
    const change = applied[index];
    return change === undefined ? item : mergeApplied(item, change, "");
  });
  const known = before.map((item) => toItemElement(name, item));
  return [...kept, ...applied.filter((_, index) => !known.includes(elements[index] ?? null))];
}

function readPath(object: JsonObject, path: string): Json | undefined {
  let here: Json | undefined = object;
  let name = "";
  for (const element of path.split("\n")) {
    if (element.startsWith("f:")) {
      name = element.slice(2);
      here = isObject(here) ? here[name] : undefined;
    } else here = Array.isArray(here) ? here.find((item) => toItemElement(name, item) === element) : undefined;
  }
  return here;
}

function removePath(object: JsonObject, path: string): JsonObject {
  return removeBelow(object, path.split("\n"), "") as JsonObject;
}

function removeBelow(value: Json, [element = "", ...rest]: readonly string[], name: string): Json {
  if (Array.isArray(value)) {
    const isIt = (item: Json) => toItemElement(name, item) === element;
    if (rest.length === 0) return value.filter((item) => !isIt(item));
    return value.map((item) => isIt(item) ? removeBelow(item, rest, "") : item);
  }
  const key = element.slice(2);
  if (!isObject(value) || !Object.hasOwn(value, key)) return value;
  const { [key]: child, ...others } = value;
  return rest.length === 0 ? others : { ...others, [key]: removeBelow(child ?? null, rest, key) };
}
