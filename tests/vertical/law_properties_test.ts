/**
 * Properties on any usage curve, under any policy with windows, percentiles and values for each direction.
 * Clauses: L1 to L4.
 */
import { assert, assertEquals } from "#assert";
import * as fc from "fast-check";
import type { Autoscaler, FieldPolicy } from "../../lib/model/autoscaler.ts";
import type { ResizeRequest } from "../../lib/model/resize_request.ts";
import { RESOURCE_FIELDS, type ResourceField } from "../../lib/units/resources.ts";
import { lawPolicies, usageCurves } from "../support/law_arbitraries.ts";
import { pod, SECOND } from "../support/builders.ts";
import { Story } from "../support/story.ts";

/** Fixed seeds: a failure is the same failure everywhere. */
const RUNS = { seed: 20261122, numRuns: 120 };

const EVERY_MS = 15 * SECOND;

interface Used {
  readonly at: number;
  readonly cpu: number;
  readonly memory: number;
}

interface Run {
  readonly story: Story;
  readonly used: readonly Used[];
  readonly resizes: readonly { readonly at: number; readonly request: ResizeRequest }[];
}

/** A pod under a curve, one point each 15 s. */
function play(contender: Autoscaler, curve: readonly Omit<Used, "at">[]): Run {
  const story = new Story({ pod: pod(), contenders: [contender], everyMs: EVERY_MS });
  const used: Used[] = [];
  const resizes: { at: number; request: ResizeRequest }[] = [];
  for (const { cpu, memory } of curve) {
    story.use({ cpu, memory });
    const { request } = story.poll();
    used.push({ at: story.now, cpu, memory });
    if (request !== null) resizes.push({ at: story.now, request });
  }
  return { story, used, resizes };
}

function ruleOf({ sides }: Autoscaler, key: ResourceField): FieldPolicy {
  const rule = sides.find((one) => one.key === key);
  if (rule === undefined) throw new Error(`${key} is not managed`);
  return rule;
}

Deno.test("on any curve no memory goes below the peak of its window (L1, L2)", () => {
  let downs = 0;
  fc.assert(
    fc.property(lawPolicies, usageCurves, (contender, curve) => {
      const { resizes, used } = play(contender, curve);
      for (const { at, request: { action, changes, to } } of resizes) {
        if (action !== "scaleDown") continue;
        for (const key of changes.filter((one) => one.startsWith("memory"))) {
          const { down: { windowMs, consecutiveSamples } } = ruleOf(contender, key);
          const fromAt = at - Math.max(windowMs, (consecutiveSamples - 1) * EVERY_MS);
          const peak = Math.max(...used.filter((one) => one.at >= fromAt && one.at <= at).map(({ memory }) => memory));
          assert((to[key] ?? 0) >= peak, `${key} goes down to ${to[key]}, and ${peak} were used`);
          downs++;
        }
      }
    }),
    RUNS,
  );
  assert(downs > 20, `${downs} scale-downs of memory`);
});

Deno.test("on any curve no side moves within its cooldown, in the direction that it goes (L3)", () => {
  let checked = 0;
  fc.assert(
    fc.property(lawPolicies, usageCurves, (contender, curve) => {
      const { resizes } = play(contender, curve);
      for (const [index, { at, request: { action, changes } }] of resizes.entries()) {
        const before = resizes.slice(0, index);
        for (const key of changes) {
          const rule = ruleOf(contender, key);
          const direction = action === "scaleUp" ? "up" : "down";
          const counting = direction === "up" && rule.hasOwnCooldowns
            ? before.filter(({ request }) => request.action === "scaleUp")
            : before;
          const last = counting.at(-1)?.at ?? -Infinity;
          assert(at - last >= rule[direction].cooldownMs, `${key} goes ${direction} after ${at - last} ms`);
          checked++;
        }
      }
    }),
    RUNS,
  );
  assert(checked > RUNS.numRuns, `${checked} moves`);
});

Deno.test("on any curve every size stays within its bounds (L4)", () => {
  fc.assert(
    fc.property(lawPolicies, usageCurves, (contender, curve) => {
      for (const { request: { changes, from, to } } of play(contender, curve).resizes) {
        for (const key of changes) {
          const { min, max } = ruleOf(contender, key).bounds;
          const [before, after] = [from[key] ?? 0, to[key] ?? 0];
          if (before < (min ?? 0) || before > (max ?? Infinity)) continue;
          assert(after >= (min ?? 0) && after <= (max ?? Infinity), `${key} ${before} -> ${after}`);
        }
      }
    }),
    RUNS,
  );
});

Deno.test("a constant load comes to rest under any policy, and stays there (L4)", () => {
  fc.assert(
    fc.property(lawPolicies, usageCurves, (contender, [load]) => {
      if (load === undefined) return;
      const { story } = play(contender, new Array(400).fill(load));
      const before = story.requests.length;
      for (let polls = 0; polls < 400; polls++) story.poll();
      assertEquals(
        story.requests.length - before,
        0,
        `${RESOURCE_FIELDS.map((key) => story.requests.at(-1)?.to[key])}`,
      );
    }),
    { ...RUNS, numRuns: 60 },
  );
});
