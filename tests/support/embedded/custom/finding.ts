/**
 * Where is something wrong in an object, and may an update leave it so (ratcheting)?
 */
import { isObject, type Json, type JsonObject, objectAt, textsAt } from "../../../../lib/embedded/json.ts";
import { isDeepEqual } from "../../../../lib/units/equality.ts";
import { duplicateValue, type Problem, showValue } from "../../../../lib/embedded/server/refusal.ts";

/** A problem and the place of the value that has it. */
export interface Finding {
  /** Keys and indexes from the root of the object to the value that the schema is about. */
  readonly path: readonly string[];
  readonly problem: Problem;
}

/** `spec.selector.matchExpressions[0].key`: the value in the object decides whether an element is an index or a key. */
export function formatPath(path: readonly string[], root: Json): string {
  let text = "";
  let here: Json | undefined = root;
  for (const key of path) {
    if (Array.isArray(here)) {
      text += `[${key}]`;
      here = here[Number(key)];
    } else {
      text += text === "" ? key : `.${key}`;
      here = typeof here === "object" && here !== null ? here[key] : undefined;
    }
  }
  return text;
}

/** The value that stands at a path; `undefined` where nothing does. */
export function findAt(root: Json, path: readonly string[]): Json | undefined {
  let here: Json | undefined = root;
  for (const key of path) {
    if (typeof here !== "object" || here === null || !Object.hasOwn(here, key)) return undefined;
    here = Array.isArray(here) ? here[Number(key)] : here[key];
  }
  return here;
}

/** A problem of a value in the words of the API server, which shows scalars alone. */
export function toFieldProblem(
  { field, reason, value, detail }: {
    readonly field: string;
    readonly reason: string;
    readonly value: Json;
    readonly detail: string;
  },
): Problem {
  switch (reason) {
    case "FieldValueRequired":
      return { field, reason, message: `Required value: ${detail}` };
    case "FieldValueForbidden":
      return { field, reason, message: `Forbidden: ${detail}` };
    case "FieldValueDuplicate":
      return { field, reason, message: `Duplicate value: ${showValue(value)}` };
    default: {
      const isShown = typeof value !== "object" || value === null;
      const shown = isShown ? `${showValue(value)}: ` : "";
      return { field, reason: "FieldValueInvalid", message: `Invalid value: ${shown}${detail}` };
    }
  }
}

/**
 * Every repeated item of such lists in a value, at any depth.
 * https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy
 */
export function findRepeated(value: Json, schema: JsonObject): readonly Finding[] {
  return findBelow({ value, schema, path: [], root: value });
}

/**
 * The findings that an update of `before` to `after` has to answer for.
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-ratcheting
 */
export function dropUnchanged(
  findings: readonly Finding[],
  { before, after, schema }: { readonly before: Json; readonly after: Json; readonly schema: JsonObject },
): readonly Finding[] {
  return findings.filter(({ path }) => !isUnchanged(path, { before, after, schema }));
}

/** The earlier item for this item of a list; `undefined` where items cannot be distinguished. */
export function findFormer(list: Json, item: Json, schema: JsonObject): Json | undefined {
  if (schema["x-kubernetes-list-type"] !== "map" || !Array.isArray(list)) return undefined;
  const key = toKey(item, schema);
  return list.find((one) => isDeepEqual(toKey(one, schema), key));
}

interface Visit {
  readonly value: Json;
  readonly schema: JsonObject;
  readonly path: readonly string[];
  readonly root: Json;
}

function findBelow({ value, schema, path, root }: Visit): readonly Finding[] {
  if (Array.isArray(value)) {
    const items = objectAt(schema, "items");
    const below = value.flatMap((item, index) =>
      findBelow({ value: item, schema: items, path: [...path, String(index)], root })
    );
    return [...findInList({ value, schema, path, root }, value), ...below];
  }
  if (!isObject(value)) return [];
  return Object.entries(objectAt(schema, "properties")).flatMap(([key, property]) => {
    const one = value[key];
    return one === undefined || !isObject(property)
      ? []
      : findBelow({ value: one, schema: property, path: [...path, key], root });
  });
}

function findInList({ schema, path, root }: Visit, list: readonly Json[]): readonly Finding[] {
  const kind = schema["x-kubernetes-list-type"];
  if (kind !== "set" && kind !== "map") return [];
  const ids = list.map((item) => kind === "set" ? item : toKey(item, schema));
  return ids.flatMap((id, index): readonly Finding[] => {
    if (ids.findIndex((one) => isDeepEqual(one, id)) === index) return [];
    const place = [...path, String(index)];
    return [{ path: place, problem: duplicateValue(formatPath(place, root), id) }];
  });
}

/** What tells an item of a list that is a map from the others. */
function toKey(item: Json, schema: JsonObject): JsonObject {
  const keys = textsAt(schema, "x-kubernetes-list-map-keys");
  return Object.fromEntries(keys.map((key) => [key, isObject(item) ? item[key] ?? null : null]));
}

/** Is the value at this path, or one that it is part of, the same before and after? */
function isUnchanged(
  path: readonly string[],
  { before, after, schema }: { readonly before: Json; readonly after: Json; readonly schema: JsonObject },
): boolean {
  if (isDeepEqual(before, after)) return true;
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
