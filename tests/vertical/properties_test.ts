/**
 * Properties under any policy, pod and load: bounds, steps, requests <= limits, QoS, and that resizes end.
 * Clauses: C33 to C35.
 */
import { assert, assertEquals } from "#assert";
import * as fc from "fast-check";
import type { ResizeRequest } from "../../lib/model/resize_request.ts";
import type { Autoscaler } from "../../lib/model/autoscaler.ts";
import { computeQosClass, RESIZE_UNIT, resourceOf, type Resources } from "../../lib/units/resources.ts";
import { policy } from "../support/builders.ts";
import { loads, podOf, sanePolicies, sizes } from "../support/arbitraries.ts";
import { type Load, Story } from "../support/story.ts";

/** Fixed seeds: a failure is the same failure everywhere. */
const RUNS = { seed: 20261120, numRuns: 300 };

/** Polls a constant load until no request was sent for a while; throws if that never happens. */
function settle(contender: Autoscaler, spec: Resources, load: Load): Story {
  const story = new Story({ pod: podOf(spec), contenders: [contender], load });
  for (let actions = 0; actions <= 2500; actions++) {
    if (story.poll(5).request === null) return story;
  }
  throw new Error(`Cannot settle: still ${story.reason()} after ${story.requests.length} actions`);
}

function checkOrder(
  { from, to, changes, action }: ResizeRequest,
  contender: Autoscaler,
  qosClass: string | null,
): void {
  for (const resource of ["cpu", "memory"] as const) {
    const [request, limit] = [to[`${resource}.requests`], to[`${resource}.limits`]];
    if (request !== null && limit !== null) assert(request <= limit, `${resource} ${request} > ${limit}`);
  }
  assertEquals(computeQosClass({ podResources: null, containers: [to] }), qosClass);
  for (const key of changes) {
    const side = contender.sides.find((one) => one.key === key);
    const [before, after] = [from[key], to[key]];
    if (side === undefined || before === null || after === null) throw new Error(`${key} is not managed or absent`);
    assert(action === "scaleUp" ? after > before : after < before, `${action} of ${key}: ${before} -> ${after}`);
    const { min, max, step, stepPercent } = side.bounds;
    const [low, high] = [min ?? 0, max ?? Infinity];
    if (before < low || before > high) continue;
    assert(after >= low && after <= high, `${key} ${after} not within ${low} and ${high}`);
    const unit = RESIZE_UNIT[resourceOf(key)];
    const most = Math.min(step ?? Infinity, before * (stepPercent ?? Infinity) / 100);
    assert(Math.abs(after - before) < Math.max(most, unit) + unit, `${key} ${before} -> ${after}, step ${most}`);
  }
}

Deno.test("the requests of decideSize() keep to bounds, steps, requests <= limits and the QoS class (C33, C34, C35)", () => {
  let checked = 0;
  fc.assert(
    fc.property(sanePolicies, sizes(false), loads, (contender, spec, load) => {
      const story = settle(contender, spec, load);
      for (const order of story.requests) checkOrder(order, contender, story.pod.qosClass);
      checked += story.requests.length;
    }),
    RUNS,
  );
  assert(checked > RUNS.numRuns, `${checked} orders`);
});

Deno.test("decideSize() settles under a constant load, and no side ever turns round (C33)", () => {
  fc.assert(
    fc.property(sanePolicies, sizes(true), loads, (contender, spec, load) => {
      const { requests: orders } = settle(contender, spec, load);
      for (const { key } of contender.sides) {
        const moves = orders.flatMap(({ changes, action }) => changes.includes(key) ? [action] : []);
        assertEquals(new Set(moves).size <= 1, true, `${key}: ${moves}`);
      }
    }),
    RUNS,
  );
});

Deno.test("decideSize() settles from unaligned sizes too, where a side turns round at most once", () => {
  fc.assert(
    fc.property(sanePolicies, sizes(false), loads, (contender, spec, load) => {
      const { requests: orders } = settle(contender, spec, load);
      for (const { key } of contender.sides) {
        const moves = orders.flatMap(({ changes, action }) => changes.includes(key) ? [action] : []);
        const turns = moves.filter((move, index) => index > 0 && move !== moves[index - 1]).length;
        assertEquals(turns <= 1, true, `${key}: ${moves}`);
      }
    }),
    RUNS,
  );
});

Deno.test("decideSize() gives a lone side its target, within a unit, where neither bounds nor steps stop it (C33)", () => {
  fc.assert(
    fc.property(sanePolicies, fc.integer({ min: 1, max: 3000 }), loads, ({ sides: [first] }, amount, load) => {
      if (first === undefined) throw new Error("Cannot draw a policy without sides");
      const unbounded = { ...first, bounds: { min: null, max: null, step: null, stepPercent: null } };
      const unit = RESIZE_UNIT[first.resource];
      const spec = { "cpu.requests": null, "cpu.limits": null, "memory.requests": null, "memory.limits": null };
      const contender = policy({ sides: [unbounded], cooldownMs: 0 });
      const story = settle(contender, { ...spec, [first.key]: amount * unit }, load);
      const [order] = story.requests;
      if (order === undefined || first.key === "memory.limits") return;
      const used = first.resource === "cpu" ? load.cpu : load.memory;
      const target = Math.max(unit, Math.ceil(used * 100 / first.up.targetUtilizationPercent / unit - 1e-6) * unit);
      const moved = order.to[first.key] ?? 0;
      assert(Math.abs(moved - target) <= unit, `${moved} is not ${target}`);
    }),
    RUNS,
  );
});
