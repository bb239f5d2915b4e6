/**
 * One sample against the thresholds, and streaks, one step at a time.
 * Clauses: C30, C31, C36, C46.
 */
import { assertEquals } from "#assert";
import { type AutoscalerView, NO_EVIDENCE } from "../../lib/model/state.ts";
import {
  compareWithThresholds,
  findUsage,
  isSampleCounted,
  nextStreaks,
  nextStreaksOfSample,
} from "../../lib/vertical/streaks.ts";
import { findBaseline } from "../../lib/model/autoscaler.ts";
import { MI, policy, resources, sample, side, SIZE, START } from "../support/builders.ts";

const LINES: readonly [string, number, "up" | "down" | null][] = [
  ["up above the upper threshold", 81, "up"],
  ["up exactly at it", 80, "up"],
  ["nothing just below it", 79.999, null],
  ["nothing just above the lower threshold", 40.001, null],
  ["down exactly at it", 40, "down"],
  ["down below it", 1, "down"],
  ["down at nothing used", 0, "down"],
];
for (const [sentence, usage, direction] of LINES) {
  Deno.test(`judge() says ${sentence} (C31)`, () =>
    assertEquals(compareWithThresholds(side("cpu.requests"), usage, 100), direction));
}

Deno.test("judge() meets a threshold exactly where floats divide badly (C31)", () => {
  // 0.21 / 3 is less than 0.07, and 0.27 / 3 is more than 0.09.
  const upAt7 = side("cpu.requests", { scaleUpThresholdPercent: 7, scaleDownThresholdPercent: 0 });
  assertEquals(compareWithThresholds(upAt7, 0.21, 3), "up");
  const downAt9 = side("cpu.requests", { scaleUpThresholdPercent: 80, scaleDownThresholdPercent: 9 });
  assertEquals(compareWithThresholds(downAt9, 0.27, 3), "down");
});

Deno.test("readUsage() gives the rate of cpu, and the working set of memory without page cache (C21)", () => {
  const sides = [side("cpu.requests"), side("cpu.limits"), side("memory.requests"), side("memory.limits")];
  assertEquals(sides.map((one) => findUsage(one, sample())), [90, 90, 64 * MI, 64 * MI]);
  assertEquals(sides.map((one) => findUsage(one, null)), [null, null, null, null]);
});

Deno.test("findBaseline() takes a zero for none (C37)", () => {
  const actual = resources({ "cpu.requests": 0, "cpu.limits": 100 });
  assertEquals(findBaseline(side("cpu.requests"), actual), null);
  assertEquals(findBaseline(side("cpu.limits"), actual), 100);
  assertEquals(findBaseline(side("memory.limits"), actual), null);
});

Deno.test("nextStreaks() counts on in one direction, starts at one in the other, and ends in the band (C31)", () => {
  const sides = [side("cpu.requests")];
  const up = nextStreaks(sides, {}, { sample: sample(), actual: SIZE, evidence: NO_EVIDENCE });
  assertEquals(up["cpu.requests"]?.count, 1);
  const twice = nextStreaks(sides, up, { sample: sample(), actual: SIZE, evidence: NO_EVIDENCE });
  assertEquals(twice["cpu.requests"], {
    direction: "up",
    count: 2,
    isSaturated: false,
    peakUsage: 90,
    olderPeakUsage: null,
    peakUsageBytes: 70 * MI,
    olderPeakUsageBytes: null,
  });
  const down = nextStreaks(sides, twice, {
    sample: sample({ cpuMillicores: 10 }),
    actual: SIZE,
    evidence: NO_EVIDENCE,
  });
  assertEquals([down["cpu.requests"]?.direction, down["cpu.requests"]?.count], ["down", 1]);
  assertEquals(
    nextStreaks(sides, twice, { sample: sample({ cpuMillicores: 60 }), actual: SIZE, evidence: NO_EVIDENCE }),
    {},
  );
});

Deno.test("nextStreaks() has none for a side without baseline (C32)", () => {
  const actual = resources({ "cpu.requests": 0 });
  assertEquals(
    nextStreaks([side("cpu.requests"), side("memory.limits")], {}, { sample: sample(), actual, evidence: NO_EVIDENCE }),
    {},
  );
});

Deno.test("nextStreaks() counts each side for itself (C31)", () => {
  const sides = [side("cpu.requests"), side("cpu.limits"), side("memory.limits")];
  const streaks = nextStreaks(sides, {}, { sample: sample(), actual: SIZE, evidence: NO_EVIDENCE });
  assertEquals(Object.entries(streaks).map(([key, one]) => `${key} ${one.direction}`), [
    "cpu.requests up",
    "memory.limits down",
  ]);
});

const PEAKS: readonly [string, (number | null)[], number | null][] = [
  ["the highest of the streak", [70, 90, 80], 90],
  ["the highest known where one sample had none", [90, null, 80], 90],
  ["what came later where the first had none", [null, 80], 80],
  ["none where no sample had any", [null, null], null],
];
for (const [sentence, amounts, peak] of PEAKS) {
  Deno.test(`nextStreaks() remembers ${sentence} as peak (C46)`, () => {
    let streaks: AutoscalerView["streaks"] = {};
    for (const usageBytes of amounts) {
      const one = sample({ workingSetBytes: MI, usageBytes });
      streaks = nextStreaks([side("memory.limits", { consecutiveSamples: 3 })], streaks, {
        sample: one,
        actual: SIZE,
        evidence: NO_EVIDENCE,
      });
    }
    assertEquals(streaks["memory.limits"]?.peakUsageBytes, peak);
  });
}

Deno.test("isSampleCounted() wants half of the interval after the new size came into force (C31)", () => {
  const one = sample({ from: START, at: START + 10_000 });
  assertEquals(isSampleCounted(one, START + 5000), true);
  assertEquals(isSampleCounted(one, START + 5001), false);
});

Deno.test("nextStreaksOfSample() counts as nextStreaks(), and a sample of CPU alone leaves streaks of memory (C36)", () => {
  const rules = [side("cpu.requests"), side("memory.requests")];
  const autoscaler = policy({ sides: rules });
  const actual = resources({ "cpu.requests": 100, "memory.requests": 100 * MI });
  const usages = [[90, 90], [95, 99], [50, 85], [10, 50], [90, 10], [50, 50]] as const;
  let streaks: AutoscalerView["streaks"] = {};
  for (const [cpu, memory] of usages) {
    const one = sample({ demandMillicores: cpu, workingSetBytes: memory * MI });
    const taken = { sample: one, actual, evidence: NO_EVIDENCE };
    const ofCpu = nextStreaksOfSample(autoscaler, streaks, {
      ...taken,
      sample: { ...one, workingSetBytes: 0 },
      isCpuAlone: true,
    });
    assertEquals(ofCpu["memory.requests"], streaks["memory.requests"]);
    const next = nextStreaks(rules, streaks, taken);
    assertEquals(ofCpu["cpu.requests"], next["cpu.requests"]);
    assertEquals(nextStreaksOfSample(autoscaler, streaks, { ...taken, isCpuAlone: false }), next);
    streaks = next;
  }
});
