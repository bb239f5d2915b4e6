/** How long did the event loop not turn? Watches how late a short sleep wakes, and keeps the worst until asked. */

import type { Clock } from "./clock.ts";

const INTERVAL_MS = 50;

export class LoopLag {
  #longestMs = 0;

  /** Rejects with the signal's reason, as a sleep does. */
  async run(clock: Clock, signal: AbortSignal): Promise<never> {
    while (true) {
      const dueMs = clock.monotonic() + INTERVAL_MS;
      await clock.sleep(INTERVAL_MS, signal);
      this.#longestMs = Math.max(this.#longestMs, clock.monotonic() - dueMs);
    }
  }

  /** The longest block since the last call, in ms. */
  takeMs(): number {
    const longestMs = this.#longestMs;
    this.#longestMs = 0;
    return longestMs;
  }
}
