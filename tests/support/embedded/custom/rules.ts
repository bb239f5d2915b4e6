/**
 * Which rules of a schema (`x-kubernetes-validations`, CEL) does an object break?
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules
 */
import { Environment } from "@marcbachmann/cel-js";
import { isObject, type Json, type JsonObject, listAt, objectAt, textAt } from "../../../../lib/embedded/json.ts";
import { isDeepEqual } from "../../../../lib/units/equality.ts";
import { type Problem, showValue } from "../../../../lib/embedded/server/refusal.ts";
import { compareQuantities } from "../../../../lib/units/quantity.ts";
import { findFormer, toFieldProblem } from "./finding.ts";

/** The rules of one schema and of those below it. */
export interface RuleNode {
  readonly schema: JsonObject;
  readonly rules: readonly Rule[];
  readonly properties: ReadonlyMap<string, RuleNode>;
  readonly items: RuleNode | null;
  /** Those of additionalProperties. */
  readonly values: RuleNode | null;
}

/** `null` where there are none. Throws for a rule that is not an expression. */
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

/**
 * Throws where the text is not an expression, or where its types do not fit.
 * https://kubernetes.io/docs/reference/using-api/cel/
 */
export function compileExpression(text: string): Expression {
  const parsed = ENVIRONMENT.parse(renameDuration(text));
  const { valid, error } = parsed.check();
  if (!valid) throw error ?? new Error("cannot be checked");
  return (self) => parsed({ self });
}

interface Rule {
  readonly expression: Expression;
  readonly message: string;
  readonly reason: string;
  /** `.min`, or "" for the value itself. */
  readonly fieldPath: string;
}

interface Visit {
  readonly value: Json;
  /** The value as CEL has it. */
  readonly self: unknown;
  readonly former: Json | undefined;
  readonly field: string;
}

function visit(node: RuleNode, { value, self, former, field }: Visit): readonly Problem[] {
  if (former !== undefined && isDeepEqual(value, former)) return [];
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
  return [toFieldProblem({ field: field + fieldPath, reason, value, detail: message })];
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

/** Evaluates an expression for a value of `self`, integers as bigints; throws what CEL calls an error. */
type Expression = (self: unknown) => unknown;

class Quantity {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** The environment's own `duration()` has no `μs`, no bare zero and no largest value, and cannot be replaced. */
const DURATION = "goDuration";

const inNanoseconds = new Environment().registerVariable("text", "string").parse("duration(text)");

const UNIT_NS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  "\u00b5s": 1_000n,
  "\u03bcs": 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};

const ENVIRONMENT = new Environment()
  .registerVariable("self", "dyn")
  .registerType("Quantity", Quantity)
  .registerFunction("quantity(string): Quantity", toQuantity)
  .registerFunction("isQuantity(string): bool", isQuantity)
  .registerFunction("Quantity.compareTo(Quantity): int", (a: Quantity, b: Quantity) => BigInt(compare(a, b)))
  .registerFunction("Quantity.isGreaterThan(Quantity): bool", (a: Quantity, b: Quantity) => compare(a, b) > 0)
  .registerFunction("Quantity.isLessThan(Quantity): bool", (a: Quantity, b: Quantity) => compare(a, b) < 0)
  .registerFunction(`${DURATION}(string): google.protobuf.Duration`, toDuration);

function compare(a: Quantity, b: Quantity): number {
  return compareQuantities(a.text, b.text);
}

function isQuantity(text: string): boolean {
  try {
    return compareQuantities(text, text) === 0;
  } catch {
    return false;
  }
}

function toQuantity(text: string): Quantity {
  if (isQuantity(text)) return new Quantity(text);
  throw new Error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
}

function toDuration(text: string): unknown {
  const nanoseconds = parseNanoseconds(text);
  if (nanoseconds !== null) return inNanoseconds({ text: `${nanoseconds}ns` });
  throw new Error("type conversion error from 'string' to 'google.protobuf.Duration'");
}

/** As Go's time.ParseDuration; `null` for what it refuses, such as more than 292 years. */
function parseNanoseconds(text: string): bigint | null {
  const [, sign = "", parts = ""] = /^([+-]?)(0|(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/.exec(text) ?? [];
  if (parts === "") return null;
  let total = 0n;
  for (const [, whole = "", fraction = "", unit = ""] of parts.matchAll(/(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/g)) {
    total += BigInt(whole + fraction) * (UNIT_NS[unit] ?? 0n) / 10n ** BigInt(fraction.length);
  }
  if (total > (sign === "-" ? 2n ** 63n : 2n ** 63n - 1n)) return null;
  return sign === "-" ? -total : total;
}

/** Outside of the texts of an expression. */
function renameDuration(text: string): string {
  return text.replaceAll(/'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|\bduration(?=\s*\()/gs, (found) => {
    return found === "duration" ? DURATION : found;
  });
}
