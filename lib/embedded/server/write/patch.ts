/** What does a patch make of an object? Merge patch and strategic merge patch. */
import { isObject, type Json, type JsonObject } from "../../json.ts";
import { BAD_QUANTITY } from "../../quantities.ts";
import type { ResourceType } from "../kinds/resource_type.ts";
import { badRequest, invalid, invalidValue, notFound, Refusal, unsupportedMediaType } from "../refusal.ts";
import type { Entry } from "../store.ts";
import { MERGE_KEYS, MERGED_SETS } from "./fields.ts";
import { type Patch, type Patched, type PatchFormats, updateObject, type WriteContext } from "./write.ts";

/** The media type of server-side apply. */
export const APPLY = "application/apply-patch+yaml";

/** Patches an object; only an apply creates it. Throws a Refusal. */
export function patchObject(
  context: WriteContext,
  { before, name, patch }: { readonly before: Entry | null; readonly name: string; readonly patch: Patch },
): Patched {
  checkContentType(patch.contentType, context.type, context);
  if (context.apply !== null && patch.contentType === APPLY) {
    return context.apply.patch(context, { before, name, patch });
  }
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
  { patchFormats, apply }: Pick<WriteContext, "patchFormats" | "apply">,
): void {
  const all = [
    ...Object.keys(patchFormats),
    MERGE,
    ...(isCustom ? [] : [STRATEGIC]),
    ...(apply === null ? [] : [APPLY]),
  ];
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

/** The media type of merge patches. */
export const MERGE = "application/merge-patch+json";

const STRATEGIC = "application/strategic-merge-patch+json";

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
