/**
 * pkg/scaling/executor/scale_scaledobjects_test.go of KEDA 2.21.0 (Apache-2.0): its 33 tests as tables of inputs and
 * outcomes. Each test here has the name of KEDA's.
 */
import { assert, assertEquals, assertStringIncludes } from "#assert";
import { createScaleClient } from "../../lib/daemon/replicas/scale_client.ts";
import { createClient } from "../../lib/kube/client.ts";
import type { TriggerReading } from "../../lib/model/replicas_decision.ts";
import { NEW_REPLICAS_STATE, type ReplicasState } from "../../lib/model/replicas_state.ts";
import { toScaledObjectStatus } from "../../lib/horizontal/status.ts";
import {
  createFold,
  createKedaFold,
  external,
  factsOf,
  failed,
  type Fold,
  type Overrides,
  scaledObject,
  scaleOf,
  STATIC,
  value,
} from "../support/replicas_fold.ts";
import { VirtualClock } from "../support/virtual_clock.ts";

const ACTIVE = {
  status: "True",
  reason: "ScalerActive",
  message: "Scaling is performed because triggers are active",
} as const;
const FORCED = { ...ACTIVE, message: "Scaling is performed because activation is being forced by annotation" } as const;

interface Row {
  /** KEDA's test. */
  readonly test: string;
  readonly object: Overrides;
  readonly replicas: number;
  readonly isActive: boolean;
  /** What is written; `null` = nothing. */
  readonly written: number | null;
  /** The condition Active; `null` = False. */
  readonly active: ReplicasState["conditions"]["Active"] | null;
}

const IDLE = { idleReplicas: 0, minReplicas: 5 };
const ZERO = { minReplicas: 0 };

/** One activation check, by KEDA's rule for objects that were never active (difference "first-cooldown"). */
const ROWS: readonly Row[] = [
  row("KEDA's TestScaleToMinReplicasWhenNotActive", ZERO, 10, false, 0, null),
  row("KEDA's TestScaleToMinReplicasFromLowerInitialReplicaCount", { minReplicas: 5 }, 1, false, 5, null),
  row("KEDA's TestScaleFromMinReplicasWhenActive", ZERO, 0, true, 1, ACTIVE),
  row("KEDA's TestScaleToIdleReplicasWhenNotActive", IDLE, 10, false, 0, null),
  row("KEDA's TestScaleFromIdleToMinReplicasWhenActive", IDLE, 0, true, 5, ACTIVE),
  row(
    "KEDA's TestNoScaleToMinReplicasWhenNotActiveAndPauseScaleInAnnotationSet",
    ...[{ ...ZERO, annotations: { isScaleInPaused: true } }, 10, false, null, null] as const,
  ),
  row(
    "KEDA's TestNoScaleToIdleReplicasWhenNotActiveAndPauseScaleInAnnotationSet",
    ...[{ ...IDLE, annotations: { isScaleInPaused: true } }, 10, false, null, null] as const,
  ),
  row(
    "KEDA's TestScaleFromMinReplicasWhenActivationForced",
    ...[{ ...ZERO, annotations: { isForcedActive: true } }, 0, false, 1, FORCED] as const,
  ),
  row(
    "KEDA's TestNoScaleFromMinReplicasWhenActiveAndPausedScaleOutAnnotationSet",
    ...[{ ...ZERO, annotations: { isScaleOutPaused: true } }, 0, true, null, ACTIVE] as const,
  ),
  row(
    "KEDA's TestNoScaleFromIdleReplicasToMinReplicasWhenActiveAndPausedScaleOutAnnotationSet",
    ...[{ ...IDLE, maxReplicas: 10, annotations: { isScaleOutPaused: true } }, 0, true, null, ACTIVE] as const,
  ),
];

function row(
  test: string,
  object: Overrides,
  replicas: number,
  isActive: boolean,
  written: number | null,
  active: Row["active"],
): Row {
  return { test, object, replicas, isActive, written, active };
}

for (const { test, object, replicas, isActive, written, active } of ROWS) {
  Deno.test(`${test} (R51, R52, R53, R56)`, () => {
    const fold = createKedaFold(scaledObject(object), replicas);
    const { write } = fold.poll([value(isActive ? 1 : 0)]);
    assertEquals(write?.replicas ?? null, written);
    const { Active } = fold.state.conditions;
    assertEquals(active === null ? Active?.status : Active, active ?? "False");
    if (active !== null && written !== null) assert(fold.state.lastActiveAt !== null, "lastActiveTime is set");
  });
}

Deno.test("an object that was never active waits for its cooldown in podfit, and goes to zero at once in KEDA (R53)", () => {
  const fold = createFold(scaledObject(ZERO), 10);
  fold.poll([value(0)]);
  assertEquals(fold.poll([value(0)], { after: 299 }).write, null);
  assertEquals(fold.poll([value(0)], { after: 1 }).write?.replicas, 0);
});

/** KEDA's executor writes nothing while an object is paused: its controller has written the number. */
Deno.test("KEDA's TestScaleToPausedReplicasCount (R55)", () => {
  const fold = createFold(scaledObject({ annotations: { isPaused: true, pausedReplicas: 0 } }), 2);
  fold.changed();
  fold.scale = scaleOf(2);
  assertEquals(fold.poll([value(1)]).write, null);
  const { Paused, Active } = fold.state.conditions;
  assertEquals([Paused?.status, Active?.status === "True"], ["True", false]);
});

Deno.test("KEDA's TestEventWitTriggerInfo (R92)", () => {
  const fold = createFold(scaledObject(IDLE), 2);
  fold.poll([value(1)]);
  const events = fold.notices.filter(({ name }) => name === "KEDAScaleTargetActivated");
  assertEquals(events.map(({ message }) => message), [
    "Scaled apps/v1.Deployment shop/web from 2 to 5, triggered by s0-prometheus",
  ]);
});

const TIMEOUTS = {
  "KEDA's TestUpdateScaleOnScaleTarget_KubernetesAPITimeout": { isWrite: false },
  "KEDA's TestUpdateScaleOnScaleTarget_KubernetesAPITimeoutDuringUpdate": { isWrite: true },
};

for (const [test, { isWrite }] of Object.entries(TIMEOUTS)) {
  Deno.test(`${test} (R46)`, async () => {
    const clock = new VirtualClock();
    const waits = (request: Request) =>
      new Promise<never>((_, reject) => request.signal.addEventListener("abort", () => reject(request.signal.reason)));
    const scales = createScaleClient({
      client: createClient({ origin: "http://api", transport: waits }),
      clock,
      acquirePermit: () => Promise.resolve({ isLate: false, refund() {}, report() {}, [Symbol.dispose]() {} }),
    });
    const { target } = scaledObject();
    const signal = new AbortController().signal;
    const from = scaleOf(1);
    const write = { from, replicas: 2, half: "poll", at: 0, reason: "ScaledOut", message: "" } as const;
    const asked = isWrite
      ? scales.write({ namespace: "shop", target, write, mayWrite: () => true, signal })
      : scales.get({ namespace: "shop", target }, signal);
    let answered: { readonly kind: string } | null = null;
    void asked.then((answer) => answered = answer);
    await clock.advance(1000);
    assertEquals(answered, null, "it still waits");
    await clock.advance(60_000);
    assertEquals((await asked).kind, isWrite ? "unanswered" : "obstacle");
    assertEquals(clock.pending, 0);
  });
}

/** podfit has no HPA: `HPAActive` shows its own scaling loop (difference "no-hpa"). */
function ticked(readings: readonly TriggerReading[], replicas = 1): Fold {
  const fold = createFold(scaledObject({ triggers: readings.map((_, index) => external({ index })) }), replicas);
  fold.changed();
  fold.tick(readings);
  return fold;
}

const CAUSE = "unable to get metrics";

Deno.test("KEDA's TestGetHPAHealth_ScalingActiveTrue and TestRequestScale_HPAHealthy_HPAActiveTrue (R91)", () => {
  assertEquals(ticked([value(10)]).state.conditions.HPAActive, {
    status: "True",
    reason: "HPAActive",
    message: "HPA is actively scaling",
  });
});

Deno.test("KEDA's TestGetHPAHealth_ScalingActiveFalse and TestGetHPAHealth_NoGracePeriod: the reason is told at once (R40, R91)", () => {
  const { HPAActive } = ticked([failed(CAUSE)]).state.conditions;
  assertEquals([HPAActive?.status, HPAActive?.reason], ["False", "FailedGetExternalMetric"]);
  assertStringIncludes(HPAActive?.message ?? "", "HPA is not actively scaling: ");
  assertStringIncludes(HPAActive?.message ?? "", CAUSE);
});

Deno.test("KEDA's TestGetHPAHealth_ScalingDisabled and TestRequestScale_HPAScalingDisabled_HPAActiveTrueWithDistinctReason (R54, R91)", () => {
  assertEquals(ticked([value(0)], 0).state.conditions.HPAActive, {
    status: "True",
    reason: "ScalingDisabled",
    message: "scaling is disabled since the replica count of the target is zero",
  });
});

Deno.test("KEDA's TestGetHPAHealth_EmptyReasonFallback: podfit never leaves the reason empty (R40, R91)", () => {
  assert(ticked([failed("")]).state.conditions.HPAActive?.reason !== "");
});

Deno.test("KEDA's TestGetHPAHealth_NoHPAName and TestGetHPAHealth_NoScalingActiveConditionYet: nothing is healthy before the first check (R90)", () => {
  const fold = createFold();
  const isHealthy = () => fold.state.conditions.HPAActive?.status === "True";
  assertEquals(isHealthy(), false);
  fold.changed();
  fold.poll([value(1)]);
  assertEquals(isHealthy(), false, "an activation check says nothing of it");
});

Deno.test("KEDA's TestGetHPAHealth_HPAReadError and TestCheckHPAHealth_CannotObserve_HPAActiveUnchanged: no check, no health (R30, R91)", () => {
  const fold = ticked([failed(CAUSE)]);
  fold.see({ kind: "obstructed", obstacle: { kind: "scale", message: "api unavailable" } });
  assert(fold.state.conditions.HPAActive?.status !== "True");
});

interface ReadyRow {
  /** KEDA's test. */
  readonly test: string;
  /** Of the activation check. */
  readonly readings: readonly TriggerReading[];
  /** Whether the scaling loop has just failed. */
  readonly isFailing: boolean;
  readonly object?: Overrides;
  /** Status and reason of Ready. */
  readonly ready: readonly [string, string];
}

const READY = ["True", "ScaledObjectReady"] as const;

const READY_ROWS: readonly ReadyRow[] = [
  { test: "KEDA's TestRequestScale_AllHealthy_HPAHealthy", readings: [value(1)], isFailing: false, ready: READY },
  {
    test: "KEDA's TestRequestScale_ScalerError_HPAHealthy",
    readings: [failed()],
    isFailing: false,
    ready: ["False", "TriggerError"],
  },
  {
    test: "KEDA's TestRequestScale_PartialError_HPAHealthy",
    readings: [value(1), failed()],
    isFailing: false,
    ready: ["Unknown", "PartialTriggerError"],
  },
  { test: "KEDA's TestRequestScale_NoError_HPAUnhealthy", readings: [value(1)], isFailing: true, ready: READY },
  {
    test: "KEDA's TestRequestScale_ScalerError_HPAUnhealthy",
    readings: [failed()],
    isFailing: true,
    ready: ["False", "TriggerError"],
  },
  {
    test: "KEDA's TestRequestScale_ScalerErrorWithFallback_HPAHealthy",
    readings: [failed()],
    isFailing: false,
    object: { fallback: { ...STATIC, replicas: 5 } },
    ready: READY,
  },
];

for (const { test, readings, isFailing, object = {}, ready } of READY_ROWS) {
  Deno.test(`${test} (R40, R53, R91)`, () => {
    const triggers = readings.map((_, index) => external({ index }));
    const fold = createFold(scaledObject({ triggers, ...object }), 1);
    fold.changed();
    fold.tick(readings.map(() => isFailing ? failed("metrics not available") : value(10)));
    fold.poll(readings, { after: 15 });
    const { Ready, HPAActive } = fold.state.conditions;
    assertEquals([Ready?.status, Ready?.reason], [...ready]);
    assertEquals(HPAActive?.status, isFailing ? "False" : "True");
    assertEquals(HPAActive?.reason, isFailing ? "FailedGetExternalMetric" : "HPAActive");
  });
}

Deno.test("KEDA's TestRequestScale_TransientHPAGap_ReadyStaysTrue (R40, R91)", () => {
  const fold = createFold(scaledObject(), 1);
  fold.changed();
  fold.poll([value(1)]);
  fold.tick([value(10)], { after: 15 });
  fold.tick([failed("metrics not available")], { after: 15 });
  assertEquals(fold.state.conditions.Ready?.status, "True");
  assertEquals(fold.state.conditions.HPAActive?.reason, "FailedGetExternalMetric");
});

Deno.test("KEDA's TestRequestScale_HPAActive_NotInSharedDefaults: an object begins with four conditions (R90)", () => {
  const { conditions } = toScaledObjectStatus(factsOf(scaledObject()), NEW_REPLICAS_STATE);
  assertEquals(conditions.map(({ type }) => type), ["Ready", "Active", "Fallback", "Paused"]);
});
