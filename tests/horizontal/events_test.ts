/** Events on ScaledObjects: each when a matter begins or ends, in KEDA's words (R82, R92). */
import { assert, assertEquals } from "#assert";
import { REPLICAS_NOTICES, TARGET_FAULTS } from "../../lib/model/replicas_decision.ts";
import {
  cpu,
  createFold,
  external,
  failed,
  formula,
  number,
  pods,
  scaledObject,
  value,
} from "../support/replicas_fold.ts";

Deno.test("decideReplicas() notifies of a new object that it is ready and looked after, once (R92)", () => {
  const fold = createFold(scaledObject(), 2);
  fold.changed();
  fold.changed();
  assertEquals(fold.notices, [
    { name: "ScaledObjectReady", message: "ScaledObject is ready for scaling" },
    { name: "KEDAScalersStarted", message: "Scaler prometheus is built" },
    { name: "KEDAScalersStarted", message: "Started scalers watch" },
  ]);
});

Deno.test("decideReplicas() notifies of each type of trigger that is built, and of a new one when the object changes (R92)", () => {
  const kedas = external({ index: 2, source: { kind: "keda", object: "web", problem: null }, type: "kafka" });
  const wrong = external({ index: 3, source: { kind: "invalid", problem: "no url" }, type: "metrics-api" });
  const fold = createFold(scaledObject({ triggers: [cpu(), external({ index: 1 }), kedas, wrong] }), 2);
  const listBuilt = () =>
    fold.notices.splice(0).filter(({ name }) => name === "KEDAScalersStarted").map(({ message }) => message);
  fold.changed();
  assertEquals(listBuilt(), ["Scaler cpu is built", "Scaler prometheus is built", "Started scalers watch"]);
  fold.changed(scaledObject({ triggers: [cpu(), external({ index: 1 }), external({ index: 2 })] }));
  assertEquals(listBuilt(), []);
  fold.changed(scaledObject({ triggers: [cpu(), cpu({ index: 1, type: "memory" })] }));
  assertEquals(listBuilt(), ["Scaler memory is built"]);
  fold.changed(scaledObject({ triggers: [external()], annotations: { isPaused: true } }));
  fold.changed(scaledObject({ triggers: [external()] }));
  assertEquals(listBuilt(), ["Scaler prometheus is built", "Started scalers watch"]);
});

/** The reasons of pkg/eventreason of KEDA 2.21.0 that it uses for ScaledObjects, with the type of their events. */
const KEDA_EVENTS: Readonly<Record<string, "Normal" | "Warning">> = {
  ScaledObjectReady: "Normal",
  ScaledObjectCheckFailed: "Warning",
  ScaledObjectDeleted: "Warning",
  ScaledObjectPaused: "Normal",
  ScaledObjectUnpaused: "Normal",
  ScaledObjectFallbackActivated: "Normal",
  ScaledObjectFallbackDeactivated: "Normal",
  KEDAScalerInfo: "Normal",
  KEDAScalersStarted: "Normal",
  KEDAScalersStopped: "Normal",
  KEDAScalerFailed: "Warning",
  KEDAMetricSourceFailed: "Warning",
  KEDAScaleTargetActivated: "Normal",
  KEDAScaleTargetDeactivated: "Normal",
  KEDAScaleTargetActivationFailed: "Warning",
  KEDAScaleTargetDeactivationFailed: "Warning",
};

/** Events of the HPA controller, and podfit's own. */
const OTHER_EVENTS: Readonly<Record<string, "Normal" | "Warning">> = {
  SuccessfulRescale: "Normal",
  FailedRescale: "Warning",
  FailedGetScale: "Warning",
  FailedComputeMetricsReplicas: "Warning",
  DeactivationHeld: "Warning",
};

Deno.test("the events of ScaledObjects have KEDA's reasons and types, those of the HPA controller, and one of podfit's (R92)", () => {
  assertEquals<Readonly<Record<string, string>>>(REPLICAS_NOTICES, { ...KEDA_EVENTS, ...OTHER_EVENTS });
});

Deno.test("decideReplicas() has KEDA's texts for a target that is missing or cannot be scaled, once each (R6, R92)", () => {
  for (const fault of TARGET_FAULTS) {
    const fold = createFold(scaledObject(), 2);
    const see = (message: string) =>
      fold.see({ kind: "obstructed", obstacle: { kind: "check", reason: "TargetNotFound", message, fault } });
    see("not found");
    see("not found");
    const failures = fold.notices.filter(({ name }) => name === "ScaledObjectCheckFailed");
    assertEquals(failures.map(({ message }) => message), [
      "ScaledObject doesn't have correct scaleTargetRef specification: not found",
      fault,
    ]);
    see("still not found");
    assertEquals(fold.notices.filter(({ message }) => message === fault).length, 2, "another cause is news");
  }
});

Deno.test("decideReplicas() notifies of a failing trigger when it begins, when the cause changes, and after a recovery (R92)", () => {
  const fold = createFold(scaledObject({ triggers: [external(), external({ index: 1 })] }), 2);
  const pass = (message: string | null) => {
    fold.notices.splice(0);
    fold.poll([value(1), message === null ? value(1) : failed(message)]);
    return fold.notices.filter(({ name }) => name === "KEDAScalerFailed").map((notice) => notice.message);
  };
  assertEquals(pass("timeout"), ["s1-prometheus: timeout"]);
  assertEquals(pass("timeout"), []);
  assertEquals(pass("HTTP 503"), ["s1-prometheus: HTTP 503"]);
  assertEquals(pass(null), []);
  assertEquals(pass("HTTP 503"), ["s1-prometheus: HTTP 503"]);
});

Deno.test("decideReplicas() names the source and not the scaler with a formula, and the formula itself where that fails (R92)", () => {
  const object = scaledObject({
    triggers: [external({ name: "a" })],
    formula: formula(({ a }) => a === 0 ? { kind: "error", message: "division by zero" } : number(1)),
  });
  const fold = createFold(object, 2);
  fold.tick([failed("timeout")]);
  fold.tick([value(0)]);
  fold.tick([value(1)]);
  const failures = fold.notices.filter(({ name }) => name === "KEDAMetricSourceFailed").map(({ message }) => message);
  const words = "composite-metric: error trying to run custom formula: division by zero";
  assertEquals(failures, ["s0-prometheus: timeout", words]);
});

Deno.test("decideReplicas() takes triggers that a tick did not need as no failures (R32, R92)", () => {
  const fold = createFold(scaledObject({ minReplicas: 0 }), 0);
  const { report } = fold.tick([]);
  assertEquals([fold.takeEvents(), report?.triggers[0]?.error], [[], null]);
});

Deno.test("decideReplicas() notifies of a tick without a need when it begins, and of each kind of metric (R92)", () => {
  const fold = createFold(scaledObject({ triggers: [cpu(), external({ index: 1 })] }), 2);
  const names = () => fold.takeEvents().filter((name) => name === "FailedComputeMetricsReplicas").length;
  fold.tick([pods(2, 500n), value(20)]);
  fold.tick([pods(0, 1n), failed()]);
  fold.tick([pods(0, 1n), failed()]);
  assertEquals(names(), 1);
  fold.tick([pods(2, 100n), failed()]);
  assertEquals(names(), 1);
  fold.tick([pods(2, 500n), value(20)]);
  fold.tick([pods(0, 1n), failed()]);
  assertEquals(names(), 1);
});

Deno.test("decideReplicas() makes no event of a first tick that has seen no usage yet, but of a second one (R92)", () => {
  const fold = createFold(scaledObject({ triggers: [cpu()] }), 2);
  const ticked = () => {
    fold.tick([pods(0, 1n)]);
    return fold.takeEvents().filter((name) => name === "FailedComputeMetricsReplicas").length;
  };
  assertEquals([ticked(), ticked(), ticked()], [0, 1, 0]);
});

Deno.test("decideReplicas() tells again of what a changed object still has, and forgets triggers that it has no more (R92)", () => {
  const fold = createFold(scaledObject({ triggers: [external(), external({ index: 1 })] }), 2);
  fold.poll([failed(), failed()]);
  fold.changed(scaledObject());
  assertEquals(fold.state.notified, { "trigger s0-prometheus": "connection refused", scalers: "prometheus" });
});

Deno.test("decideReplicas() leaves Ready to the next poll where triggers fail, as it is due at once (R7, R92)", () => {
  const fold = createFold(scaledObject(), 2);
  fold.changed();
  fold.poll([failed()]);
  fold.takeEvents();
  fold.changed();
  assertEquals([fold.state.conditions.Ready?.reason, fold.takeEvents()], ["TriggerError", []]);
  fold.poll([value(1)]);
  assertEquals(fold.takeEvents(), ["ScaledObjectReady"]);
});

Deno.test("decideReplicas() notifies where pods may grow beyond four times their birth, with both counts of replicas (R82)", () => {
  const fold = createFold(scaledObject({ triggers: [cpu()] }), 2);
  const infos = () =>
    fold.notices.splice(0).filter(({ name }) => name === "KEDAScalerInfo").map(({ message }) => message);
  fold.tick([pods(2, 1500n, { born: 1000n, full: 4000n })]);
  assertEquals(infos(), []);
  fold.tick([pods(2, 1500n, { born: 500n, full: 8000n })]);
  assertEquals(infos(), [
    "Pods may grow in place to more than 4 times the cpu request that they were created with: with their largest " +
    "request they need 1 replicas now, with their initial one 12. If that is too few, raise minReplicaCount, or set " +
    "baseline: initial in the trigger's metadata",
  ]);
  fold.tick([pods(2, 1500n, { born: 500n, full: 8000n })]);
  assertEquals(infos(), []);
});

Deno.test("decideReplicas() notifies where one pod of several may grow that far (R82, R86)", () => {
  const fold = createFold(scaledObject({ triggers: [cpu()] }), 2);
  const [narrow, wide] = [pods(2, 1500n), pods(2, 1500n, { born: 500n, full: 8000n })];
  assert(narrow.kind === "pods" && wide.kind === "pods");
  fold.tick([{ ...narrow, pods: [...narrow.pods.slice(0, 1), ...wide.pods.slice(1)] }]);
  assertEquals(fold.takeEvents().filter((name) => name === "KEDAScalerInfo").length, 1);
});

Deno.test("decideReplicas() says nothing of wide spans where a baseline was set (R82)", () => {
  const fold = createFold(scaledObject({ triggers: [cpu({ baseline: { kind: "initial" } })] }), 2);
  fold.tick([pods(2, 500n, { born: 500n, full: 8000n })]);
  assertEquals(fold.takeEvents().includes("KEDAScalerInfo"), false);
});
