/**
 * One field at a time: usage / target, bounds, step, rounding. Amounts of memory are in Mi where noted.
 * Clauses: C33.
 */
import { assertEquals } from "#assert";
import type { CapName } from "../../lib/vertical/sizing/caps.ts";
import { type FitContext, fitSizes, type SizedField } from "../../lib/vertical/sizing/candidate.ts";
import { computeTargetSize } from "../../lib/vertical/proposals.ts";
import type { Bounds } from "../../lib/model/autoscaler.ts";
import type { ResourceField } from "../../lib/units/resources.ts";
import { MI, resources, side } from "../support/builders.ts";

interface Case {
  readonly direction?: "up" | "down";
  readonly key?: ResourceField;
  readonly usage: number;
  readonly actual: number;
  readonly target?: number;
  readonly bounds?: Partial<Bounds>;
}

function sizeOne(
  { direction = "up", key = "cpu.requests", usage, actual, target = 50, bounds = {} }: Case,
): SizedField {
  const context: FitContext = {
    direction,
    base: resources({ [key]: actual }),
    memoryFloor: { kind: "floor", bytes: 0 },
    makesGuaranteed: () => false,
  };
  const rule = side(key, { targetUtilizationPercent: target, bounds });
  const [sized] = fitSizes([{ rule, amount: computeTargetSize(rule.up, usage), actual }], context);
  if (sized === undefined) throw new Error("Cannot size: no result");
  return sized;
}

/** [sentence, case, amount, capped by] */
const MOVES: readonly [string, Case, number, CapName | null][] = [
  ["up to usage / target", { usage: 100, actual: 110 }, 200, null],
  ["down to usage / target", { direction: "down", usage: 10, actual: 100 }, 20, null],
  ["a broken millicore up to a whole one", { usage: 100.2, actual: 110, target: 70 }, 144, null],
  ["a broken millicore up on the way down too", { direction: "down", usage: 10, actual: 100, target: 70 }, 15, null],
  [
    "an amount that is whole but for float noise to itself",
    { usage: 77.00000000000001, actual: 100, target: 70 },
    110,
    null,
  ],
  ["memory up to a whole Mi", { key: "memory.requests", usage: 100 * MI + 1, actual: 110 * MI }, 201 * MI, null],
  ["no further than max", { usage: 100, actual: 110, bounds: { max: 150 } }, 150, "max"],
  ["no further down than min", { direction: "down", usage: 10, actual: 100, bounds: { min: 40 } }, 40, "min"],
  ["up by no more than step", { usage: 100, actual: 110, bounds: { step: 30 } }, 140, "step"],
  ["down by no more than step", { direction: "down", usage: 10, actual: 100, bounds: { step: 30 } }, 70, "step"],
  ["up by no more than stepPercent of actual", { usage: 100, actual: 120, bounds: { stepPercent: 25 } }, 150, "step"],
  [
    "by step where stepPercent is the larger cap",
    { usage: 100, actual: 120, bounds: { step: 20, stepPercent: 25 } },
    140,
    "step",
  ],
  [
    "by stepPercent where step is the larger cap",
    { usage: 100, actual: 120, bounds: { step: 40, stepPercent: 25 } },
    150,
    "step",
  ],
  ["a step that does not divide rounded up", { usage: 100, actual: 110, bounds: { stepPercent: 25 } }, 138, "step"],
  [
    "down by a step rounded up, hence a little less than the step",
    { direction: "down", usage: 10, actual: 110, bounds: { stepPercent: 25 } },
    83,
    "step",
  ],
  ["at least one unit up though the step is smaller", { usage: 9, actual: 3, bounds: { stepPercent: 10 } }, 4, "step"],
  [
    "at least one unit down though the step is smaller",
    { direction: "down", usage: 0.5, actual: 3, bounds: { stepPercent: 10 } },
    2,
    "step",
  ],
  [
    "unaligned memory by at least one Mi, to a whole one",
    { key: "memory.requests", usage: 50.3 * MI, actual: 100.5 * MI },
    102 * MI,
    null,
  ],
  [
    "unaligned memory down to a whole Mi",
    { direction: "down", key: "memory.requests", usage: 30 * MI, actual: 100.5 * MI },
    60 * MI,
    null,
  ],
  [
    "to an unaligned max exactly",
    { key: "memory.limits", usage: 80 * MI, actual: 90 * MI, bounds: { max: 100_000_000 } },
    100_000_000,
    "max",
  ],
  [
    "to an unaligned min exactly when rounding would miss it",
    { direction: "down", key: "memory.requests", usage: MI, actual: 61 * MI, bounds: { min: 60.5 * MI } },
    60.5 * MI,
    "min",
  ],
  ["up to a min above actual, step or not", { usage: 70, actual: 50, bounds: { min: 100, step: 20 } }, 100, "step"],
  ["up to a min above the recommendation", { usage: 30, actual: 50, bounds: { min: 100 } }, 100, "min"],
  [
    "down to a max below actual, step or not",
    { direction: "down", usage: 100, actual: 300, bounds: { max: 150, step: 20 } },
    150,
    "step",
  ],
  ["down to 1m of a container that idles", { direction: "down", usage: 0, actual: 100 }, 1, null],
];

for (const [sentence, differs, to, cappedBy] of MOVES) {
  Deno.test(`fit() moves ${sentence} (C33)`, () => {
    const { key = "cpu.requests" } = differs;
    assertEquals(sizeOne(differs), { kind: "moves", key, to, cappedBy });
  });
}

/** [sentence, case, reason] */
const HOLDS: readonly [string, Case, "AtBound" | "AtTarget"][] = [
  ["an up whose desired is what it has", { usage: 50, actual: 100 }, "AtTarget"],
  [
    "an up whose desired is less than it has: the target lies above the threshold",
    { usage: 40, actual: 100 },
    "AtTarget",
  ],
  [
    "an up whose desired is less than it has, though its min is more",
    { usage: 40, actual: 100, bounds: { min: 120 } },
    "AtTarget",
  ],
  ["a down whose desired is what it has", { direction: "down", usage: 50, actual: 100 }, "AtTarget"],
  ["a down whose desired is more than it has", { direction: "down", usage: 60, actual: 100 }, "AtTarget"],
  ["a down whose desired rounds up to what it has", { direction: "down", usage: 1.2, actual: 3 }, "AtTarget"],
  [
    "a down of less than one Mi of unaligned memory",
    { direction: "down", key: "memory.requests", usage: 49.9 * MI, actual: 100.5 * MI },
    "AtTarget",
  ],
  ["an up at its max", { usage: 100, actual: 150, bounds: { max: 150 } }, "AtBound"],
  ["a down at its min", { direction: "down", usage: 10, actual: 40, bounds: { min: 40 } }, "AtBound"],
  ["an up above its max: bounds never turn it round", { usage: 100, actual: 180, bounds: { max: 150 } }, "AtBound"],
  ["a down below its min: bounds never turn it round", {
    direction: "down",
    usage: 10,
    actual: 30,
    bounds: { min: 40 },
  }, "AtBound"],
  ["a down at 1m", { direction: "down", usage: 0, actual: 1 }, "AtBound"],
  [
    "a down of memory that is less than a unit",
    { direction: "down", key: "memory.requests", usage: 0, actual: 1000 },
    "AtTarget",
  ],
];

for (const [sentence, differs, reason] of HOLDS) {
  Deno.test(`fit() holds ${sentence}, ${reason} (C33)`, () => {
    const sized = sizeOne(differs);
    assertEquals(sized.kind === "holds" ? sized.reason : sized, reason);
  });
}
