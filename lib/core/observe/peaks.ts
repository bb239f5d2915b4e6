/**
 * The peak of usage within a window (L2), as one peak per thirtieth of it: whatever the window's length, a bounded list
 * of numbers. An empty thirtieth is no gap, and the effective window is up to a thirtieth longer.
 */

/** Peaks of one window; plain JSON. */
export interface Peaks {
  readonly kind: "peaks";
  readonly windowMs: number;
  /**
   * Pairs of a bucket and the peak in it, oldest first, each peak below the one before: a lower one before a higher one
   * will never be the highest again.
   */
  readonly pairs: readonly number[];
}

/** Into how many buckets a window is divided. */
const BUCKETS = 30;

/** The peaks after one more usage at `at`, epoch ms; `before` may be of another window, of which it keeps the peaks. */
export function nextPeaks(
  before: Peaks | undefined,
  windowMs: number,
  { at, usage }: { at: number; usage: number },
): Peaks {
  const bucket = toBucket(at, windowMs);
  const known = before === undefined ? [] : before.windowMs === windowMs ? before.pairs : toWindow(before, windowMs);
  let [from, to] = [0, 0];
  while (to < known.length && (known[to + 1] ?? 0) > usage) to += 2;
  while (from < to && (known[from] ?? 0) < bucket - BUCKETS) from += 2;
  // In the newest bucket a higher peak may stand already.
  const isHigher = from === to || known[to - 2] !== bucket;
  if (before !== undefined && known === before.pairs && from === 0 && to === known.length && !isHigher) return before;
  const kept = known.slice(from, to);
  // push() would leave room for 16 more numbers, and this array is kept for each pod.
  return { kind: "peaks", windowMs, pairs: isHigher ? kept.concat([bucket, usage]) : kept };
}

/** The highest usage within the window; `null` when there was none. */
export function readPeak({ pairs }: Peaks): number | null {
  return pairs[1] ?? null;
}

/** The peaks after a wall clock stepped back to `now`: what lies ahead counts as seen now. */
export function rebasePeaks(peaks: Peaks, now: number): Peaks {
  const bucket = toBucket(now, peaks.windowMs);
  const last = peaks.pairs.at(-2);
  if (last === undefined || last <= bucket) return peaks;
  const pairs: number[] = [];
  for (let index = 0; index < peaks.pairs.length; index += 2) {
    const seen = Math.min(peaks.pairs[index] ?? 0, bucket);
    if (pairs.at(-2) !== seen) pairs.push(seen, peaks.pairs[index + 1] ?? 0);
  }
  return { ...peaks, pairs };
}

/** The peaks by a clock that was set forward by so much, ms: each as long ago as before, to a thirtieth of the window. */
export function movePeaks({ windowMs, pairs, ...peaks }: Peaks, byMs: number): Peaks {
  const by = toBucket(byMs, windowMs);
  return { ...peaks, windowMs, pairs: pairs.map((one, index) => index % 2 === 0 ? one + by : one) };
}

function toBucket(at: number, windowMs: number): number {
  return Math.floor(at / (windowMs / BUCKETS));
}

/** A peak counts as seen when its bucket of the other window ended. */
function toWindow({ windowMs: beforeMs, pairs }: Peaks, windowMs: number): readonly number[] {
  const ratio = beforeMs / windowMs;
  return pairs.map((one, index) => index % 2 === 0 ? Math.floor((one + 1) * ratio) : one);
}
