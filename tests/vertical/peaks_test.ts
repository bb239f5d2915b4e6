/**
 * The peak of a window, kept as a peak per thirtieth of it.
 * Clauses: L2.
 */
import { assertEquals } from "#assert";
import * as fc from "fast-check";
import { findPeak, nextPeaks } from "../../lib/vertical/windows.ts";
import type { Peaks } from "../../lib/model/state.ts";
import { MINUTE, SECOND, START } from "../support/builders.ts";

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
