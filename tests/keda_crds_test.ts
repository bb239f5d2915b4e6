/**
 * The definitions of KEDA's resources: what KEDA's own have, field by field, is recorded in tests/testdata/keda (of KEDA 2.21.0,
 * config/crd/bases), and ours must have the same and no more, so that objects of either apply with both.
 */
import { assert, assertEquals } from "#assert";
import { NAME_RULE } from "../lib/units/fields.ts";
import { prune } from "../lib/embedded/server/kinds/custom_types.ts";
import { parseScaledObject } from "../lib/resources/scaled_object/scaled_object.ts";
import { parseAuthentication } from "../lib/resources/trigger_authentication/trigger_authentication.ts";
import type { Json } from "./support/api_objects.ts";
import { toAuthentication } from "./support/authentications.ts";
import { BAD_SCALED_OBJECTS } from "./support/bad_scaled_objects.ts";
import { readDefinition } from "./support/definition.ts";
import { createChecks } from "./support/embedded/custom/check.ts";
import { GOOD_SCALED_OBJECTS } from "./support/good_scaled_objects.ts";
import { toScaledObject } from "./support/scaled_objects.ts";

type Schema = Readonly<Record<string, unknown>>;

interface Facts {
  readonly scope: string;
  readonly names: Readonly<Record<string, unknown>>;
  /** Name, type, JSON path and priority. */
  readonly columns: readonly (readonly unknown[])[];
  readonly subresources: unknown;
  /** By path, what the schema says of a field; or the kind that has the same fields. */
  readonly fields: Readonly<Record<string, Schema>> | string;
}

const KEDA: Readonly<Record<string, Facts>> = JSON.parse(
  Deno.readTextFileSync(new URL("./testdata/keda/fields-2.21.0.json", import.meta.url)),
);

/** What KEDA's definition lacks: a workload's name is a DNS subdomain, and KEDA's takes escape sequences. */
const OWN_BOUNDS: Readonly<Record<string, Schema>> = {
  "spec.scaleTargetRef.name": { maxLength: NAME_RULE.max, pattern: NAME_RULE.pattern.source },
  "spec.advanced.scalingModifiers.formula": { maxLength: 4096 },
  "spec.triggers": { maxItems: 50 },
  "spec.triggers[].name": { maxLength: 253 },
  "spec.triggers[].metadata": { maxProperties: 50 },
  "spec.triggers[].metadata{}": { maxLength: 8192 },
};

/** Messages of rules for what KEDA's webhook refuses, and what one object alone shows. */
const OWN_RULES = [
  "idleReplicaCount must be less than minReplicaCount",
  "useCachedMetrics is not supported for triggers of the types cpu, memory and cron",
  "with only cpu and memory triggers, minReplicaCount must be 1 or more",
  "fallback needs a trigger of another type than cpu and memory",
  "scalingModifiers need both formula and target",
  "the name of each trigger must be unique",
];

const VALIDATIONS = "x-kubernetes-validations";

/** The authentications bound each list, map and text, which KEDA's do not. */
const BOUNDS_OF = new Map([["array", "maxItems"], ["map", "maxProperties"], ["string", "maxLength"]]);

function splitBounds(schema: Schema): { readonly rest: Schema; readonly bounds: Schema } {
  const isBound = ([key]: [string, unknown]) => [...BOUNDS_OF.values()].includes(key);
  const entries = Object.entries(schema);
  return {
    rest: Object.fromEntries(entries.filter((entry) => !isBound(entry))),
    bounds: Object.fromEntries(entries.filter(isBound)),
  };
}

function isMap(schema: Schema): boolean {
  return schema["type"] === "object" && schema["additionalProperties"] !== undefined;
}

/** With `-o wide`, after all of KEDA's. */
const OWN_COLUMNS = [
  ["Limited", "string", '.status.conditions[?(@.type=="ScalingLimited")].status', 10],
  ["Scaling", "string", '.status.conditions[?(@.type=="AbleToScale")].reason', 10],
  ["Last Active", "date", ".status.lastActiveTime", 10],
];

for (const [kind, facts] of Object.entries(KEDA)) {
  const { metadata, spec } = readDefinition<Schema>(kind.toLowerCase());
  const [version] = spec.versions;

  Deno.test(`${kind} has KEDA's names, scope, columns and subresources (R1, R91)`, () => {
    assertEquals([metadata.name, spec.group, spec.scope], [`${facts.names["plural"]}.keda.sh`, "keda.sh", facts.scope]);
    assertEquals(spec.names, facts.names);
    assertEquals([spec.versions.length, version.name, version.served, version.storage], [1, "v1alpha1", true, true]);
    assertEquals(version.subresources, facts.subresources);
    const columns = version.additionalPrinterColumns.map((
      one,
    ) => [one["name"], one["type"], one["jsonPath"], one["priority"] ?? 0]);
    assertEquals(columns, [...facts.columns, ...kind === "ScaledObject" ? OWN_COLUMNS : []]);
  });

  Deno.test(`${kind} has KEDA's fields with their types and bounds, its own bounds, and no others (R1, R2)`, () => {
    const fields = typeof facts.fields === "string" ? KEDA[facts.fields]?.fields : facts.fields;
    const own = Object.entries(kind === "ScaledObject" ? OWN_BOUNDS : {})
      .map(([path, bounds]) => [path, { ...(fields as Readonly<Record<string, Schema>>)[path], ...bounds }]);
    const expected = { ...fields as Readonly<Record<string, Schema>>, ...Object.fromEntries(own) };
    const ours = Object.fromEntries(walk(version.schema.openAPIV3Schema, ""));
    const rules = (ours["spec"]?.[VALIDATIONS] ?? []) as readonly { readonly message: string }[];
    const kedas = rules.filter(({ message }) => !OWN_RULES.includes(message));
    assertEquals(rules.length - kedas.length, kind === "ScaledObject" ? OWN_RULES.length : 0);
    if (rules.length > 0) ours["spec"] = { ...ours["spec"], [VALIDATIONS]: kedas };
    if (kind === "ScaledObject") return assertEquals(ours, expected);
    const sized = Object.entries(ours).map(([path, schema]) => [path, splitBounds(schema)] as const);
    assertEquals(Object.fromEntries(sized.map(([path, { rest }]) => [path, rest])), expected);
    const unbounded = sized.filter(([path, { rest, bounds }]) => {
      const bound = BOUNDS_OF.get(isMap(rest) ? "map" : String(rest["type"]));
      return path.startsWith("spec.") && bound !== undefined && bounds[bound] === undefined &&
        rest["enum"] === undefined;
    });
    assertEquals(unbounded.map(([path]) => path), []);
  });

  Deno.test(`${kind} describes every field`, () => {
    const silent = [...walk(version.schema.openAPIV3Schema, "", "description")]
      .filter(([path, { description = "" }]) => path !== "metadata" && String(description).length < 8);
    assertEquals(silent.map(([path]) => path), []);
  });
}

Deno.test("the parser warns of no field that the definition of a ScaledObject has (R2)", () => {
  const fields = KEDA["ScaledObject"]?.fields as Readonly<Record<string, Schema>>;
  const own = Object.keys(fields).filter((path) =>
    path.startsWith("spec.") && !path.endsWith("{}") && !path.endsWith("[]")
  );
  assertEquals(own.length, 50);
  for (const path of own) {
    const target = path.replaceAll("[]", ".0");
    const list = path.includes("policies[]") ? { [target.slice(0, target.indexOf(".0."))]: [{}] } : {};
    const { warnings } = parseScaledObject(toScaledObject({ ...list, [target]: null }));
    assertEquals(warnings, [], path);
  }
});

Deno.test("the parser knows every source that the definition of an authentication has, by name (R16)", () => {
  const fields = KEDA["TriggerAuthentication"]?.fields as Readonly<Record<string, Schema>>;
  const sources = Object.keys(fields).filter((path) => /^spec\.\w+$/.test(path));
  assertEquals(sources.length, 12);
  for (const path of sources) {
    const { problems } = parseAuthentication(toAuthentication({ [path]: { a: 1 } }));
    assert(problems.some((one) => one.path.startsWith(path)), path);
  }
});

Deno.test("the definition of a ScaledObject takes every good one, and refuses what breaks a bound of its own (R1, R2)", () => {
  const schema = readDefinition<Json>("scaledobject").spec.versions[0].schema.openAPIV3Schema;
  const checks = createChecks(schema);
  // As kubectl sends it: without what is null.
  const refuses = (manifest: unknown) => {
    const sent = JSON.parse(JSON.stringify(manifest, (_, value) => value ?? undefined)) as Json;
    const kept = prune(sent, schema) as Json;
    return checks.check({ ...sent, ...(kept.spec !== undefined && { spec: kept.spec }) }, null).map(({ field }) =>
      field
    );
  };
  for (const { sentence, manifest } of GOOD_SCALED_OBJECTS) assertEquals(refuses(manifest), [], sentence);
  const told = (spec: Json) => {
    const sent = { metadata: { name: "web" }, spec: { scaleTargetRef: { name: "web" }, ...spec } };
    return checks.check(sent, null).map(({ message }) => OWN_RULES.findIndex((rule) => message.includes(rule)));
  };
  const [cpu, cron] = [{ type: "cpu", metadata: {} }, { type: "cron", metadata: {} }];
  const fallback = { failureThreshold: 3, replicas: 6 };
  const formula = { formula: "a + b", target: "2" };
  const cases: readonly (readonly [spec: Json, rules: readonly number[]])[] = [
    [{ triggers: [cron] }, []],
    [{ triggers: [cron], idleReplicaCount: 0 }, [0]],
    [{ triggers: [cron], idleReplicaCount: 0, minReplicaCount: 0 }, []],
    [{ triggers: [cron], idleReplicaCount: 2, minReplicaCount: 2 }, [0]],
    [{ triggers: [cron], idleReplicaCount: 1, minReplicaCount: 2 }, []],
    [{ triggers: [{ ...cron, useCachedMetrics: true }] }, [1]],
    [{ triggers: [{ ...cron, useCachedMetrics: false }] }, []],
    [{ triggers: [{ type: "prometheus", metadata: {}, useCachedMetrics: true }] }, []],
    [{ triggers: [cpu] }, [2]],
    [{ triggers: [cpu], minReplicaCount: 0 }, [2]],
    [{ triggers: [cpu], minReplicaCount: 1 }, []],
    [{ triggers: [cpu, cron] }, []],
    [{ triggers: [cpu], scaleTargetRef: { name: "web", kind: "StatefulSet" } }, [2]],
    [{ triggers: [cpu], scaleTargetRef: { name: "web", kind: "Rollout" } }, []],
    [{ triggers: [cpu], minReplicaCount: 1, fallback }, [3]],
    [{ triggers: [cpu, cron], fallback }, []],
    [{ triggers: [cpu], minReplicaCount: 1, fallback, advanced: { scalingModifiers: formula } }, []],
    [{ triggers: [cron], advanced: { scalingModifiers: { formula: "a" } } }, [4]],
    [{ triggers: [cron], advanced: { scalingModifiers: { target: "1" } } }, [4]],
    [{ triggers: [cron], advanced: { scalingModifiers: formula } }, []],
    [{ triggers: [{ ...cron, name: "a" }, { ...cron, name: "a" }] }, [5]],
    [{ triggers: [{ ...cron, name: "a" }, { ...cron, name: "b" }, { ...cron, name: "a" }] }, [5]],
    [{ triggers: [{ ...cron, name: "a" }, { ...cron, name: "b" }] }, []],
    [{ triggers: [{ ...cron, name: "" }, { ...cron, name: "" }, cron, cron] }, []],
  ];
  for (const [spec, rules] of cases) assertEquals(told(spec), rules, JSON.stringify(spec));
  const refused = BAD_SCALED_OBJECTS.filter(({ manifest }) => refuses(manifest).length > 0);
  assert(refused.length > 25 && refused.length < BAD_SCALED_OBJECTS.length, `${refused.length}`);
});

/** Every schema by its path: `[]` stands for the entries of a list, `{}` for the values of a map. */
function* walk(schema: Schema, path: string, kept?: string): Generator<readonly [string, Schema]> {
  const { properties, items, additionalProperties, description, ...rest } = schema;
  yield [path === "" ? "." : path, kept === undefined ? rest : { ...rest, description }];
  for (const [key, value] of Object.entries((properties ?? {}) as Readonly<Record<string, Schema>>)) {
    yield* walk(value, path === "" ? key : `${path}.${key}`, kept);
  }
  if (items !== undefined) yield* walk(items as Schema, `${path}[]`, kept);
  if (additionalProperties !== undefined) yield* walk(additionalProperties as Schema, `${path}{}`, kept);
}
