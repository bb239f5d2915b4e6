/**
 * When are the halves of an object due (R7)? At exact distances from a start, by the wall clock: what a tick records is dated by its due time,
 * and a policy's period of 15 s must not see the tick before as younger. Due times that passed while podfit was busy are not made up.
 */

/** Due at `startAt` and each `periodMs` after it, epoch ms. */
export interface Grid {
  readonly startAt: number;
  readonly periodMs: number;
}

/** The first due time after `at`. */
export function readNextDue({ startAt, periodMs }: Grid, at: number): number {
  if (at < startAt) return startAt;
  return startAt + (Math.floor((at - startAt) / periodMs) + 1) * periodMs;
}

/** The due time that is served at `now`: the last one not after it; `null` before the first. */
export function readLastDue({ startAt, periodMs }: Grid, now: number): number | null {
  return now < startAt ? null : startAt + Math.floor((now - startAt) / periodMs) * periodMs;
}

/** The same grid once the clock was set by `stepMs`: what it measures is the time that passes. */
export function stepGrid(grid: Grid, stepMs: number): Grid {
  return { ...grid, startAt: grid.startAt + stepMs };
}
