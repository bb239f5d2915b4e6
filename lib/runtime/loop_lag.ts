/**
 * How long did the event loop not turn? Watches how late the sleeps of a clock wake, and keeps the worst until asked.
 * Nothing is woken for it alone: a process with little to wait for sees less, and has less that could block.
 */

import type { Clock } from "./clock.ts";

/** A clock, and the longest that the event loop was blocked. */
export class LoopLag {
  /** The clock given, watched. */
  readonly clock: Clock;
  #longestMs = 0;

  constructor(clock: Clock) {
    const sleep = async (ms: number, signal?: AbortSignal) => {
      const dueMs = clock.monotonic() + ms;
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

  /** The longest block since the last call, in ms. */
  takeMs(): number {
    const longestMs = this.#longestMs;
    this.#longestMs = 0;
    return longestMs;
  }
}
