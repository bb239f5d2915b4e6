/** Vertical first: replicas move only where both yardsticks of the pods agree (R83), and pods at their limit hold them (R85). */
import { assert, assertEquals } from "#assert";
import * as fc from "fast-check";
import type { PodReading } from "../../../lib/model/replicas_decision.ts";
import { proposeByPods } from "../../../lib/horizontal/joint/proposal.ts";
import { NOW, reading, readings, TOLERANCE, trigger } from "../../support/tick_builders.ts";

const requests = { born: 500n, full: 2000n };
const target = { kind: "Utilization", percent: 70 } as const;

function propose(pods: readonly PodReading[], replicas = pods.length) {
  const proposal = proposeByPods(trigger({ target }), { pods, replicas, now: NOW, tolerance: TOLERANCE });
  assert(proposal.kind === "proposal");
  return proposal;
}

Deno.test("proposeByPods() leaves replicas between lo and hi to the pods' own size: VerticalFirst (R83, E15)", () => {
  const { replicas, lo, hi, hold } = propose(readings(4, 900, { requests }));
  assertEquals([replicas, lo, hi, hold], [4, 3, 11, "VerticalFirst"]);
});

Deno.test("proposeByPods() scales out to lo only when even full-grown pods would exceed the target (R83, E15)", () => {
  const { replicas, lo, hi, hold, ratio } = propose(readings(4, 1700, { requests }));
  assertEquals([replicas, lo, hi, hold], [5, 5, 20, undefined]);
  assertEquals(ratio, 85 / 70);
});

Deno.test("proposeByPods() scales in to hi only when even pods of birth size would fall short of it (R83, E15)", () => {
  const { replicas, lo, hi, hold, ratio } = propose(readings(6, 200, { requests }));
  assertEquals([replicas, lo, hi, hold], [4, 1, 4, undefined]);
  assertEquals(ratio, 40 / 70);
});

Deno.test("proposeByPods() counts a saturated pod with what it has (R83, R84, E16)", () => {
  const grown = readings(2, 1700, { requests });
  const stuck = (full: bigint) => readings(2, 800, { requests: { born: 500n, full } });
  assertEquals(propose([...grown, ...stuck(800n)]).replicas, 6);
  assertEquals(propose([...grown, ...stuck(2000n)]).replicas, 4);
});

Deno.test("proposeByPods() takes lo for no more than hi, where a surge of pods turns the runs round (R83)", () => {
  // By full pods 0.88 of 12 are 11, by those of birth size usage is within tolerance.
  const pods = readings(12, 880, { requests: { born: 950n, full: 1000n } });
  const all = trigger({ target: { kind: "Utilization", percent: 100 } });
  const proposal = proposeByPods(all, { pods, now: NOW, replicas: 10, tolerance: TOLERANCE });
  assert(proposal.kind === "proposal");
  assertEquals([proposal.replicas, proposal.lo, proposal.hi], [10, 10, 10]);
});

Deno.test("proposeByPods() is the HPA's where no pod can grow: one run, no hold (R83)", () => {
  const { replicas, lo, hi, hold } = propose(readings(10, 700));
  assertEquals([replicas, lo, hi, hold], [10, 10, 10, undefined]);
  assertEquals(propose(readings(10, 900)).replicas, 13);
});

Deno.test("proposeByPods() looks at the yardsticks of unready and missing pods too (R83)", () => {
  for (const overrides of [{ metric: null }, { phase: "Pending" }]) {
    const { lo, hi } = propose([
      ...readings(3, 2000),
      reading(0, { ...overrides, requests: { born: 1000n, full: 4000n } }),
    ]);
    // 6000 are 85 % of 7000, and 150 % of 4000.
    assertEquals([lo, hi], [5, 9]);
  }
});

Deno.test("proposeByPods() scales in by the usage of a pod at its limit as if it were full-grown (R83, R85)", () => {
  const calm = readings(9, 50, { requests });
  // By 650 of 5000 there would be 2; with 2000 for the clipped one 2450 are 49 %, 7 of 10.
  assertEquals(propose([...calm, reading(200, { requests })]).replicas, 2);
  const { replicas, hi, lo, hold, ratio } = propose([...calm, reading(200, { requests, isClipped: true })]);
  assertEquals([replicas, hi, lo, hold], [7, 7, 1, undefined]);
  assertEquals(ratio, 49 / 70);
});

Deno.test("proposeByPods() never scales out by a pod at its limit, it holds: VerticalUp (R83, R85)", () => {
  const { replicas, hi, hold } = propose(readings(4, 200, { requests, isClipped: true }));
  assertEquals([replicas, hi, hold], [4, 4, "VerticalUp"]);
});

Deno.test("proposeByPods() counts a pod at its limit with no less than it uses (R83, R85)", () => {
  const clipped = [2300, 100].map((used) => reading(used, { requests, isClipped: true }));
  // 130, 2300 and 2000 are 59 % of 7500.
  assertEquals(propose([...readings(13, 10, { requests }), ...clipped]).hi, 13);
});

Deno.test("proposeByPods() lets pods at their limit count in nothing but scale-in (R83, R85)", () => {
  const used = readings(4, 1700, { requests });
  assertEquals(propose(readings(4, 1700, { requests, isClipped: true })), propose(used));
});

Deno.test("proposeByPods() does not raise the usage of a pod at its limit that is unready (R83, R85)", () => {
  const young = { ready: { status: "False", at: NOW - 3_600_000 }, requests, isClipped: true } as const;
  assertEquals(propose([...readings(4, 100, { requests }), reading(200, young)]).hold, undefined);
});

Deno.test("proposeByPods() never turns back at the same load (R83, R87)", () => {
  const size = fc.record({ born: fc.integer({ min: 50, max: 2000 }), factor: fc.integer({ min: 1, max: 8 }) });
  fc.assert(fc.property(
    fc.integer({ min: 1, max: 60 }),
    fc.integer({ min: 100, max: 200_000 }),
    size,
    (count, load, { born, factor }) => {
      const share = { born: BigInt(born), full: BigInt(born * factor) };
      const settle = (replicas: number) =>
        propose(readings(replicas, Math.floor(load / replicas), { requests: share })).replicas;
      const once = Math.max(1, settle(count));
      // What tolerance leaves open may move it once more, but never back.
      const twice = Math.max(1, settle(once));
      assert(Math.sign(twice - once) * Math.sign(once - count) >= 0, `${count} -> ${once} -> ${twice}`);
    },
  ));
});
