/** What stands for triggers that have failed too often (R8, R19, R70 to R72, E18). */
import { assertEquals } from "#assert";
import { countFailures, toFallbackValue } from "../../lib/horizontal/fallback.ts";
import { FALLBACK_BEHAVIORS, type FallbackBehavior, type Formula } from "../../lib/model/scaled_object.ts";
import {
  createFold,
  external,
  failed,
  formula,
  number,
  type Overrides,
  scaledObject,
  STATIC,
  value,
} from "../support/replicas_fold.ts";

const FALLS = scaledObject({ fallback: STATIC });
const ZERO_THRESHOLD = { ...STATIC, failureThreshold: 0 };

function valueOf(overrides: Overrides, facts: { readonly replicas: number; readonly readyPods: number | null }) {
  const object = scaledObject({ fallback: STATIC, ...overrides });
  const [trigger] = object.triggers;
  if (trigger?.kind !== "external") throw new Error("no external trigger");
  return toFallbackValue(object, trigger, facts);
}

Deno.test("decideReplicas() falls back at the fourth failure with a threshold of three, and then to 4 and 6 replicas (R70, R71)", () => {
  const fold = createFold(FALLS, 2);
  fold.changed();
  const replicas = Array.from({ length: 6 }, () => {
    fold.tick([failed()], { after: 15 });
    return fold.scale.replicas;
  });
  assertEquals(replicas, [2, 2, 2, 4, 6, 6]);
  assertEquals(fold.state.conditions.Fallback?.status, "True");
});

Deno.test("decideReplicas() counts failures of both halves, each fresh one once, and a success ends them (R8, R19, R70)", () => {
  const fold = createFold(FALLS, 2);
  const count = () => fold.state.failures["s0-prometheus"];
  fold.poll([failed()]);
  fold.tick([failed()]);
  assertEquals(count(), 2);
  fold.tick([failed("the same query", false)]);
  fold.tick([value(1, false)]);
  assertEquals(count(), 2, "what was counted before counts no more");
  fold.tick([value(1)]);
  assertEquals(count(), 0);
});

Deno.test("countFailures() keeps to the triggers that there are, and counts nothing without fallback (R70)", () => {
  const before = { "s0-prometheus": 2, "s9-gone": 5 };
  const readings = new Map([[0, failed()]]);
  assertEquals(countFailures(before, FALLS, readings), { "s0-prometheus": 3 });
  assertEquals(countFailures(before, scaledObject(), readings), {});
  assertEquals(countFailures({}, FALLS, new Map()), {});
});

Deno.test("decideReplicas() takes a failed trigger as an error until it falls back (R40, R53, R70)", () => {
  const fold = createFold(FALLS, 2);
  fold.tick([failed()]);
  assertEquals(fold.state.conditions.HPAActive?.reason, "FailedGetExternalMetric");
  fold.poll([failed()]);
  assertEquals([fold.state.isActive, fold.state.conditions.Ready?.status], [false, "True"]);
});

Deno.test("decideReplicas() takes a trigger in fallback as active (R51, R71)", () => {
  const fold = createFold(scaledObject({ fallback: ZERO_THRESHOLD, minReplicas: 0 }), 0);
  assertEquals(fold.poll([failed()]).write?.replicas, 1);
});

Deno.test("toFallbackValue() multiplies the target by the replicas of each behavior (R71)", () => {
  const replicasOf = (behavior: FallbackBehavior, replicas: number) =>
    Number(valueOf({ fallback: { ...STATIC, behavior } }, { replicas, readyPods: 1 })) / 10_000;
  const asked = FALLBACK_BEHAVIORS.filter((one) => one !== "scalingModifiers");
  assertEquals(asked.map((behavior) => [behavior, replicasOf(behavior, 2), replicasOf(behavior, 9)]), [
    ["static", 6, 6],
    ["currentReplicas", 2, 9],
    ["currentReplicasIfHigher", 6, 9],
    ["currentReplicasIfLower", 2, 6],
  ]);
});

Deno.test("decideReplicas() falls back for a trigger with a mistake by its target, and says where it has none (R4, R70, R71)", () => {
  const source = { kind: "invalid", problem: "spec.triggers[0].metadata.url: no" } as const;
  const run = (targetMilli: bigint | null) => {
    const fold = createFold(
      scaledObject({ fallback: ZERO_THRESHOLD, triggers: [external({ source, targetMilli })] }),
      2,
    );
    fold.changed();
    fold.poll([failed(source.problem)]);
    fold.tick([failed(source.problem)]);
    return [
      fold.scale.replicas,
      fold.state.conditions.Ready?.message,
      fold.state.conditions.HPAActive?.message,
    ] as const;
  };
  const [replicas, ready] = run(10_000n);
  assertEquals(replicas, 4);
  assertEquals(ready, `ScaledObject is defined correctly and is ready for scaling; warning: ${source.problem}`);
  const [kept, failing, need] = run(null);
  assertEquals([kept, need?.includes(`${source.problem} (and no fallback, as it has no valid target)`)], [2, true]);
  assertEquals(failing?.endsWith(source.problem), true, failing);
});

Deno.test("toFallbackValue() divides by the ready pods for a Value, and has none without them (R71)", () => {
  const triggers = [external({ metricType: "Value" })];
  assertEquals(valueOf({ triggers }, { replicas: 2, readyPods: 4 }), 15_000n);
  assertEquals([0, null].map((readyPods) => valueOf({ triggers }, { replicas: 2, readyPods })), [null, null]);
  const byPods = { triggers, formula: formula(() => number(0), { target: 5 }) };
  assertEquals(valueOf(byPods, { replicas: 2, readyPods: 0 }), 30_000n, "with a formula its own type counts");
});

Deno.test("toFallbackValue() takes a target as n * 0.001, and a formula's as it is written (R63, R71)", () => {
  const fallback = { ...STATIC, replicas: 1 };
  // 9 * 0.001 * 1000 is 9.000000000000002; 4.35 * 1000 is 4350 and 4.35 * (1000 / 3) is 1449.9999999999998.
  assertEquals(valueOf({ fallback, triggers: [external({ targetMilli: 9n })] }, { replicas: 1, readyPods: 1 }), 9n);
  const whole: Partial<Formula> = { target: 4.35, metricType: "Value" };
  assertEquals(valueOf({ fallback, formula: formula(() => number(0), whole) }, { replicas: 1, readyPods: 3 }), 1450n);
});

Deno.test("toFallbackValue() stops at what an int64 holds (R71)", () => {
  const fallback = { ...STATIC, replicas: 2 ** 31 - 1 };
  const triggers = [external({ targetMilli: 2n ** 62n })];
  assertEquals(valueOf({ fallback, triggers }, { replicas: 1, readyPods: 1 }), 2n ** 63n - 1n);
});

Deno.test("decideReplicas() lets the formula see nil for a trigger that failed too often, where it asks for that (R71)", () => {
  const fallback = { ...ZERO_THRESHOLD, behavior: "scalingModifiers" } as const;
  const triggers = [external({ name: "a" }), external({ index: 1, name: "b" })];
  const seen: unknown[] = [];
  const see = formula((values) => {
    seen.push(values);
    return number(20);
  });
  const fold = createFold(scaledObject({ fallback, triggers, formula: see }), 2);
  fold.tick([failed(), value(7)]);
  assertEquals(seen, [{ a: null, b: 7 }]);
  assertEquals(fold.state.conditions.HPAActive?.status, "True");
});

Deno.test("decideReplicas() tells of fallback while any trigger is above its threshold, fractional targets included (R72)", () => {
  const object = scaledObject({
    fallback: { ...STATIC, failureThreshold: 1 },
    triggers: [external({ name: "a" }), external({ index: 1, name: "b" })],
    formula: formula(() => number(1), { target: 1.5 }),
  });
  const fold = createFold(object, 2);
  fold.changed();
  assertEquals(fold.state.conditions.Fallback, {
    status: "False",
    reason: "NoFallbackFound",
    message: "No fallbacks are active on this scaled object",
  });
  fold.takeEvents();
  fold.tick([failed(), value(1)]);
  assertEquals(fold.state.conditions.Fallback?.status, "False");
  fold.tick([failed(), value(1)]);
  assertEquals(fold.state.conditions.Fallback, {
    status: "True",
    reason: "FallbackExists",
    message: "At least one trigger is falling back on this scaled object",
  });
  fold.poll([failed(), value(1)]);
  fold.tick([value(1), value(1)]);
  const events = fold.takeEvents().filter((name) => name.startsWith("ScaledObjectFallback"));
  assertEquals(events, ["ScaledObjectFallbackActivated", "ScaledObjectFallbackDeactivated"]);
});

Deno.test("decideReplicas() ends fallback where the object has it no more (R72)", () => {
  const fold = createFold(scaledObject({ fallback: ZERO_THRESHOLD }), 2);
  fold.tick([failed()]);
  fold.changed(scaledObject());
  assertEquals([fold.state.conditions.Fallback?.status, fold.state.failures], ["False", {}]);
});
