/**
 * Does a value have the structure that a schema asks for? A JSON Schema validator finds what fails; the words are
 * those in which the API server reports it.
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
 */
import { type OutputUnit, type Schema, Validator } from "@cfworker/json-schema";
import { isObject, type Json, type JsonObject } from "../../../json.ts";
import { type Finding, readAt } from "./finding.ts";
import { isRange, prepareSchema } from "./prepare_schema.ts";
import { describeFailure } from "./words.ts";

/** `prefix` is where the value stands in its object: "" or "status". Paths of findings begin at the value. */
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
      const own = readAt(value, path) ?? null;
      return describeFailure({ keyword, schema, key, value: own, path, root: value, prefix })
        .map((problem): Finding => ({ path, problem }));
    });
    return findings;
  };
}

interface Failure {
  readonly path: readonly string[];
  readonly keyword: string;
  /** The schema that the keyword stands in. */
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
 * The schema that a keyword stands in, by the location that the validator reports; `null` within alternatives, of which
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
    const next = isSchema ? below : readAt(below ?? null, [keys[++index] ?? ""]);
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
