/**
 * Merges patches into objects: JSON merge patch (RFC 7386), and Kubernetes' strategic merge, which merges lists by a key
 * of their items.
 * https://github.com/kubernetes/community/blob/master/contributors/devel/sig-api-machinery/strategic-merge-patch.md
 */
import { isObject, type Json, type JsonObject } from "../../json.ts";
import { MERGE_KEYS, MERGED_SETS } from "./list_keys.ts";
import { Refusal } from "../refusal.ts";

/** The target with what the patch says; the target stays as it is. */
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

/** A value as Go prints it with `%v`: `map[a:map[b:c]]`. */
export function formatGo(value: Json): string {
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
  return inOrder(merged, { wanted, original: original.map(keyOf), keyOf });
}

/** Items of the patch in its order, the others where they were; a new one comes before those that follow no other. */
function inOrder(
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
