/**
 * What is wrong with a CustomResourceDefinition? Its names, its scope, and the patterns and rules of its schemas.
 */
import { isObject, type Json, type JsonObject, listAt, objectAt, textAt } from "../../../../lib/embedded/json.ts";
import { invalidValue, type Problem, required } from "../../../../lib/embedded/server/refusal.ts";
import { compileExpression } from "./rules.ts";

/** Every problem of a definition. */
export function validateDefinition(definition: JsonObject): readonly Problem[] {
  const spec = objectAt(definition, "spec");
  const name = `${textAt(spec, "names", "plural")}.${textAt(spec, "group")}`;
  const own = textAt(definition, "metadata", "name");
  return [
    ...(own === name ? [] : [invalidValue("metadata.name", own, 'must be spec.names.plural+"."+spec.group')]),
    ...(["Namespaced", "Cluster"].includes(textAt(spec, "scope")) ? [] : [required("spec.scope")]),
    ...(listAt(spec, "versions").length > 0 ? [] : [required("spec.versions")]),
    ...listAt(spec, "versions").flatMap((version) =>
      validateSchema(objectAt(version, "schema", "openAPIV3Schema"), "spec.validation.openAPIV3Schema")
    ),
  ];
}

/** The invalid rules and patterns of a schema and of those below it. */
function validateSchema(schema: JsonObject, field: string): readonly Problem[] {
  const below = Object.entries(objectAt(schema, "properties")).flatMap(([key, property]) =>
    isObject(property) ? validateSchema(property, `${field}.properties[${key}]`) : []
  );
  const others = ["items", "additionalProperties"].flatMap((key) => {
    const one = schema[key];
    return isObject(one) ? validateSchema(one, `${field}.${key}`) : [];
  });
  const rules = listAt(schema, "x-kubernetes-validations").flatMap((rule, index) =>
    validateRule(rule, `${field}.x-kubernetes-validations[${index}].rule`)
  );
  return [...validatePattern(schema.pattern, `${field}.pattern`), ...rules, ...below, ...others];
}

function validatePattern(pattern: Json | undefined, field: string): readonly Problem[] {
  if (typeof pattern !== "string") return [];
  try {
    new RegExp(pattern, "u");
    return [];
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return [invalidValue(field, pattern, `must be a valid regular expression, but isn't: ${why}`)];
  }
}

/** Rules that compare with the former value, and messages made by expressions, are refused rather than left out. */
function validateRule(rule: JsonObject, field: string): readonly Problem[] {
  const refuse = (why: string) => [invalidValue(field, toGoRule(rule), why)];
  if (/\boldSelf\b/.test(textAt(rule, "rule"))) return refuse("oldSelf is not supported by this API server");
  if (textAt(rule, "messageExpression") !== "") return refuse("messageExpression is not supported by this API server");
  try {
    compileExpression(textAt(rule, "rule"));
    return [];
  } catch (error) {
    return refuse(`compilation failed: ERROR: ${error instanceof Error ? error.message : error}`);
  }
}

/** A rule as the API server shows it: the fields of its struct in Go. */
function toGoRule(rule: JsonObject): JsonObject {
  return {
    Rule: textAt(rule, "rule"),
    Message: textAt(rule, "message"),
    MessageExpression: textAt(rule, "messageExpression"),
    Reason: textAt(rule, "reason") || null,
    FieldPath: textAt(rule, "fieldPath"),
    OptionalOldSelf: rule.optionalOldSelf ?? null,
  };
}
