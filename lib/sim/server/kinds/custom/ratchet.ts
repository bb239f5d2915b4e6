/**
 * An update may leave as it was what an older schema let through: a problem of a value that does not change is none.
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-ratcheting
 */
import { isObject, isSame, type Json, type JsonObject, objectAt } from "../../../json.ts";
import type { Finding } from "./finding.ts";
import { toKey } from "./lists.ts";

/** The findings that an update of `before` to `after` has to answer for. */
export function dropUnchanged(
  findings: readonly Finding[],
  { before, after, schema }: { readonly before: Json; readonly after: Json; readonly schema: JsonObject },
): readonly Finding[] {
  return findings.filter(({ path }) => !isUnchanged(path, { before, after, schema }));
}

/** What stood where this item of a list stands now; `undefined` where items cannot be told apart. */
export function findFormer(list: Json, item: Json, schema: JsonObject): Json | undefined {
  if (schema["x-kubernetes-list-type"] !== "map" || !Array.isArray(list)) return undefined;
  const key = toKey(item, schema);
  return list.find((one) => isSame(toKey(one, schema), key));
}

/** Is the value at this path, or one that it is part of, the same before and after? */
function isUnchanged(
  path: readonly string[],
  { before, after, schema }: { readonly before: Json; readonly after: Json; readonly schema: JsonObject },
): boolean {
  if (isSame(before, after)) return true;
  const [key, ...rest] = path;
  if (key === undefined) return false;
  if (Array.isArray(after)) {
    const item = after[Number(key)] ?? null;
    const former = findFormer(before, item, schema);
    if (former === undefined) return false;
    return isUnchanged(rest, { before: former, after: item, schema: objectAt(schema, "items") });
  }
  if (!isObject(after) || !isObject(before)) return false;
  const [was, is] = [before[key], after[key]];
  if (was === undefined || is === undefined) return false;
  const property = objectAt(schema, "properties")[key] ?? schema.additionalProperties;
  return isUnchanged(rest, { before: was, after: is, schema: isObject(property) ? property : {} });
}
