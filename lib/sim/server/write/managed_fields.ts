/**
 * Who set which field, and when: keeps metadata.managedFields as the real server does for create, update and patch. An
 * entry belongs to a manager, operation and subresource, and its time moves with each change of its fields (C42).
 */
import { compareFields, type FieldSet, readTree, toTree } from "./fields.ts";
import { type JsonObject, listAt, objectAt, textAt } from "../../json.ts";

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
  const fields = new Set([...kept.flatMap((entry) => [...readTree(entry.fieldsV1)]), ...changed]);
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
  const fields = readTree(entry.fieldsV1);
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

/** The object without what nobody owns: names, versions, and what this way of writing cannot set. */
export function toOwnable(object: JsonObject, { subresource }: Pick<Writer, "subresource">): JsonObject {
  const { apiVersion: _version, kind: _kind, metadata: _metadata, status, ...rest } = object;
  if (subresource === "status") return { metadata: {}, ...(status === undefined ? {} : { status }) };
  return { metadata: pickOwned(objectAt(object, "metadata")), ...rest };
}

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
