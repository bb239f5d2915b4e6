/**
 * Percentiles of samples whose weight decays, in a bounded state.
 * Clauses: L4.
 */
import { assert, assertEquals } from "#assert";
import * as fc from "fast-check";
import type { Histogram } from "../../lib/model/state.ts";
import { findPercentile, nextHistogram } from "../../lib/vertical/windows.ts";
import { MINUTE, SECOND, START } from "../support/builders.ts";

const HOUR = 60 * MINUTE;

function feed(usages: readonly number[], { halfLifeMs = HOUR, everyMs = 15 * SECOND } = {}): Histogram {
  let histogram: Histogram | undefined;
  for (const [index, usage] of usages.entries()) {
    histogram = nextHistogram(histogram, { halfLifeMs }, { at: START + index * everyMs, usage });
  }
  if (histogram === undefined) throw new Error("Cannot feed nothing");
  return histogram;
}

const isNear = (value: number | null, expected: number) => value !== null && Math.abs(value / expected - 1) <= 0.1;

Deno.test("findPercentile() is within a bucket of 10 % of the exact percentile (L4)", () => {
  const usages = Array.from({ length: 200 }, (_, index) => 100 + (index * 37) % 200);
  const histogram = feed(usages, { halfLifeMs: 24 * HOUR });
  for (const percent of [50, 75, 90, 95, 100]) {
    const exact = 100 + 2 * percent;
    assert(isNear(findPercentile(histogram, percent), exact), `p${percent}: ${findPercentile(histogram, percent)}`);
  }
});

Deno.test("nextHistogram() halves the weight of a sample with each half-life (L4)", () => {
  // 100 for an hour, then 400: after a quarter of an hour its weight is that of half of the time before.
  const usages = [...new Array(240).fill(100), ...new Array(60).fill(400)];
  const young = feed(usages, { halfLifeMs: 15 * MINUTE });
  const old = feed(usages, { halfLifeMs: 24 * HOUR });
  assert(isNear(findPercentile(young, 50), 400), `${findPercentile(young, 50)}`);
  assert(isNear(findPercentile(old, 50), 100), `${findPercentile(old, 50)}`);
});

Deno.test("nextHistogram() lets a peak go once it weighs next to nothing, and finds its buckets again below (L4)", () => {
  const spike = feed([100_000, ...new Array(400).fill(10)], { halfLifeMs: MINUTE });
  assert(isNear(findPercentile(spike, 100), 10), `${findPercentile(spike, 100)}`);
  assert(spike.weights.length <= 64);
  const kept = feed([100_000, ...new Array(20).fill(10)], { halfLifeMs: HOUR });
  assert(isNear(findPercentile(kept, 100), 100_000), `${findPercentile(kept, 100)}`);
});

Deno.test("nextHistogram() keeps relative weights when the half-life changes (L4)", () => {
  // What remains of 6 hours at a half-life of one hour weighs as much as an hour and a half now.
  let histogram = feed(new Array(6 * 240).fill(100), { halfLifeMs: HOUR });
  for (let index = 0; index < 240; index++) {
    const at = START + 6 * HOUR + index * 15 * SECOND;
    histogram = nextHistogram(histogram, { halfLifeMs: 24 * HOUR }, { at, usage: 400 });
  }
  assert(isNear(findPercentile(histogram, 50), 100), `${findPercentile(histogram, 50)}`);
  assert(isNear(findPercentile(histogram, 90), 400), `${findPercentile(histogram, 90)}`);
});

Deno.test("nextHistogram() stays bounded and finite whatever comes, and no percentile leaves what was seen (L4)", () => {
  // Each far above the one before: the lowest fall off the end.
  const rising = feed([0, 40, 80, 120].map((exponent) => 1.1 ** exponent));
  assert(rising.weights.length <= 64, `${rising.weights.length}`);
  const drawn = fc.array(fc.tuple(fc.nat(48 * 3600), fc.double({ min: 0, max: 1e6, noNaN: true })), {
    minLength: 1,
    maxLength: 100,
  });
  fc.assert(fc.property(drawn, fc.integer({ min: 50, max: 100 }), (samples, percent) => {
    let histogram: Histogram | undefined;
    let at = START;
    for (const [seconds, usage] of samples) {
      at += seconds * SECOND;
      histogram = nextHistogram(histogram, { halfLifeMs: MINUTE }, { at, usage });
      assert(histogram.weights.length <= 64);
      assert(histogram.weights.every((weight) => Number.isFinite(weight) && weight >= 0));
    }
    const value = histogram === undefined ? null : findPercentile(histogram, percent);
    const largest = Math.max(0.001, ...samples.map(([, usage]) => usage));
    assert(value !== null && value <= largest * 1.1001, `${value} of at most ${largest}`);
  }));
});

Deno.test("findPercentile() of a histogram without weight is unknown (L4)", () => {
  assertEquals(findPercentile({ ...feed([1]), weights: [] }, 90), null);
});
