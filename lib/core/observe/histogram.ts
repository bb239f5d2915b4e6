/**
 * A percentile of CPU usage of which old samples weigh less and less (L4), in a state of bounded size: buckets 10 %
 * apart below the largest sample that still weighs anything. The field's recommenders keep histograms likewise:
 * https://github.com/kubernetes/autoscaler/blob/master/vertical-pod-autoscaler/pkg/recommender/util/decaying_histogram.go
 */
import type { Percentile } from "../../autoscaler/autoscaler.ts";

/** Weights of buckets; plain JSON. */
export interface Histogram {
  readonly kind: "histogram";
  /** A sample of this time weighs 1, one a half-life later 2, epoch ms. */
  readonly at: number;
  readonly halfLifeMs: number;
  /** The exponent of the first bucket: it holds usage in (RATIO^(top-1), RATIO^top], the next one what is below. */
  readonly top: number;
  /** From the top down; as many as are needed. The last of BUCKETS holds all that is smaller, too. */
  readonly weights: readonly number[];
}

const BUCKETS = 64;
const RATIO = 1.1;
/** The top is the largest bucket that weighs more than this share of all. */
const LEAST_SHARE = 0.001;
/** Beyond so many half-lives the reference moves on: weights stay far from the end of numbers. */
const MOST_HALF_LIVES = 64;

/** The histogram after one more usage at `at`, epoch ms. Weights of another half-life are kept as they are now. */
export function nextHistogram(
  before: Histogram | undefined,
  { halfLifeMs }: Pick<Percentile, "halfLifeMs">,
  { at, usage }: { at: number; usage: number },
): Histogram {
  const exponent = toExponent(usage);
  if (before === undefined) return { kind: "histogram", at, halfLifeMs, top: exponent, weights: [1] };
  const isFar = at - before.at > MOST_HALF_LIVES * halfLifeMs;
  const { top, weights, at: from } = isFar || before.halfLifeMs !== halfLifeMs ? rescale(before, at) : before;
  const raisedTop = Math.max(top, exponent);
  const shifted = shift(weights, raisedTop - top);
  const place = Math.min(raisedTop - exponent, BUCKETS - 1);
  while (shifted.length <= place) shifted.push(0);
  shifted[place] = (shifted[place] ?? 0) + 2 ** ((at - from) / halfLifeMs);
  return anchor({ kind: "histogram", at: from, halfLifeMs, top: raisedTop, weights: shifted });
}

/**
 * The usage at or below which that percentile of the weight lies, between the edges of its bucket; `null` without any
 * sample.
 */
export function readPercentile({ top, weights }: Histogram, percent: number): number | null {
  const total = sum(weights);
  if (total <= 0) return null;
  // From above: as much weight as may lie over it.
  let over = total * (100 - percent) / 100;
  for (const [index, weight] of weights.entries()) {
    if (weight > over) return RATIO ** (top - index - over / weight);
    over -= weight;
  }
  return RATIO ** (top - weights.length);
}

/** After a wall clock stepped back to `now` no sample lies ahead. */
export function rebaseHistogram(histogram: Histogram, now: number): Histogram {
  return histogram.at <= now ? histogram : { ...histogram, at: now };
}

/** Usage of a microcore and less is one bucket: a logarithm has no zero. */
function toExponent(usage: number): number {
  return Math.ceil(Math.log(Math.max(usage, 0.001)) / Math.log(RATIO) - 1e-9);
}

/** The same weights, in which a sample of `at` weighs 1. */
function rescale(histogram: Histogram, at: number): Histogram {
  const scale = 2 ** ((histogram.at - at) / histogram.halfLifeMs);
  return { ...histogram, at, weights: histogram.weights.map((weight) => weight * scale) };
}

/** A higher top leaves buckets before the first; what falls off the end goes into the last. */
function shift(weights: readonly number[], by: number): number[] {
  if (by === 0) return [...weights];
  const before = Math.min(by, BUCKETS - 1);
  const shifted = [...new Array<number>(before).fill(0), ...weights];
  const rest = sum(shifted.splice(BUCKETS - 1));
  return rest > 0 ? [...shifted, rest] : shifted;
}

/** Drops buckets at the top that weigh next to nothing any more. */
function anchor(histogram: Histogram): Histogram {
  const { weights, top } = histogram;
  const least = sum(weights) * LEAST_SHARE;
  const first = Math.max(0, weights.findIndex((weight) => weight > least));
  return first === 0 ? histogram : { ...histogram, top: top - first, weights: weights.slice(first) };
}

function sum(weights: readonly number[]): number {
  let total = 0;
  for (const weight of weights) total += weight;
  return total;
}
