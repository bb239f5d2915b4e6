/** How far replicas may go at once (R41, R43). */
import { assertEquals } from "#assert";
import type { ScaleEvent, ScalingHistory } from "../../../lib/model/replicas_state.ts";
import { type LimitedReplicas, limitRate, type RateInput } from "../../../lib/horizontal/behavior.ts";
import type { ScalingPolicy, ScalingRules } from "../../../lib/model/scaled_object.ts";
import { behavior, NO_HISTORY, NOW } from "../../support/tick_builders.ts";

function limit(
  stabilized: number,
  overrides: Partial<RateInput> = {},
  history: Partial<ScalingHistory> = {},
): LimitedReplicas {
  const bounds = { replicas: 10, minReplicas: 1, maxReplicas: 100 };
  return limitRate({ ...NO_HISTORY, ...history }, { now: NOW, stabilized, behavior: null, ...bounds, ...overrides });
}

/** A change of so many replicas, that many ms ago. */
function ago(ms: number, change: number): ScaleEvent {
  return { change, at: NOW - ms, isOutdated: false };
}

const pods = (value: number, seconds = 60): ScalingPolicy => ({ type: "Pods", value, periodMs: seconds * 1000 });
const percent = (value: number, seconds = 60): ScalingPolicy => ({ type: "Percent", value, periodMs: seconds * 1000 });
const up = (policies: readonly ScalingPolicy[], more: Partial<ScalingRules> = {}) => ({
  behavior: behavior({ policies, ...more }),
});
const down = (policies: readonly ScalingPolicy[], more: Partial<ScalingRules> = {}) => ({
  behavior: behavior({}, { policies, ...more }),
});

Deno.test("limitRate() without behavior lets replicas double, or become 4 (R41, E7)", () => {
  assertEquals(limit(50), { desired: 20, limit: "ScaleUpLimit" });
  assertEquals(limit(20), { desired: 20, limit: null });
  assertEquals(limit(10, { replicas: 1 }), { desired: 4, limit: "ScaleUpLimit" });
  assertEquals(limit(10, { replicas: 3 }), { desired: 6, limit: "ScaleUpLimit" });
});

Deno.test("limitRate() without behavior keeps within min and max, and lets replicas fall at once (R41)", () => {
  assertEquals(limit(50, { maxReplicas: 15 }), { desired: 15, limit: "TooManyReplicas" });
  assertEquals(limit(50, { maxReplicas: 20 }), { desired: 20, limit: "TooManyReplicas" });
  assertEquals(limit(0), { desired: 1, limit: "TooFewReplicas" });
  assertEquals(limit(2, { minReplicas: 3 }), { desired: 3, limit: "TooFewReplicas" });
  assertEquals(limit(1), { desired: 1, limit: null });
});

Deno.test("limitRate() lets the largest of the policies count, or the smallest change by Min (R43)", () => {
  const policies = [pods(4), percent(100)];
  assertEquals(limit(50, up(policies)), { desired: 20, limit: "ScaleUpLimit" });
  assertEquals(limit(50, up(policies, { select: "Min" })), { desired: 14, limit: "ScaleUpLimit" });
  assertEquals(limit(1, { ...down([pods(4), percent(30)]) }), { desired: 6, limit: "ScaleDownLimit" });
  assertEquals(limit(1, { ...down([pods(4), percent(30)], { select: "Min" }) }), {
    desired: 7,
    limit: "ScaleDownLimit",
  });
});

Deno.test("limitRate() rounds percents up on the way up and cuts them on the way down, in doubles (R43, E8, E9)", () => {
  assertEquals(limit(500, { ...up([percent(10)]), replicas: 100, maxReplicas: 1000 }).desired, 111);
  assertEquals(limit(1, { ...down([percent(10)]), replicas: 72 }).desired, 64);
  assertEquals(limit(0, { ...down([percent(90)]), replicas: 10 }), { desired: 1, limit: "TooFewReplicas" });
});

Deno.test("limitRate() reckons from the replicas at the period's start, by the changes of both directions (R43)", () => {
  assertEquals(limit(50, up([pods(4)]), { ups: [ago(30_000, 3)] }).desired, 11);
  assertEquals(limit(50, up([pods(4)]), { ups: [ago(30_000, 3)], downs: [ago(15_000, 2)] }).desired, 13);
  assertEquals(limit(1, down([pods(4)]), { ups: [ago(30_000, 3)], downs: [ago(15_000, 2)] }).desired, 5);
  assertEquals(limit(1, down([percent(50)]), { downs: [ago(15_000, 6)] }).desired, 8);
  assertEquals(limit(50, up([percent(50)]), { ups: [ago(15_000, 2)] }).desired, 12);
});

Deno.test("limitRate() counts changes strictly younger than the period, each policy its own (R43)", () => {
  assertEquals(limit(50, up([pods(4)]), { ups: [ago(60_000, 3)] }).desired, 14);
  assertEquals(limit(50, up([pods(4)]), { ups: [ago(59_999, 3)] }).desired, 11);
  assertEquals(limit(50, up([pods(4, 60), pods(6, 15)]), { ups: [ago(30_000, 3)] }).desired, 16);
});

Deno.test("limitRate() counts a change that is marked as outdated as long as a period sees it (R43)", () => {
  assertEquals(limit(50, up([pods(4)]), { ups: [{ ...ago(30_000, 3), isOutdated: true }] }).desired, 11);
});

Deno.test("limitRate() leaves replicas where the period is used up, and never turns the direction (R43)", () => {
  assertEquals(limit(50, up([pods(4)]), { ups: [ago(15_000, 9)] }), { desired: 10, limit: "ScaleUpLimit" });
  assertEquals(limit(1, down([pods(4)]), { downs: [ago(15_000, 9)] }), { desired: 10, limit: "ScaleDownLimit" });
});

Deno.test("limitRate() Disabled keeps replicas in that direction, and in no other (R43, E14)", () => {
  const both = { behavior: behavior({ select: "Disabled" }, { select: "Disabled" }) };
  assertEquals(limit(50, both), { desired: 10, limit: "ScaleUpLimit" });
  assertEquals(limit(2, both), { desired: 10, limit: "ScaleDownLimit" });
  assertEquals(limit(2, { behavior: behavior({ select: "Disabled" }) }).desired, 2);
  assertEquals(limit(12, { behavior: behavior({}, { select: "Disabled" }) }).desired, 12);
});

Deno.test("limitRate() keeps within min and max, which is the limit where it is the tighter one or equal (R43)", () => {
  assertEquals(limit(50, { ...up([pods(4)]), maxReplicas: 12 }), { desired: 12, limit: "TooManyReplicas" });
  assertEquals(limit(50, { ...up([pods(4)]), maxReplicas: 14 }), { desired: 14, limit: "TooManyReplicas" });
  assertEquals(limit(1, { ...down([pods(4)]), minReplicas: 8 }), { desired: 8, limit: "TooFewReplicas" });
  assertEquals(limit(1, { ...down([pods(4)]), minReplicas: 6 }), { desired: 6, limit: "TooFewReplicas" });
});

Deno.test("limitRate() is no limit where it lets through what is asked for (R43)", () => {
  assertEquals([limit(14, up([pods(4)])), limit(10, up([pods(4)])), limit(6, down([pods(4)]))], [
    { desired: 14, limit: null },
    { desired: 10, limit: null },
    { desired: 6, limit: null },
  ]);
});
