/** What does a patch make of an object? Merge patch, strategic merge patch and server-side apply. */
import { isObject, isSame, type Json, type JsonObject, listAt, textAt } from "../../json.ts";
import { BAD_QUANTITY } from "../../quantities.ts";
import type { ResourceType } from "../kinds/resource_type.ts";
import { badRequest, invalid, invalidValue, notFound, Refusal, unsupportedMediaType } from "../refusal.ts";
import type { Entry } from "../store.ts";
import {
  formatPath,
  inOrder,
  isOf,
  listApplied,
  MERGE_KEYS,
  MERGED_SETS,
  parseTree,
  takeAway,
  toEntry,
  toItemElement,
  toOwnable,
  type Writer,
} from "./fields.ts";
import { createObject, type PatchFormats, toEmpty, toWriter, updateObject, type WriteContext } from "./write.ts";

/** A patch as it was sent. */
export interface Patch {
  /** The media type without parameters. */
  readonly contentType: string;
  readonly body: Json;
  /** True for an apply that takes fields from their owners. */
  readonly isForced: boolean;
}

/** The media type of server-side apply. */
export const APPLY = "application/apply-patch+yaml";

/** Patches an object, or creates it by an apply. Throws a Refusal. */
export function patchObject(
  context: WriteContext,
  { before, name, patch }: { readonly before: Entry | null; readonly name: string; readonly patch: Patch },
): Patched {
  checkContentType(patch.contentType, context.type, context.patchFormats);
  if (patch.contentType === APPLY) return applyToObject(context, { before, name, patch });
  if (before === null) throw notFound(context.type, name);
  const sent = patchWith(before.object, patch, context.patchFormats);
  try {
    return { entry: updateObject(context, before, { sent }), isNew: false };
  } catch (error) {
    if (!(error instanceof Refusal && error.code === 400)) throw error;
    if (error.message.endsWith(BAD_QUANTITY)) throw cannotPatch(formatGo(patch.body), BAD_QUANTITY);
    const [, why] = /: (strict decoding error: .*|unknown conversion)$/.exec(error.message) ?? [];
    throw why === undefined ? error : cannotPatch(JSON.stringify(sent), why);
  }
}

/** A result that is wrong is reported as a wrong patch. */
export function cannotPatch(shown: string, why: string): Refusal {
  return invalid({ group: "", plural: "", kind: "" }, "", [invalidValue("patch", shown, why)]);
}

/** Returns the applied object. Throws a Refusal for another value, and without a field manager. */
export function getApplied({ body }: Patch, { manager }: Pick<WriteContext, "manager">): JsonObject {
  if (!isObject(body)) throw badRequest("error decoding YAML: the body is no object");
  if (manager !== "") return body;
  throw invalid({ group: "meta.k8s.io", plural: "", kind: "PatchOptions" }, "", [
    { field: "fieldManager", reason: "FieldValueRequired", message: "Required value: is required for apply patch" },
  ]);
}

/** Returns the object after a patch that is not an apply. Throws a Refusal. */
export function patchWith(object: JsonObject, { contentType, body }: Patch, formats: PatchFormats): JsonObject {
  const format = formats[contentType];
  const patched = format !== undefined
    ? format(object, body)
    : contentType === MERGE
    ? mergePatch(object, body)
    : strategicMerge(object, toObject(body));
  return toObject(patched);
}

/** Throws a Refusal for a patch in a format that the kind does not take. */
export function checkContentType(
  contentType: string,
  { isCustom }: Pick<ResourceType, "isCustom">,
  formats: PatchFormats,
): void {
  const all = [...Object.keys(formats), MERGE, ...(isCustom ? [] : [STRATEGIC]), APPLY];
  if (all.includes(contentType)) return;
  if (isCustom) throw unsupportedMediaType(all);
  const message = "415: Unsupported Media Type";
  throw new Refusal(415, { message, reason: "UnsupportedMediaType", details: {} });
}

/**
 * Returns the target after the patch. The target is not changed.
 * https://github.com/kubernetes/community/blob/master/contributors/devel/sig-api-machinery/strategic-merge-patch.md
 */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const merged: JsonObject = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = mergePatch(merged[key], value);
  }
  return merged;
}

/** The same with directives and merged lists. Throws a Refusal for an item without the key that it is merged by. */
export function strategicMerge(target: JsonObject, patch: JsonObject): JsonObject {
  if (patch["$patch"] === "replace") return without(patch, ["$patch"]);
  if (patch["$patch"] === "delete") return {};
  const kept = Array.isArray(patch["$retainKeys"]) ? patch["$retainKeys"] : null;
  const merged = kept === null ? { ...target } : pick(target, kept);
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith("$")) continue;
    if (value === null) delete merged[key];
    else if (isObject(value)) {
      const before = merged[key];
      merged[key] = strategicMerge(isObject(before) ? before : {}, value);
    } else if (Array.isArray(value)) merged[key] = mergeList(merged[key], value, { key, patch });
    else merged[key] = value;
  }
  for (const [directive, value] of Object.entries(patch)) {
    const [, key = ""] = /^\$deleteFromPrimitiveList\/(.+)$/.exec(directive) ?? [];
    const list = merged[key];
    if (Array.isArray(list) && Array.isArray(value)) merged[key] = list.filter((one) => !value.includes(one));
    const [, ordered = ""] = /^\$setElementOrder\/(.+)$/.exec(directive) ?? [];
    if (Array.isArray(value) && Array.isArray(merged[ordered]) && patch[ordered] === undefined) {
      merged[ordered] = mergeList(merged[ordered], [], { key: ordered, patch });
    }
  }
  return merged;
}

/**
 * Merges what was applied into an object. Throws a Refusal for fields that others own.
 * https://kubernetes.io/docs/reference/using-api/server-side-apply/
 */
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
    const [was, wanted] = [findAtPath(before, path), findAtPath(applied, path)];
    // An item's fields have paths of their own.
    return was === undefined || (!/(^|\n)k:[^\n]*$/.test(path) && !isSame(was, wanted));
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

/** What a patch made of its object. */
interface Patched {
  readonly entry: Entry;
  readonly isNew: boolean;
}

/** The media type of merge patches. */
export const MERGE = "application/merge-patch+json";

const STRATEGIC = "application/strategic-merge-patch+json";

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

function toObject(value: Json): JsonObject {
  if (isObject(value)) return value;
  throw badRequest("error decoding patch: it is no object");
}

/** A value as Go prints it with `%v`: `map[a:map[b:c]]`. */
function formatGo(value: Json): string {
  if (value === null) return "<nil>";
  if (Array.isArray(value)) return `[${value.map(formatGo).join(" ")}]`;
  if (!isObject(value)) return String(value);
  const entries = Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1);
  return `map[${entries.map(([key, one]) => `${key}:${formatGo(one)}`).join(" ")}]`;
}

function mergeList(
  before: Json | undefined,
  patch: readonly Json[],
  { key, patch: whole }: { readonly key: string; readonly patch: JsonObject },
): Json {
  const original: readonly Json[] = Array.isArray(before) ? before : [];
  if (MERGED_SETS.includes(key)) return [...original, ...patch.filter((one) => !original.includes(one))];
  const mergeKey = MERGE_KEYS[key];
  if (mergeKey === undefined || !patch.every(isObject)) return [...patch];
  if (patch.some((item) => item["$patch"] === "replace" && item[mergeKey] === undefined)) {
    return patch.filter((item) => item["$patch"] !== "replace");
  }
  const keyOf = (item: Json): Json | undefined => isObject(item) ? item[mergeKey] : undefined;
  if (patch.some((item) => keyOf(item) === undefined)) {
    const shown = formatGo(patch.find((item) => keyOf(item) === undefined) ?? null);
    throw new Refusal(500, { message: `map: ${shown} does not contain declared merge key: ${mergeKey}` });
  }
  const deleted = patch.filter((item) => item["$patch"] === "delete").map(keyOf);
  const sent = patch.filter((item) => item["$patch"] !== "delete");
  const merged = [
    ...original.filter((item) => !deleted.includes(keyOf(item))),
    ...sent.filter((item) => !original.some((one) => keyOf(one) === keyOf(item))).map((item) => ({
      [mergeKey]: item[mergeKey] ?? null,
    })),
  ].map((item) => {
    const changes = sent.find((one) => keyOf(one) === keyOf(item));
    return changes === undefined || !isObject(item) ? item : strategicMerge(item, changes);
  });
  const order = whole[`$setElementOrder/${key}`];
  const wanted = (Array.isArray(order) ? order : sent).map(keyOf);
  return inPatchOrder(merged, { wanted, original: original.map(keyOf), keyOf });
}

/** Items of the patch in its order, the others where they were; a new one comes before those that follow no other. */
function inPatchOrder(
  merged: readonly Json[],
  { wanted, original, keyOf }: {
    readonly wanted: readonly (Json | undefined)[];
    readonly original: readonly (Json | undefined)[];
    readonly keyOf: (item: Json) => Json | undefined;
  },
): Json[] {
  const ours = merged.filter((item) => wanted.includes(keyOf(item)))
    .sort((a, b) => wanted.indexOf(keyOf(a)) - wanted.indexOf(keyOf(b)));
  const theirs = merged.filter((item) => !wanted.includes(keyOf(item)));
  const ordered: Json[] = [];
  while (ours.length > 0 && theirs.length > 0) {
    const [our = null, their = null] = [ours[0], theirs[0]];
    const isTheirsFirst = original.indexOf(keyOf(their)) < original.indexOf(keyOf(our));
    ordered.push(isTheirsFirst ? their : our);
    (isTheirsFirst ? theirs : ours).shift();
  }
  return [...ordered, ...ours, ...theirs];
}

function without(object: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)));
}

function pick(object: JsonObject, keys: readonly Json[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([key]) => keys.includes(key)));
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
