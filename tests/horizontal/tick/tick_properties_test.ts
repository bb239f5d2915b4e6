/** What holds of any course of ticks (R32, R40 to R45). */
import { assert, assertEquals } from "#assert";
import * as fc from "fast-check";
import type { ScalingHistory } from "../../../lib/model/replicas_state.ts";
import { recordRescale } from "../../../lib/horizontal/behavior.ts";
import { computeDesiredReplicas } from "../../../lib/horizontal/scaling_loop.ts";
import type { Behavior, ScalingPolicy, ScalingRules } from "../../../lib/model/scaled_object.ts";
import { NOW, proposal, tickInput } from "../../support/tick_builders.ts";

const policy: fc.Arbitrary<ScalingPolicy> = fc.record({
  type: fc.constantFrom("Pods" as const, "Percent" as const),
  value: fc.integer({ min: 1, max: 200 }),
  periodMs: fc.constantFrom(1000, 15_000, 60_000, 1_800_000),
});
const rules: fc.Arbitrary<ScalingRules> = fc.record({
  windowMs: fc.constantFrom(0, 15_000, 60_000, 300_000),
  select: fc.constantFrom("Max" as const, "Min" as const, "Disabled" as const),
  policies: fc.array(policy, { minLength: 1, maxLength: 3 }),
  tolerance: fc.constant(null),
});
const behaviors: fc.Arbitrary<Behavior | null> = fc.option(fc.record({ scaleUp: rules, scaleDown: rules }));

const course = fc.record({
  minReplicas: fc.integer({ min: 0, max: 10 }),
  width: fc.integer({ min: 0, max: 90 }),
  replicas: fc.integer({ min: 0, max: 120 }),
  behavior: behaviors,
  needs: fc.array(fc.integer({ min: 0, max: 150 }), { minLength: 1, maxLength: 40 }),
});

/** Replicas after each tick of 15 s, if every write is accepted. */
function follow({ minReplicas, width, replicas, behavior, needs }: CourseOf<typeof course>): readonly number[] {
  const bounds = { minReplicas, maxReplicas: Math.max(1, minReplicas) + width };
  let [history, current]: [ScalingHistory | null, number] = [null, replicas];
  return needs.map((need, at) => {
    const now = NOW + at * 15_000;
    const outcome = computeDesiredReplicas(history, tickInput(need, { now, replicas: current, behavior, ...bounds }));
    const rescale = { from: current, to: outcome.desired, now, behavior };
    history = outcome.desired === current ? outcome.history : recordRescale(outcome.history, rescale);
    current = outcome.desired;
    return current;
  });
}

type CourseOf<T> = T extends fc.Arbitrary<infer Value> ? Value : never;

Deno.test("tick() keeps each course between min and max, but for 0, which stays (R32, R41, R43)", () => {
  fc.assert(fc.property(course, (one) => {
    const least = Math.max(1, one.minReplicas);
    const isIn = (replicas: number) => replicas >= least && replicas <= least + one.width;
    assert(follow(one).every((replicas) => one.replicas === 0 ? replicas === 0 : isIn(replicas)));
  }));
});

Deno.test("tick() goes one way, and no further than what is needed, while that stays the same (R41, R42, R43)", () => {
  fc.assert(fc.property(course, fc.integer({ min: 1, max: 150 }), (one, need) => {
    const path = [one.replicas, ...follow({ ...one, needs: Array(60).fill(need) })];
    const steps = path.slice(1).map((replicas, at) => Math.sign(replicas - (path[at] ?? 0)));
    assert(!(steps.includes(1) && steps.includes(-1)), path.join());
    const least = Math.max(1, one.minReplicas);
    const goal = Math.min(Math.max(need, least), least + one.width);
    const end = path.at(-1) ?? 0;
    if (steps.includes(1)) assert(end <= goal, path.join());
    if (steps.includes(-1)) assert(end >= goal, path.join());
  }));
});

Deno.test("tick() is a function of its arguments, and changes none of them (R45)", () => {
  fc.assert(fc.property(course, ({ replicas, behavior, needs }) => {
    const history = { needs: needs.map((need, at) => ({ replicas: need, at: NOW - at * 20_000 })), ups: [], downs: [] };
    const kept = structuredClone(history);
    const input = tickInput(7, { replicas, behavior, propose: () => [proposal(7)] });
    assertEquals(computeDesiredReplicas(history, input), computeDesiredReplicas(history, input));
    assertEquals(history, kept);
  }));
});

Deno.test("tick() keeps no more needs than ticks of its longest window, and no more events than its periods see (R44)", () => {
  fc.assert(fc.property(behaviors, fc.infiniteStream(fc.integer({ min: 0, max: 150 })), (behavior, stream) => {
    let [history, replicas]: [ScalingHistory | null, number] = [null, 10];
    for (let at = 0; at < 200; at++) {
      const now = NOW + at * 15_000;
      const outcome = computeDesiredReplicas(
        history,
        tickInput(stream.next().value ?? 1, { now, replicas, behavior, maxReplicas: 200 }),
      );
      const rescale = { from: replicas, to: outcome.desired, now, behavior };
      history = outcome.desired === replicas ? outcome.history : recordRescale(outcome.history, rescale);
      replicas = outcome.desired;
    }
    assert((history?.needs.length ?? 0) <= 23, `${history?.needs.length}`);
    assert((history?.ups.length ?? 0) + (history?.downs.length ?? 0) <= 2 * 122);
  }));
});
