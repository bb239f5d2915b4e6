/**
 * The peak of a window, kept as a peak per thirtieth of it.
 * Clauses: L2.
 */
import { assertEquals } from "#assert";
import * as fc from "fast-check";
import { flattenState, type FlatView, toPodState } from "../../lib/model/flat_state.ts";
import { type Evidence, NEW_POD_STATE, NO_EVIDENCE, type Peaks } from "../../lib/model/state.ts";
import {
  findEvidence,
  findNextEvidence,
  findPeak,
  nextEvidence,
  nextPeaks,
  writeEvidence,
} from "../../lib/vertical/windows.ts";
import { MINUTE, SECOND, side, START } from "../support/builders.ts";
import { VIEW } from "./candidates.ts";

const WINDOW = 15 * MINUTE;

function feed(usages: readonly (readonly [at: number, usage: number])[], windowMs = WINDOW): Peaks {
  let peaks: Peaks | undefined;
  for (const [at, usage] of usages) peaks = nextPeaks(peaks, windowMs, { at: START + at, usage });
  if (peaks === undefined) throw new Error("Cannot feed nothing");
  return peaks;
}

Deno.test("nextPeaks() keeps the highest of the window, and forgets it a thirtieth after it (L2)", () => {
  const before = feed([[0, 90], [MINUTE, 50], [2 * MINUTE, 60]]);
  assertEquals(findPeak(before), 90);
  assertEquals(findPeak(nextPeaks(before, WINDOW, { at: START + WINDOW, usage: 10 })), 90);
  assertEquals(findPeak(nextPeaks(before, WINDOW, { at: START + WINDOW + 30 * SECOND, usage: 10 })), 60);
});

Deno.test("nextPeaks() takes a thirtieth without a sample for no gap (L2)", () => {
  assertEquals(findPeak(feed([[0, 90], [14 * MINUTE, 10]])), 90);
});

Deno.test("nextPeaks() keeps the higher of two in one thirtieth (L2)", () => {
  assertEquals(findPeak(feed([[0, 40], [SECOND, 90], [2 * SECOND, 50]])), 90);
});

Deno.test("nextPeaks() gives the same object where usage adds nothing to it (L2)", () => {
  const before = feed([[0, 90], [MINUTE, 50]]);
  assertEquals(nextPeaks(before, WINDOW, { at: START + MINUTE + SECOND, usage: 10 }) === before, true);
  const [, , third] = nextPeaks(before, WINDOW, { at: START + MINUTE + 30 * SECOND, usage: 10 }).pairs;
  assertEquals([before.pairs.length, third], [4, before.pairs[2]]);
});

Deno.test("nextPeaks() keeps what a window of another length has seen (L2)", () => {
  const before = feed([[0, 90], [10 * MINUTE, 50]]);
  assertEquals(findPeak(nextPeaks(before, 60 * MINUTE, { at: START + 40 * MINUTE, usage: 10 })), 90);
  assertEquals(findPeak(nextPeaks(before, 5 * MINUTE, { at: START + 12 * MINUTE, usage: 10 })), 50);
});

Deno.test("nextPeaks() is never below the true peak of the window, and holds at most 31 pairs (L2)", () => {
  const gaps = fc.array(fc.tuple(fc.integer({ min: 1, max: 90 }), fc.nat(1000)), { minLength: 1, maxLength: 200 });
  fc.assert(fc.property(gaps, (drawn) => {
    let peaks: Peaks | undefined;
    const seen: [number, number][] = [];
    let at = START;
    for (const [seconds, usage] of drawn) {
      at += seconds * SECOND;
      seen.push([at, usage]);
      peaks = nextPeaks(peaks, WINDOW, { at, usage });
      const within = (ms: number) => Math.max(...seen.filter(([when]) => when >= at - ms).map(([, used]) => used));
      const peak = findPeak(peaks) ?? 0;
      // The window, and up to a thirtieth more.
      if (peak < within(WINDOW) || peak > within(WINDOW + 30 * SECOND)) throw new Error(`${peak} at ${at - START}`);
      if (peaks.pairs.length > 62) throw new Error(`${peaks.pairs.length} numbers`);
    }
  }));
});

const down = (windowMs: number, percent: number | null) => ({
  down: { windowMs, percentile: percent === null ? null : { percent, halfLifeMs: 60 * MINUTE } },
});

/** The rules of an autoscaler, which may change between two samples. */
const RULES = [
  [side("cpu.requests", down(WINDOW, null)), side("cpu.limits", down(WINDOW, null))],
  [side("cpu.requests", down(WINDOW, null)), side("cpu.limits", down(5 * MINUTE, null))],
  [
    side("cpu.requests", down(0, null)),
    side("cpu.limits", down(WINDOW, null)),
    side("memory.requests", down(WINDOW, null)),
  ],
  [side("cpu.requests", down(0, 90)), side("cpu.limits", down(0, 50)), side("memory.limits", down(WINDOW, null))],
];

Deno.test("writeEvidence() writes what nextEvidence() returns, and findNextEvidence() tells it before (L2, L4)", () => {
  const samples = fc.array(
    fc.record({
      seconds: fc.integer({ min: 1, max: 90 }),
      cpu: fc.oneof(fc.nat(20), fc.nat(1000)),
      memory: fc.option(fc.nat(1000), { nil: null }),
      /** Rarely others. */
      rules: fc.nat(60).map((drawn) => RULES[drawn] ?? null),
    }),
    // By default an array has some ten items.
    { minLength: 1, maxLength: 120, size: "max" },
  );
  fc.assert(fc.property(samples, (drawn) => {
    let evidence: Evidence = NO_EVIDENCE;
    let [at, rules] = [START, RULES[0] ?? []];
    let view = flatten(evidence);
    for (const { seconds, cpu, memory, rules: others } of drawn) {
      at += seconds * SECOND;
      // Evidence of fields without a rule ends with an evaluation by decideSize().
      if (others !== null && others !== rules) {
        rules = others;
        evidence = nextEvidence(evidence, rules, { at, cpu, memory, silenceMs: MINUTE });
        view = flatten(evidence);
      }
      const seen = { at, cpu, memory, silenceMs: MINUTE };
      const next = nextEvidence(evidence, rules, seen);
      for (const rule of rules) {
        const usage = rule.resource === "cpu" ? cpu : memory;
        if (usage !== null) {
          assertEquals(findNextEvidence(view.evidence, rule, { at, usage }), findEvidence(next, rule));
        }
      }
      writeEvidence(view, rules, seen);
      evidence = next;
      assertEquals(unflatten(view), next.sides);
    }
  }));
});

function flatten(evidence: Evidence): FlatView {
  const view = flattenState({ ...NEW_POD_STATE, views: { one: { ...VIEW, evidence } } }).views.one;
  if (view === undefined) throw new Error("unreachable");
  return view;
}

function unflatten(view: FlatView): Evidence["sides"] | undefined {
  return toPodState({ ...flattenState(NEW_POD_STATE), views: { one: view } }).views.one?.evidence.sides;
}
