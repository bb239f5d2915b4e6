/** What pods use as metrics-server would tell it, without one (R20 to R24). */
import { assert, assertEquals } from "#assert";
import type { Point } from "../../lib/api/usage.ts";
import { findPodMetric, nextRates, type PodRates } from "../../lib/horizontal/pod_metrics.ts";
import type { PodMetric } from "../../lib/model/replicas_decision.ts";
import { UsageTable } from "../../lib/usage/rows.ts";
import { container, MI, pod, point, type PointOverrides, SECOND, START } from "../support/builders.ts";

const NODE = { cpuMillicores: 8000, memoryBytes: 32768 * MI };
const POD = pod();
const TWO = pod({ containers: [container(), container({ name: "side", kind: "sidecar" })] });
const DONE = pod({ containers: [container({ runningAt: null })] });

interface Read {
  readonly points: readonly Point[];
  readonly readAt?: number;
  readonly facts?: typeof POD;
}

/** After readings of these points, each read when its first point was measured. Rows of them give the same. */
function follow(readings: readonly Read[], before: PodRates | null = null): PodRates | null {
  let rates = before;
  for (const { points, readAt = points[0]?.at ?? START, facts = POD } of readings) {
    const [before, usage, context] = [rates, { points, usageBytes: null }, { pod: facts, readAt, capacity: NODE }];
    rates = nextRates(before, usage, context);
    if (!points.every(({ cpu }) => cpu.kind === "counter")) continue;
    const rows = new UsageTable();
    rows.add(facts.uid, usage);
    assertEquals(nextRates(before, { rows, row: rows.findPod(facts.uid) }, context), rates);
  }
  return rates;
}

/** So many seconds after START the counter stood at so many ns. */
function at(seconds: number, counterNs: number, overrides: PointOverrides = {}): Read {
  return { points: [point({ at: START + seconds * SECOND, counterNs, ...overrides })] };
}

function read(rates: PodRates | null, options: Partial<Parameters<typeof findPodMetric>[1]> = {}): PodMetric | null {
  return findPodMetric(rates, { pod: POD, type: "cpu", container: null, now: START + 50 * SECOND, ...options });
}

Deno.test("readMetric() is the rate of the last two samples, cut to a nanocore and rounded up to 1m (R20, R21)", () => {
  // 250 ms of 15 s are 16.67m; metrics-server has 16666666n of it, and 17m comes of that.
  const rates = follow([at(0, 1e9), at(15, 5e9), at(30, 5.25e9)]);
  assertEquals(rates?.containers["main"]?.rate, { nanocores: 16_666_666, windowMs: 15 * SECOND });
  assertEquals(read(rates), { milli: 17n, at: START + 30 * SECOND, windowMs: 15 * SECOND });
  // Cut first: a millicore and less than a nanocore is a millicore.
  assertEquals(read(follow([at(0, 1e9), at(15, 1e9 + 15_000_014)]))?.milli, 1n);
  assertEquals(read(follow([at(0, 1e9), at(15, 1e9 + 15_000_015)]))?.milli, 2n);
});

Deno.test("readMetric() has memory as the newest working set, exact beyond 2^53 (R21)", () => {
  const big = 16_384 * MI + 1;
  const rates = follow([at(0, 1e9), at(15, 2e9, { workingSetBytes: big })]);
  assertEquals(read(rates, { type: "memory" })?.milli, BigInt(big) * 1000n);
});

Deno.test("readMetric() sums containers and native sidecars that run, each rounded by itself, at the time of the first (R21, R22)", () => {
  const points = (seconds: number, counterNs: number) => [
    point({ at: START + seconds * SECOND, counterNs }),
    point({ container: "side", at: START + (seconds + 4) * SECOND, counterNs: counterNs * 2 }),
    point({ container: "gone", at: START + (seconds - 9) * SECOND, counterNs: counterNs * 8 }),
  ];
  const facts = { ...TWO, containers: [...TWO.containers, container({ name: "gone", runningAt: null })] };
  const rates = follow([{ points: points(10, 1e9), facts }, { points: points(25, 1e9 + 15_000_015), facts }]);
  const first = { at: START + 25 * SECOND, windowMs: 15 * SECOND };
  assertEquals(read(rates, { pod: facts }), { milli: 5n, ...first }, "2m and 3m");
  assertEquals(read(rates, { pod: facts, container: "side" }), { milli: 3n, ...first }, "one's time is the pod's");
  assertEquals(read(rates, { pod: facts, container: "gone" }), null);
});

Deno.test("readMetric() misses a pod while a container that runs has no rate yet, whichever is asked for (R23)", () => {
  const main = [at(0, 1e9), at(15, 2e9)].map(({ points }) => ({ points, facts: TWO }));
  assertEquals([null, "main"].map((container) => read(follow(main), { pod: TWO, container })), [null, null]);
  assertEquals(read(follow([at(0, 1e9)])), null, "one sample is no rate");
  assertEquals(read(null), null);
  assertEquals(read(follow([at(0, 1e9), at(15, 2e9)]), { pod: DONE }), null, "nothing runs");
});

Deno.test("readMetric() misses a pod whose newest sample was first seen 60 s ago, however often it is read (R23, R24)", () => {
  const repeats = [20, 30, 45, 60].map((seconds) => ({ ...at(15, 2e9), readAt: START + seconds * SECOND }));
  const rates = follow([at(0, 1e9), at(15, 2e9), ...repeats]);
  assertEquals(read(rates, { now: START + 75 * SECOND - 1 })?.milli, 67n);
  assertEquals(read(rates, { now: START + 75 * SECOND }), null);
  assertEquals(read(rates, { now: START - 45 * SECOND }), null, "the clock stepped back");
});

Deno.test("nextRates() begins anew where the counter fell, the instance changed or nobody read for 60 s (R23)", () => {
  const seen = follow([at(0, 8e9), at(15, 9e9)]);
  assertEquals(read(follow([at(30, 3e9)], seen)), null, "fell");
  assertEquals(read(follow([at(30, 3e9), at(45, 4e9)], seen))?.milli, 67n);
  assertEquals(read(follow([at(30, 9.5e9, { instance: "run-2" })], seen)), null, "another instance");
  assertEquals(read(follow([at(75, 12e9)], seen), { now: START + 80 * SECOND }), null, "silence");
  assertEquals(read(follow([at(74, 11.95e9)], seen), { now: START + 80 * SECOND })?.milli, 50n);
  assertEquals(read(follow([at(30, 0)], seen)), null, "the zeros of a container that has ended");
  assertEquals(read(follow([at(30, 9.5e9, { workingSetBytes: 0 })], seen)), null);
});

Deno.test("nextRates() joins samples until 8 s lie between them, and takes no older one (R20)", () => {
  const fast = Array.from({ length: 20 }, (_, second) => at(second, 1e9 + second * 0.1e9));
  assertEquals(read(follow(fast)), { milli: 100n, at: START + 16 * SECOND, windowMs: 8 * SECOND });
  const seen = follow([at(0, 1e9), at(15, 2e9)]);
  const late = { ...at(2, 1.5e9), readAt: START + 20 * SECOND };
  assert(follow([late], seen) === seen);
});

Deno.test("nextRates() counts a new container's first sample from its start, at an age of 10 to 15 s (R20, R23)", () => {
  const facts = (age: number) => pod({ containers: [container({ runningAt: START - age * SECOND })] });
  const milli = (age: number) => {
    const rates = follow([{ ...at(0, 1.2e9), facts: facts(age) }]);
    return read(rates, { pod: facts(age) });
  };
  assertEquals(milli(12), { milli: 100n, at: START, windowMs: 12 * SECOND });
  assertEquals([10, 14].map((age) => milli(age)?.milli), [120n, 86n]);
  assertEquals([9, 15].map(milli), [null, null]);
});

Deno.test("nextRates() takes the rates of a source that has them, from the first on (R21)", () => {
  const rate = { millicores: 12.000001, windowMs: 17 * SECOND };
  const rates = follow([{ points: [point({ rate })] }]);
  assertEquals(read(rates), { milli: 13n, at: START, windowMs: 17 * SECOND });
  const next = follow([{ points: [point({ rate: { ...rate, millicores: 0 }, at: START + 1 * SECOND })] }], rates);
  assertEquals(read(next)?.milli, 0n, "idle is no end");
});

Deno.test("nextRates() leaves out what no node has, and what is not a number (R23)", () => {
  const seen = follow([at(0, 1e9), at(15, 2e9)]);
  const wrong = [
    at(30, 2e9 + 15 * 8.1e9),
    at(30, NaN),
    at(30, Infinity),
    at(30, -1),
    at(NaN, 3e9),
    at(30, 3e9, { workingSetBytes: 32769 * MI }),
    at(30, 3e9, { workingSetBytes: -1 }),
    { points: [point({ at: START + 30 * SECOND, rate: { millicores: 8001, windowMs: 1000 } })] },
    { points: [point({ at: START + 30 * SECOND, rate: { millicores: NaN, windowMs: 1000 } })] },
    { points: [] },
  ];
  for (const one of wrong) assert(follow([{ ...one, readAt: START + 31 * SECOND }], seen) === seen);
});

Deno.test("nextRates() keeps nothing of containers that the pod has not, and none that ends by itself (R21)", () => {
  const points = [point({ container: "main" }), point({ container: "init" }), point({ container: "other" })];
  const facts = pod({ containers: [container({ name: "init", kind: "init" }), container()] });
  assertEquals(Object.keys(follow([{ points, facts }])?.containers ?? {}), ["main"]);
});
