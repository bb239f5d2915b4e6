/**
 * Has usage been low for long enough to scale down?
 *
 * A window keeps the peak of usage, or a decaying histogram for a percentile. It belongs to the container: a restart
 * or another size does not clear it.
 */
import { type FieldPolicy, findBaseline, type Percentile } from "../model/autoscaler.ts";
import { type FlatEvidence, type FlatPeaks, flattenPeaks, type FlatView, toPeaks } from "../model/flat_state.ts";
import { type ContainerFacts, getActualSize } from "../model/pod.ts";
import { formatFieldAmount } from "../model/resize_request.ts";
import {
  type AutoscalerView,
  type ContainerState,
  type Evidence,
  type Histogram,
  NO_EVIDENCE,
  type Peaks,
  type PodState,
} from "../model/state.ts";
import type { ResourceField } from "../units/resources.ts";
import { formatDuration } from "../units/time.ts";
import { getNumber } from "../units/usage_rows.ts";

/** Returns the evidence after a sample. Clauses: L1, L2, L4. */
export function nextEvidence(before: Evidence, rules: readonly FieldPolicy[], seen: SeenUsage): Evidence {
  const { at, silenceMs } = seen;
  const isGap = before.since === null || at - before.until > silenceMs;
  return { since: isGap ? at : before.since, until: at, sides: nextEvidenceFields(before.sides, rules, seen) };
}

/** Returns whether a rule has a window or a percentile, of which there is no usage yet. Clauses: L2, L4, L5. */
export function hasNewWindow({ sides }: Evidence, rules: readonly FieldPolicy[]): boolean {
  return rules.some(({ key, down: { windowMs, percentile } }) => {
    const needed = percentile !== null ? "histogram" : windowMs > 0 ? "peaks" : null;
    return needed !== null && sides[key]?.kind !== needed;
  });
}

/** Returns the evidence after usage that no sample shows, such as the limit at an OOM kill, in bytes. Clauses: L10. */
export function addPeak(
  before: Evidence,
  rules: readonly FieldPolicy[],
  { at, bytes }: { at: number; bytes: number },
): Evidence {
  const memory = rules.filter(({ resource }) => resource === "memory");
  return {
    ...before,
    sides: { ...before.sides, ...nextEvidenceFields(before.sides, memory, { at, cpu: null, memory: bytes }) },
  };
}

/** Returns the amount that a scale-down of the field is sized by; `null` if only the streak counts. */
export function findEvidence({ sides }: Evidence, { key, down }: FieldPolicy): number | null {
  const side = sides[key];
  return side === undefined ? null : findAmount(side, { down });
}

/**
 * Returns the amount of `findEvidence` after one more usage of the field; `null` if only the streak counts. Nothing is
 * written.
 */
export function findNextEvidence(
  evidence: FlatEvidence,
  rule: FieldPolicy,
  seen: { readonly at: number; readonly usage: number },
): number | null {
  const { key, down: { windowMs, percentile } } = rule;
  if (windowMs === 0 && percentile === null) return null;
  const known = evidence[key];
  if (percentile !== null || known?.kind !== "peaks" || known.windowMs !== windowMs) {
    return findAmount(nextSide(known && toSide(known), rule, seen), rule);
  }
  const { pairs, used } = known;
  const oldest = toWindowBucket(seen.at, windowMs) - WINDOW_BUCKETS;
  for (let from = 0; from < used && getNumber(pairs, from + 1) > seen.usage; from += 2) {
    if (getNumber(pairs, from) >= oldest) return getNumber(pairs, from + 1);
  }
  return seen.usage;
}

/** Writes what `nextEvidence` makes of the fields into the view. Fields without a usage stay as they are. */
export function writeEvidence(
  view: Pick<FlatView, "evidence">,
  rules: readonly FieldPolicy[],
  seen: Omit<SeenUsage, "silenceMs">,
): void {
  let lastRule: FieldPolicy | null = null;
  let lastKnown: FlatPeaks | Histogram | undefined;
  let lastSide: FlatPeaks | Histogram | undefined;
  for (const rule of rules) {
    const { key, resource, down: { windowMs, percentile } } = rule;
    if (windowMs === 0 && percentile === null) continue;
    const usage = resource === "cpu" ? seen.cpu : seen.memory;
    if (usage === null) continue;
    const known = view.evidence[key];
    const isShared = lastRule !== null && known === lastKnown && hasSameWindow(lastRule, rule);
    if (!isShared) lastSide = writeSide(known, rule, { at: seen.at, usage });
    lastRule = rule;
    lastKnown = known;
    if (lastSide === undefined || lastSide === known) continue;
    if (known === undefined) view.evidence = { ...view.evidence };
    view.evidence[key] = lastSide;
  }
}

/**
 * Returns the peaks after one more usage at `at`, epoch ms; `before` may be of another window, of which it keeps the
 * peaks. Clauses: L2.
 */
export function nextPeaks(
  before: Peaks | undefined,
  windowMs: number,
  { at, usage }: { at: number; usage: number },
): Peaks {
  const isSameWindow = before?.windowMs === windowMs;
  const pairs = before === undefined ? [] : isSameWindow ? before.pairs : toOtherWindow(before, windowMs);
  const peaks = flattenPeaks({ kind: "peaks", windowMs, pairs });
  const hasChanged = addToPeaks(peaks, toWindowBucket(at, windowMs), usage);
  return isSameWindow && !hasChanged ? before : toPeaks(peaks);
}

/** Returns the highest usage within the window; `null` when there was none. */
export function findPeak({ pairs }: Peaks): number | null {
  return pairs[1] ?? null;
}

export function toWindowBucket(at: number, windowMs: number): number {
  return Math.floor(at / (windowMs / WINDOW_BUCKETS));
}

/** Returns the histogram after one more usage at `at`, epoch ms. Weights of another half-life are kept. Clauses: L4. */
export function nextHistogram(
  before: Histogram | undefined,
  { halfLifeMs }: Pick<Percentile, "halfLifeMs">,
  { at, usage }: { at: number; usage: number },
): Histogram {
  const exponent = toExponent(usage);
  if (before === undefined) return { kind: "histogram", at, halfLifeMs, top: exponent, weights: [1] };
  const isFar = at - before.at > MAX_HALF_LIVES * halfLifeMs;
  const { top, weights, at: from } = isFar || before.halfLifeMs !== halfLifeMs ? rescale(before, at) : before;
  const raisedTop = Math.max(top, exponent);
  const shifted = shiftWeights(weights, raisedTop - top);
  const place = Math.min(raisedTop - exponent, HISTOGRAM_BUCKETS - 1);
  while (shifted.length <= place) shifted.push(0);
  shifted[place] = (shifted[place] ?? 0) + 2 ** ((at - from) / halfLifeMs);
  return dropLightBuckets({ kind: "histogram", at: from, halfLifeMs, top: raisedTop, weights: shifted });
}

/**
 * Returns the usage at or below which that percentile of the weight lies, between the edges of its bucket; `null`
 * without any sample.
 */
export function findPercentile({ top, weights }: Histogram, percent: number): number | null {
  const total = sumWeights(weights);
  if (total <= 0) return null;
  // From above: as much weight as may lie over it.
  let over = total * (100 - percent) / 100;
  for (const [index, weight] of weights.entries()) {
    if (weight > over) return BUCKET_RATIO ** (top - index - over / weight);
    over -= weight;
  }
  return BUCKET_RATIO ** (top - weights.length);
}

/** Returns how long a scale-down still waits; `null` if usage has been low for long enough. Clauses: L2. */
export function findWindowWait(rule: FieldPolicy, context: WindowContext): WindowWait | null {
  return waitForWatching(rule, context) ?? waitForAge(rule, context) ?? waitForPeak(rule, context);
}

/** However long a window is, this much of it must have been watched, ms. */
const MAX_WATCH_MS = 15 * 60_000;

/** What came of one sample. */
interface SeenUsage {
  /** Epoch ms. */
  readonly at: number;
  /** After so long without a sample the time before counts as not watched, ms. */
  readonly silenceMs: number;
  /** Usage by resource, millicores and bytes; `null` = unknown. */
  readonly cpu: number | null;
  readonly memory: number | null;
}

/** Returns how long the field must have been watched before it goes down, ms; 0 = its streak is enough. */
function computeWatchMs({ down: { windowMs, percentile } }: FieldPolicy): number {
  return Math.min(percentile === null ? windowMs : percentile.halfLifeMs, MAX_WATCH_MS);
}

/** Fields without a rule are dropped. */
function nextEvidenceFields(
  before: Evidence["sides"],
  rules: readonly FieldPolicy[],
  seen: Omit<SeenUsage, "silenceMs">,
): Evidence["sides"] {
  let next: Partial<Record<ResourceField, Peaks | Histogram>> | null = null;
  let lastRule: FieldPolicy | null = null;
  let lastSide: Peaks | Histogram | undefined = undefined;
  for (const rule of rules) {
    const { key, resource, down: { windowMs, percentile } } = rule;
    if (windowMs === 0 && percentile === null) continue;
    const usage = resource === "cpu" ? seen.cpu : seen.memory;
    const known = before[key];
    let side = known;
    if (usage !== null) {
      // Both fields of a resource have the same usage: with the same rule they share one object.
      const isShared = lastRule !== null && hasSameWindow(lastRule, rule) && known === before[lastRule.key];
      side = isShared ? lastSide : nextSide(known, rule, { at: seen.at, usage });
      lastRule = rule;
      lastSide = side;
    }
    if (side !== undefined) (next ??= {})[key] = side;
  }
  return next ?? NO_EVIDENCE.sides;
}

function findAmount(side: Peaks | Histogram, { down }: Pick<FieldPolicy, "down">): number | null {
  return side.kind === "peaks" ? findPeak(side) : findPercentile(side, down.percentile?.percent ?? 100);
}

function toSide(side: FlatPeaks | Histogram): Peaks | Histogram {
  return side.kind === "peaks" ? toPeaks(side) : side;
}

/** As `nextSide`. Peaks of the same window are written in place. */
function writeSide(
  known: FlatPeaks | Histogram | undefined,
  rule: FieldPolicy,
  seen: { readonly at: number; readonly usage: number },
): FlatPeaks | Histogram {
  const { down: { windowMs, percentile } } = rule;
  if (percentile === null && known?.kind === "peaks" && known.windowMs === windowMs) {
    addToPeaks(known, toWindowBucket(seen.at, windowMs), seen.usage);
    return known;
  }
  const next = nextSide(known && toSide(known), rule, seen);
  return next.kind === "peaks" ? flattenPeaks(next) : next;
}

/** Adds a usage of the newest bucket. Returns whether the peaks have changed. */
function addToPeaks(peaks: FlatPeaks, bucket: number, usage: number): boolean {
  const { pairs } = peaks;
  let [from, to] = [0, 0];
  while (to < peaks.used && getNumber(pairs, to + 1) > usage) to += 2;
  while (from < to && getNumber(pairs, from) < bucket - WINDOW_BUCKETS) from += 2;
  if (from > 0) pairs.copyWithin(0, from, to);
  // The newest bucket may have a higher peak already.
  const isHigher = from === to || getNumber(pairs, to - from - 2) !== bucket;
  const hasChanged = isHigher || to - from < peaks.used;
  peaks.used = to - from;
  if (!isHigher) return hasChanged;
  if (peaks.used + 2 > pairs.length) peaks.pairs = pairs.slice(0, peaks.used).concat(ROOM);
  peaks.pairs[peaks.used] = bucket;
  peaks.pairs[peaks.used + 1] = usage;
  peaks.used += 2;
  return hasChanged;
}

/** Two more pairs. push() would make room for 16 more numbers in an array of each pod. */
const ROOM: readonly number[] = [NaN, NaN, NaN, NaN];

function nextSide(
  known: Peaks | Histogram | undefined,
  { down: { windowMs, percentile } }: FieldPolicy,
  seen: { readonly at: number; readonly usage: number },
): Peaks | Histogram {
  return percentile === null
    ? nextPeaks(known?.kind === "peaks" ? known : undefined, windowMs, seen)
    : nextHistogram(known?.kind === "histogram" ? known : undefined, percentile, seen);
}

function hasSameWindow(a: FieldPolicy, b: FieldPolicy): boolean {
  return a.resource === b.resource && a.down.windowMs === b.down.windowMs &&
    a.down.percentile?.halfLifeMs === b.down.percentile?.halfLifeMs;
}

/** Into how many buckets a window is divided. */
const WINDOW_BUCKETS = 30;

/** Returns the peaks in buckets of another window. A peak counts as seen when its old bucket ended. */
function toOtherWindow({ windowMs: beforeMs, pairs }: Peaks, windowMs: number): readonly number[] {
  const ratio = beforeMs / windowMs;
  return pairs.map((one, index) => index % 2 === 0 ? Math.floor((one + 1) * ratio) : one);
}

const HISTOGRAM_BUCKETS = 64;

const BUCKET_RATIO = 1.1;

/** The top is the largest bucket that weighs more than this share of all. */
const MIN_TOP_SHARE = 0.001;

/** Beyond this many half-lives the reference time moves on, so that weights stay finite. */
const MAX_HALF_LIVES = 64;

/** Returns the bucket of a usage. A microcore and less is one bucket, since a logarithm has no zero. */
function toExponent(usage: number): number {
  return Math.ceil(Math.log(Math.max(usage, 0.001)) / Math.log(BUCKET_RATIO) - 1e-9);
}

/** Returns the same weights, in which a sample of `at` weighs 1. */
function rescale(histogram: Histogram, at: number): Histogram {
  const scale = 2 ** ((histogram.at - at) / histogram.halfLifeMs);
  return { ...histogram, at, weights: histogram.weights.map((weight) => weight * scale) };
}

/** Returns the weights with empty buckets before the first. What falls off the end is added to the last. */
function shiftWeights(weights: readonly number[], by: number): number[] {
  if (by === 0) return [...weights];
  const before = Math.min(by, HISTOGRAM_BUCKETS - 1);
  const shifted = [...new Array<number>(before).fill(0), ...weights];
  const rest = sumWeights(shifted.splice(HISTOGRAM_BUCKETS - 1));
  return rest > 0 ? [...shifted, rest] : shifted;
}

/** Drops buckets at the top whose weight is close to zero. */
function dropLightBuckets(histogram: Histogram): Histogram {
  const { weights, top } = histogram;
  const least = sumWeights(weights) * MIN_TOP_SHARE;
  const first = Math.max(0, weights.findIndex((weight) => weight > least));
  return first === 0 ? histogram : { ...histogram, top: top - first, weights: weights.slice(first) };
}

function sumWeights(weights: readonly number[]): number {
  let total = 0;
  for (const weight of weights) total += weight;
  return total;
}

/** Until when, as far as that is known (else Infinity), and why, after "but". */
interface WindowWait {
  readonly until: number;
  readonly why: string;
}

/** The container, and its samples. */
interface WindowContext {
  readonly now: number;
  readonly view: AutoscalerView;
  readonly container: ContainerFacts;
  readonly containerState: ContainerState;
  /** When replicas last fell: from then on usage is another. */
  readonly state: Pick<PodState, "scaledIn">;
}

/** No instance's memory shrinks before this age, ms: it may still be on its way to its size. */
const MIN_MEMORY_AGE_MS = 60_000;

function waitForWatching(
  rule: FieldPolicy,
  { now, view: { evidence }, state: { scaledIn } }: WindowContext,
): WindowWait | null {
  const watchMs = computeWatchMs(rule);
  const since = Math.max(evidence.since ?? now, scaledIn?.since ?? -Infinity);
  const until = since + watchMs;
  if (until <= now) return null;
  const where = since === scaledIn?.since ? " since replicas fell" : "";
  return {
    until,
    why: `usage has been watched for ${formatDuration(now - since)} of ${formatDuration(watchMs)}${where}`,
  };
}

function waitForAge(
  { resource, down }: FieldPolicy,
  { now, containerState: { running } }: WindowContext,
): WindowWait | null {
  if (resource !== "memory" || down.windowMs === 0 || running === null) return null;
  const until = running.since + MIN_MEMORY_AGE_MS;
  return until <= now
    ? null
    : { until, why: `the container has run for less than ${formatDuration(MIN_MEMORY_AGE_MS)}` };
}

function waitForPeak(rule: FieldPolicy, { view: { evidence }, container }: WindowContext): WindowWait | null {
  const { key, scaleDownThresholdPercent: percent, down: { windowMs, percentile } } = rule;
  const peak = findEvidence(evidence, rule);
  const baseline = findBaseline(rule, getActualSize(container));
  // A percentile has been held against the threshold by the streak.
  if (percentile !== null || peak === null || baseline === null || peak * 100 <= percent * baseline) return null;
  const used = formatFieldAmount(key, Math.ceil(peak));
  return {
    until: Infinity,
    why: `up to ${used} were used in the last ${formatDuration(windowMs)}, above ${percent} % of its size`,
  };
}
