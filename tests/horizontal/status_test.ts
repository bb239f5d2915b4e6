/** The status in KEDA's fields, and what a new podfit takes back from it (R6, R90, R91). */
import { assert, assertEquals } from "#assert";
import * as fc from "fast-check";
import { decideReplicas } from "../../lib/horizontal/decide.ts";
import { NEW_REPLICAS_STATE } from "../../lib/model/replicas_state.ts";
import {
  type ScaledObjectStatus,
  seedAdoptedState,
  seedReplicasState,
  toScaledObjectStatus,
} from "../../lib/horizontal/status.ts";
import type { ScaledObject } from "../../lib/model/scaled_object.ts";
import {
  cpu,
  createFold,
  external,
  factsOf,
  failed,
  type Fold,
  formula,
  number,
  scaledObject,
  scaleOf,
  STATIC,
  value,
} from "../support/replicas_fold.ts";
import { START } from "../support/builders.ts";

function statusOf({ object, state }: Fold): ScaledObjectStatus {
  return toScaledObjectStatus(object, state);
}

Deno.test("toScaledObjectStatus() begins with KEDA's conditions, before anything was seen (R90)", () => {
  const { conditions, ...rest } = toScaledObjectStatus(factsOf(scaledObject()), NEW_REPLICAS_STATE);
  assertEquals(conditions, [
    { type: "Ready", status: "Unknown" },
    { type: "Active", status: "Unknown" },
    { type: "Fallback", status: "Unknown" },
    { type: "Paused", status: "False" },
  ]);
  assertEquals(rest, {
    externalMetricNames: ["s0-prometheus"],
    triggersTypes: "prometheus",
    authenticationsTypes: "",
  });
});

Deno.test("toScaledObjectStatus() has the target and its replicas from first sight on, and keeps these (R6, R90)", () => {
  const fold = createFold(scaledObject(), 3);
  fold.changed();
  fold.scale = scaleOf(7);
  fold.changed();
  const { scaleTargetKind, scaleTargetGVKR, originalReplicaCount } = statusOf(fold);
  assertEquals([scaleTargetKind, originalReplicaCount], ["apps/v1.Deployment", 3]);
  assertEquals(scaleTargetGVKR, { group: "apps", version: "v1", kind: "Deployment", resource: "deployments" });
});

Deno.test("toScaledObjectStatus() names a resource as discovery does, and the core group as KEDA does (R6, R90)", () => {
  const target = { apiVersion: "v1", kind: "Proxy", name: "web", envContainer: null };
  const fold = createFold(scaledObject({ target }), 3);
  fold.see({ kind: "changed", scale: scaleOf(3, { resource: "proxies" }) });
  const { scaleTargetKind, scaleTargetGVKR } = statusOf(fold);
  assertEquals(scaleTargetKind, "/v1.Proxy");
  assertEquals(scaleTargetGVKR, {
    group: "",
    version: "v1",
    kind: "Proxy",
    resource: "proxies",
  });
});

Deno.test("toScaledObjectStatus() lists metrics, types and authentications as KEDA does (R90)", () => {
  const authentication = { kind: "TriggerAuthentication", name: "keys" } as const;
  const triggers = [
    cpu(),
    external({ index: 1, name: "a", authentication }),
    cpu({ index: 2, type: "memory", container: "main" }),
    external({ index: 3, name: "b", authentication }),
  ];
  const fold = createFold(scaledObject({ triggers, formula: formula(() => number(1)) }));
  const status = statusOf(fold);
  assertEquals(status.externalMetricNames, ["s1-prometheus", "s3-prometheus"]);
  assertEquals(status.resourceMetricNames, ["cpu"], "KEDA leaves metrics of single containers out");
  assertEquals(status.compositeScalerName, "composite-metric");
  assertEquals([status.triggersTypes, status.authenticationsTypes], ["cpu,prometheus,memory", "keys"]);
});

Deno.test("toScaledObjectStatus() has health with fallback, activity after a poll, and whole seconds (R70, R90)", () => {
  const triggers = [external(), external({ index: 1 })];
  const fold = createFold(scaledObject({ triggers, fallback: STATIC }), 2);
  fold.poll([value(1), failed()], { after: 0.9 });
  fold.poll([value(1), value(0)], { after: 30 });
  fold.poll([value(1), failed()], { after: 30 });
  const { health, triggersActivity, lastActiveTime } = statusOf(fold);
  assertEquals(health, {
    "s0-prometheus": { numberOfFailures: 0, status: "Happy" },
    "s1-prometheus": { numberOfFailures: 1, status: "Failing" },
  });
  assertEquals(triggersActivity, { "s0-prometheus": { isActive: true }, "s1-prometheus": { isActive: false } });
  assertEquals(lastActiveTime, "2026-11-20T11:00:30Z");
});

Deno.test("toScaledObjectStatus() keeps what is known of an object that has become invalid, and its pause (R55, R90)", () => {
  const paused = scaledObject({ annotations: { isPaused: true, pausedReplicas: 4 } });
  const fold = createFold(paused, 2);
  fold.changed();
  assertEquals(statusOf(fold).pausedReplicaCount, 4);
  fold.changed(paused, { scaledObject: null, problems: [{ path: "spec", message: "no" }] });
  const status = statusOf(fold);
  assertEquals([status.originalReplicaCount, status.scaleTargetKind], [2, undefined]);
});

Deno.test("toScaledObjectStatus() has conditions of KEDA's and HPA's words alone (R91)", () => {
  const fold = createFold(scaledObject(), 2);
  fold.poll([value(40)]);
  fold.tick([value(40)], { after: 15 });
  assertEquals(statusOf(fold).conditions.map(({ type, reason }) => [type, reason]), [
    ["Ready", "ScaledObjectReady"],
    ["Active", "ScalerActive"],
    ["Fallback", "NoFallbackFound"],
    ["Paused", undefined],
    ["HPAActive", "HPAActive"],
    ["AbleToScale", "SucceededRescale"],
    ["ScalingLimited", "DesiredWithinRange"],
  ]);
  const { HPAActive } = fold.state.conditions;
  assertEquals(HPAActive, { status: "True", reason: "HPAActive", message: "HPA is actively scaling" });
});

Deno.test("decideReplicas() mirrors a tick without a metric as KEDA mirrors an HPA's (R91)", () => {
  const fold = createFold(scaledObject(), 2);
  fold.tick([failed("timeout")]);
  assertEquals(fold.state.conditions.HPAActive, {
    status: "False",
    reason: "FailedGetExternalMetric",
    message: "HPA is not actively scaling: the HPA was unable to compute the replica count: " +
      "failed to get s0-prometheus external metric: timeout",
  });
  fold.scale = scaleOf(0);
  fold.tick([]);
  assertEquals(fold.state.conditions.HPAActive, {
    status: "True",
    reason: "ScalingDisabled",
    message: "scaling is disabled since the replica count of the target is zero",
  });
});

Deno.test("seedReplicasState() takes back what the status of a former podfit says (R6, R53, R70, R90)", () => {
  const object = scaledObject({ fallback: STATIC, minReplicas: 0 });
  const fold = createFold(object, 2);
  fold.changed();
  fold.poll([value(1)], { after: 0.5 });
  fold.poll([failed()], { after: 30 });
  const seeded = seedReplicasState(JSON.parse(JSON.stringify(statusOf(fold))));
  assertEquals(seeded, { ...fold.state, answers: {}, answeredChecks: 0, notified: {}, history: null });
  assertEquals([seeded.lastActiveAt, seeded.originalReplicas], [START, 2]);
});

Deno.test("seedReplicasState() makes a new podfit say nothing anew of what stands, but that it has started (R90, R92)", () => {
  const fold = createFold(scaledObject(), 2);
  fold.changed();
  fold.poll([value(1)]);
  fold.state = seedReplicasState(statusOf(fold));
  fold.takeEvents();
  fold.changed();
  fold.poll([value(1)]);
  assertEquals(fold.takeEvents(), ["KEDAScalersStarted", "KEDAScalersStarted"]);
});

Deno.test("seedReplicasState() keeps the cooldown over a restart (R53, R90)", () => {
  const fold = createFold(scaledObject({ minReplicas: 0 }), 2);
  fold.poll([value(1)]);
  fold.state = seedReplicasState(statusOf(fold));
  assertEquals(fold.poll([value(0)], { after: 299 }).write, null);
  assertEquals(fold.poll([value(0)], { after: 1 }).write?.replicas, 0);
});

const NUMBERS = fc.oneof(fc.integer(), fc.double(), fc.constant("3"), fc.constant(null));
const TIMES = fc.constantFrom<unknown>(
  "2026-11-20T10:59:59Z",
  "2026-11-20T10:59:59.75Z",
  "yesterday",
  5,
  "9999-12-31T23:59:59Z",
);
const CONDITION = fc.record({
  type: fc.constantFrom("Ready", "Active", "Paused", "Fallback", "HPAActive", "Other"),
  status: fc.constantFrom("True", "False", "Unknown", "Perhaps"),
  reason: fc.anything(),
  message: fc.anything(),
}, { requiredKeys: [] });
const NAMES = fc.constantFrom("s0-prometheus", "__proto__", "constructor", "x");
const STATUSES = fc.oneof(
  fc.anything(),
  fc.record({
    lastActiveTime: TIMES,
    originalReplicaCount: NUMBERS,
    pausedReplicaCount: NUMBERS,
    scaleTargetGVKR: fc.oneof(fc.anything(), fc.record({ resource: fc.anything() })),
    conditions: fc.oneof(fc.array(fc.oneof(CONDITION, fc.anything())), fc.anything()),
    health: fc.oneof(fc.anything(), fc.dictionary(NAMES, fc.record({ numberOfFailures: NUMBERS }))),
    triggersActivity: fc.oneof(fc.anything(), fc.dictionary(NAMES, fc.record({ isActive: fc.boolean() }))),
  }, { requiredKeys: [] }),
);

Deno.test("seedReplicasState() takes a status of any shape without throwing, and the fold goes on from it (R90)", () => {
  const object: ScaledObject = scaledObject({ fallback: STATIC });
  fc.assert(
    fc.property(STATUSES, (status) => {
      const state = seedReplicasState(status);
      assertEquals(JSON.parse(JSON.stringify(state)), JSON.parse(JSON.stringify(seedReplicasState(status))));
      for (const count of [state.originalReplicas, state.pausedReplicas, ...Object.values(state.failures)]) {
        assert(count === null || (Number.isInteger(count) && count >= 0 && count < 2 ** 31), String(count));
      }
      const input = { now: START, object: factsOf(object), dryRun: false };
      const observation = {
        kind: "poll",
        scale: scaleOf(2),
        triggers: new Map([[0, failed()]]),
        readyPods: 2,
      } as const;
      toScaledObjectStatus(input.object, decideReplicas(state, { ...input, observation }).state);
    }),
    { numRuns: 1000 },
  );
});

Deno.test("seedAdoptedState() takes podfit's own conditions, and not what KEDA did before the pause (M7)", () => {
  const PodfitActive = { type: "PodfitActive", status: "True", reason: "ScalerActive", message: "m" };
  const Active = { type: "Active", status: "False", reason: "ScalerNotActive", message: "of KEDA" };
  const state = seedAdoptedState({
    lastActiveTime: "2020-01-01T00:00:00Z",
    originalReplicaCount: 7,
    conditions: [Active, PodfitActive],
  });
  assertEquals([state.isActive, state.originalReplicas, state.lastActiveAt], [true, null, null]);
  assertEquals(state.conditions, { Active: { status: "True", reason: "ScalerActive", message: "m" } });
  assertEquals(seedAdoptedState(null), seedAdoptedState({}));
});
