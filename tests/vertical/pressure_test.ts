/**
 * How much CPU a limit throttled between two points, and the usage without the limit.
 * Clauses: L20, L21.
 */
import { assertAlmostEquals, assertEquals } from "#assert";
import type { Pressure } from "../../lib/api/usage.ts";
import { computeHeldBack, type CpuLimitContext, type UsageInterval } from "../../lib/vertical/samples.ts";
import { SECOND } from "../support/builders.ts";

const LIMITED: CpuLimitContext = { cpuLimitMillicores: 200, nodeMillicores: 8000, measures: true };

function pressure(overrides: Partial<Pressure> = {}): Pressure {
  return { fullNs: null, throttledNs: null, largestCpuNs: null, ...overrides };
}

/** Ten seconds of which PSI says that this share was lost; its means agree. */
function stalled(share: number, overrides: Partial<UsageInterval> = {}): UsageInterval {
  return {
    elapsedMs: 10 * SECOND,
    resolutionMs: SECOND,
    cpuMillicores: 150,
    before: pressure({ fullNs: 5e9, fullHint: { unit: "us", percent: 0 } }),
    after: pressure({ fullNs: 5e9 + share * 10e9, fullHint: { unit: "us", percent: share * 63 } }),
    ...overrides,
  };
}

/** Ten seconds in which `cpus` CPUs shared 168m and were throttled in this share of the time. */
function throttled(share: number, cpus: number, overrides: Partial<UsageInterval> = {}): UsageInterval {
  return {
    elapsedMs: 10 * SECOND,
    resolutionMs: SECOND,
    cpuMillicores: 168,
    before: pressure({ throttledNs: 1e9, largestCpuNs: 7e9 }),
    after: pressure({ throttledNs: 1e9 + share * cpus * 10e9, largestCpuNs: 7e9 + 1.68e9 / cpus }),
    ...overrides,
  };
}

Deno.test("computeHeldBack() takes 95 % of the limit for full, with or without a measure (L20)", () => {
  const unmeasured = { before: null, after: null };
  const read = (cpuMillicores: number, limit: number | null) =>
    computeHeldBack(stalled(0, { ...unmeasured, cpuMillicores }), { ...LIMITED, cpuLimitMillicores: limit })
      .isSaturated;
  assertEquals([read(190, 200), read(189, 200), read(190, null)], [true, false, false]);
});

Deno.test("computeHeldBack() takes a tenth of the time held back for saturated (L20)", () => {
  const read = (share: number) => computeHeldBack(stalled(share), LIMITED);
  assertEquals([read(0.1).isSaturated, read(0.09).isSaturated], [true, false]);
  assertAlmostEquals(read(0.4).heldBack ?? 0, 0.4, 1e-9);
});

Deno.test("computeHeldBack() lets `full` count for a limit that is set and half used, or that throttled (L20)", () => {
  const unlimited = computeHeldBack(stalled(0.5), { ...LIMITED, cpuLimitMillicores: null });
  assertEquals([unlimited.heldBack, unlimited.isSaturated, unlimited.demandMillicores], [null, false, 150]);
  assertEquals(computeHeldBack(stalled(0.5, { cpuMillicores: 99 }), LIMITED).heldBack, null);
  assertEquals(computeHeldBack(stalled(0.5, { cpuMillicores: 100 }), LIMITED).heldBack, 0.5);
  const both = stalled(0.5, {
    cpuMillicores: 50,
    before: pressure({ fullNs: 0, throttledNs: 0, largestCpuNs: 0 }),
    after: pressure({ fullNs: 5e9, throttledNs: 1e9, largestCpuNs: 5e8 }),
  });
  assertEquals(computeHeldBack(both, LIMITED).heldBack, 0.5);
});

Deno.test("computeHeldBack() spans no change of the unit, and no counter that started over (L20)", () => {
  const before = pressure({ fullNs: 5e9, fullHint: { unit: "ns", percent: 50 } });
  assertEquals(computeHeldBack(stalled(0.5, { before }), LIMITED).heldBack, null);
  const higher = pressure({ fullNs: 50e9, fullHint: { unit: "us", percent: 50 } });
  assertEquals(computeHeldBack(stalled(0.5, { before: higher }), LIMITED).heldBack, null);
  assertEquals(computeHeldBack(stalled(0.5, { before: null }), LIMITED).heldBack, null);
});

Deno.test("computeHeldBack() doubts a total that the kernel's own means do not bear out (L20)", () => {
  // Half a thousandth, in nanoseconds that were taken for microseconds.
  const after = pressure({ fullNs: 5e9 + 5e9, fullHint: { unit: "us", percent: 0.05 } });
  assertEquals(computeHeldBack(stalled(0.5, { after }), LIMITED).heldBack, null);
  const tooMuch = pressure({ fullNs: 5e9 + 12e9, fullHint: { unit: "us", percent: 90 } });
  assertEquals(computeHeldBack(stalled(0.5, { after: tooMuch }), LIMITED).heldBack, null);
  // Whole seconds: up to one more than the interval is all of it.
  const all = pressure({ fullNs: 5e9 + 10.9e9, fullHint: { unit: "us", percent: 90 } });
  assertEquals(computeHeldBack(stalled(0.5, { after: all }), LIMITED).heldBack, 1);
  // A source that knows its unit gives no means.
  const sure = { before: pressure({ fullNs: 0 }), after: pressure({ fullNs: 5e9 }) };
  assertEquals(computeHeldBack(stalled(0.5, sure), LIMITED).heldBack, 0.5);
});

Deno.test("computeHeldBack() divides usage by the time that was left, up to four times usage and the node's CPUs (L21)", () => {
  const demand = (share: number, nodeMillicores: number | null = 8000) =>
    computeHeldBack(stalled(share), { ...LIMITED, nodeMillicores }).demandMillicores;
  assertAlmostEquals(demand(0.5), 300, 1e-6);
  assertAlmostEquals(demand(0.7), 500, 1e-6);
  assertEquals([demand(0.9), demand(1), demand(1, null)], [600, 600, 600]);
  assertEquals([demand(0.7, 400), demand(0.7, 100)], [400, 150]);
  assertEquals(computeHeldBack(stalled(1, { cpuMillicores: 0 }), LIMITED).demandMillicores, 0);
});

Deno.test("computeHeldBack() shares throttled time out over the CPUs that ran the container (L21)", () => {
  const one = computeHeldBack(throttled(0.5, 1), LIMITED);
  assertAlmostEquals(one.heldBack ?? 0, 0.5, 1e-9);
  assertAlmostEquals(one.demandMillicores, 336, 1e-6);
  const two = computeHeldBack(throttled(0.5, 2), LIMITED);
  assertAlmostEquals(two.heldBack ?? 0, 0.5, 1e-9);
  // A second that the counters do not agree on makes no CPU out of less than one.
  const skewed = throttled(0.5, 1, { after: pressure({ throttledNs: 6e9, largestCpuNs: 7e9 + 3e9 }) });
  assertAlmostEquals(computeHeldBack(skewed, LIMITED).heldBack ?? 0, 0.5, 1e-9);
});

Deno.test("computeHeldBack() takes all of the node's CPUs for those that were throttled where none is told apart (L21)", () => {
  const ends = { before: pressure({ throttledNs: 0 }), after: pressure({ throttledNs: 8e9 }) };
  assertAlmostEquals(computeHeldBack(throttled(0, 1, ends), LIMITED).heldBack ?? 0, 0.1, 1e-9);
  assertEquals(computeHeldBack(throttled(0, 1, ends), { ...LIMITED, nodeMillicores: null }).heldBack, null);
});

Deno.test("computeHeldBack() makes nothing up without a measure, nor under `throttling: ignore` (L21)", () => {
  const unmeasured = computeHeldBack(stalled(0, { cpuMillicores: 200, before: null, after: null }), LIMITED);
  assertEquals(unmeasured, { heldBack: null, isSaturated: true, demandMillicores: 200 });
  const ignored = computeHeldBack(stalled(0.5, { cpuMillicores: 200 }), { ...LIMITED, measures: false });
  assertEquals(ignored, { heldBack: null, isSaturated: false, demandMillicores: 200 });
});
