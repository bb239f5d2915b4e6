/**
 * What does a schema leave of an object that was sent? Defaults are filled in, fields and nulls that it does not know
 * are dropped, or listed for a client that asked for strict validation.
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#field-pruning
 */
import { isObject, type Json, type JsonObject, objectAt } from "../../../json.ts";

/** The value with the schema's defaults and without what it does not know. */
export function prune(value: Json, schema: JsonObject): Json {
  if (Array.isArray(value)) return value.map((item) => prune(item, objectAt(schema, "items")));
  if (!isObject(value)) return value;
  const properties = objectAt(schema, "properties");
  const kept = Object.entries(value).flatMap(([key, one]): readonly [string, Json][] => {
    const property = propertyOf(schema, key);
    if (property === null) return isOpen(schema) ? [[key, one]] : [];
    // A null counts as absent where the schema does not allow it.
    return one === null && property.nullable !== true ? [] : [[key, prune(one, property)]];
  });
  // Unlike an assignment, this takes a key such as `__proto__` for a key like any other.
  const pruned: JsonObject = Object.fromEntries(kept);
  for (const [key, property] of Object.entries(properties)) {
    const initial = isObject(property) ? property.default : undefined;
    if (initial !== undefined && pruned[key] === undefined) pruned[key] = structuredClone(initial);
  }
  return pruned;
}

/** The paths of fields that the schema does not know, in order. */
export function listUnknown(value: Json, schema: JsonObject, path = ""): readonly string[] {
  if (Array.isArray(value)) {
    const items = objectAt(schema, "items");
    return value.flatMap((item, index) => listUnknown(item, items, `${path}[${index}]`));
  }
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, one]) => {
    const property = propertyOf(schema, key);
    const place = path === "" ? key : `${path}.${key}`;
    if (property !== null) return listUnknown(one, property, place);
    return isOpen(schema) ? [] : [place];
  });
}

function propertyOf(schema: JsonObject, key: string): JsonObject | null {
  const properties = objectAt(schema, "properties");
  const property = Object.hasOwn(properties, key) ? properties[key] : schema.additionalProperties;
  return isObject(property) ? property : null;
}

function isOpen(schema: JsonObject): boolean {
  return schema["x-kubernetes-preserve-unknown-fields"] === true || schema.additionalProperties === true;
}
