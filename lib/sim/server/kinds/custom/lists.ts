/**
 * Lists that are sets, or maps by keys of their items (`x-kubernetes-list-type`), may have no item twice.
 * https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy
 */
import { isObject, isSame, type Json, type JsonObject, objectAt, textsAt } from "../../../json.ts";
import { duplicateValue } from "../../refusal.ts";
import { type Finding, formatPath } from "./finding.ts";

/** Every repeated item of such lists in a value, at any depth. */
export function findRepeated(value: Json, schema: JsonObject): readonly Finding[] {
  return findBelow({ value, schema, path: [], root: value });
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
    if (ids.findIndex((one) => isSame(one, id)) === index) return [];
    const place = [...path, String(index)];
    return [{ path: place, problem: duplicateValue(formatPath(place, root), id) }];
  });
}

/** What tells an item of a list that is a map from the others. */
export function toKey(item: Json, schema: JsonObject): JsonObject {
  const keys = textsAt(schema, "x-kubernetes-list-map-keys");
  return Object.fromEntries(keys.map((key) => [key, isObject(item) ? item[key] ?? null : null]));
}
