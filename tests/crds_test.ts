/** The custom resource definition as a file: its public names, and that the parser knows the same fields. */
import { assert, assertEquals, assertStringIncludes } from "#assert";
import { toStatusFacts } from "../lib/daemon/status/facts.ts";
import { parseAutoscaler } from "../lib/resources/pod_resource_autoscaler/parse.ts";
import { PROFILE_NAMES } from "../lib/resources/pod_resource_autoscaler/profiles.ts";
import { MAX_CONTAINERS } from "../lib/resources/pod_resource_autoscaler/sizes.ts";
import { nextStatus } from "../lib/resources/pod_resource_autoscaler/status.ts";
import { readDefinition } from "./support/definition.ts";
import { autoscalerFacts, statusSources } from "./support/status_sources.ts";
import { type Edits, SIDE, toManifest } from "./support/manifests.ts";

interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly format?: string;
  readonly required?: readonly string[];
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema;
  readonly items?: Schema;
  readonly "x-kubernetes-int-or-string"?: boolean;
  readonly "x-kubernetes-list-type"?: string;
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-validations"?: readonly Rule[];
}

interface Rule {
  readonly rule: string;
  readonly message: string;
  readonly fieldPath?: string;
}

const DEFINITION = readDefinition<Schema>("podresourceautoscaler");
const VERSION = DEFINITION.spec.versions[0];
const ROOT = VERSION.schema.openAPIV3Schema;
const FIELDS: ReadonlyMap<string, Schema> = new Map(walk(ROOT, ""));

Deno.test("C1 the definition has the public names and the status subresource", () => {
  assertEquals(DEFINITION.metadata.name, "podresourceautoscalers.keda.kedify.io");
  assertEquals([DEFINITION.spec.group, DEFINITION.spec.scope], ["keda.kedify.io", "Namespaced"]);
  assertEquals(DEFINITION.spec.names, {
    kind: "PodResourceAutoscaler",
    listKind: "PodResourceAutoscalerList",
    plural: "podresourceautoscalers",
    singular: "podresourceautoscaler",
    shortNames: ["pra"],
  });
  assertEquals(DEFINITION.spec.versions.length, 1);
  assertEquals([VERSION.name, VERSION.served, VERSION.storage], ["v1alpha1", true, true]);
  assertEquals(VERSION.subresources, { status: {} });
});

Deno.test("C6 the definition has the printer columns", () => {
  const columns = VERSION.additionalPrinterColumns.map(({ name, type, jsonPath, priority = 0 }) => [
    name,
    type,
    jsonPath,
    priority,
  ]);
  assertEquals(columns, [
    ["Target", "string", ".spec.target.name", 0],
    ["Pods", "integer", ".status.pods", 0],
    ["CPU", "string", ".status.requests.cpu", 0],
    ["Memory", "string", ".status.requests.memory", 0],
    ["Limited", "string", ".status.conditions[?(@.type=='Limited')].status", 0],
    ["Ready", "string", ".status.conditions[?(@.type=='Ready')].status", 0],
    ["Age", "date", ".metadata.creationTimestamp", 0],
    ["Mode", "string", ".spec.mode", 10],
    ["Profile", "string", ".spec.profile", 10],
    ["Waiting", "string", ".status.waiting", 10],
    ["Last Change", "string", ".status.lastScaleResourceChange", 10],
    ["Last Scale", "date", ".status.lastScaleTime", 10],
  ]);
});

Deno.test("C2 C3 the definition has the defaults that the parser applies, and no others", () => {
  const defaults = [...FIELDS].filter(([, { default: value }]) => value !== undefined);
  assertEquals(Object.fromEntries(defaults.map(([path, schema]) => [path, schema.default])), {
    "spec.paused": false,
    "spec.priority": 0,
    "spec.mode": "apply",
    "spec.newPods": "template",
    "spec.policy.after": "containerReady",
    "spec.policy.delay": "15s",
    "spec.policy.veto": "all",
    "spec.policy.cpu.throttling": "measure",
    "spec.policy.memory.restartToShrink": false,
    "spec.policy.memory.oom": "raise",
  });
  const written = Object.fromEntries(defaults.map(([path, schema]) => [path, schema.default]));
  const memory = { "spec.policy.memory.limits": SIDE };
  const parsed = parseAutoscaler(toManifest({ ...memory, ...written }));
  assert(parsed.ok);
  assertEquals(parsed, parseAutoscaler(toManifest(memory)));
  for (const profile of PROFILE_NAMES) {
    const inherits = parseAutoscaler(toManifest({ "spec.profile": profile, ...memory }));
    assertEquals(parseAutoscaler(toManifest({ "spec.profile": profile, ...memory, ...written })), inherits, profile);
  }
});

Deno.test("the definition says each default in words, because kubectl explain does not show the others", () => {
  const withDefault = [...FIELDS].filter(([, schema]) => schema.default !== undefined);
  assertEquals(withDefault.length, 10);
  for (const [path, { description = "" }] of withDefault) assertStringIncludes(description, "default", path);
});

Deno.test("C2 C3 C4 the parser knows the same fields as the definition, in every object of spec", () => {
  const objects = [...FIELDS].filter(([path, { properties }]) => path.startsWith("spec") && properties !== undefined);
  assertEquals(objects.length, 29);
  for (const [path, { properties = {} }] of objects) {
    const place = path.replaceAll("[]", "");
    const value = path.endsWith("[]") ? [{ bogus: 1 }] : { bogus: 1 };
    const message = problemsAt(place, value).find((problem) => problem.message.includes(`field "bogus"`))?.message ??
      "";
    assertStringIncludes(message, `only ${Object.keys(properties).join(", ")} are known`, path);
  }
});

Deno.test("C2 C3 the parser requires the same fields as the definition", () => {
  const required = [...FIELDS].flatMap(([path, schema]) =>
    path.startsWith("spec") && !path.endsWith("[]") ? (schema.required ?? []).map((key) => `${path}.${key}`) : []
  );
  const all = [...required, ...listRequiredByRule()];
  assertEquals(all.length, 2 + 2 + 3 + 4 * 3);
  for (const path of all) {
    const parent = path.slice(0, path.lastIndexOf("."));
    const [missing] = problemsAt(parent, {}).filter((problem) => problem.path === path);
    assertStringIncludes(missing?.message ?? "", `Missing field "${path.slice(parent.length + 1)}"`, path);
  }
});

Deno.test("the parser requires nothing of what a profile fills in (L50)", () => {
  for (const path of listRequiredByRule()) {
    const parent = path.slice(0, path.lastIndexOf("."));
    const given = parent === "spec" ? { target: { kind: "deployment", name: "web" }, profile: "balanced" } : {};
    assertEquals(problemsOf({ [parent]: given, "spec.profile": "balanced" }), []);
  }
});

Deno.test("C2 C3 the parser takes every word that the definition lists, and no other", () => {
  const fields = [...FIELDS].filter(([path, schema]) => path.startsWith("spec") && schema.enum !== undefined);
  assertEquals(fields.length, 9);
  for (const [path, { enum: words = [] }] of fields) {
    // An expression's operator is read by the selector's own parser.
    if (path.endsWith("operator")) continue;
    const edits = { "spec.policy.memory": { limits: SIDE } };
    for (const word of words) assertEquals(problemsOf({ ...edits, [path]: word }), []);
    const [problem] = problemsOf({ ...edits, [path]: "other" });
    assertEquals(problem, {
      path,
      message: `Cannot use "other" as ${lastOf(path)}: must be one of ${words.join(", ")}`,
    });
  }
});

Deno.test("C3 C4 all resource fields have the same schema but for their words, and a percentile for CPU alone (L54)", () => {
  for (const part of ["policy", "bounds"]) {
    const [first, ...others] = ["cpu.requests", "cpu.limits", "memory.requests", "memory.limits"]
      .map((side) => withoutWords(FIELDS.get(`spec.${part}.${side}`), side));
    for (const other of others) assertEquals(other, first);
  }
});

Deno.test("the definition describes every field", () => {
  const silent = [...FIELDS].filter(([path, { description = "" }]) => path !== "metadata" && description.length < 10);
  assertEquals(silent.filter(([path]) => !path.endsWith(".values[]")).map(([path]) => path), []);
});

Deno.test("the definition bounds every string, list and map (the cost of its rules)", () => {
  const free = [...FIELDS].filter(([path, schema]) => path.includes(".") && !isBounded(schema));
  assertEquals(free.map(([path]) => path), []);
});

Deno.test("C7 every rule's message names the field it is reported at", () => {
  for (const [path, schema] of FIELDS) {
    for (const { message, rule } of schema["x-kubernetes-validations"] ?? []) {
      const names = [path.slice(path.lastIndexOf(".") + 1), ...Object.keys(schema.properties ?? {})];
      assert(names.some((name) => message.startsWith(name) || message.includes(` ${name} `)), `${path}: ${rule}`);
    }
  }
});

Deno.test("C5 the definition has the fields of the status", () => {
  const status = FIELDS.get("status");
  assertEquals(Object.keys(status?.properties ?? {}), [
    "conditions",
    "observedGeneration",
    "effectiveSelector",
    "lastScaleTime",
    "lastScaleAction",
    "lastScaleResourceChange",
    "scaling",
    "effectivePolicy",
    "pods",
    "requests",
    "containers",
    "waiting",
    "recommendations",
  ]);
  const conditions = FIELDS.get("status.conditions");
  assertEquals(conditions?.["x-kubernetes-list-type"], "map");
  assertEquals(conditions?.["x-kubernetes-list-map-keys"], ["type"]);
  assertEquals(conditions?.items?.required, ["type", "status", "lastTransitionTime", "reason", "message"]);
});

Deno.test("the definition says what each condition of the status means (C51, L53)", () => {
  const about = `${FIELDS.get("status.conditions")?.description}`;
  const each = `${FIELDS.get("status.conditions[].type")?.description}`;
  const { conditions = [] } = nextStatus({}, toStatusFacts(autoscalerFacts(), statusSources()), 0);
  assertEquals(conditions.length, 5);
  for (const { type } of conditions) {
    assertStringIncludes(about, `${type}: `);
    assertStringIncludes(each, type);
  }
});

Deno.test("the definition bounds the list of containers as podfit does (L59)", () => {
  const containers = FIELDS.get("status.containers");
  assertEquals([containers?.maxItems, containers?.["x-kubernetes-list-map-keys"]], [MAX_CONTAINERS, ["name"]]);
});

/** Every schema below this one by its path; `[]` stands for the entries of a list. */
function walk(schema: Schema, path: string): readonly (readonly [string, Schema])[] {
  const inner = Object.entries(schema.properties ?? {});
  const below = inner.flatMap(([key, value]) => walk(value, path === "" ? key : `${path}.${key}`));
  const entries = schema.items === undefined ? [] : walk(schema.items, `${path}[]`);
  return path === "" ? below : [[path, schema], ...below, ...entries];
}

function problemsAt(path: string, value: unknown) {
  return problemsOf({ [path]: value });
}

function problemsOf(edits: Edits) {
  const parsed = parseAutoscaler(toManifest(edits));
  return parsed.ok ? [] : parsed.problems;
}

function lastOf(path: string): string {
  return path.slice(path.lastIndexOf(".") + 1);
}

/** Fields that a rule of spec requires unless there is a profile. */
function listRequiredByRule(): readonly string[] {
  const rules = FIELDS.get("spec")?.["x-kubernetes-validations"] ?? [];
  return rules.flatMap(({ rule, fieldPath = "" }) => {
    return rule.startsWith("has(self.profile)") && rule.endsWith(`has(self${fieldPath})`) ? [`spec${fieldPath}`] : [];
  });
}

function isBounded(schema: Schema): boolean {
  if (schema["x-kubernetes-int-or-string"]) return schema.maxLength !== undefined;
  if (schema.type === "array") return schema.maxItems !== undefined;
  if (schema.additionalProperties !== undefined) {
    return schema.maxProperties !== undefined && isBounded(schema.additionalProperties);
  }
  const isFree = schema.type === "string" && schema.enum === undefined && schema.format === undefined;
  return !isFree || schema.maxLength !== undefined;
}

/** Descriptions, messages, the thresholds of requests and the rule that bounds a quantity differ by resource and side. */
function withoutWords(schema: unknown, side: string): unknown {
  const most = side.endsWith("requests") ? 200 : 100;
  return JSON.parse(JSON.stringify(schema, (key, value) => {
    if (key === "description" || key === "message") return undefined;
    if (side.startsWith("cpu") && (key === "percentile" || key === "halfLife")) return undefined;
    if (key.endsWith("Threshold")) return { ...value, maximum: value.maximum - most };
    return key === "rule" ? value.replace(/'(9T|8Pi)'/, "'limit'") : value;
  }));
}
