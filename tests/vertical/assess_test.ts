/**
 * The assessment of each field, and the direction that is chosen among proposals.
 * Clauses: C30, C32.
 */
import { assertEquals } from "#assert";
import { type AutoscalerView, NO_EVIDENCE, NO_SHORTAGE } from "../../lib/model/state.ts";
import { newSampling } from "../../lib/vertical/samples.ts";
import { assessFields, chooseDirection, type Proposal } from "../../lib/vertical/proposals.ts";
import { MI, sample, side, SIZE, START } from "../support/builders.ts";

function view(overrides: Partial<AutoscalerView> = {}): AutoscalerView {
  const sampling = { ...newSampling(START), sample: sample() };
  return {
    generation: 1,
    container: "main",
    dueAt: 0,
    sampling,
    streaks: {},
    evidence: NO_EVIDENCE,
    wantedSince: null,
    shortage: NO_SHORTAGE,
    limited: null,
    vetoedSince: null,
    silentSince: null,
    notified: {},
    ...overrides,
  };
}

Deno.test("assessFields() gives utilization, and wants a direction only by a full streak (C30, C32)", () => {
  const peaks = { peakUsage: 90, olderPeakUsage: null, peakUsageBytes: null, olderPeakUsageBytes: null };
  const streak = { direction: "up" as const, isSaturated: false, ...peaks };
  const sides = [side("cpu.requests"), side("cpu.limits", { consecutiveSamples: 3 }), side("memory.requests")];
  const streaks = { "cpu.requests": { ...streak, count: 2 }, "cpu.limits": { ...streak, count: 2 } };
  assertEquals(assessFields(sides, view({ streaks }), { ...SIZE, "memory.requests": null }), [
    { key: "cpu.requests", usage: 90, demand: 90, baseline: 100, utilizationPercent: 90, samples: 2, wanted: "up" },
    { key: "cpu.limits", usage: 90, demand: 90, baseline: 200, utilizationPercent: 45, samples: 2, wanted: null },
    {
      key: "memory.requests",
      usage: 64 * MI,
      demand: 64 * MI,
      baseline: null,
      utilizationPercent: null,
      samples: 0,
      wanted: null,
    },
  ]);
});

Deno.test("assessFields() knows no usage before the first sample", () => {
  const [one] = assessFields([side("cpu.requests")], view({ sampling: newSampling(START) }), SIZE);
  assertEquals([one?.usage, one?.utilizationPercent, one?.wanted], [null, null, null]);
});

function proposal(overrides: Partial<Proposal> = {}): Proposal {
  return { side: "cpu.requests", direction: "up", amount: 150, why: "", cause: "usage", ...overrides };
}

const down = proposal({ side: "cpu.limits", direction: "down", amount: 50 });

const CHOICES: readonly [string, readonly Proposal[], string][] = [
  ["up when any side wants up", [proposal()], "scaleUp cpu.requests 150"],
  ["up though another side wants down", [down, proposal()], "scaleUp cpu.requests 150"],
  ["down when a side wants down and none up", [down], "scaleDown cpu.limits 50"],
  ["where the more urgent go", [proposal(), { ...down, cause: "oom" }], "scaleDown cpu.limits 50"],
  ["by the larger of two amounts for one side", [proposal(), proposal({ amount: 200 })], "scaleUp cpu.requests 200"],
  ["by the larger of two amounts on the way down", [{ ...down, amount: 60 }, down], "scaleDown cpu.limits 60"],
  ["nowhere without a proposal", [], "nowhere"],
];
for (const [sentence, proposals, expected] of CHOICES) {
  Deno.test(`chooseDirection() goes ${sentence} (C32)`, () => {
    const choice = chooseDirection(proposals);
    const moves = choice?.proposals.map(({ side, amount }) => `${side} ${amount}`).join(", ");
    assertEquals(choice === null ? "nowhere" : `${choice.action} ${moves}`, expected);
  });
}
