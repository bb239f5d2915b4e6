/**
 * From points to samples: rates, repeats, restarts, and impossible numbers.
 * Clauses: C21, C22.
 */
import { assertEquals } from "#assert";
import { newSampling, nextSampling, type PointContext, type SamplingStep } from "../../lib/vertical/samples.ts";
import type { Sampling } from "../../lib/model/state.ts";
import { MI, point, type PointOverrides, SECOND, START } from "../support/builders.ts";

const CONTEXT: PointContext = {
  now: START,
  capacity: { cpuMillicores: 8000, memoryBytes: 32768 * MI },
  podUsageBytes: 150 * MI,
  cpuLimitMillicores: null,
  throttling: "measure",
};

/** One point accepted at START, with a counter of 1s. */
const STARTED: Sampling = take(newSampling(START), {}).sampling;

function step(sampling: Sampling, overrides: PointOverrides, now = START): SamplingStep {
  return nextSampling(sampling, point(overrides), { ...CONTEXT, now });
}

function take(sampling: Sampling, overrides: PointOverrides, now = START) {
  const taken = step(sampling, overrides, now);
  if (taken.kind === "nothing" || taken.kind === "implausible") throw new Error(`Cannot go on: ${taken.kind}`);
  return taken;
}

function millicores(taken: SamplingStep): number | null {
  return taken.kind === "sample" ? taken.sample.cpuMillicores : null;
}

Deno.test("nextSampling() only warms up with a first point (C21)", () => {
  assertEquals(take(newSampling(START), {}).kind, "warmup");
  assertEquals(STARTED.sample, null);
});

Deno.test("nextSampling() divides the counter's growth by the samples' own times (C21)", () => {
  // 2.5 s of cpu in 10 s by the node's clock; received after 17 s by ours.
  const taken = step(STARTED, { at: START + 10 * SECOND, counterNs: 3.5e9 }, START + 17 * SECOND);
  assertEquals(taken.kind === "sample" && taken.sample, {
    at: START + 10 * SECOND,
    from: START,
    seenAt: START + 17 * SECOND,
    cpuMillicores: 250,
    heldBack: null,
    isSaturated: false,
    demandMillicores: 250,
    workingSetBytes: 100 * MI,
    usageBytes: 110 * MI,
    podUsageBytes: 150 * MI,
  });
});

/** [sentence, what differs from a good next point at +5s with 1.5s of cpu, kind] */
const STEPS: readonly [string, PointOverrides, SamplingStep["kind"]][] = [
  ["takes a good next point", {}, "sample"],
  ["takes a point four resolutions away", { at: START + 4 * SECOND }, "sample"],
  [
    "takes a point of a finer source that is 40ms away",
    { at: START + 40, resolutionMs: 10, counterNs: 1.01e9 },
    "sample",
  ],
  ["takes a point without growth as a rate of zero", { counterNs: 1e9 }, "sample"],
  ["ignores a repeat", { at: START, counterNs: 1e9 }, "nothing"],
  ["ignores a point at the same time with a grown counter", { at: START }, "nothing"],
  ["ignores a point that steps back a second with a grown counter", { at: START - SECOND }, "nothing"],
  ["ignores a point closer than four resolutions", { at: START + 3999 }, "nothing"],
  ["starts over when another run of the container began", { instance: "run-2" }, "restarted"],
  ["starts over when another run began at the same time", { instance: "run-2", at: START }, "restarted"],
  ["starts over when the counter is lower", { counterNs: 0.9e9 }, "restarted"],
  ["starts over when the counter is lower and the point close", { counterNs: 1e6, at: START + SECOND }, "restarted"],
  ["starts over at the zeros of a container that has exited", { counterNs: 0, workingSetBytes: 0 }, "restarted"],
  ["takes a container without memory for running while its counter stands", { workingSetBytes: 0 }, "sample"],
  ["skips a rate that is more than the node has", { counterNs: 1e9 + 49e9 }, "implausible"],
  ["takes a rate that only the time's rounding lifts above the node", { counterNs: 1e9 + 47e9 }, "sample"],
  ["skips memory that is more than the node has", { workingSetBytes: 32769 * MI }, "implausible"],
  ["skips a negative counter", { counterNs: -1 }, "implausible"],
  ["skips a counter that is not a number", { counterNs: NaN }, "implausible"],
  ["skips negative memory", { workingSetBytes: -1 }, "implausible"],
  ["skips memory that is not a number", { workingSetBytes: NaN }, "implausible"],
  ["skips page cache that is more than the node has", { usageBytes: 32769 * MI }, "implausible"],
  ["skips page cache that is not a number", { usageBytes: NaN }, "implausible"],
  ["skips a time that is not a number", { at: NaN }, "implausible"],
];

for (const [sentence, differs, kind] of STEPS) {
  Deno.test(`nextSampling() ${sentence} (C21, C22)`, () => {
    assertEquals(step(STARTED, { at: START + 5 * SECOND, counterNs: 1.5e9, ...differs }).kind, kind);
  });
}

Deno.test("nextSampling() believes any size on a node whose capacity is unknown", () => {
  const context = { ...CONTEXT, capacity: { cpuMillicores: null, memoryBytes: null } };
  const huge = point({ at: START + 5 * SECOND, counterNs: 1e15, workingSetBytes: 1e13 });
  assertEquals(nextSampling(STARTED, huge, context).kind, "sample");
});

Deno.test("nextSampling() skips what no node has, even where the capacity is unknown (C22)", () => {
  const context = { ...CONTEXT, capacity: { cpuMillicores: null, memoryBytes: null } };
  for (const odd of [{ counterNs: 1e300 }, { workingSetBytes: 1e15 }, { usageBytes: 1e15 }]) {
    assertEquals(nextSampling(STARTED, point({ at: START + 5 * SECOND, ...odd }), context).kind, "implausible");
  }
});

for (const podUsageBytes of [NaN, -1, Infinity, 1e15]) {
  Deno.test(`nextSampling() knows no usage of a pod that says ${podUsageBytes}`, () => {
    const next = point({ at: START + 5 * SECOND, counterNs: 1.5e9 });
    const taken = nextSampling(STARTED, next, { ...CONTEXT, podUsageBytes });
    assertEquals(taken.kind === "sample" && taken.sample.podUsageBytes, null);
  });
}

Deno.test("nextSampling() keeps the older anchor over points that are too close (C21)", () => {
  assertEquals(step(STARTED, { at: START + 3 * SECOND, counterNs: 9e9 }).kind, "nothing");
  assertEquals(millicores(step(STARTED, { at: START + 6 * SECOND, counterNs: 1.6e9 })), 100);
});

Deno.test("nextSampling() measures the next rate from the first point after a restart (C22)", () => {
  const restarted = take(STARTED, { instance: "run-2", at: START + 10 * SECOND, counterNs: 0.1e9 }).sampling;
  assertEquals(restarted.sample, null);
  const next = step(restarted, { instance: "run-2", at: START + 20 * SECOND, counterNs: 1.1e9 });
  assertEquals(millicores(next), 100);
});

Deno.test("nextSampling() only warms up with the first point after the zeros, memory too (C22)", () => {
  const exited = take(STARTED, { at: START + 5 * SECOND, counterNs: 0, workingSetBytes: 0 }).sampling;
  const warm = take(exited, { instance: "run-2", at: START + 9 * SECOND });
  assertEquals(warm.kind, "warmup");
  assertEquals(step(warm.sampling, { instance: "run-2", at: START + 14 * SECOND, counterNs: 1.5e9 }).kind, "sample");
});

Deno.test("nextSampling() skips an implausible first point and starts with the next", () => {
  assertEquals(step(newSampling(START), { workingSetBytes: 32769 * MI }).kind, "implausible");
});

Deno.test("nextSampling() stays at the anchor after an implausible point (C22)", () => {
  assertEquals(step(STARTED, { at: START + 5 * SECOND, counterNs: 1e15 }).kind, "implausible");
  assertEquals(millicores(step(STARTED, { at: START + 10 * SECOND, counterNs: 2e9 })), 100);
});

const rate = { millicores: 120, windowMs: 15 * SECOND };
const RATED: Sampling = take(newSampling(START), { rate }).sampling;

/** A source that computes rates itself, metrics.k8s.io for one. */
const RATES: readonly [string, PointOverrides, SamplingStep["kind"]][] = [
  ["takes each later point", { at: START + 15 * SECOND }, "sample"],
  ["ignores a repeat", { at: START }, "nothing"],
  ["ignores an older point", { at: START - SECOND }, "nothing"],
  ["starts over with another run", { at: START + 15 * SECOND, instance: "run-2" }, "restarted"],
  [
    "starts over at zeros",
    { at: START + 15 * SECOND, rate: { ...rate, millicores: 0 }, workingSetBytes: 0 },
    "restarted",
  ],
  ["skips more than the node has", { at: START + 15 * SECOND, rate: { ...rate, millicores: 8001 } }, "implausible"],
  ["skips a negative rate", { at: START + 15 * SECOND, rate: { ...rate, millicores: -1 } }, "implausible"],
  ["skips more memory than the node has", { at: START + 15 * SECOND, workingSetBytes: 32769 * MI }, "implausible"],
];

for (const [sentence, differs, kind] of RATES) {
  Deno.test(`nextSampling() of a source of rates ${sentence} (C22)`, () => {
    assertEquals(step(RATED, { rate, ...differs }).kind, kind);
  });
}

Deno.test("nextSampling() believes a source's rate from its first point on, over its own window", () => {
  const taken = step(newSampling(START), { rate });
  assertEquals(taken.kind === "sample" && [taken.sample.cpuMillicores, taken.sample.from, taken.sample.at], [
    120,
    START - 15 * SECOND,
    START,
  ]);
});

Deno.test("nextSampling() lets a rate seen first after a restart only warm up: it may be of the run before", () => {
  const warm = take(newSampling(START, true), { rate });
  assertEquals(warm.kind, "warmup");
  assertEquals(step(warm.sampling, { rate, at: START + 15 * SECOND }).kind, "sample");
});

Deno.test("nextSampling() takes an older time for a node's clock that stepped back once it is warming up (C22)", () => {
  const silent = { ...STARTED, warming: true };
  const older = { at: START - 30 * 60 * SECOND, counterNs: 3e9 };
  assertEquals(step(silent, older, START).kind, "warmup");
  assertEquals(step(STARTED, older, START).kind, "nothing");
});

Deno.test("nextSampling() starts a rate source over, too, when its clock stepped back during a silence (C22)", () => {
  const older = { at: START - 60 * SECOND, rate: { millicores: 90, windowMs: 10 * SECOND } };
  assertEquals(step({ ...STARTED, warming: true }, older, START).kind, "warmup");
  assertEquals(step(STARTED, older, START).kind, "nothing");
});
