/**
 * A structural schema as plain JSON Schema: what Kubernetes says by extensions of its own (`nullable`, int-or-string,
 * formats of integers) is said in keywords that any validator knows.
 */
import type { Schema } from "@cfworker/json-schema";
import { isObject, type Json, type JsonObject, textAt } from "../../../json.ts";

/** A copy, which the validator may mark. */
export function prepareSchema(schema: JsonObject): Schema {
  const prepared: JsonObject = {};
  for (const [key, value] of Object.entries(schema)) {
    const below = prepareBelow(key, value);
    if (below !== undefined) prepared[key] = below;
  }
  const isIntOrString = schema["x-kubernetes-int-or-string"] === true;
  const types = isIntOrString ? ["integer", "string"] : textAt(schema, "type") === "" ? [] : [textAt(schema, "type")];
  if (types.length > 0) prepared.type = schema.nullable === true ? [...types, "null"] : types;
  if (types.includes("integer")) {
    const all = Array.isArray(prepared.allOf) ? prepared.allOf : [];
    prepared.allOf = [...all, { $comment: RANGE, ...(schema.format === "int32" ? INT32 : INT64) }];
  }
  return prepared as Schema;
}

/** Is this the part of a prepared schema that says how large an integer of its format may be? */
export function isRange(schema: JsonObject): boolean {
  return schema.$comment === RANGE;
}

/** Can a number of JSON be an int64? A double does not tell all of them apart, and 2^63 is the first that is none. */
export function isInt64(value: number): boolean {
  return Number.isInteger(value) && Math.abs(value) < 2 ** 63;
}

const RANGE = "range of the format";
const INT32 = { minimum: -(2 ** 31), maximum: 2 ** 31 - 1 };
const INT64 = { minimum: -(2 ** 63 - 1024), maximum: 2 ** 63 - 1024 };

const SAME = new Set([
  "required",
  "enum",
  "minLength",
  "maxLength",
  "pattern",
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minItems",
  "maxItems",
  "uniqueItems",
  "minProperties",
  "maxProperties",
  "x-kubernetes-int-or-string",
]);
/** Formats of texts that both know; others are not checked. */
const FORMATS = new Set(["date", "date-time", "email", "hostname", "ipv4", "ipv6", "uri", "uuid"]);

function prepareBelow(key: string, value: Json): Json | undefined {
  if (SAME.has(key)) return structuredClone(value);
  // Of integers too: words are chosen by it, and the validator passes over the formats that it does not know.
  if (key === "format") return FORMATS.has(String(value)) || /^int(32|64)$/.test(String(value)) ? value : undefined;
  if (key === "properties" && isObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, prepareOne(one)]));
  }
  if (["items", "additionalProperties", "not"].includes(key) && isObject(value)) return prepareOne(value);
  if (["anyOf", "allOf", "oneOf"].includes(key) && Array.isArray(value)) return value.map(prepareOne);
  return undefined;
}

function prepareOne(schema: Json): Json {
  return isObject(schema) ? prepareSchema(schema) as JsonObject : {};
}
