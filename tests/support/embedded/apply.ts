/**
 * What does server-side apply make of an object and of a scale?
 * https://kubernetes.io/docs/reference/using-api/server-side-apply/
 */
import {
  isObject,
  type Json,
  type JsonObject,
  listAt,
  numberAt,
  objectAt,
  textAt,
} from "../../../lib/embedded/json.ts";
import { isDeepEqual } from "../../../lib/units/equality.ts";
import { badRequest, invalid, notFound, Refusal } from "../../../lib/embedded/server/refusal.ts";
import type { Entry } from "../../../lib/embedded/server/store.ts";
import {
  type FieldSet,
  inOrder,
  isOf,
  listMembers,
  nameOf,
  parseTree,
  takeAway,
  toEntry,
  toItemElement,
  toOwnable,
  type Writer,
} from "../../../lib/embedded/server/write/fields.ts";
import {
  listOwners,
  pickReplicas,
  REPLICAS,
  toScale,
  toScaleWriter,
} from "../../../lib/embedded/server/write/subresources.ts";
import {
  type Apply,
  createObject,
  type OwnedScale,
  type Patch,
  type Patched,
  toEmpty,
  toWriter,
  updateObject,
  type WriteContext,
} from "../../../lib/embedded/server/write/write.ts";

/** Server-side apply, as an API server takes it. */
export const APPLY: Apply = { patch: applyToObject, patchScale: applyScale };

function applyToObject(
  context: WriteContext,
  { before, name, patch }: { readonly before: Entry | null; readonly name: string; readonly patch: Patch },
): Patched {
  const { isForced } = patch;
  const body = getApplied(patch, context);
  const writer = { ...toWriter(context), operation: "Apply" } as const;
  if (before !== null) {
    const { object: sent, managedFields } = applyObject(before.object, body, { writer, isForced });
    return { entry: updateObject(context, before, { sent, applied: { managedFields } }), isNew: false };
  }
  if (context.subresource !== "") throw notFound(context.type, name);
  const { managedFields } = applyObject(toEmpty(context.type), body, { writer, isForced });
  const metadata = { ...(isObject(body.metadata) ? body.metadata : {}), name };
  return { entry: createObject(context, { ...body, metadata }, { managedFields }), isNew: true };
}

/** Applies a scale. Throws a Refusal for replicas that others own. */
function applyScale(
  context: WriteContext,
  object: JsonObject,
  patch: Patch,
): OwnedScale {
  const applied = getApplied(patch, context);
  const scale = toScale(object, context.type);
  const writer: Writer = { ...toScaleWriter(context), operation: "Apply" };
  const known = listOwners(context, object);
  const first = toEntry({ ...toScaleWriter(context), manager: "before-first-apply" }, new Set([REPLICAS]));
  const owners = known.length > 0 || numberAt(scale, "spec", "replicas") === null ? known : [first];
  const live = { ...pickReplicas(scale), metadata: { managedFields: [...owners] } };
  const { object: merged, managedFields } = applyObject(live, pickReplicas(applied), {
    writer,
    isForced: patch.isForced,
  });
  return { sent: { ...scale, spec: objectAt(merged, "spec") }, owners: managedFields };
}

/** Returns the applied object. Throws a Refusal for another value, and without a field manager. */
function getApplied({ body }: Patch, { manager }: Pick<WriteContext, "manager">): JsonObject {
  if (!isObject(body)) throw badRequest("error decoding YAML: the body is no object");
  if (manager !== "") return body;
  throw invalid({ group: "meta.k8s.io", plural: "", kind: "PatchOptions" }, "", [
    { field: "fieldManager", reason: "FieldValueRequired", message: "Required value: is required for apply patch" },
  ]);
}

/** Merges what was applied into an object. Throws a Refusal for fields that others own. */
function applyObject(
  before: JsonObject,
  sent: JsonObject,
  { writer, isForced }: { readonly writer: Writer; readonly isForced: boolean },
): Applied {
  const { metadata = {}, ...content } = toOwnable(sent, writer);
  // Metadata without labels and the like has nothing to own.
  const applied: JsonObject = isDeepEqual(metadata, {}) ? content : { metadata, ...content };
  const fields = listApplied(applied);
  const entries = listAt(before, "metadata", "managedFields");
  const own = entries.find((entry) => isOf(entry, writer));
  const others = entries.filter((entry) => entry !== own);
  const contested = new Set([...fields].filter((path) => {
    const [was, wanted] = [findAtPath(before, path), findAtPath(applied, path)];
    // An item's fields have paths of their own.
    return was === undefined || (!/(^|\n)k:[^\n]*$/.test(path) && !isDeepEqual(was, wanted));
  }));
  const conflicts = others.flatMap((entry) =>
    [...parseTree(entry.fieldsV1)].filter((path) => contested.has(path)).map((path) => ({ entry, path }))
  );
  if (conflicts.length > 0 && !isForced) throw toConflict(conflicts);
  const kept = others.flatMap((entry) => takeAway(entry, [contested]));
  const held = new Set([...fields, ...kept.flatMap((entry) => [...parseTree(entry.fieldsV1)])]);
  const gone = own === undefined ? [] : [...parseTree(own.fieldsV1)].filter((path) => !held.has(path));
  const merged = gone.reduce(removePath, mergeApplied(before, applied, "") as JsonObject);
  const isUnchanged = own !== undefined && contested.size === 0 && gone.length === 0;
  return { object: merged, managedFields: inOrder([...kept, isUnchanged ? own : toEntry(writer, fields)]) };
}

/** An object after an apply, and who owns its fields. */
interface Applied {
  readonly object: JsonObject;
  readonly managedFields: readonly JsonObject[];
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
  const text = causes.length === 1 && first !== undefined
    ? `1 conflict: ${first.message}: ${first.field}`
    : `${causes.length} conflicts: ${causes.map(({ message, field }) => `${message}: ${field}`).join("\n")}`;
  return new Refusal(409, { message: `Apply failed with ${text}`, reason: "Conflict", details: { causes } });
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

function findAtPath(object: JsonObject, path: string): Json | undefined {
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

/** The fields that an applied object sets: its leaves and the items of its keyed lists. */
function listApplied(object: JsonObject): FieldSet {
  const found = new Set<string>();
  for (const { path, value, isItem } of listMembers(object, { name: "", path: "" })) collect(value, path, isItem);
  return found;

  function collect(value: Json, path: string, isItem: boolean): void {
    const members = listMembers(value, { name: nameOf(path), path });
    if (isItem || members.length === 0) found.add(path);
    for (const member of members) collect(member.value, member.path, member.isItem);
  }
}

/** `.spec.containers[name="main"].image`, as conflicts name it. */
function formatPath(path: string): string {
  return path.split("\n").map((element) => {
    if (element.startsWith("f:")) return `.${element.slice(2)}`;
    if (element.startsWith("v:")) return `[=${element.slice(2)}]`;
    const keys = Object.entries(JSON.parse(element.slice(2)));
    return `[${keys.map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(",")}]`;
  }).join("");
}
