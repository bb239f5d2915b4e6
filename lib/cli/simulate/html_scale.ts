/** Where values lie in a drawing: axes with round ticks. */

/** About `count` round ticks from 0 to at least `most`; in binary steps for bytes. */
export function listTicks(
  most: number,
  { count, base }: { readonly count: number; readonly base: 2 | 10 },
): readonly number[] {
  if (!(most > 0)) return [0, 1];
  const step = pickStep(most / count, base);
  const last = Math.max(1, Math.ceil(most / step - 1e-9));
  return Array.from({ length: last + 1 }, (_, index) => index * step);
}

function pickStep(value: number, base: 2 | 10): number {
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
