/** Where values lie in a drawing: axes with round ticks, and what was wanted in each column of pixels. */

/** About `count` round ticks from 0 to at least `most`; in binary steps for bytes. */
export function listTicks(
  most: number,
  { count, base }: { readonly count: number; readonly base: 2 | 10 },
): readonly number[] {
  const step = roundUp(Math.max(most, Number.MIN_VALUE) / count, base);
  if (!Number.isFinite(step) || step <= 0) return [0];
  const last = Math.max(1, Math.ceil(most / step - 1e-9));
  return Array.from({ length: last + 1 }, (_, index) => index * step);
}

function roundUp(value: number, base: 2 | 10): number {
  const power = base ** Math.floor(Math.log(value) / Math.log(base));
  const factors = base === 2 ? [1, 2] : [1, 2, 2.5, 5, 10];
  return power * (factors.find((factor) => factor * power >= value * 0.999) ?? base);
}

const STEPS = [10, 30, 60, 300, 600, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400, 172_800, 604_800, 2_592_000];

/** Seconds at which a time axis is marked, at most `count` of them. */
export function listTimes(seconds: number, count: number): readonly number[] {
  const step = STEPS.find((one) => seconds / one <= count) ?? Math.ceil(seconds / count);
  return Array.from({ length: Math.floor(seconds / step) + 1 }, (_, index) => index * step);
}

/** What was wanted in one column. */
export interface Column {
  readonly mean: number;
  readonly max: number;
}

/** Beyond it not each second is looked at. */
const MOST_READ = 2_000_000;

/** `count` columns of equal time. */
export function listColumns(
  readAt: (second: number) => number,
  { seconds, count }: { readonly seconds: number; readonly count: number },
): readonly Column[] {
  const stride = Math.max(1, Math.ceil(seconds / MOST_READ));
  const columns = Math.max(1, Math.min(count, Math.floor(seconds / stride)));
  return Array.from({ length: columns }, (_, index) => {
    const from = Math.floor(index * seconds / columns);
    const to = Math.max(from + 1, Math.floor((index + 1) * seconds / columns));
    let [sum, max, read] = [0, 0, 0];
    for (let second = from; second < to; second += stride) {
      const value = readAt(second);
      sum += value;
      read++;
      if (value > max) max = value;
    }
    return { mean: sum / read, max };
  });
}
