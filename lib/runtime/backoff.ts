/**
 * How long to wait before the next try? Doubles with every failure up to a ceiling, and is jittered so that many
 * clients that failed together do not come back together.
 */

export interface BackoffOptions {
  readonly baseMs: number;
  readonly maxMs: number;
  /** In [0, 1), as Math.random gives it. */
  readonly random: () => number;
}

/** `attempt` counts failures in a row from 0. Between half of the doubled base and all of it: never zero. */
export function backoffMs(attempt: number, { baseMs, maxMs, random }: BackoffOptions): number {
  const ceilingMs = Math.min(maxMs, baseMs * 2 ** Math.max(0, attempt));
  return Math.round(ceilingMs * (1 + random()) / 2);
}
