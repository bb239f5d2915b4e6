/**
 * How does the API server say that a value fails a keyword of its schema? The words of kube-openapi, as 1.36 answers.
 * https://github.com/kubernetes/kube-openapi/blob/master/pkg/validation/errors/schema.go
 */
import type { Json, JsonObject } from "../../../json.ts";
import { type Problem, required, unsupportedValue } from "../../refusal.ts";
import { showValue } from "../../show_value.ts";
import { formatPath } from "./finding.ts";
import { isInt64 } from "./prepare_schema.ts";

/** A keyword that a value fails. */
export interface FailedKeyword {
  /** A keyword of JSON Schema, or `range` for an integer that its format has no room for. */
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
export function describeFailure(failed: FailedKeyword): readonly Problem[] {
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
  // A list where a text of some format is wanted passes, as it does a real server.
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
