/**
 * Does a value have the structure of its schema, and in which words is a failure reported?
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
 */
import { type OutputUnit, type Schema, Validator } from "@cfworker/json-schema";
import { isObject, type Json, type JsonObject, textAt } from "../../../../lib/embedded/json.ts";
import { type Problem, required, showValue, unsupportedValue } from "../../../../lib/embedded/server/refusal.ts";
import { findAt, type Finding, formatPath } from "./finding.ts";

/** `prefix` is the place of the value in its object: "" or "status". Paths of findings begin at the value. */
export type CheckStructure = (value: Json, prefix: string) => readonly Finding[];

/** Compiles a schema once; the function it returns may be called for any number of values. */
export function compileStructure(schema: JsonObject): CheckStructure {
  const prepared = prepareSchema(schema);
  // Draft 4 is the one that OpenAPI 3.0 is made of; false: every failure is wanted, and not the first alone.
  const validator = new Validator(prepared, "4", false);
  return (value, prefix) => {
    const failures = validator.validate(value).errors.flatMap((error) => toFailure(error, prepared));
    const findings = pickReported(failures).flatMap((failure) => {
      const { path, keyword, schema, key } = failure;
      const own = findAt(value, path) ?? null;
      return describeFailure({ keyword, schema, key, value: own, path, root: value, prefix })
        .map((problem): Finding => ({ path, problem }));
    });
    return findings;
  };
}

interface Failure {
  readonly path: readonly string[];
  readonly keyword: string;
  /** The schema of the keyword. */
  readonly schema: JsonObject;
  /** The missing property of a `required`, else "". */
  readonly key: string;
}

/** None for a keyword that only says that something below it failed. */
function toFailure(
  { keyword, keywordLocation, instanceLocation, error }: OutputUnit,
  root: Schema,
): readonly Failure[] {
  if (WRAPPERS.has(keyword)) return [];
  const found = locate(keywordLocation, root as JsonObject);
  if (found === null) return [];
  const [, key = ""] = keyword === "required" ? /property "(.*)"\.$/s.exec(error) ?? [] : [];
  return [{ path: toKeys(instanceLocation), keyword: found.isRange ? "range" : keyword, schema: found.schema, key }];
}

const WRAPPERS = new Set(["properties", "additionalProperties", "items", "allOf"]);

/**
 * The schema of a keyword, by the location that the validator reports; `null` within alternatives, of which
 * the API server reports the first alone.
 */
function locate(location: string, root: JsonObject): { schema: JsonObject; isRange: boolean } | null {
  const keys = toKeys(location).slice(0, -1);
  let schema = root;
  for (let index = 0; index < keys.length; index++) {
    const keyword = keys[index] ?? "";
    if (keyword === "oneOf" || keyword === "not") return null;
    const below = schema[keyword];
    const isSchema = keyword === "items" || keyword === "additionalProperties";
    const next = isSchema ? below : findAt(below ?? null, [keys[++index] ?? ""]);
    if (keyword === "anyOf" && (keys[index] !== "0" || schema["x-kubernetes-int-or-string"] === true)) return null;
    if (!isObject(next)) return null;
    if (isRange(next)) return { schema, isRange: true };
    schema = next;
  }
  return { schema, isRange: false };
}

/** Go's validator gives up on a value after some failures: the others of the same value go unsaid. */
function pickReported(failures: readonly Failure[]): readonly Failure[] {
  const tooMany = failures.filter(({ keyword }) => keyword === "maxProperties" || keyword === "minProperties");
  const told = new Set<string>();
  return failures.filter((failure) => {
    const { path, keyword } = failure;
    if (tooMany.some((one) => one !== failure && isWithin(path, one.path))) return false;
    const kind = ONCE[keyword];
    if (kind === undefined) return true;
    const place = JSON.stringify([kind, ...path]);
    if (told.has(place)) return false;
    told.add(place);
    return true;
  });
}

/** Of these only the first is reported of a value: a text's length or pattern, a number's type or range. */
const ONCE: Readonly<Record<string, string>> = {
  minLength: "text",
  maxLength: "text",
  pattern: "text",
  type: "type",
  range: "type",
};

function isWithin(path: readonly string[], outer: readonly string[]): boolean {
  return outer.length <= path.length && outer.every((key, index) => path[index] === key);
}

/** `#/spec/a~1b` -> spec, a/b */
function toKeys(pointer: string): readonly string[] {
  return pointer.split("/").slice(1)
    .map((key) => decodeURIComponent(key).replaceAll("~1", "/").replaceAll("~0", "~"));
}

/**
 * A keyword that a value fails.
 * https://github.com/kubernetes/kube-openapi/blob/master/pkg/validation/errors/schema.go
 */
interface FailedKeyword {
  /** A keyword of JSON Schema, or `range` for an integer outside of its format. */
  readonly keyword: string;
  readonly schema: JsonObject;
  /** The missing property of a `required`. */
  readonly key: string;
  readonly value: Json;
  readonly path: readonly string[];
  /** Where the path begins. */
  readonly root: Json;
  /** The place of the root in its object: "" or "status". */
  readonly prefix: string;
}

/** One problem or, for a number of the wrong type, several. */
function describeFailure(failed: FailedKeyword): readonly Problem[] {
  const { keyword, schema, value, root, prefix, path } = failed;
  const name = formatPath(path, root);
  const field = join(prefix, name);
  const invalid = (detail: string): readonly Problem[] => [
    { field, reason: "FieldValueInvalid", message: `Invalid value: ${showValue(value)}: ${name} in body ${detail}` },
  ];
  const tooMany = (count: number, limit: Json | undefined): readonly Problem[] => [
    { field, reason: "FieldValueTooMany", message: `Too many: ${count}: must have at most ${limit} items` },
  ];
  const limit = schema[keyword];
  switch (keyword) {
    case "type":
    case "range":
      return describeType(failed, { name, field });
    case "required":
      return [required(join(field, failed.key))];
    case "enum":
      return [unsupportedValue(field, value, Array.isArray(limit) ? limit : [])];
    case "maxLength":
      return [{ field, reason: "FieldValueTooLong", message: `Too long: may not be more than ${limit} bytes` }];
    case "minLength":
      return invalid(`should be at least ${limit} chars long`);
    case "pattern":
      return invalid(`should match '${limit}'`);
    case "minimum":
      return invalid(`should be greater than ${schema.exclusiveMinimum === true ? "" : "or equal to "}${limit}`);
    case "maximum":
      return invalid(`should be less than ${schema.exclusiveMaximum === true ? "" : "or equal to "}${limit}`);
    case "multipleOf":
      return invalid(`should be a multiple of ${limit}`);
    case "maxItems":
      return tooMany(Array.isArray(value) ? value.length : 0, limit);
    case "maxProperties":
      return tooMany(Object.keys(Object(value)).length, limit);
    case "minItems":
      return invalid(`should have at least ${limit} items`);
    case "minProperties":
      return invalid(`should have at least ${limit} properties`);
    case "uniqueItems":
      return invalid("shouldn't contain duplicates");
    case "format":
      return [typeProblem({ name, field }, { wanted: String(limit), found: String(value) })];
    case "anyOf":
      return schema["x-kubernetes-int-or-string"] === true ? [] : [alternatives(prefix, name, "at least one", keyword)];
    case "oneOf":
      return [alternatives(prefix, name, "one and only one", keyword)];
    default:
      return [plain(prefix, `"${name}" must not validate the schema (${keyword})`)];
  }
}

interface Place {
  /** From the root that was validated. */
  readonly name: string;
  /** From the object. */
  readonly field: string;
}

function describeType(
  { keyword, schema, value, prefix }: FailedKeyword,
  place: Place,
): readonly Problem[] {
  const format = typeof schema.format === "string" ? schema.format : "";
  const types = Array.isArray(schema.type) ? schema.type.filter((type) => type !== "null").join(",") : "";
  const outside = typeof value !== "number"
    ? []
    : [plain(prefix, `Checked value must be of type integer ${toFormatWords(format)} in ${place.name}`)];
  if (schema["x-kubernetes-int-or-string"] === true) {
    const found = nameType(value);
    return [
      typeProblem(place, { wanted: types, found }),
      alternatives(prefix, place.name, "at least one", "anyOf"),
      typeProblem(place, { wanted: "integer", found }),
      ...outside,
    ];
  }
  const isInteger = types === "integer";
  if (isInteger && keyword === "range" && typeof value === "number" && isInt64(value)) return outside;
  const isTold = format === "" || typeof value === "string" || Array.isArray(value) || value === null;
  // A list in place of a text with a format is accepted, as by a real server.
  if (!isInteger && format !== "" && Array.isArray(value)) return [];
  const told = isTold
    ? typeProblem(place, { wanted: types, found: nameType(value) })
    : typeProblem(place, { wanted: format, found: nameFormat(value) });
  return isInteger ? [told, ...outside] : [told];
}

function typeProblem(
  { name, field }: Place,
  { wanted, found }: { readonly wanted: string; readonly found: string },
): Problem {
  const shown = showValue(found);
  const message = `Invalid value: ${shown}: ${name} in body must be of type ${wanted}: ${shown}`;
  return { field, reason: "FieldValueTypeInvalid", message };
}

function alternatives(prefix: string, name: string, count: string, keyword: string): Problem {
  return plain(prefix, `"${name}" must validate ${count} schema (${keyword})`);
}

/** The few errors that are not about a field, in Go's eyes. */
function plain(prefix: string, why: string): Problem {
  return { field: prefix || "<nil>", reason: "FieldValueInvalid", message: `Invalid value: "": ${why}` };
}

function toFormatWords(format: string): string {
  return format === "" ? "(default format)" : `with format ${format}`;
}

function nameType(value: Json): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return typeof value === "number" ? isInt64(value) ? "integer" : "number" : typeof value;
}

function nameFormat(value: Json): string {
  return typeof value === "number" ? isInt64(value) ? "int64" : "float64" : "";
}

function join(prefix: string, name: string): string {
  return prefix === "" || name === "" ? prefix + name : `${prefix}.${name}`;
}

/** A copy, which the validator may mark. */
function prepareSchema(schema: JsonObject): Schema {
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
function isRange(schema: JsonObject): boolean {
  return schema.$comment === RANGE;
}

/** Can a number of JSON be an int64? A double does not tell all of them apart, and 2^63 is the first that is none. */
function isInt64(value: number): boolean {
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
