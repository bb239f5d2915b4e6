/**
 * How long to wait before the next try? The wait doubles with every failure up to a ceiling, and is jittered so that
 * clients which failed together do not come back together.
 */

export interface BackoffOptions {
  /** The ceiling of the first wait. */
  readonly baseMs: number;
  /** The ceiling of every wait. */
  readonly maxMs: number;
  /** Gives a number in [0, 1), as Math.random does. */
  readonly random: () => number;
}

/**
 * Gives the wait in whole ms after failure number `attempt` in a row, counted from 0: between half of the ceiling and
 * all of it.
 */
export function backoffMs(attempt: number, { baseMs, maxMs, random }: BackoffOptions): number {
  const ceilingMs = Math.min(maxMs, baseMs * 2 ** Math.max(0, attempt));
  return Math.round(ceilingMs * (1 + random()) / 2);
}
