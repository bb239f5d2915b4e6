/**
 * What is wrong with a custom resource, by its schema? Structure, lists and rules, in the order of the API server.
 */
import { type JsonObject, objectAt } from "../../../../lib/embedded/json.ts";
import type { SchemaChecks } from "../../../../lib/embedded/server/kinds/resource_type.ts";
import type { Problem } from "../../../../lib/embedded/server/refusal.ts";
import { dropUnchanged, type Finding, findRepeated } from "./finding.ts";
import { compileRules, findBroken, type RuleNode } from "./rules.ts";
import { type CheckStructure, compileStructure } from "./structure.ts";

/** Compiles a schema once, the first time that an object is checked. */
export function createChecks(schema: JsonObject): SchemaChecks {
  const status = objectAt(schema, "properties", "status");
  let compiled: Compiled | null = null;
  const compile = (): Compiled =>
    compiled ??= { whole: compileStructure(schema), status: compileStructure(status), rules: compileRules(schema) };
  const finish = (findings: readonly Finding[], object: JsonObject, before: JsonObject | null): readonly Problem[] => {
    const problems = findings.map(({ problem }) => problem);
    if (problems.some(({ reason }) => BLOCKING.has(reason))) return [...problems, UNCHECKED];
    const { rules } = compile();
    return rules === null ? problems : [...problems, ...findBroken(rules, object, before)];
  };
  return {
    check(object, before) {
      const found = [...compile().whole(object, ""), ...findRepeated(object, schema)];
      const kept = before === null || found.length === 0
        ? found
        : dropUnchanged(found, { before, after: object, schema });
      return finish(kept, object, before);
    },
    checkStatus(object, before) {
      const { status: after } = object;
      if (after === undefined) return [];
      const repeated = findRepeated(object, schema).filter(({ path }) => path[0] === "status");
      const own = compile().status(after, "status").map((one) => ({ ...one, path: ["status", ...one.path] }));
      const found = [...own, ...repeated];
      return finish(
        found.length === 0 ? found : dropUnchanged(found, { before, after: object, schema }),
        object,
        before,
      );
    },
  };
}

interface Compiled {
  readonly whole: CheckStructure;
  readonly status: CheckStructure;
  readonly rules: RuleNode | null;
}

/** After these no rule can be asked: it might not find what it reads. */
const BLOCKING = new Set([
  "FieldValueNotSupported",
  "FieldValueRequired",
  "FieldValueTooLong",
  "FieldValueTooMany",
  "FieldValueTypeInvalid",
]);

const UNCHECKED: Problem = {
  field: "<nil>",
  reason: "FieldValueInvalid",
  message: "Invalid value: null: some validation rules were not checked because the object was invalid; " +
    "correct the existing errors to complete validation",
};
