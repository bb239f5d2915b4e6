/** All conditions of a ScaledObject, in each state that it can be in: each is true at that moment (R91). */
import { assertEquals, assertStringIncludes } from "#assert";
import type { Blocker, ScaleAnswer } from "../../lib/model/replicas_decision.ts";
import type { ConditionType } from "../../lib/model/replicas_state.ts";
import {
  cpu,
  createFold,
  createKedaFold,
  empty,
  failed,
  type Fold,
  type Overrides,
  pods,
  scaledObject,
  STATIC,
  value,
} from "../support/replicas_fold.ts";

type Expected = Readonly<Partial<Record<ConditionType, string>>>;

function listConditions({ state }: Fold): Expected {
  const entries = Object.entries(state.conditions).map(([type, { status, reason }]) => [type, `${status} ${reason}`]);
  return Object.fromEntries(entries);
}

const READY = "True ScaledObjectReady";
const CHECK_FAILED = "False ScaledObjectCheckFailed";
const UNKNOWN = "Unknown UnknownState";
const NO_FALLBACK = "False NoFallbackFound";
const PAUSED = "True ScaledObjectPaused";
const NEVER_PAUSED = "False ";
const GOT_SCALE = "True SucceededGetScale";
const NO_SCALE = "False FailedGetScale";

const SEEN: Expected = { Ready: READY, Fallback: NO_FALLBACK, Paused: NEVER_PAUSED, AbleToScale: GOT_SCALE };

/** Both loops have run. */
const SCALING: Expected = {
  Ready: READY,
  Active: "True ScalerActive",
  Fallback: NO_FALLBACK,
  Paused: NEVER_PAUSED,
  HPAActive: "True HPAActive",
  AbleToScale: "True ReadyForNewScale",
  ScalingLimited: "False DesiredWithinRange",
};

/** Neither loop runs. */
const BLOCKED: Expected = {
  Ready: CHECK_FAILED,
  Active: UNKNOWN,
  Fallback: NO_FALLBACK,
  Paused: NEVER_PAUSED,
  HPAActive: UNKNOWN,
};

/** The object has scaled from 2 replicas, and keeps 2. */
function startScaling(overrides: Overrides = {}, replicas = 2): Fold {
  const fold = createKedaFold(scaledObject(overrides), replicas);
  fold.changed();
  fold.poll([value(20)]);
  fold.tick([value(20)]);
  return fold;
}

const BLOCKERS: Readonly<Record<string, { readonly blocker: Blocker; readonly expected: Expected }>> = {
  "an invalid object": { blocker: { kind: "invalid" }, expected: BLOCKED },
  "a target that is missing": {
    blocker: { kind: "check", reason: "TargetNotFound", message: "not found" },
    expected: { ...BLOCKED, AbleToScale: NO_SCALE },
  },
  "a right that is missing": {
    blocker: { kind: "check", reason: "Rights", message: "forbidden" },
    expected: { ...BLOCKED, AbleToScale: NO_SCALE },
  },
  "an HPA of the same target": {
    blocker: { kind: "check", reason: "OtherHPA", message: "managed by the hpa" },
    expected: { ...BLOCKED, AbleToScale: GOT_SCALE },
  },
  "an older ScaledObject of the same target": {
    blocker: { kind: "check", reason: "Conflict", message: "managed by the ScaledObject" },
    expected: { ...BLOCKED, AbleToScale: GOT_SCALE },
  },
  "an authentication that is missing": {
    blocker: { kind: "check", reason: "TriggerFailed", message: "does not exist" },
    expected: { ...BLOCKED, AbleToScale: GOT_SCALE },
  },
  "KEDA, which scales": { blocker: { kind: "check", reason: "KEDAIsScaling", message: "adopt it" }, expected: BLOCKED },
  "a record that is missing": {
    blocker: { kind: "check", reason: "NoRecord", message: "adopt it" },
    expected: BLOCKED,
  },
  "pods of two workloads": {
    blocker: { kind: "selector", reason: "AmbiguousSelector", message: "pods overlap" },
    expected: { ...BLOCKED, HPAActive: "False AmbiguousSelector", AbleToScale: GOT_SCALE },
  },
  "a selector that cannot be parsed": {
    blocker: { kind: "selector", reason: "InvalidSelector", message: "bad" },
    expected: { ...BLOCKED, HPAActive: "False InvalidSelector", AbleToScale: GOT_SCALE },
  },
  "a scale that cannot be read": {
    blocker: { kind: "scale", message: "HTTP 500" },
    expected: { ...BLOCKED, Ready: "False ErrorGettingCurrentReplicas", AbleToScale: NO_SCALE },
  },
};

for (const [name, { blocker, expected }] of Object.entries(BLOCKERS)) {
  Deno.test(`decideReplicas() has true conditions with ${name}, and when that has ended (R91)`, () => {
    const fold = startScaling();
    assertEquals(listConditions(fold), SCALING);
    fold.see({ kind: "obstructed", obstacle: blocker });
    assertEquals(listConditions(fold), expected);
    fold.changed();
    assertEquals(listConditions(fold), SEEN);
    fold.poll([value(20)]);
    fold.tick([value(20)]);
    assertEquals(listConditions(fold), SCALING);
  });
}

const FORBIDDEN: ScaleAnswer = { kind: "refused", code: 403, message: "forbidden" };
const REFUSED = { ...SEEN, Ready: "False ErrorScalingTarget", AbleToScale: "False FailedUpdateScale" };
const FROM_ZERO: Overrides = { minReplicas: 0 };

function refuse(fold: Fold): Fold {
  fold.answer = () => FORBIDDEN;
  return fold;
}

const WALKS: Readonly<Record<string, { readonly walk: () => Fold; readonly expected: Expected }>> = {
  "nothing was decided": { walk: () => createFold(), expected: {} },
  "it was seen": {
    walk() {
      const fold = createFold();
      fold.changed();
      return fold;
    },
    expected: SEEN,
  },
  "it is paused": {
    walk() {
      const fold = startScaling();
      fold.changed(scaledObject({ annotations: { isPaused: true } }));
      return fold;
    },
    expected: { ...BLOCKED, Ready: READY, Paused: PAUSED, AbleToScale: GOT_SCALE },
  },
  "it is paused at a number": {
    walk() {
      const fold = startScaling();
      fold.changed(scaledObject({ annotations: { isPaused: true, pausedReplicas: 4 } }));
      return fold;
    },
    expected: { ...BLOCKED, Ready: READY, Paused: PAUSED, AbleToScale: "True SucceededRescale" },
  },
  "it is paused at a number that is refused": {
    walk() {
      const fold = refuse(startScaling());
      fold.changed(scaledObject({ annotations: { isPaused: true, pausedReplicas: 4 } }));
      return fold;
    },
    expected: { ...BLOCKED, Paused: PAUSED, AbleToScale: "False FailedUpdateScale" },
  },
  "it is paused and its target is missing": {
    walk() {
      const fold = startScaling();
      fold.changed(scaledObject({ annotations: { isPaused: true } }));
      fold.see({ kind: "obstructed", obstacle: { kind: "check", reason: "TargetNotFound", message: "not found" } });
      return fold;
    },
    expected: { ...BLOCKED, Paused: PAUSED, AbleToScale: NO_SCALE },
  },
  "its pause has ended": {
    walk() {
      const fold = startScaling();
      fold.changed(scaledObject({ annotations: { isPaused: true } }));
      fold.changed(scaledObject());
      return fold;
    },
    expected: { ...SEEN, Paused: "False ScaledObjectUnpaused" },
  },
  "one direction is paused": {
    walk: () => startScaling({ annotations: { isScaleInPaused: true } }),
    expected: { ...SCALING, Paused: PAUSED },
  },
  "its trigger fails": {
    walk() {
      const fold = startScaling();
      fold.poll([failed()]);
      fold.tick([failed()]);
      return fold;
    },
    expected: {
      Ready: "False TriggerError",
      Active: "False ScalerNotActive",
      Fallback: NO_FALLBACK,
      Paused: NEVER_PAUSED,
      HPAActive: "False FailedGetExternalMetric",
      AbleToScale: GOT_SCALE,
    },
  },
  "its trigger has no value any more": {
    walk() {
      const fold = createFold(scaledObject(), 2);
      fold.changed();
      fold.poll([value(20)]);
      fold.tick([value(20)]);
      fold.poll([empty()], { after: 30 });
      return fold;
    },
    expected: { ...SCALING, Ready: "False TriggerEmpty", Active: "False ScalerNotActive" },
  },
  "its fallback counts": {
    walk() {
      const fold = startScaling({ fallback: { ...STATIC, failureThreshold: 1 } }, 6);
      for (const _ of [1, 2]) fold.poll([failed()]);
      fold.tick([failed()]);
      return fold;
    },
    expected: { ...SCALING, Fallback: "True FallbackExists" },
  },
  "its fallback counted, and it is paused": {
    walk() {
      const fold = startScaling({ fallback: { ...STATIC, failureThreshold: 1 } }, 6);
      for (const _ of [1, 2]) fold.poll([failed()]);
      fold.changed(scaledObject({ fallback: STATIC, annotations: { isPaused: true } }));
      return fold;
    },
    expected: { ...BLOCKED, Ready: READY, Paused: PAUSED, AbleToScale: GOT_SCALE },
  },
  "it cools down": {
    walk() {
      const fold = startScaling(FROM_ZERO);
      fold.poll([value(0)], { after: 30 });
      return fold;
    },
    expected: { ...SCALING, Active: "False ScalerCooldown" },
  },
  "its deactivation waits for its turn": {
    walk() {
      const fold = startScaling(FROM_ZERO);
      fold.answer = () => ({ kind: "held", message: "10 in this minute" });
      fold.poll([value(0)], { after: 300 });
      return fold;
    },
    expected: { ...SCALING, Active: "False DeactivationHeld" },
  },
  "it has gone to zero": {
    walk() {
      const fold = startScaling(FROM_ZERO);
      fold.poll([value(0)], { after: 300 });
      return fold;
    },
    expected: {
      ...SEEN,
      Active: "False ScalerNotActive",
      HPAActive: "True ScalingDisabled",
      AbleToScale: "True SucceededRescale",
    },
  },
  "it is at zero": {
    walk() {
      const fold = startScaling(FROM_ZERO);
      fold.poll([value(0)], { after: 300 });
      fold.tick([]);
      return fold;
    },
    expected: { ...SEEN, Active: "False ScalerNotActive", HPAActive: "True ScalingDisabled" },
  },
  "it was started from zero": {
    walk() {
      const fold = startScaling(FROM_ZERO);
      fold.poll([value(0)], { after: 300 });
      fold.poll([value(20)]);
      return fold;
    },
    expected: { ...SEEN, Active: "True ScalerActive", AbleToScale: "True SucceededRescale" },
  },
  "it has gone to its idle replicas": {
    walk() {
      const fold = startScaling({ minReplicas: 2, idleReplicas: 1 });
      fold.poll([value(0)], { after: 300 });
      return fold;
    },
    expected: {
      ...SEEN,
      Active: "False ScalerNotActive",
      HPAActive: "True ScalingDisabled",
      AbleToScale: "True SucceededRescale",
    },
  },
  "it is at its idle replicas": {
    walk() {
      const fold = startScaling({ minReplicas: 2, idleReplicas: 1 });
      fold.poll([value(0)], { after: 300 });
      fold.tick([value(0)]);
      return fold;
    },
    expected: { ...SEEN, Active: "False ScalerNotActive", HPAActive: "True ScalingDisabled" },
  },
  "its start is refused": {
    walk() {
      const fold = refuse(createKedaFold(scaledObject(FROM_ZERO), 0));
      fold.changed();
      fold.poll([value(1)]);
      return fold;
    },
    expected: { ...REFUSED, Active: "True ScalerActive" },
  },
  "its way to zero is refused": {
    walk() {
      const fold = refuse(startScaling(FROM_ZERO));
      fold.poll([value(0)], { after: 300 });
      return fold;
    },
    expected: { ...SCALING, ...REFUSED, Active: "False ScalerNotActive" },
  },
  "its way to the minimum is refused": {
    walk() {
      const fold = refuse(createKedaFold(scaledObject({ minReplicas: 3 }), 2));
      fold.changed();
      fold.poll([value(0)]);
      return fold;
    },
    expected: { ...REFUSED, Active: "False ScalerNotActive" },
  },
  "a rescale is refused": {
    walk() {
      const fold = refuse(startScaling());
      fold.tick([value(40)]);
      return fold;
    },
    expected: { ...SCALING, AbleToScale: "False FailedUpdateScale" },
  },
  "it has too many replicas": {
    walk() {
      const fold = startScaling();
      fold.answer = null;
      fold.scale = { ...fold.scale, replicas: 11 };
      fold.tick([]);
      return fold;
    },
    expected: { ...SEEN, Active: "True ScalerActive" },
  },
  "a pod lacks a request": {
    walk() {
      const fold = createFold(scaledObject({ triggers: [cpu()] }), 2);
      fold.lack = "the scaledobject has a cpu trigger but the container web doesn't have the cpu request defined";
      fold.changed();
      return fold;
    },
    expected: { ...SEEN, Ready: CHECK_FAILED },
  },
  "its end lasts": {
    walk() {
      const fold = startScaling();
      for (const _ of [1, 2]) fold.see({ kind: "deleted", scale: null });
      return fold;
    },
    expected: { ...BLOCKED, Ready: UNKNOWN },
  },
};

for (const [state, { walk, expected }] of Object.entries(WALKS)) {
  Deno.test(`decideReplicas() has true conditions while ${state} (R91)`, () => {
    assertEquals(listConditions(walk()), expected);
  });
}

Deno.test("decideReplicas() says in Active and HPAActive why neither loop runs (R91)", () => {
  const readMessages = ({ state: { conditions: { Active, HPAActive } } }: Fold) => [
    Active?.message,
    HPAActive?.message,
  ];
  const fold = startScaling();
  fold.see({ kind: "obstructed", obstacle: { kind: "scale", message: "timeout" } });
  assertEquals(readMessages(fold), ["ScaledObject check failed", "ScaledObject check failed"]);
  fold.changed(scaledObject({ annotations: { isPaused: true } }));
  assertEquals(readMessages(fold), ["ScaledObject is paused", "ScaledObject is paused"]);
  for (const _ of [1, 2]) fold.see({ kind: "deleted", scale: null });
  assertEquals(readMessages(fold), ["ScaledObject is being deleted", "ScaledObject is being deleted"]);
  const idle = startScaling({ minReplicas: 2, idleReplicas: 1 });
  idle.poll([value(0)], { after: 300 });
  assertStringIncludes(idle.state.conditions.HPAActive?.message ?? "", "idle replicas");
});

Deno.test("decideReplicas() leaves the conditions alone when an object ends at once (R57)", () => {
  const fold = startScaling();
  fold.see({ kind: "deleted", scale: null });
  assertEquals(listConditions(fold), SCALING);
});

const ERRORS: Readonly<Record<string, { readonly fold: () => Fold; readonly load: number; readonly message: string }>> =
  {
    "a start": {
      fold: () => createKedaFold(scaledObject(FROM_ZERO), 0),
      load: 1,
      message: "error activating ScaleTarget: forbidden (HTTP 403)",
    },
    "a way to zero": {
      fold: () => createKedaFold(scaledObject(FROM_ZERO), 2),
      load: 0,
      message: "error deactivating ScaleTarget: forbidden (HTTP 403)",
    },
    "a way to the minimum": {
      fold: () => createKedaFold(scaledObject({ minReplicas: 3 }), 2),
      load: 0,
      message: "error setting ScaleTarget replicas count to ScaledObject minReplicaCount: forbidden (HTTP 403)",
    },
  };

for (const [what, { fold: create, load, message }] of Object.entries(ERRORS)) {
  Deno.test(`decideReplicas() reports ${what} that is refused in Ready, until it is accepted (R52, R53)`, () => {
    const fold = refuse(create());
    fold.changed();
    fold.now += 300_000;
    fold.poll([value(load)]);
    assertEquals(fold.state.conditions.Ready, { status: "False", reason: "ErrorScalingTarget", message });
    fold.takeEvents();
    // The next try is not answered yet.
    fold.answer = null;
    fold.poll([value(load)], { after: 30 });
    fold.changed();
    assertEquals([fold.state.conditions.Ready?.message, fold.takeEvents()], [message, []]);
    fold.answer = ({ replicas }) => ({ kind: "accepted", replicas });
    fold.poll([value(load)], { after: 30 });
    assertEquals(fold.state.conditions.Ready?.status, "True");
    assertEquals(fold.takeEvents().includes("ScaledObjectReady"), true);
  });
}

Deno.test("decideReplicas() takes back an error of a write that is not wanted any more, and keeps none in a dry run (R52)", () => {
  const start = () => {
    const fold = refuse(createKedaFold(scaledObject(FROM_ZERO), 0));
    fold.poll([value(1)]);
    return fold;
  };
  const unwanted = start();
  unwanted.poll([value(0)], { after: 30 });
  const dry = start();
  dry.dryRun = true;
  dry.poll([value(1)], { after: 30 });
  assertEquals([unwanted, dry].map(({ state }) => state.conditions.Ready?.status), ["True", "True"]);
});

Deno.test("decideReplicas() leaves Ready alone for a refused rescale, which is the HPA's part in KEDA (R46)", () => {
  const fold = refuse(startScaling());
  fold.tick([value(40)]);
  assertEquals(fold.state.conditions.Ready?.status, "True");
  fold.answer = ({ replicas }) => ({ kind: "accepted", replicas });
  fold.tick([value(40)], { after: 15 });
  assertEquals(fold.state.conditions.Ready?.status, "True");
});

Deno.test("decideReplicas() reports a paused count that is refused in KEDA's words, until it is accepted (R55)", () => {
  const paused = scaledObject({ annotations: { isPaused: true, pausedReplicas: 4 } });
  const fold = refuse(createFold(paused, 2));
  fold.changed();
  const message = "failed to scale target to paused replica count: forbidden (HTTP 403)";
  assertEquals(fold.state.conditions.Ready?.message, message);
  fold.takeEvents();
  fold.answer = null;
  fold.changed();
  assertEquals([fold.state.conditions.Ready?.message, fold.takeEvents()], [message, []]);
  fold.answer = ({ replicas }) => ({ kind: "accepted", replicas });
  fold.changed();
  assertEquals(fold.state.conditions.Ready?.status, "True");
});

const LACK = "the scaledobject has a cpu trigger but the container web doesn't have the cpu request defined";

Deno.test("decideReplicas() is not ready while a pod lacks a request, in both loops, and scales by its other triggers (R25)", () => {
  const fold = createFold(scaledObject({ triggers: [cpu()] }), 2);
  fold.changed();
  fold.takeEvents();
  fold.lack = LACK;
  fold.tick([pods(2, 500n)]);
  assertEquals(fold.state.conditions.Ready, { status: "False", reason: "ScaledObjectCheckFailed", message: LACK });
  fold.poll([]);
  assertEquals(fold.state.conditions.Ready?.message, LACK);
  assertEquals(fold.takeEvents().filter((name) => name.startsWith("ScaledObject")), ["ScaledObjectCheckFailed"]);
  fold.lack = null;
  fold.tick([pods(2, 500n)]);
  assertEquals([fold.state.conditions.Ready?.status, fold.takeEvents().at(0)], ["True", "ScaledObjectReady"]);
});

Deno.test("decideReplicas() keeps the error of a trigger in Ready while a pod lacks a request (R25, R53)", () => {
  const fold = createFold(scaledObject(), 2);
  fold.changed();
  fold.lack = LACK;
  fold.poll([failed()]);
  fold.tick([failed()]);
  assertEquals(fold.state.conditions.Ready?.reason, "TriggerError");
});
