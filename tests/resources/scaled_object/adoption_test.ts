/**
 * The adoption record, and what of a ScaledObject is KEDA's.
 * Clauses: M3, M4, M5, M6, M10, M12, M23.
 */
import { assert, assertEquals, assertNotEquals, assertStringIncludes } from "#assert";
import {
  findMisfit,
  formatAdoptionRecord,
  hashTriggers,
  type HpaMetric,
  isSelected,
  parseAdoptionRecord,
  toAdoptionRecord,
} from "../../../lib/resources/scaled_object/adoption.ts";
import { ACTIVATION_PARAMETERS } from "../../../lib/api/keda_activation.ts";
import { parseScaledObject, parseWithoutRun } from "../../../lib/resources/scaled_object/scaled_object.ts";
import type { ExternalTrigger, ScaledObjectFacts } from "../../../lib/model/scaled_object.ts";
import type { Json } from "../../support/api_objects.ts";
import { scaledObject, workloadTrigger } from "../../support/replicas_run.ts";

const KAFKA: Json = {
  type: "kafka",
  metadata: { bootstrapServers: "kafka:9092", topic: "orders", lagThreshold: "10" },
};

const KAFKA_METRIC = { name: "s0-kafka-orders", type: "AverageValue", target: "10" } as const;

interface Given {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: Json;
  /** The metrics of KEDA's HPA; by default the object has no record. */
  readonly metrics?: Parameters<typeof toAdoptionRecord>[0];
}

function adopt(triggers: readonly Json[], { annotations = {}, spec = {}, metrics }: Given = {}): ScaledObjectFacts {
  const object = scaledObject("web", triggers, { spec });
  const record = metrics === undefined
    ? {}
    : { "podfit.dev/keda-metrics": formatAdoptionRecord(toAdoptionRecord(metrics, hashTriggers(object.spec))) };
  object.metadata.annotations = { "podfit.dev/scale": "true", ...record, ...annotations };
  return parseScaledObject(object);
}

function external({ scaledObject, problems }: ScaledObjectFacts): readonly ExternalTrigger[] {
  assert(scaledObject !== null, problems.map(({ path, message }) => `${path}: ${message}`).join());
  return scaledObject.triggers.filter((one) => one.kind === "external");
}

Deno.test("isSelected() wants the word true (M1)", () => {
  const object = (value: unknown) => ({ metadata: { annotations: { "podfit.dev/scale": value } } });
  assertEquals(isSelected(object("true")), true);
  for (const other of ["false", "True", "", true, null]) assertEquals(isSelected(object(other)), false);
  for (const other of [null, 5, {}, { metadata: 5 }, { metadata: {} }]) assertEquals(isSelected(other), false);
});

Deno.test("a trigger that only KEDA has gets its metric, type and target from the record (M4, M10)", () => {
  const facts = adopt([KAFKA], { metrics: [{ ...KAFKA_METRIC, type: "Value", target: "2500m" }] });
  const [trigger] = external(facts);
  assertEquals(trigger, {
    kind: "external",
    type: "kafka",
    index: 0,
    name: null,
    metricName: "s0-kafka-orders",
    metricType: "Value",
    targetMilli: 2500n,
    activation: 0,
    isCached: false,
    isServedByKeda: true,
    authentication: null,
    source: { kind: "keda", object: "web", problem: null },
  });
  assertEquals([facts.adoption?.lacksRecord, facts.adoption?.isStale], [false, false]);
});

Deno.test("annotations of a wrong shape are one problem of a selected object (M3)", () => {
  const object = scaledObject("web", [workloadTrigger("app=web")]);
  const wrong = { ...object, metadata: { ...object.metadata, annotations: 5 } };
  assertEquals(parseWithoutRun(wrong, { isNextToKeda: true }).problems.map(({ path }) => path), [
    "metadata.annotations",
  ]);
});

Deno.test("podfit measures its own types itself, and knows that KEDA could (M10)", () => {
  const metrics = [{ name: "s0-workload-default", type: "AverageValue", target: "1" }];
  const [own] = external(adopt([workloadTrigger("app=web")], { metrics }));
  assertEquals([own?.source.kind, own?.isServedByKeda], ["kubernetes-workload", true]);
  const [unrecorded] = external(adopt([workloadTrigger("app=web")]));
  assertEquals([unrecorded?.source.kind, unrecorded?.isServedByKeda], ["kubernetes-workload", false]);
});

Deno.test("what has no effect in a trigger that podfit measures is a warning once (M3, M10)", () => {
  const trigger: Json = {
    type: "kubernetes-workload",
    metadata: { podSelector: "app=web", value: "1", topic: "orders" },
  };
  const given = adopt([trigger], { metrics: [{ name: "s0-workload-default", type: "AverageValue", target: "1" }] });
  assertEquals(external(given)[0]?.source.kind, "kubernetes-workload");
  assertEquals(given.warnings.map(({ path }) => path), ["spec.triggers[0].metadata.topic"]);
});

Deno.test("a trigger that podfit gives up and KEDA measures has no warnings of podfit's (M3, M10)", () => {
  const cloud: Json = { type: "prometheus", metadata: { query: "up", threshold: "3", awsRegion: "eu-west-1" } };
  const given = adopt([cloud], { metrics: [{ name: "s0-prometheus", type: "AverageValue", target: "3" }] });
  assertEquals(external(given)[0]?.source.kind, "keda");
  assertEquals(given.warnings, []);
});

Deno.test("KEDA measures a type of podfit's own whose fields podfit does not accept (M10)", () => {
  const cloud: Json = {
    type: "prometheus",
    metadata: { serverAddress: "https://aps.example.com", query: "up", threshold: "3", awsRegion: "eu-west-1" },
  };
  const metrics = [{ name: "s0-prometheus", type: "AverageValue", target: "3" }];
  const [trigger] = external(adopt([cloud], { metrics }));
  assertEquals([trigger?.source.kind, trigger?.targetMilli], ["keda", 3000n]);
});

Deno.test("the annotation podfit.dev/metrics decides who measures (M10)", () => {
  const metrics = [{ name: "s0-workload-default", type: "AverageValue", target: "4" }];
  const kedas = adopt([workloadTrigger("app=web")], { metrics, annotations: { "podfit.dev/metrics": "keda" } });
  assertEquals(external(kedas).map(({ source, targetMilli }) => [source.kind, targetMilli]), [["keda", 4000n]]);
  const own = adopt([KAFKA], { metrics: [KAFKA_METRIC], annotations: { "podfit.dev/metrics": "podfit" } });
  assertEquals(own.scaledObject, null);
  assertStringIncludes(own.problems.map(({ message }) => message).join(), 'Cannot use trigger type "kafka"');
});

Deno.test("an object that is not selected has podfit's own types only (M10, M22)", () => {
  const { scaledObject: parsed, problems, adoption } = parseScaledObject(scaledObject("web", [KAFKA]));
  assertEquals([parsed, adoption], [null, null]);
  assertStringIncludes(problems.map(({ message }) => message).join(), 'Cannot use trigger type "kafka"');
});

Deno.test("an object that KEDA measures and that has no record says so (M4)", () => {
  const facts = adopt([KAFKA]);
  assertEquals(facts.adoption?.lacksRecord, true);
  assertEquals(adopt([workloadTrigger("app=web")]).adoption?.lacksRecord, false);
});

Deno.test("a trigger that the record has no metric of fails, and says what makes a new record (M4)", () => {
  const [kafka] = external(adopt([KAFKA], { metrics: [] }));
  assert(kafka?.source.kind === "keda");
  assertEquals(
    kafka.source.problem,
    // "podfit adopt" alone keeps a record of the same triggers.
    'the record has no metric of this trigger; run "podfit release" and then "podfit adopt"',
  );
});

Deno.test("triggers that KEDA measures fail once they have changed since the record (M5)", () => {
  const annotations = adopt([KAFKA], { metrics: [KAFKA_METRIC] });
  const { triggers = "", metrics = [] } = annotations.adoption?.record ?? {};
  const text = formatAdoptionRecord({ triggers, metrics });
  const changed = { ...KAFKA, metadata: { ...KAFKA.metadata, lagThreshold: "20" } };
  const facts = adopt([changed, workloadTrigger("app=web")], { annotations: { "podfit.dev/keda-metrics": text } });
  assertEquals(facts.adoption?.isStale, true);
  const [kafka, own] = external(facts);
  assert(kafka?.source.kind === "keda");
  assertStringIncludes(kafka.source.problem ?? "", "the triggers have changed since the object was adopted");
  assertEquals([own?.source.kind, own?.isServedByKeda], ["kubernetes-workload", false]);
});

Deno.test("hashTriggers() changes with triggers and formula, and not with the order of keys or with the bounds (M5)", () => {
  const spec: Json = { triggers: [{ type: "kafka", metadata: { a: "1", b: "2" } }], maxReplicaCount: 5 };
  const known = hashTriggers(spec);
  assertEquals(known.length, 16);
  assertEquals(
    hashTriggers({ maxReplicaCount: 9, triggers: [{ metadata: { b: "2", a: "1" }, type: "kafka" }] }),
    known,
  );
  assertNotEquals(hashTriggers({ triggers: [{ type: "kafka", metadata: { a: "1", b: "3" } }] }), known);
  assertNotEquals(hashTriggers({ ...spec, advanced: { scalingModifiers: { formula: "a" } } }), known);
  assertEquals(hashTriggers(null), hashTriggers(5));
});

Deno.test("with a formula KEDA's result is the one external metric (M4)", () => {
  const formula = { formula: "a + 1", target: "7", activationTarget: "2" };
  const metrics = [{ name: "composite-metric", type: "AverageValue", target: "7" }];
  const spec = { advanced: { scalingModifiers: formula } };
  const facts = adopt(
    [{ ...KAFKA, name: "a" }, { type: "cpu", metricType: "Utilization", metadata: { value: "50" } }],
    {
      spec,
      metrics,
    },
  );
  const [composite, ...others] = external(facts);
  assertEquals(others, []);
  assertEquals(facts.scaledObject?.formula, null);
  assertEquals([composite?.metricName, composite?.targetMilli, composite?.activation], ["composite-metric", 7000n, 2]);
  assertEquals(facts.scaledObject?.triggers.map(({ kind }) => kind), ["resource", "external"]);
  const own = adopt([{ ...workloadTrigger("app=web"), name: "a" }], { spec, metrics });
  assertEquals([own.scaledObject?.formula?.text, external(own)[0]?.source.kind], ["a + 1", "kubernetes-workload"]);
});

Deno.test("KEDA goes on reading ConfigMaps and Secrets, unless the annotation says podfit (M10, R97)", () => {
  const object = {
    type: "kubernetes-resource",
    metadata: { resourceKind: "Secret", resourceName: "queue", key: "length", targetValue: "5" },
  };
  const metrics = [{ name: "s0-secret-queue-length", type: "AverageValue", target: "5" }];
  const kindOf = (given: Given) => external(adopt([object], given))[0]?.source.kind;
  assertEquals(kindOf({ metrics }), "keda");
  assertEquals(kindOf({}), "kubernetes-resource");
  assertEquals(kindOf({ metrics, annotations: { "podfit.dev/metrics": "podfit" } }), "kubernetes-resource");
});

Deno.test("a mistake in a trigger is KEDA's where KEDA measures, and else the trigger's own (R4, M4, M10)", () => {
  const bad = { type: "metrics-api", name: "a", metadata: { url: "invalid-invalid", valueLocation: "v" } };
  const kindsOf = (facts: ScaledObjectFacts) => external(facts).map(({ source }) => source.kind);
  const other = workloadTrigger("app=web");
  const kedas = adopt([bad, other]);
  assertEquals([kindsOf(kedas), kedas.problems], [["keda", "kubernetes-workload"], []]);
  const own = adopt([bad, other], { annotations: { "podfit.dev/metrics": "podfit" } });
  assertEquals([kindsOf(own), own.problems.length], [["invalid", "kubernetes-workload"], 2]);
  const cpu = { type: "cpu", metricType: "Utilization", metadata: {} };
  const mixed = adopt([cpu, { ...KAFKA, name: "b" }], {
    spec: { advanced: { scalingModifiers: { formula: "b", target: "7" } } },
    metrics: [{ name: "composite-metric", type: "AverageValue", target: "7" }],
  });
  assertEquals(kindsOf(mixed), ["invalid", "keda"]);
});

Deno.test("a trigger is active above the parameter that KEDA's schema names (M12)", () => {
  const activationOf = (type: string, metadata: Json) => external(adopt([{ type, metadata }]))[0]?.activation;
  assertEquals(activationOf("kafka", { activationLagThreshold: "5" }), 5);
  assertEquals(activationOf("artemis-queue", {}), 10);
  assertEquals(activationOf("aws-sqs-queue", { activationQueueLength: "no number" }), 0);
  assertEquals(activationOf("github-runner", { activationLagThreshold: "5" }), 0);
  assertEquals(activationOf("datadog", { activationQueryValue: "2.5" }), 2.5);
  assertEquals(ACTIVATION_PARAMETERS.size, 72);
});

Deno.test("podfit's own annotations pause a selected object, and KEDA's do not (M2, M3)", () => {
  const pausesOf = (annotations: Readonly<Record<string, string>>) => {
    const { isPaused, adoption, scaledObject } = adopt([workloadTrigger("app=web")], { annotations });
    const { pausedReplicas, isScaleInPaused, isScaleOutPaused } = scaledObject?.annotations ?? {};
    return { isPaused, isKedaPaused: adoption?.isKedaPaused, pausedReplicas, isScaleInPaused, isScaleOutPaused };
  };
  const none = {
    isPaused: false,
    isKedaPaused: false,
    pausedReplicas: null,
    isScaleInPaused: false,
    isScaleOutPaused: false,
  };
  const cases: readonly (readonly [Readonly<Record<string, string>>, Partial<typeof none> | Json])[] = [
    [{}, {}],
    [{ "autoscaling.keda.sh/paused": "true" }, { isKedaPaused: true }],
    [{ "autoscaling.keda.sh/paused": "false" }, {}],
    [{ "autoscaling.keda.sh/paused": "true", "autoscaling.keda.sh/paused-replicas": "3" }, {}],
    [{ "autoscaling.keda.sh/paused-scale-in": "true" }, {}],
    [{ "podfit.dev/paused": "true" }, { isPaused: true }],
    [{ "podfit.dev/paused-replicas": "3" }, { isPaused: true, pausedReplicas: 3 }],
    [{ "podfit.dev/paused-scale-in": "true" }, { isScaleInPaused: true }],
    [{ "podfit.dev/paused-scale-out": "true" }, { isScaleOutPaused: true }],
  ];
  for (const [annotations, expected] of cases) assertEquals(pausesOf(annotations), { ...none, ...expected });
});

Deno.test("what KEDA does for a selected object is not podfit's: restored replicas and taken HPAs (M7)", () => {
  const facts = adopt([workloadTrigger("app=web")], {
    annotations: { "scaledobject.keda.sh/transfer-hpa-ownership": "true" },
    spec: { advanced: { restoreToOriginalReplicaCount: true, horizontalPodAutoscalerConfig: { name: "web" } } },
  });
  const { restoresReplicas, annotations } = facts.scaledObject ?? {};
  assertEquals([restoresReplicas, annotations?.transfersHpa, facts.restoring], [false, false, null]);
});

Deno.test("a record is the same after it was written and read (M4)", () => {
  const record = toAdoptionRecord(
    [KAFKA_METRIC, { name: "composite-metric", type: "Value", target: "1500m" }],
    hashTriggers({}),
  );
  assertEquals(record.metrics.map(({ index, targetMilli }) => [index, targetMilli]), [[0, 10_000n], [null, 1500n]]);
  assertEquals(parseAdoptionRecord(formatAdoptionRecord(record)), { ok: true, record });
});

Deno.test("metrics of an HPA that cannot be used are left out of the record (M4, M23)", () => {
  const metrics = [
    { ...KAFKA_METRIC, type: "Utilization" },
    { ...KAFKA_METRIC, target: "0" },
    { ...KAFKA_METRIC, target: "-1" },
    { ...KAFKA_METRIC, target: "much" },
    { ...KAFKA_METRIC, target: "1e60" },
    { ...KAFKA_METRIC, name: "s0-\u0007" },
    { ...KAFKA_METRIC, name: "s99-kafka" },
  ];
  assertEquals(toAdoptionRecord(metrics, "").metrics, []);
});

Deno.test("podfit can read the record of an HPA with more metrics than a record may have (M4, M23)", () => {
  const metrics = Array.from({ length: 64 }, (_, index) => ({ ...KAFKA_METRIC, name: `s0-kafka-${index}` }));
  const record = toAdoptionRecord(metrics, hashTriggers({}));
  assertEquals([record.metrics.length, record.metrics.at(-1)?.name], [50, "s0-kafka-49"]);
  assertEquals(parseAdoptionRecord(formatAdoptionRecord(record)), { ok: true, record });
});

Deno.test("an annotation that is no record makes KEDA's triggers fail, with the cause (M23)", () => {
  const hash = hashTriggers({});
  const metric = { trigger: 0, name: "s0-kafka", type: "Value", target: "1" };
  const cases: readonly (readonly [unknown, string])[] = [
    [5, "must be a string"],
    ["x".repeat(2 ** 20), "is longer than 32768 characters"],
    ["{", "is not JSON"],
    ["null", "must have version 1"],
    [{ version: 2 }, "must have version 1"],
    [{ version: 1, triggers: 5, metrics: [] }, "must have a hash"],
    [{ version: 1, triggers: "zz", metrics: [] }, "must have a hash"],
    [{ version: 1, triggers: hash, metrics: {} }, "must have at most 50 metrics"],
    [{ version: 1, triggers: hash, metrics: Array(51).fill(metric) }, "must have at most 50 metrics"],
    [{ version: 1, triggers: hash, metrics: [metric, { ...metric, name: "a/b" }] }, "has an entry that is no metric"],
    [{ version: 1, triggers: hash, metrics: [{ ...metric, name: "a\u001b[2J" }] }, "has an entry that is no metric"],
    [{ version: 1, triggers: hash, metrics: [{ ...metric, trigger: -1 }] }, "has an entry that is no metric"],
    [{ version: 1, triggers: hash, metrics: [{ ...metric, type: "Utilization" }] }, "has an entry that is no metric"],
    [{ version: 1, triggers: hash, metrics: [{ ...metric, target: "0" }] }, "has an entry that is no metric"],
    [{ version: 1, triggers: hash, metrics: [{ ...metric, target: "1e60" }] }, "has an entry that is no metric"],
  ];
  for (const [value, cause] of cases) {
    const text = typeof value === "object" ? JSON.stringify(value) : value;
    const parsed = parseAdoptionRecord(text);
    assert(!parsed.ok, cause);
    assertStringIncludes(parsed.problem, cause);
    if (typeof text !== "string") continue;
    const facts = adopt([KAFKA, workloadTrigger("app=web")], { annotations: { "podfit.dev/keda-metrics": text } });
    const [kafka, own] = external(facts);
    assert(kafka?.source.kind === "keda");
    assertStringIncludes(kafka.source.problem ?? "", cause);
    assertEquals([own?.source.kind, facts.adoption?.lacksRecord], ["kubernetes-workload", false]);
  }
});

Deno.test("a trigger that KEDA has two metrics for fails, and says to give the object back (M4)", () => {
  const facts = adopt([KAFKA], { metrics: [KAFKA_METRIC, { ...KAFKA_METRIC, name: "s0-kafka-payments" }] });
  const [kafka] = external(facts);
  assert(kafka?.source.kind === "keda");
  assertStringIncludes(kafka.source.problem ?? "", "podfit release");
});

Deno.test("metrics of KEDA's HPA fit triggers of the same indices, one each, and a formula by its one metric (M6)", () => {
  const [kafka, cpu] = [{ type: "kafka" }, { type: "cpu", metricType: "Utilization" }];
  const metric = (name: string, type = "AverageValue") => ({ name, type, target: "10" });
  const [first, second] = [metric("s0-kafka-a"), metric("s1-kafka-b")];
  const formula = { scalingModifiers: { formula: "a + b", target: "5", metricType: "Value" } };
  const cases: readonly (readonly [spec: unknown, metrics: readonly HpaMetric[], misfit: string | null])[] = [
    [{ triggers: [kafka] }, [first], null],
    [{ triggers: [cpu, kafka] }, [second], null],
    [{ triggers: [cpu, kafka] }, [first], 'no usable metric of trigger 1 ("kafka")'],
    [{ triggers: [kafka, kafka] }, [first], 'no usable metric of trigger 1 ("kafka")'],
    [{ triggers: [kafka] }, [first, second], 'the metric "s1-kafka-b", which is of no trigger'],
    // The scaler "external" can have several.
    [
      { triggers: [{ type: "external" }] },
      [first, metric("s0-other")],
      '2 metrics of trigger 0 ("external"), and podfit can use one',
    ],
    [{ triggers: [kafka] }, [metric("s0-kafka-my topic")], 'no usable metric of trigger 0 ("kafka")'],
    [{ triggers: [kafka] }, [{ ...first, target: "0" }], 'no usable metric of trigger 0 ("kafka")'],
    // These scalers ignore metricType: one always asks for Value, the other for AverageValue.
    [{ triggers: [{ type: "splunk-observability" }] }, [metric("s0-signalfx", "Value")], null],
    [{ triggers: [{ type: "pulsar", metricType: "Value" }] }, [metric("s0-pulsar-a")], null],
    [{ triggers: [kafka, kafka], advanced: formula }, [first, second], "no usable metric of the formula"],
    [{ triggers: [kafka, kafka], advanced: formula }, [metric("composite-metric", "Value")], null],
    [{ triggers: [kafka, kafka], advanced: formula }, [metric("composite-metric")], "no usable metric of the formula"],
    [{ triggers: [kafka] }, [metric("composite-metric")], 'no usable metric of trigger 0 ("kafka")'],
    [null, [], null],
  ];
  for (const [spec, metrics, misfit] of cases) {
    assertEquals(findMisfit(spec, metrics), misfit, JSON.stringify([spec, metrics]));
  }
});
