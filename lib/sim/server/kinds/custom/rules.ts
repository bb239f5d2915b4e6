/**
 * Evaluates the rules of a schema (`x-kubernetes-validations`) for an object. They are compiled once per definition; a
 * value that an update leaves as it was is not asked about again.
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules
 */
import { isObject, isSame, type Json, type JsonObject, listAt, objectAt, textAt } from "../../../json.ts";
import type { Problem } from "../../refusal.ts";
import { showValue } from "../../show_value.ts";
import { compileExpression, type Expression } from "./cel.ts";
import { toProblem } from "./finding.ts";
import { findFormer } from "./ratchet.ts";

/** The rules of one schema and of those below it. */
export interface RuleNode {
  readonly schema: JsonObject;
  readonly rules: readonly Rule[];
  readonly properties: ReadonlyMap<string, RuleNode>;
  readonly items: RuleNode | null;
  /** Those of additionalProperties. */
  readonly values: RuleNode | null;
}

interface Rule {
  readonly expression: Expression;
  readonly message: string;
  readonly reason: string;
  /** `.min`, or "" for the value itself. */
  readonly fieldPath: string;
}

/** `null` where there are none. Throws for a rule that is no expression. */
export function compileRules(schema: JsonObject): RuleNode | null {
  const rules = listAt(schema, "x-kubernetes-validations").map((rule): Rule => ({
    expression: compileExpression(textAt(rule, "rule")),
    message: textAt(rule, "message") || `failed rule: ${textAt(rule, "rule").trim()}`,
    reason: textAt(rule, "reason"),
    fieldPath: textAt(rule, "fieldPath"),
  }));
  const properties = new Map<string, RuleNode>();
  for (const [key, property] of Object.entries(objectAt(schema, "properties"))) {
    const below = isObject(property) ? compileRules(property) : null;
    if (below !== null) properties.set(key, below);
  }
  const { items, additionalProperties } = schema;
  const node = {
    schema,
    rules,
    properties,
    items: isObject(items) ? compileRules(items) : null,
    values: isObject(additionalProperties) ? compileRules(additionalProperties) : null,
  };
  const isEmpty = rules.length === 0 && properties.size === 0 && node.items === null && node.values === null;
  return isEmpty ? null : node;
}

/** The rules that an object breaks. It must have the structure of its schema. */
export function findBroken(node: RuleNode, object: JsonObject, before: JsonObject | null): readonly Problem[] {
  return visit(node, { value: object, self: toCel(object, node.schema), former: before ?? undefined, field: "" });
}

interface Visit {
  readonly value: Json;
  /** The value as CEL has it. */
  readonly self: unknown;
  readonly former: Json | undefined;
  readonly field: string;
}

function visit(node: RuleNode, { value, self, former, field }: Visit): readonly Problem[] {
  if (former !== undefined && isSame(value, former)) return [];
  const broken = node.rules.flatMap((rule) => evaluate(rule, node.schema, { value, self, field }));
  const selves = self as Readonly<Record<string, unknown>>;
  if (Array.isArray(value)) {
    const { items, schema } = node;
    return items === null ? broken : broken.concat(value.flatMap((item, index) => {
      const was = former === undefined ? undefined : findFormer(former, item, schema);
      return visit(items, { value: item, self: selves[index], former: was, field: `${field}[${index}]` });
    }));
  }
  if (!isObject(value)) return broken;
  const formers = isObject(former) ? former : {};
  for (const [key, one] of Object.entries(value)) {
    const property = node.properties.get(key);
    const below = property ?? (Object.hasOwn(objectAt(node.schema, "properties"), key) ? null : node.values);
    if (below === null) continue;
    const place = property === undefined ? `${field}[${key}]` : field === "" ? key : `${field}.${key}`;
    broken.push(...visit(below, { value: one, self: selves[key], former: formers[key], field: place }));
  }
  return broken;
}

function evaluate(
  { expression, message, reason, fieldPath }: Rule,
  schema: JsonObject,
  { value, self, field }: Omit<Visit, "former">,
): readonly Problem[] {
  try {
    if (expression(self) === true) return [];
  } catch (error) {
    const why = `${describeError(error)} evaluating rule: ${message}`;
    const type = showValue(textAt(schema, "type"));
    return [{ field, reason: "FieldValueInvalid", message: `Invalid value: ${type}: ${why}` }];
  }
  return [toProblem({ field: field + fieldPath, reason, value, detail: message })];
}

/** Without the lines that show where in the rule it went wrong. */
function describeError(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split("\n")[0] ?? "";
}

/** Integers as bigints, which is how CEL tells them from doubles. */
function toCel(value: Json, schema: JsonObject): unknown {
  if (typeof value === "number") {
    const isInteger = schema.type === "integer" || schema["x-kubernetes-int-or-string"] === true;
    return isInteger && Number.isInteger(value) ? BigInt(value) : value;
  }
  if (Array.isArray(value)) return value.map((item) => toCel(item, objectAt(schema, "items")));
  if (!isObject(value)) return value;
  const properties = objectAt(schema, "properties");
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => {
      const property = Object.hasOwn(properties, key) ? properties[key] : schema.additionalProperties;
      return [key, toCel(one, isObject(property) ? property : {})];
    }),
  );
}
