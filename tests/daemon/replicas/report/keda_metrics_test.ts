/**
 * The metrics with KEDA's names, compared with KEDA 2.21.0: pkg/metricscollector/prommetrics.go for the labels, and
 * pkg/scaling/scale_handler.go and pkg/scalers for their values.
 */
import { assertEquals } from "#assert";
import { SCALER_NAMES } from "../../../../lib/api/keda_activation.ts";
import { createMetrics } from "../../../../lib/daemon/metrics/metrics.ts";
import { createReplicasMetrics } from "../../../../lib/daemon/replicas/reports.ts";
import { seedReplicasState } from "../../../../lib/horizontal/status.ts";
import type { ReplicasReport, TriggerReport } from "../../../../lib/model/replicas_decision.ts";
import type { ExternalTrigger } from "../../../../lib/model/scaled_object.ts";
import { findScalerNames, formatActivationTable } from "../../../../tools/keda_activation.ts";
import { parseMetrics } from "../../../e2e/support/metrics.ts";
import { cpu, factsOf, scaleOf } from "../../../support/replicas_fold.ts";
import { externalTrigger, prometheusSource, scaledObjectWith } from "../../../support/triggers.ts";

interface KedaFamily {
  readonly type: "gauge" | "counter";
  /** By name of the label: the values that the test's ScaledObject has. */
  readonly labels: Readonly<Record<string, readonly string[]>>;
}

/** Three triggers without a name, one with a name, and the formula. */
const SCALERS = ["composite-metric", "cpuMemoryScaler", "mine", "prometheusScaler", "rabbitMQScaler"];
const METRICS = ["composite-metric", "cpu", "s1-prometheus", "s2-rabbitmq", "s3-prometheus"];

const TRIGGER = {
  namespace: ["shop"],
  metric: METRICS,
  scaledObject: ["cart"],
  scaler: SCALERS,
  triggerIndex: ["0", "1", "2", "3"],
  type: ["scaledobject"],
};

const OBJECT = { namespace: ["shop"], scaledObject: ["cart"] };

/** Every family of KEDA that podfit has. */
const KEDA: Readonly<Record<string, KedaFamily>> = {
  keda_internal_scale_loop_latency_seconds: {
    type: "gauge",
    labels: { namespace: ["shop"], type: ["scaledobject"], resource: ["cart"] },
  },
  keda_resource_registered_total: { type: "gauge", labels: { type: ["scaled_object"], namespace: ["shop"] } },
  keda_scaled_object_errors_total: { type: "counter", labels: OBJECT },
  keda_scaled_object_paused: { type: "gauge", labels: OBJECT },
  keda_scaler_active: { type: "gauge", labels: TRIGGER },
  keda_scaler_detail_errors_total: { type: "counter", labels: TRIGGER },
  keda_scaler_empty_upstream_responses_total: {
    type: "counter",
    labels: {
      namespace: ["shop"],
      scaledResource: ["cart"],
      triggerName: ["", "mine"],
      metricName: ["s1-prometheus", "s3-prometheus"],
      resourceType: ["ScaledObject"],
      ignoreNullValues: ["false", "true"],
    },
  },
  keda_scaler_metrics_latency_seconds: {
    type: "gauge",
    labels: {
      ...TRIGGER,
      metric: ["s1-prometheus", "s3-prometheus"],
      scaler: ["mine", "prometheusScaler"],
      triggerIndex: ["1", "3"],
    },
  },
  keda_scaler_metrics_value: { type: "gauge", labels: TRIGGER },
  keda_trigger_registered_total: { type: "gauge", labels: { type: ["cpu", "prometheus", "rabbitmq"] } },
};

const PROMETHEUS = externalTrigger(prometheusSource(), { index: 1 });
const NAMED = externalTrigger(prometheusSource({ ignoresNullValues: false }), { index: 3, name: "mine" });
const RABBIT = {
  ...externalTrigger({ kind: "keda", object: "cart", problem: null }, { index: 2, metricName: "s2-rabbitmq" }),
  type: "rabbitmq",
} as ExternalTrigger;
const FACTS = factsOf(scaledObjectWith([cpu(), PROMETHEUS, RABBIT, NAMED], { uid: "so-1", name: "cart" }));

function reportOf(index: number, type: string, metricName: string): TriggerReport {
  return { index, type, metricName, value: 1, error: null, isActive: true, proposal: null };
}

const REPORT: ReplicasReport = {
  half: "poll",
  replicas: 2,
  desired: 2,
  reason: null,
  message: "",
  triggers: [
    reportOf(0, "cpu", "cpu"),
    reportOf(1, "prometheus", "s1-prometheus"),
    reportOf(2, "rabbitmq", "s2-rabbitmq"),
    reportOf(3, "prometheus", "s3-prometheus"),
    reportOf(0, "composite", "composite-metric"),
  ],
  need: null,
  stabilized: null,
};

function renderAll(): string {
  const metrics = createMetrics({ version: "1" });
  const sink = createReplicasMetrics({ metrics: metrics.replicas, isKnown: () => true });
  const state = seedReplicasState(null);
  sink.onObject?.(FACTS);
  sink.onPass?.({
    before: state,
    input: {
      now: 0,
      object: FACTS,
      observation: { kind: "poll", scale: scaleOf(2), triggers: new Map(), readyPods: 2 },
      dryRun: false,
    },
    outcome: { state, write: null, notices: [], report: REPORT },
    tookMs: 1,
    lateMs: 1,
  });
  for (const trigger of [PROMETHEUS, NAMED]) sink.onAsked?.({ object: FACTS, trigger, seconds: 1, isEmpty: true });
  metrics.replicas.setRegistered({
    triggers: new Map([["cpu", 1], ["prometheus", 2], ["rabbitmq", 1]]),
    objects: new Map([["shop", 1]]),
  });
  return [...metrics.render()].join("");
}

Deno.test("every family of KEDA has KEDA's type, names of labels and values of labels (R93)", () => {
  const text = renderAll();
  const samples = parseMetrics(text).filter(({ name }) => name.startsWith("keda_"));
  const found = [...text.matchAll(/^# TYPE (keda_\S+) (\S+)$/gm)].map(([, name = "", type]): [string, unknown] => {
    const own = samples.filter((sample) => sample.name === name);
    const labels = Object.keys(own[0]?.labels ?? {}).map((label): [string, readonly string[]] => [
      label,
      [...new Set(own.map((sample) => sample.labels[label] ?? ""))].sort(),
    ]);
    return [name, { type, labels: Object.fromEntries(labels) }];
  });
  assertEquals(Object.fromEntries(found), KEDA as Record<string, unknown>);
});

Deno.test("a trigger without a name has the Go type of KEDA's scaler as its label (R93)", () => {
  assertEquals(SCALER_NAMES.size, 80);
  const odd = ["memory", "metrics-api", "kubernetes-workload", "artemis-queue", "liiklus", "redis-sentinel", "splunk"];
  assertEquals(odd.map((type) => SCALER_NAMES.get(type)), [
    "cpuMemoryScaler",
    "metricsAPIScaler",
    "kubernetesWorkloadScaler",
    "artemisScaler",
    "liiklusScaler",
    "redisScaler",
    "SplunkScaler",
  ]);
});

const BUILDER = `
	// TRIGGERS-START
	switch triggerType {
	case "solo":
		return scalers.NewSolo(config)
	case "pair", "pair-cluster":
		return scalers.NewPair(ctx, config)
	default:
	// TRIGGERS-END`;

const CODE = `
func NewSolo(config *Config) (Scaler, error) {
	scaler := soloScaler{}
	return &scaler, nil
}
func NewPair(ctx context.Context, config *Config) (Scaler, error) {
	return createPair(config)
}
func createPair(config *Config) (Scaler, error) {
	return &PairScaler{}, nil
}
`;

Deno.test("findScalerNames() follows the constructor of each type to the type that it returns (R93)", () => {
  const names = findScalerNames(BUILDER, CODE);
  assertEquals(names, [["pair", "PairScaler"], ["pair-cluster", "PairScaler"], ["solo", "soloScaler"]]);
  const text = formatActivationTable({ scalers: [] }, names, "2.21.0");
  assertEquals(text.includes('  ["pair-cluster", "PairScaler"],'), true);
});
