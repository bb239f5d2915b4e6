/**
 * Time of scenarios on the embedded cluster: it stands still while a scenario does something, and jumps from one due
 * moment to the next while it sleeps. Several may sleep at once.
 */
import { settleEventLoop, VirtualClock } from "../../support/virtual_clock.ts";

export class VirtualTime {
  readonly clock = new VirtualClock();
  readonly #dueMs = new Map<symbol, number>();
  #busy = 0;
  #isMoving = false;

  now(): number {
    return this.clock.now();
  }

  monotonic(): number {
    return this.clock.monotonic();
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const sleeper = Symbol();
    this.#dueMs.set(sleeper, this.clock.monotonic() + ms);
    const slept = this.clock.sleep(ms, signal).finally(() => this.#dueMs.delete(sleeper));
    void this.#move();
    await slept;
  }

  /** Time waits for it: it has to come to its end without. */
  async hold<T>(work: () => Promise<T>): Promise<T> {
    this.#busy++;
    try {
      return await work();
    } finally {
      this.#busy--;
    }
  }

  async #move(): Promise<void> {
    if (this.#isMoving) return;
    this.#isMoving = true;
    while (this.#dueMs.size > 0) {
      // Whoever was woken has its turn first, and may ask for something.
      do await settleEventLoop(); while (this.#busy > 0);
      const nextMs = Math.min(...this.#dueMs.values());
      if (nextMs < Infinity) await this.clock.advance(Math.max(0, nextMs - this.clock.monotonic()));
    }
    this.#isMoving = false;
  }
}
