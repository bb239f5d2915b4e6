/** The tick half as a whole (R31, R32, R40 to R43) and what it says (R91, R94). */
import { assert, assertEquals } from "#assert";
import type { Conditions, ScalingHistory } from "../../../lib/model/replicas_state.ts";
import { toRescaled } from "../../../lib/horizontal/conditions.ts";
import { recordRescale, startHistory } from "../../../lib/horizontal/behavior.ts";
import {
  computeDesiredReplicas,
  type ScalingInput,
  type ScalingOutcome,
} from "../../../lib/horizontal/scaling_loop.ts";
import { behavior, failed, NO_HISTORY, NOW, proposal, tickInput } from "../../support/tick_builders.ts";

function never(): never {
  throw new Error("Cannot propose: nobody may ask");
}

function run(
  need: number,
  overrides: Partial<ScalingInput> = {},
  history: ScalingHistory | null = NO_HISTORY,
): ScalingOutcome {
  return computeDesiredReplicas(history, tickInput(need, overrides));
}

function words(conditions: Conditions): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(conditions).map(([type, { status, reason }]) => [type, `${status}/${reason}`]),
  );
}

Deno.test("tick() at first sight takes what is there for needed, so that nothing falls for one window (R31)", () => {
  const { desired, history, reason } = run(5, {}, null);
  assertEquals([desired, reason], [10, "ScaleDownStabilized"]);
  assertEquals(history.needs, [{ replicas: 10, at: NOW }, { replicas: 5, at: NOW }]);
  assertEquals(run(0, { replicas: 0, propose: never }, null).history, startHistory(0, NOW));
});

Deno.test("tick() leaves 0 alone and asks no trigger (R32)", () => {
  const { desired, history, conditions, reason, proposals } = run(5, { replicas: 0, propose: never });
  assertEquals([desired, reason, proposals], [0, "ScalingDisabled", []]);
  assertEquals(history, NO_HISTORY);
  assertEquals(words(conditions), { AbleToScale: "True/SucceededGetScale", HPAActive: "True/ScalingDisabled" });
});

Deno.test("tick() leaves 0 alone also where the minimum is more (R32)", () => {
  assertEquals(run(5, { replicas: 0, minReplicas: 3, propose: never }).desired, 0);
});

Deno.test("tick() comes back within the bounds at once, whatever rules and metrics are (R32, E14)", () => {
  const rules = behavior({ select: "Disabled", windowMs: 60_000 }, { select: "Disabled" });
  const above = run(50, { replicas: 150, behavior: rules, propose: never });
  assertEquals([above.desired, above.need, above.stabilized, above.proposals], [100, null, null, []]);
  assertEquals([above.reason, above.message], ["ScaledIn", "Current number of replicas above Spec.MaxReplicas"]);
  const below = run(50, { replicas: 2, minReplicas: 5, behavior: rules, propose: never });
  assertEquals([below.desired, below.reason], [5, "ScaledOut"]);
  assertEquals(below.message, "Current number of replicas below Spec.MinReplicas");
});

Deno.test("tick() records no need where it comes back within the bounds (R32)", () => {
  for (const overrides of [{ replicas: 150 }, { replicas: 2, minReplicas: 5 }]) {
    const { history, conditions } = run(50, { ...overrides, propose: never });
    assertEquals(history, NO_HISTORY);
    assertEquals(words(conditions), { AbleToScale: "True/SucceededGetScale" });
  }
});

Deno.test("tick() has 1 as its least minimum (R32, R41)", () => {
  assertEquals(run(0, { minReplicas: 0 }).desired, 1);
  assertEquals(run(0, { minReplicas: 0, replicas: 1 }).conditions.ScalingLimited?.reason, "TooFewReplicas");
});

Deno.test("tick() writes nothing and records no need where a failure may have asked for more (R40)", () => {
  const { desired, history, need, reason, message, conditions } = run(0, { propose: () => [failed("no metrics")] });
  assertEquals([desired, need, reason], [10, null, "MetricInvalid"]);
  assertEquals(message, "invalid metrics (1 invalid out of 1), first error is: no metrics");
  assertEquals(history, NO_HISTORY);
  assertEquals(words(conditions), {
    AbleToScale: "True/SucceededGetScale",
    HPAActive: "False/FailedGetExternalMetric",
  });
});

Deno.test("tick() goes on with a failure where another trigger asks for more (R40)", () => {
  const { desired, conditions } = run(0, { propose: () => [failed(), proposal(12)], metricNames: ["x", "cpu"] });
  assertEquals([desired, conditions.HPAActive?.status], [12, "True"]);
  assertEquals(
    conditions.HPAActive?.message,
    "the HPA was able to successfully calculate a replica count from cpu",
  );
});

Deno.test("tick() scales out in the words of the controller, with the trigger that asks for most (R40, R94)", () => {
  const { desired, reason, message, need, stabilized, proposals } = run(0, {
    propose: () => [proposal(11), proposal(12)],
    metricNames: ["cpu", "s0-prometheus"],
  });
  assertEquals([desired, need, stabilized, reason], [12, 12, 12, "ScaledOut"]);
  assertEquals([message, proposals.length], ["s0-prometheus above target", 2]);
});

Deno.test("tick() scales in in the words of the controller (R41, R94)", () => {
  const { desired, reason, message, conditions } = run(6);
  assertEquals([desired, reason, message], [6, "ScaledIn", "All metrics below target"]);
  assertEquals(words(conditions), {
    HPAActive: "True/HPAActive",
    AbleToScale: "True/ReadyForNewScale",
    ScalingLimited: "False/DesiredWithinRange",
  });
});

const held = { needs: [{ replicas: 10, at: NOW - 15_000 }], ups: [], downs: [] };
const slow = behavior({ windowMs: 60_000 });
const disabled = { behavior: behavior({ select: "Disabled" }, { select: "Disabled", windowMs: 0 }) };

const HOLDS: readonly (readonly [reason: string, outcome: () => ScalingOutcome, able: string, limited: string])[] = [
  ["WithinTolerance", () => run(10), "True/ReadyForNewScale", "False/DesiredWithinRange"],
  ["ScaleDownStabilized", () => run(5, {}, held), "True/ScaleDownStabilized", "False/DesiredWithinRange"],
  ["ScaleUpStabilized", () => run(20, { behavior: slow }, held), "True/ScaleUpStabilized", "False/DesiredWithinRange"],
  ["ScaleUpLimit", () => run(20, disabled), "True/ReadyForNewScale", "True/ScaleUpLimit"],
  ["ScaleDownLimit", () => run(5, disabled), "True/ReadyForNewScale", "True/ScaleDownLimit"],
  ["TooManyReplicas", () => run(20, { maxReplicas: 10 }), "True/ReadyForNewScale", "True/TooManyReplicas"],
  ["TooFewReplicas", () => run(5, { minReplicas: 10 }), "True/ReadyForNewScale", "True/TooFewReplicas"],
  [
    "VerticalFirst",
    () => run(0, { propose: () => [{ ...proposal(10), lo: 3, hi: 12, hold: "VerticalFirst" }] }),
    "True/ReadyForNewScale",
    "False/DesiredWithinRange",
  ],
  [
    "VerticalUp",
    () => run(0, { propose: () => [proposal(4), { ...proposal(10), lo: 3, hold: "VerticalUp" }] }),
    "True/ReadyForNewScale",
    "False/DesiredWithinRange",
  ],
];

for (const [reason, outcome, able, limited] of HOLDS) {
  Deno.test(`tick() says why replicas stay: ${reason} (R91, R94)`, () => {
    const { desired, conditions, ...rest } = outcome();
    assertEquals([desired, rest.reason], [10, reason]);
    assert(rest.message.length > 10);
    const expected = { HPAActive: "True/HPAActive", AbleToScale: able, ScalingLimited: limited };
    assertEquals(words(conditions), expected);
  });
}

Deno.test("tick() says that it is limited also where it moves (R91)", () => {
  const { desired, reason, conditions } = run(50);
  assertEquals([desired, reason, conditions.ScalingLimited?.reason], [20, "ScaledOut", "ScaleUpLimit"]);
});

Deno.test("tick() calls it ScaleDownStabilized without behavior, also where the need is more than replicas (R91)", () => {
  const needs = [{ replicas: 15, at: NOW - 15_000 }];
  assertEquals(run(12, {}, { ...NO_HISTORY, needs }).conditions.AbleToScale?.reason, "ScaleDownStabilized");
  assertEquals(
    run(20, { behavior: slow }, { ...NO_HISTORY, needs }).conditions.AbleToScale?.reason,
    "ScaleUpStabilized",
  );
});

Deno.test("toRescaled() says what was written (R91)", () => {
  const message = "the HPA controller was able to update the target scale to 7";
  assertEquals(toRescaled(7), { status: "True", reason: "SucceededRescale", message });
});

Deno.test("tick() goes by the needs and writes of before a changed spec (R45)", () => {
  const first = run(20, { behavior: behavior() });
  const history = recordRescale(first.history, { from: 10, to: 20, now: NOW, behavior: behavior() });
  const later = { now: NOW + 10_000, replicas: 20, maxReplicas: 200 };
  // With other bounds the last 10 s have used the policies up.
  assertEquals(computeDesiredReplicas(history, tickInput(90, { ...later, behavior: behavior() })).desired, 20);
  // Without behavior the need of before still counts.
  assertEquals(computeDesiredReplicas(history, tickInput(5, later)).desired, 20);
});

Deno.test("tick() keeps its events through a spell without behavior (R44, R45)", () => {
  const history = { ...NO_HISTORY, ups: [{ change: 4, at: NOW - 5000, isOutdated: false }] };
  const through = computeDesiredReplicas(history, tickInput(12)).history;
  assertEquals(through.ups, history.ups);
});
