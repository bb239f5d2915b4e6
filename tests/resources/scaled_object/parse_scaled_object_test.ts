/** What parseScaledObject() makes of good and bad ScaledObjects: values, defaults, problems with paths, warnings. */
import { assert, assertEquals } from "#assert";
import { parseScaledObject } from "../../../lib/resources/scaled_object/scaled_object.ts";
import type { ScaledObject } from "../../../lib/model/scaled_object.ts";
import { BAD_SCALED_OBJECTS } from "../../support/bad_scaled_objects.ts";
import { GOOD_SCALED_OBJECTS } from "../../support/good_scaled_objects.ts";
import { applyEdits, type Edits } from "../../support/manifests.ts";
import {
  CPU,
  CRON,
  MEMORY,
  METRICS_API,
  MODIFIERS,
  named,
  PROMETHEUS,
  toScaledObject,
  TRIGGER,
  trigger,
} from "../../support/scaled_objects.ts";

for (const { sentence, manifest, path, message } of BAD_SCALED_OBJECTS) {
  Deno.test(`parseScaledObject() names ${path} when there is ${sentence}`, () => {
    const { scaledObject, problems } = parseScaledObject(manifest);
    assertEquals(scaledObject, null);
    assertEquals(problems.map((one) => ({ ...one, message: shorten(one.message, message) })), [{ path, message }]);
  });
}

/** Next to a trigger that is right. */
const MIXED = BAD_SCALED_OBJECTS.flatMap(({ manifest, path, ...bad }) => {
  if (!path.startsWith("spec.triggers[0]")) return [];
  const { triggers } = manifest["spec"] as { readonly triggers: readonly unknown[] };
  const edits = { "spec": { ...manifest["spec"] as Edits, triggers: [...triggers, named(CRON, "good")] } };
  return [{ ...bad, manifest: applyEdits(manifest, edits), path }];
});

Deno.test("parseScaledObject() makes a trigger fail for a mistake in it, where another one is right (R3, R4)", () => {
  const isOwn = (path: string) => /\.(metadata|metricType|authenticationRef)\b/.test(path);
  const [own, whole] = [MIXED.filter(({ path }) => isOwn(path)), MIXED.filter(({ path }) => !isOwn(path))];
  for (const { sentence, manifest, path, message } of own) {
    const { scaledObject, problems } = parseScaledObject(manifest);
    assertEquals(
      problems.map((one) => ({ ...one, message: shorten(one.message, message) })),
      [{ path, message }],
      sentence,
    );
    const [first] = scaledObject?.triggers ?? [];
    assert(first?.kind === "external", sentence);
    assertEquals(first.source, { kind: "invalid", problem: `${path}: ${problems[0]?.message}` }, sentence);
    assertEquals(scaledObject?.triggers.at(-1)?.name, "good");
  }
  for (const { sentence, manifest } of whole) assertEquals(parseScaledObject(manifest).scaledObject, null, sentence);
  assertEquals([own.length > 50, whole.map(({ path }) => path)], [true, [
    "spec.triggers[0]",
    "spec.triggers[0].type",
    "spec.triggers[0].type",
    "spec.triggers[0].useCachedMetrics",
    "spec.triggers[0].useCachedMetrics",
    "spec.triggers[0].useCachedMetrics",
  ]]);
});

Deno.test("parseScaledObject() keeps what is right of a trigger with a mistake (R4, R18, R71)", () => {
  const authenticationRef = { name: "queue" };
  const api = { ...METRICS_API, name: "a", authenticationRef, metricType: "Value", useCachedMetrics: true };
  const metadata = { ...METRICS_API.metadata, url: "invalid-invalid", activationTargetValue: "3" };
  const { triggers, formula } = parse({
    "spec.triggers": [{ ...api, metadata }, { ...CPU, name: "c", metadata: {} }, named(PROMETHEUS, "b")],
    [MODIFIERS]: { formula: "a + b", target: "2" },
  });
  assertEquals(formula?.program.names, ["a", "b"]);
  const message = 'Cannot use "invalid-invalid" as url: must be an address that begins with http:// or https://';
  assertEquals(triggers.slice(0, 2) as unknown, [{
    kind: "external",
    type: "metrics-api",
    index: 0,
    name: "a",
    isCached: true,
    authentication: { kind: "TriggerAuthentication", name: "queue" },
    isServedByKeda: false,
    metricName: "s0-metric-api-queue-length",
    metricType: "Value",
    targetMilli: 5000n,
    activation: 3,
    source: { kind: "invalid", problem: `spec.triggers[0].metadata.url: ${message}` },
  }, {
    kind: "external",
    type: "cpu",
    index: 1,
    name: "c",
    isCached: false,
    authentication: null,
    isServedByKeda: false,
    metricName: "s1-cpu",
    metricType: "AverageValue",
    targetMilli: null,
    activation: 0,
    source: { kind: "invalid", problem: 'spec.triggers[1].metadata.value: Missing field "value"' },
  }]);
  const names = [
    trigger(METRICS_API, { valueLocation: undefined }),
    trigger(CRON, { timezone: undefined }),
    trigger({ type: "pods-metric", metadata: { value: "0" } }, { metricName: "a/b" }),
    trigger({ type: "object-metric" }, { metricName: "m", value: "0" }),
    { "spec.triggers": [{ type: "metrics-api", metadata: 5 }] },
  ].map((edits) => {
    const [bad, ...rest] = (edits as { readonly "spec.triggers": readonly unknown[] })["spec.triggers"];
    const [first] = parse({ "spec.triggers": [bad, ...rest, CRON] }).triggers;
    return first?.kind === "external" ? [first.metricName, first.targetMilli] : [];
  });
  assertEquals(names, [
    ["s0-metric-api-", 5000n],
    ["s0-cron--08xx1-5-018xx1-5", 1000n],
    ["s0-metric", null],
    ["s0-m", null],
    ["s0-metrics-api", null],
  ]);
});

Deno.test("parseScaledObject() keeps no object whose other parts are wrong, or whose triggers all are (R3, R4)", () => {
  const bad = { ...METRICS_API, metadata: {} };
  const all = parseScaledObject(toScaledObject({ "spec.triggers": [bad, { ...CRON, metadata: {} }] }));
  assertEquals([all.scaledObject, all.problems.length], [null, 7]);
  const other = parseScaledObject(toScaledObject({ "spec.triggers": [bad, CRON], "spec.maxReplicaCount": 0 }));
  assertEquals([other.scaledObject, other.problems.map(({ path }) => path)], [null, [
    "spec.maxReplicaCount",
    "spec.triggers[0].metadata.url",
    "spec.triggers[0].metadata.valueLocation",
    "spec.triggers[0].metadata.targetValue",
  ]]);
});

Deno.test("parseScaledObject() takes what KEDA's documentation shows for every feature (R2, R4, R10, R11, R12, R13, R14, R60)", () => {
  for (const { sentence, manifest } of GOOD_SCALED_OBJECTS) {
    const { scaledObject, problems } = parseScaledObject(manifest);
    assertEquals(problems, [], sentence);
    assert(scaledObject !== null, sentence);
  }
});

Deno.test("parseScaledObject() fills in every default (R2)", () => {
  const { triggers: _, ...rest } = parse({});
  assertEquals(rest, {
    uid: "",
    namespace: "shop",
    name: "web",
    generation: 0,
    createdAt: 0,
    target: { apiVersion: "apps/v1", kind: "Deployment", name: "web", envContainer: null },
    pollIntervalMs: 30_000,
    cooldownMs: 300_000,
    initialCooldownMs: 0,
    minReplicas: 0,
    maxReplicas: 100,
    idleReplicas: null,
    fallback: null,
    restoresReplicas: false,
    hpaName: null,
    behavior: null,
    formula: null,
    annotations: {
      isPaused: false,
      pausedReplicas: null,
      isScaleInPaused: false,
      isScaleOutPaused: false,
      isForcedActive: false,
      transfersHpa: false,
      ignoresHpas: false,
    },
  });
  assertEquals(parse({ "spec.fallback": { failureThreshold: 3, replicas: 6 } }).fallback, {
    failureThreshold: 3,
    replicas: 6,
    behavior: "static",
  });
});

Deno.test("parseScaledObject() takes no group that is a path: the API server would be asked for /metrics or /version (R6)", () => {
  const paths = [
    "../metrics",
    "./v1",
    "a..b/v1",
    ".a/v1",
    "a./v1",
    "-/v1",
    "Apps/v1",
    "apps/..",
    "/v1",
    "..",
    "apps//v1",
  ];
  for (const apiVersion of paths) {
    const { problems } = parseScaledObject(toScaledObject({ "spec.scaleTargetRef.apiVersion": apiVersion }));
    assertEquals(problems.map(({ path }) => path), ["spec.scaleTargetRef.apiVersion"], apiVersion);
  }
  for (const apiVersion of ["v1", "apps/v1", "argoproj.io/v1alpha1", "a-b.c1.example/v2beta2"]) {
    const { problems } = parseScaledObject(toScaledObject({ "spec.scaleTargetRef.apiVersion": apiVersion }));
    assertEquals(problems, [], apiVersion);
  }
});

Deno.test("parseScaledObject() reads every field of the spec, times in ms (R2)", () => {
  const { triggers: _, annotations: _annotations, ...rest } = parse({
    "metadata": {
      name: "web",
      namespace: "shop",
      uid: "u1",
      generation: 7,
      creationTimestamp: "2026-01-02T03:04:05Z",
    },
    "spec.scaleTargetRef": {
      apiVersion: "argoproj.io/v1alpha1",
      kind: "Rollout",
      name: "web",
      envSourceContainerName: "app",
    },
    "spec.pollingInterval": 5,
    "spec.cooldownPeriod": 6,
    "spec.initialCooldownPeriod": 7,
    "spec.minReplicaCount": 2,
    "spec.maxReplicaCount": 9,
    "spec.idleReplicaCount": 1,
    "spec.fallback": { failureThreshold: 1, replicas: 2, behavior: "currentReplicasIfHigher" },
    "spec.advanced": { restoreToOriginalReplicaCount: true, horizontalPodAutoscalerConfig: { name: "hpa" } },
  });
  assertEquals(rest, {
    uid: "u1",
    namespace: "shop",
    name: "web",
    generation: 7,
    createdAt: Date.UTC(2026, 0, 2, 3, 4, 5),
    target: { apiVersion: "argoproj.io/v1alpha1", kind: "Rollout", name: "web", envContainer: "app" },
    pollIntervalMs: 5000,
    cooldownMs: 6000,
    initialCooldownMs: 7000,
    minReplicas: 2,
    maxReplicas: 9,
    idleReplicas: 1,
    fallback: { failureThreshold: 1, replicas: 2, behavior: "currentReplicasIfHigher" },
    restoresReplicas: true,
    hpaName: "hpa",
    behavior: null,
    formula: null,
  });
});

Deno.test("parseScaledObject() says what it is of an object that is invalid, deleting or paused (R3, R55)", () => {
  const facts = parseScaledObject(toScaledObject({
    "metadata": {
      name: "web",
      namespace: "shop",
      uid: "u1",
      resourceVersion: "42",
      generation: 7,
      deletionTimestamp: "2026-01-02T03:04:05Z",
      finalizers: ["finalizer.keda.sh", 5],
      annotations: { "autoscaling.keda.sh/paused": "yes" },
    },
    "spec.triggers": [],
    "status": { conditions: 5 },
  }));
  const { problems, ...rest } = facts;
  assertEquals(problems.length, 1);
  assertEquals(rest, {
    uid: "u1",
    namespace: "shop",
    name: "web",
    resourceVersion: "42",
    generation: 7,
    createdAt: 0,
    isDeleting: true,
    finalizers: ["finalizer.keda.sh"],
    scaledObject: null,
    restoring: null,
    warnings: [],
    isPaused: true,
    adoption: null,
    status: { conditions: 5 },
  });
});

const RESTORE = "spec.advanced.restoreToOriginalReplicaCount";
const BROKEN = { "spec.triggers": [{ type: "kafka", metadata: {} }], [RESTORE]: true };

Deno.test("parseScaledObject() knows what to restore at the end of an object that is invalid, where both can be read (R57)", () => {
  const target = { apiVersion: "apps/v1", kind: "StatefulSet", name: "db", envContainer: null };
  const { scaledObject, restoring } = parseScaledObject(toScaledObject({
    ...BROKEN,
    "spec.scaleTargetRef": { name: "db", kind: "StatefulSet" },
  }));
  assertEquals([scaledObject, restoring?.target, restoring?.restoresReplicas], [null, target, true]);
  assertEquals([restoring?.name, restoring?.namespace, restoring?.triggers], ["web", "shop", []]);
  const without: readonly Record<string, unknown>[] = [
    { [RESTORE]: false },
    { [RESTORE]: "true" },
    { "spec.advanced": 1 },
    { "spec.scaleTargetRef": {} },
    { "spec.scaleTargetRef.kind": "Deploy/ment" },
    { "spec": 1 },
  ];
  for (const edits of without) {
    assertEquals(parseScaledObject(toScaledObject({ ...BROKEN, ...edits })).restoring, null, JSON.stringify(edits));
  }
  assertEquals(parseScaledObject(toScaledObject({ [RESTORE]: true })).restoring, null, "it is valid");
});

Deno.test("parseScaledObject() reports every problem of an object at once (R3)", () => {
  const { problems } = parseScaledObject(toScaledObject({
    "metadata.annotations": { "autoscaling.keda.sh/paused-replicas": "-1" },
    "spec.scaleTargetRef": {},
    "spec.maxReplicaCount": 0,
    "spec.fallback": { replicas: 1 },
    "spec.advanced": { scalingModifiers: { target: "0" }, horizontalPodAutoscalerConfig: { behavior: { scaleUp: 1 } } },
    "spec.triggers": [{ type: "kafka", metadata: {} }, { ...PROMETHEUS, metadata: {} }],
  }));
  assertEquals(problems.map(({ path }) => path).sort(), [
    "metadata.annotations.autoscaling.keda.sh/paused-replicas",
    "spec.advanced.horizontalPodAutoscalerConfig.behavior.scaleUp",
    "spec.advanced.scalingModifiers.formula",
    "spec.advanced.scalingModifiers.target",
    "spec.fallback.failureThreshold",
    "spec.maxReplicaCount",
    "spec.scaleTargetRef.name",
    "spec.triggers[0].type",
    "spec.triggers[1].metadata.query",
    "spec.triggers[1].metadata.serverAddress",
    "spec.triggers[1].metadata.threshold",
  ]);
});

Deno.test("parseScaledObject() warns of what has no effect, and of nothing else (R4)", () => {
  const cases: readonly (readonly [Edits, readonly string[]])[] = [
    [{}, []],
    [{ "spec.paused": true }, ["spec.paused"]],
    [{ "spec.advanced": { scalingModifiers: { formulas: "a" } } }, ["spec.advanced.scalingModifiers.formulas"]],
    [{ [`${TRIGGER}.weight`]: 1 }, ["spec.triggers[0].weight"]],
    [trigger(PROMETHEUS, { metricName: "m" }), ["spec.triggers[0].metadata.metricName"]],
    [trigger(PROMETHEUS, { queryFromEnv: "Q" }), ["spec.triggers[0].metadata.queryFromEnv"]],
    [trigger(CPU, { values: "1" }), ["spec.triggers[0].metadata.values"]],
    [trigger(MEMORY, { baseline: "live" }), ["spec.triggers[0].metadata.baseline"]],
    [trigger({ ...CPU, authenticationRef: { name: "a" } }), ["spec.triggers[0].metadata.authenticationRef"]],
    [trigger(PROMETHEUS, { authModes: "apiKey" }), ["spec.triggers[0].metadata.authModes"]],
    [{ ...trigger(CPU), "spec.minReplicaCount": 0, "spec.scaleTargetRef.kind": "Rollout" }, ["spec.minReplicaCount"]],
    [{ "spec.minReplicaCount": 1, "spec.cooldownPeriod": 5 }, ["spec.cooldownPeriod"]],
    [{ "spec.minReplicaCount": 1, "spec.pollingInterval": 5 }, ["spec.pollingInterval"]],
    [{ "spec.minReplicaCount": 1, "spec.pollingInterval": 5, [`${TRIGGER}.useCachedMetrics`]: true }, []],
    [{ "spec.minReplicaCount": 1, "spec.idleReplicaCount": 0, "spec.cooldownPeriod": 5 }, []],
    [{ "spec.minReplicaCount": 0, "spec.pollingInterval": 5, "spec.cooldownPeriod": 5 }, []],
  ];
  for (const [edits, paths] of cases) {
    const { problems, warnings } = parseScaledObject(toScaledObject(edits));
    assertEquals([problems, warnings.map(({ path }) => path)], [[], paths], JSON.stringify(edits));
  }
  const { warnings: [first] } = parseScaledObject(toScaledObject(trigger(PROMETHEUS, { queryFromEnv: "Q" })));
  assert(
    first?.message.endsWith("it has no effect (from the environment come parameters of a TriggerAuthentication alone)"),
  );
});

Deno.test("parseScaledObject() keeps a pod of a target of another kind whose triggers measure pods alone (R4)", () => {
  const rollout = { "spec.minReplicaCount": 0, "spec.scaleTargetRef.kind": "Rollout" };
  assertEquals(parse({ ...trigger(CPU), ...rollout }).minReplicas, 1);
  assertEquals(
    parse({ ...trigger({ type: "pods-metric", metadata: { metricName: "m", value: "1" } }), ...rollout }).minReplicas,
    1,
  );
  assertEquals(parse({ ...trigger(PROMETHEUS), ...rollout }).minReplicas, 0);
});

Deno.test("parseScaledObject() compiles the formula, and keeps what it is compared with (R60)", () => {
  const { formula } = parse({
    [MODIFIERS]: { formula: "2 * a", target: "1.005", activationTarget: ".5", metricType: "Value" },
    "spec.triggers": [{ ...PROMETHEUS, name: "a" }],
  });
  assert(formula !== null);
  const { program, ...rest } = formula;
  assertEquals(rest, { text: "2 * a", target: 1.005, targetMilli: 1004n, activationTarget: 0.5, metricType: "Value" });
  assertEquals(program.run({ a: 4 }), { kind: "number", value: 8 });
  const edits = { [MODIFIERS]: { formula: "a", target: "3" }, "spec.triggers": [{ ...PROMETHEUS, name: "a" }] };
  const { activationTarget, metricType } = parse(edits).formula ?? {};
  assertEquals([activationTarget, metricType], [0, "AverageValue"]);
});

Deno.test("parseScaledObject() lets metrics-api and kubernetes-workload do without a target beside a formula (R60)", () => {
  const metadata = { url: "http://queue", valueLocation: "n" };
  const { triggers } = parse({
    [MODIFIERS]: { formula: "a + b", target: "3" },
    "spec.triggers": [
      { type: "metrics-api", name: "a", metadata },
      { type: "kubernetes-workload", name: "b", metadata: { podSelector: "a=b", value: "-1" } },
      { type: "metrics-api", name: "c", metadata: { ...metadata, targetValue: "4" } },
    ],
  });
  const external = triggers.filter((one) => one.kind === "external");
  assertEquals(external.map(({ source, targetMilli }) => [source.kind, targetMilli]), [
    ["metrics-api", null],
    ["kubernetes-workload", null],
    ["metrics-api", 4000n],
  ]);
});

Deno.test("parseScaledObject() reads the annotations as KEDA does (R51, R55, R56, R76, R77)", () => {
  const prefix = "autoscaling.keda.sh/";
  const read = (annotations: Edits) => parse({ "metadata.annotations": annotations }).annotations;
  for (const text of ["true", "1", "", "yes", "no", "off", " false"]) {
    assertEquals(read({ [`${prefix}paused`]: text }).isPaused, true, text);
  }
  for (const text of ["false", "False", "FALSE", "f", "F", "0"]) {
    assertEquals(read({ [`${prefix}paused`]: text }).isPaused, false, text);
  }
  const replicas = read({ [`${prefix}paused-replicas`]: "3", [`${prefix}paused`]: "false" });
  assertEquals([replicas.isPaused, replicas.pausedReplicas], [true, 3]);
  const bad = parseScaledObject(toScaledObject({ "metadata.annotations": { [`${prefix}paused-replicas`]: "x" } }));
  assertEquals([bad.isPaused, bad.problems.length], [true, 1]);
  assertEquals(read({ [`${prefix}paused-scale-in`]: "x" }).isScaleInPaused, true);
  assertEquals(read({ [`${prefix}paused-scale-out`]: "true" }).isScaleOutPaused, true);
  assertEquals(read({ [`${prefix}paused-scale-in`]: "false", [`${prefix}paused-scale-out`]: "f" }), read({}));
  assertEquals(read({ [`${prefix}force-activation`]: "true" }).isForcedActive, true);
  const transfer = "scaledobject.keda.sh/transfer-hpa-ownership";
  const ownership = "validations.keda.sh/hpa-ownership";
  assertEquals([read({ [transfer]: "true" }).transfersHpa, read({ [transfer]: "1" }).transfersHpa], [true, false]);
  assertEquals([read({ [ownership]: "true" }).ignoresHpas, read({ [ownership]: "false" }).ignoresHpas], [true, false]);
});

Deno.test("parseScaledObject() refuses cpu and memory alone with min 0, and takes them beside another trigger (R4)", () => {
  const pathsOf = (edits: Edits) => parseScaledObject(toScaledObject(edits)).problems.map(({ path }) => path);
  assertEquals(pathsOf({ "spec.triggers": [CPU, MEMORY] }), ["spec.minReplicaCount"]);
  assertEquals(pathsOf({ "spec.triggers": [CPU, PROMETHEUS] }), []);
  assertEquals(pathsOf({ "spec.triggers": [CPU, CRON], "spec.minReplicaCount": 0 }), []);
  assertEquals(pathsOf({ "spec.triggers": [CPU, MEMORY], "spec.minReplicaCount": 1 }), []);
});

function parse(edits: Edits): ScaledObject {
  const { scaledObject, problems } = parseScaledObject(toScaledObject(edits));
  assert(scaledObject !== null, JSON.stringify(problems));
  return scaledObject;
}

/** Of a message that is another parser's only what is expected of it. */
function shorten(message: string, expected: string): string {
  const [start = "", rest] = expected.split("...");
  return rest === undefined || !message.startsWith(start) ? message : expected;
}
