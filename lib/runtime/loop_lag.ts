/**
 * For how long was the event loop blocked? Measures how late the sleeps of a clock wake, and keeps the longest delay.
 * It sets no timer of its own, so it measures as often as the process sleeps.
 */

import type { Clock } from "./clock.ts";

/** A clock, and the longest that the event loop was blocked. */
export class LoopLag {
  /** The same time as the clock that was given; only its sleeps are measured. */
  readonly clock: Clock;
  #longestMs = 0;

  constructor(clock: Clock) {
    const sleep = async (ms: number, signal?: AbortSignal) => {
      const dueMs = clock.monotonic() + Math.max(0, ms);
      await clock.sleep(ms, signal);
      this.#longestMs = Math.max(this.#longestMs, clock.monotonic() - dueMs);
    };
    this.clock = {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      timeout: (ms) => clock.timeout(ms),
      sleep,
    };
  }

  /** Gives the longest delay since the last call, in ms. */
  takeMs(): number {
    const longestMs = this.#longestMs;
    this.#longestMs = 0;
    return longestMs;
  }
}
