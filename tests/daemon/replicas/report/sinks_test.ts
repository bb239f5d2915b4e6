/** Events, log and metrics of the decisions about a ScaledObject. */
import { assertEquals } from "#assert";
import type {
  Blocker,
  ReplicasObservation,
  ReplicasOutcome,
  ReplicasReport,
  ScaleAnswer,
  TriggerReport,
} from "../../../../lib/model/replicas_decision.ts";
import { seedReplicasState } from "../../../../lib/horizontal/status.ts";
import { createMetrics } from "../../../../lib/daemon/metrics/metrics.ts";
import {
  createReplicasEvents,
  createReplicasLog,
  createReplicasMetrics,
  formatTrigger,
  type ReplicasEvaluation,
} from "../../../../lib/daemon/replicas/reports.ts";
import type { EventContext, EventNotice } from "../../../../lib/daemon/events/writer.ts";
import type { Log } from "../../../../lib/runtime/log.ts";
import { parseMetrics } from "../../../e2e/support/metrics.ts";
import { cpu, factsOf, scaleOf } from "../../../support/replicas_fold.ts";
import { externalTrigger, prometheusSource, scaledObjectWith } from "../../../support/triggers.ts";

const QUEUE = externalTrigger(prometheusSource(), { index: 1 });
const CPU = cpu({ name: "load" });
const FACTS = factsOf(scaledObjectWith([CPU, QUEUE], { uid: "so-1", name: "cart" }));
const STATE = seedReplicasState(null);
const SCALE = scaleOf(2);
const WRITE = {
  at: 0,
  from: SCALE,
  replicas: 5,
  half: "tick",
  reason: "ScaledOut",
  message: "cpu above target",
} as const;
const PROPOSAL = { replicas: 5, lo: 3, hi: 5, ratio: 1.23456, ready: 2, unready: 1, missing: 0 };

function trigger(of: Partial<TriggerReport>): TriggerReport {
  return {
    index: 0,
    type: "cpu",
    metricName: "cpu",
    value: 74,
    error: null,
    isActive: true,
    proposal: PROPOSAL,
    ...of,
  };
}

const REPORT: ReplicasReport = {
  half: "tick",
  replicas: 2,
  desired: 5,
  reason: "ScaledOut",
  message: "cpu above target",
  triggers: [
    trigger({}),
    trigger({
      index: 1,
      type: "prometheus",
      metricName: "s1-prometheus",
      value: null,
      error: "no answer",
      proposal: null,
    }),
  ],
  need: 6,
  stabilized: 5,
};

function pass(observation: ReplicasObservation, outcome: Partial<ReplicasOutcome> = {}): ReplicasEvaluation {
  return {
    before: STATE,
    input: { now: 0, object: FACTS, observation, dryRun: false },
    outcome: { state: STATE, write: null, notices: [], report: null, ...outcome },
    tookMs: 2,
    lateMs: 40,
  };
}

const SEEN = { scale: SCALE, triggers: new Map(), readyPods: 2 };
const TICK: ReplicasObservation = { kind: "tick", ...SEEN };

function answered(answer: ScaleAnswer): ReplicasObservation {
  return { kind: "answered", write: WRITE, answer };
}

function counted(...passes: readonly ReplicasEvaluation[]) {
  const metrics = createMetrics({ version: "1" });
  const sink = createReplicasMetrics({ metrics: metrics.replicas, isKnown: (uid) => uid === FACTS.uid });
  for (const one of passes) sink.onPass?.(one);
  const read = (name: string, labels: Readonly<Record<string, string>> = {}) =>
    parseMetrics([...metrics.render()].join("")).filter((sample) =>
      sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value)
    );
  return { metrics, sink, read };
}

Deno.test("a pass is counted in KEDA's families with KEDA's labels, and in ours (R93)", () => {
  const { read } = counted(pass(TICK, { report: REPORT, write: WRITE }));
  const labels = { namespace: "shop", scaledObject: "cart", type: "scaledobject" };
  assertEquals(read("keda_scaler_metrics_value").map(({ labels, value }) => ({ labels, value })), [
    { labels: { ...labels, metric: "cpu", scaler: "load", triggerIndex: "0" }, value: 74 },
  ]);
  assertEquals(
    read("keda_scaler_detail_errors_total").map(({ labels: { metric, scaler, triggerIndex }, value }) => [
      metric,
      scaler,
      triggerIndex,
      value,
    ]),
    [["cpu", "load", "0", 0], ["s1-prometheus", "prometheusScaler", "1", 1]],
  );
  assertEquals(read("keda_scaled_object_errors_total").map(({ value }) => value), [1]);
  for (const [name, value] of [["current", 2], ["desired", 5], ["need", 6]] as const) {
    assertEquals(read(`podfit_replicas_${name}`).map(({ labels, value }) => [labels, value]), [
      [{ namespace: "shop", name: "cart" }, value],
    ]);
  }
  assertEquals(read("podfit_replica_holds_total"), []);
  assertEquals(read("podfit_replica_evaluation_seconds_count").map(({ value }) => value), [1]);
});

Deno.test("a pass that leaves replicas as they are counts as held, by its reason (R93, R94)", () => {
  const held = { ...REPORT, desired: 2, need: null, reason: "ScaleDownStabilized" } as const;
  const { read } = counted(pass(TICK, { report: REPORT, write: WRITE }), pass(TICK, { report: held }));
  assertEquals(
    read("podfit_replica_holds_total").map(({ labels: { reason }, value }) => [reason, value]),
    [["ScaleDownStabilized", 1]],
  );
  assertEquals(read("podfit_replicas_need").map(({ value }) => value), [6], "without a metric the last need stands");
});

/** A decision with a new blocker: Ready says why. */
function met(obstacle: Blocker, message = "why"): ReplicasEvaluation {
  const Ready = { status: "False", reason: "ScaledObjectCheckFailed", message } as const;
  return pass({ kind: "obstructed", obstacle }, {
    state: { ...STATE, conditions: { ...STATE.conditions, Ready } },
  });
}

const INVALID: Blocker = { kind: "invalid" };

Deno.test("an obstacle counts as held by its one word, once while it stands (R3, R94)", () => {
  const first = met(INVALID);
  const again = { ...first, before: first.outcome.state };
  const others: readonly Blocker[] = [
    { kind: "check", reason: "OtherHPA", message: "" },
    { kind: "selector", reason: "AmbiguousSelector", message: "" },
    { kind: "selector", reason: "InvalidSelector", message: "" },
    { kind: "scale", message: "" },
  ];
  const { read } = counted(first, again, ...others.map((obstacle) => met(obstacle)));
  assertEquals(read("podfit_replica_holds_total").map(({ labels: { reason }, value }) => [reason, value]), [
    ["InvalidSpec", 1],
    ["OtherHPA", 1],
    ["AmbiguousSelector", 1],
  ]);
  const lines: unknown[] = [];
  const log = { level: "info", info: (...line: unknown[]) => void lines.push(line) } as unknown as Log;
  for (const one of [first, again]) createReplicasLog(log).onPass?.(one);
  assertEquals(lines, [["Leaving replicas alone", { scaledObject: "shop/cart", reason: "InvalidSpec", why: "why" }]]);
});

Deno.test("a dry run holds what it would have written (R46, R93)", () => {
  const { read } = counted(pass(TICK, { report: { ...REPORT, reason: "DryRun" } }));
  assertEquals(read("podfit_replica_holds_total").map(({ labels: { reason } }) => reason), ["DryRun"]);
});

Deno.test("only accepted writes are counted, by direction and half; others are errors of the object (R93)", () => {
  const { read } = counted(
    pass(answered({ kind: "accepted", replicas: 5 })),
    pass(answered({ kind: "accepted", replicas: 1 })),
    pass(answered({ kind: "dropped" })),
    pass(answered({ kind: "refused", code: 403, message: "forbidden" })),
    pass(answered({ kind: "unanswered", message: "timeout" })),
  );
  assertEquals(
    read("podfit_replica_writes_total").map(({ labels: { direction, half }, value }) => [direction, half, value]),
    [["up", "tick", 1], ["down", "tick", 1]],
  );
  assertEquals(read("keda_scaled_object_errors_total").map(({ value }) => value), [2]);
});

Deno.test("how late a poll began and how long its triggers took are KEDA's latencies (R93)", () => {
  const { sink, read } = counted(pass({ kind: "poll", ...SEEN }), { ...pass(TICK), lateMs: 90 });
  sink.onAsked?.({ object: FACTS, trigger: QUEUE, seconds: 0.25, isEmpty: true });
  assertEquals(read("keda_internal_scale_loop_latency_seconds").map(({ labels, value }) => [labels, value]), [
    [{ namespace: "shop", type: "scaledobject", resource: "cart" }, 0.04],
  ]);
  assertEquals(read("keda_scaler_metrics_latency_seconds").map(({ value }) => value), [0.25]);
  assertEquals(read("keda_scaler_empty_upstream_responses_total").map(({ labels, value }) => [labels, value]), [[
    {
      namespace: "shop",
      scaledResource: "cart",
      triggerName: "",
      metricName: "s1-prometheus",
      resourceType: "ScaledObject",
      ignoreNullValues: "true",
    },
    1,
  ]]);
});

Deno.test("a changed object drops the series of its triggers, a deleted one all of them (R93)", () => {
  const { sink, read } = counted(pass(TICK, { report: REPORT, write: WRITE }));
  sink.onAsked?.({ object: FACTS, trigger: QUEUE, seconds: 0.25, isEmpty: true });
  sink.onObject?.({ ...FACTS, isPaused: true });
  const ofTriggers = ["metrics_value", "metrics_latency_seconds", "empty_upstream_responses_total"];
  assertEquals(ofTriggers.flatMap((name) => read(`keda_scaler_${name}`)), []);
  assertEquals(read("keda_scaled_object_paused").map(({ value }) => value), [1]);
  assertEquals(read("podfit_replicas_desired").length, 1);
  sink.onGone?.(FACTS);
  assertEquals(["podfit_replicas_desired", "keda_scaled_object_paused"].flatMap((name) => read(name)), []);
});

Deno.test("an answer that comes after the object is gone brings no series back (R93)", () => {
  const late = pass(answered({ kind: "accepted", replicas: 5 }));
  const { read } = counted({ ...late, input: { ...late.input, object: { ...FACTS, uid: "gone" } } });
  assertEquals(read("podfit_replica_writes_total"), []);
});

Deno.test("a ScaledObject of a PodResourceAutoscaler's name keeps its series when that is deleted (R93)", () => {
  const { metrics, read } = counted(pass(TICK, { report: REPORT, write: WRITE }));
  metrics.setActive(FACTS, true);
  metrics.forget(FACTS);
  assertEquals([read("kedify_agent_pod_resource_autoscaler_active").length, read("podfit_replicas_need").length], [
    0,
    1,
  ]);
});

Deno.test("notices become Events on the ScaledObject, under KEDA's names (R92)", () => {
  const published: (readonly [EventNotice, EventContext])[] = [];
  const sink = createReplicasEvents({ publish: (notice, context) => published.push([notice, context]) });
  const notices = [{ name: "SuccessfulRescale", message: "New size: 5" }] as const;
  sink.onPass?.(pass(TICK, { notices }));
  assertEquals(published, [[notices[0], {
    autoscaler: { kind: "ScaledObject", namespace: "shop", name: "cart", uid: "so-1" },
  }]]);
});

Deno.test("the log has a line per write, and at debug what each trigger said (R94)", () => {
  const lines: unknown[] = [];
  const write = (level: string) => (message: string, fields = {}) => void lines.push([level, message, fields]);
  const log = {
    level: "debug",
    ...Object.fromEntries(["debug", "info", "warn", "error"].map((one) => [one, write(one)])),
  };
  const sink = createReplicasLog(log as unknown as Log);
  sink.onPass?.(pass(answered({ kind: "accepted", replicas: 5 })));
  sink.onPass?.(pass(answered({ kind: "refused", code: 422, message: "no" })));
  sink.onPass?.(pass(TICK, { report: REPORT }));
  const of = { scaledObject: "shop/cart", target: "web", from: 2, to: 5, half: "tick", reason: "ScaledOut" };
  assertEquals(lines, [
    ["info", "Set replicas", { ...of, why: "cpu above target" }],
    ["warn", "Cannot set replicas, trying again", { ...of, why: "cpu above target", code: 422, error: "no" }],
    ["debug", "Evaluated", {
      scaledObject: "shop/cart",
      half: "tick",
      replicas: 2,
      desired: 5,
      reason: "ScaledOut",
      why: "cpu above target",
      need: 6,
      stabilized: 5,
      triggers: [
        "cpu: value 74, 5 replicas (3 to 5), ratio 1.235, 2 ready, 1 unready, 0 missing",
        "s1-prometheus: no answer",
      ],
    }],
  ]);
  assertEquals(formatTrigger(trigger({ proposal: null })), "cpu: value 74");
});

Deno.test("the composite of a formula is shown under its own name, and a pass that wanted nothing is not held (R61, R93)", () => {
  const composite = trigger({ type: "composite", metricName: "composite-metric", value: 3, proposal: null });
  const { read } = counted(pass(TICK, { report: { ...REPORT, desired: 2, reason: null, triggers: [composite] } }));
  assertEquals(
    read("keda_scaler_metrics_value").map(({ labels: { metric, scaler, triggerIndex } }) => [
      metric,
      scaler,
      triggerIndex,
    ]),
    [["composite-metric", "composite-metric", "0"]],
  );
  assertEquals(read("podfit_replica_holds_total"), []);
});
