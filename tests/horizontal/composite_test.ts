/** Formulas around the language: what they see, what comes of it, and what a failed trigger does to it (R61, R63, R64). */
import { assertEquals } from "#assert";
import { computeComposite, type ExternalMetric } from "../../lib/horizontal/external_metrics.ts";
import type { ProgramResult } from "../../lib/model/scaled_object.ts";
import {
  cpu,
  createFold,
  external,
  failed,
  formula,
  number,
  pods,
  scaledObject,
  STATIC,
  value,
} from "../support/replicas_fold.ts";

const [A, B] = [external({ name: "a" }), external({ index: 1, name: "b" })];
const SUM = formula(({ a, b }) => number((a ?? 0) + (b ?? 0)));

function compute(result: ProgramResult, fallback = STATIC) {
  return computeComposite(formula(() => result), { metrics: [], fallback, half: "tick" });
}

Deno.test("computeComposite() cuts the result to thousandths, also below zero (R63)", () => {
  assertEquals(compute(number(2.9999)), { kind: "value", milli: 2999n });
  assertEquals(compute(number(-0.0019)), { kind: "value", milli: -1n });
});

Deno.test("computeComposite() takes NaN and infinities as errors (R63)", () => {
  assertEquals([NaN, Infinity, -Infinity].map((it) => compute(number(it)).kind), ["failed", "failed", "failed"]);
});

Deno.test("computeComposite() takes what fails at run time as an error (R64)", () => {
  const error = "error trying to run custom formula: index out of range";
  assertEquals(compute({ kind: "error", message: "index out of range" }), { kind: "failed", error });
});

Deno.test("computeComposite() makes nil the fallback's replicas times the target, and an error without fallback (R63, R71)", () => {
  assertEquals(compute({ kind: "nil" }), { kind: "value", milli: 60_000n });
  const without = computeComposite(formula(() => ({ kind: "nil" })), { metrics: [], fallback: null, half: "poll" });
  assertEquals(without.kind, "failed");
});

Deno.test("computeComposite() lets the formula see rounded values, of named triggers alone (R17, R63)", () => {
  const seen: unknown[] = [];
  const metrics: readonly ExternalMetric[] = [
    { trigger: A, result: { kind: "value", milli: 9n, isActive: true } },
    { trigger: external({ index: 1 }), result: { kind: "value", milli: 5n, isActive: true } },
  ];
  const see = formula((values) => {
    seen.push(values);
    return number(0);
  });
  computeComposite(see, { metrics, fallback: null, half: "tick" });
  assertEquals(seen, [{ a: 0.009000000000000001 }]);
});

Deno.test("decideReplicas() asks the formula instead of the external triggers, beside cpu and memory (R61)", () => {
  const triggers = [cpu(), external({ index: 1, name: "a" }), external({ index: 2, name: "b" })];
  const fold = createFold(scaledObject({ triggers, formula: SUM }), 2);
  const { write, report } = fold.tick([pods(2, 500n), value(500), value(-460)]);
  // 500 as such would be 50 replicas; cut to zero, -460 takes nothing away.
  assertEquals(write?.replicas, 4);
  const proposals = report?.triggers.map(({ metricName, proposal }) => [metricName, proposal?.replicas ?? null]);
  assertEquals(proposals, [["cpu", 2], ["s1-prometheus", null], ["s2-prometheus", null], ["composite-metric", 50]]);
});

Deno.test("decideReplicas() lets cpu outweigh the formula (R61)", () => {
  const triggers = [cpu({ container: "main" }), external({ index: 1, name: "a" })];
  const fold = createFold(scaledObject({ triggers, formula: formula(() => number(10)) }), 2);
  assertEquals(fold.tick([pods(2, 900n), value(1)]).write?.replicas, 4);
});

Deno.test("decideReplicas() is active where the cut value is above activationTarget (R63)", () => {
  const isActive = (result: number, activationTarget: number) => {
    const object = scaledObject({
      minReplicas: 0,
      triggers: [A],
      formula: formula(() => number(result), { activationTarget }),
    });
    const fold = createFold(object, 0);
    fold.poll([value(0)]);
    return fold.state.isActive;
  };
  assertEquals([isActive(5.0009, 5), isActive(5.001, 5), isActive(0.0009, 0)], [false, true, false]);
});

Deno.test("decideReplicas() takes a formula that fails at run time as an error in both halves (R64)", () => {
  const failing = formula(() => ({ kind: "error", message: "division by zero" }));
  const fold = createFold(scaledObject({ minReplicas: 0, triggers: [A], formula: failing }), 2);
  assertEquals(fold.poll([value(1)], { after: 3600 }).write, null);
  assertEquals(fold.state.conditions.Ready?.reason, "TriggerError");
  fold.tick([value(1)]);
  assertEquals(fold.state.conditions.HPAActive?.reason, "FailedGetExternalMetric");
});

Deno.test("decideReplicas() takes any failed external trigger as an error of the formula, unnamed ones included (R64)", () => {
  const triggers = [A, external({ index: 1 })];
  const fold = createFold(scaledObject({ triggers, formula: formula(() => number(100)) }), 2);
  assertEquals(fold.tick([value(1), failed()]).write, null);
  assertEquals(fold.state.conditions.HPAActive?.status, "False");
  fold.poll([value(1), failed()]);
  assertEquals([fold.state.isActive, fold.state.conditions.Ready?.reason], [false, "TriggerError"]);
});

Deno.test("decideReplicas() takes the fallback's value in its tick half though another trigger fails, and in its poll half an error (R64)", () => {
  const fallback = { ...STATIC, failureThreshold: 1 };
  const fold = createFold(scaledObject({ minReplicas: 0, triggers: [A, B], formula: SUM, fallback }), 3);
  fold.poll([failed(), value(1)]);
  fold.poll([failed(), failed()]);
  assertEquals(fold.state.isActive, false);
  const { report } = fold.tick([failed("again", false), failed("again", false)]);
  assertEquals(report?.triggers.at(-1)?.proposal?.replicas, 6);
  fold.poll([failed("again", false), value(1)]);
  assertEquals(fold.state.isActive, true);
});

Deno.test("decideReplicas() holds a formula's value against the formula's own target and by its own type (R60, R61)", () => {
  const triggers = [external({ name: "a", targetMilli: null, metricType: "Value" })];
  const needOf = (metricType: "AverageValue" | "Value") => {
    const object = scaledObject({ triggers, formula: formula(() => number(5), { target: 2.5, metricType }) });
    return createFold(object, 4).tick([value(1)], { readyPods: 3 }).report?.need;
  };
  // 5 / 2.5 replicas; or 5 / 2.5 times the ready pods.
  assertEquals([needOf("AverageValue"), needOf("Value")], [2, 6]);
});

Deno.test("decideReplicas() takes a formula below zero as zero, and not as an overflow (R38, R63)", () => {
  const below = (result: number) => {
    const object = scaledObject({ triggers: [A], formula: formula(() => number(result)) });
    return createFold(object, 4).tick([value(1)]).report;
  };
  assertEquals([below(-5)?.need, below(0)?.need], [0, 0]);
  assertEquals(below(-5)?.triggers.at(-1)?.value, -5, "what people see is what the formula said");
});
