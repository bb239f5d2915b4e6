/** What the embedded API server demands of a CustomResourceDefinition: names, patterns and rules that it can evaluate. */
import { assert, assertEquals, assertStringIncludes } from "#assert";
import type { Json } from "../../../../support/api_objects.ts";
import { validateDefinition } from "../../../../support/embedded/custom/definition.ts";

function definition(schema: Json): Json {
  return {
    metadata: { name: "foos.sim.example.com" },
    spec: {
      group: "sim.example.com",
      scope: "Namespaced",
      names: { kind: "Foo", plural: "foos" },
      versions: [{
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", properties: { spec: schema } } },
      }],
    },
  };
}

function problemsOf(schema: Json): readonly { readonly field: string; readonly message: string }[] {
  return validateDefinition(definition(schema));
}

Deno.test("validateDefinition() refuses a rule that is no expression, at the rule", () => {
  const [problem, ...others] = problemsOf({
    type: "object",
    properties: { a: { type: "integer" } },
    "x-kubernetes-validations": [{ rule: "self.a > 1" }, { rule: "self.a >" }],
  });
  assert(problem !== undefined);
  assertEquals(others, []);
  assertEquals(
    problem.field,
    "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[1].rule",
  );
  assertStringIncludes(problem.message, 'Invalid value: {"Rule":"self.a >",');
  assertStringIncludes(problem.message, "compilation failed: ERROR: ");
});

Deno.test("validateDefinition() refuses what it would have to leave out of account", () => {
  const rules = [
    { rule: "self.a >= oldSelf.a" },
    { rule: "self.a > 1", messageExpression: "'a is ' + string(self.a)" },
  ];
  const found = problemsOf({ type: "object", "x-kubernetes-validations": rules }).map(({ message }) => message);
  assertStringIncludes(found[0] ?? "", "oldSelf is not supported");
  assertStringIncludes(found[1] ?? "", "messageExpression is not supported");
});

Deno.test("validateDefinition() refuses a pattern that is none, in items and maps too", () => {
  const text = { type: "string", pattern: "(" };
  const found = problemsOf({
    type: "object",
    properties: { list: { type: "array", items: text }, map: { type: "object", additionalProperties: text } },
  });
  const spec = "spec.validation.openAPIV3Schema.properties[spec]";
  assertEquals(found.map(({ field }) => field), [
    `${spec}.properties[list].items.pattern`,
    `${spec}.properties[map].additionalProperties.pattern`,
  ]);
});
