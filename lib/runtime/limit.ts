/** How many may do this at once? A counting semaphore with a queue in order of arrival. */
import { type WaitOptions, WaitQueue } from "./wait_queue.ts";

/** Used as `using slot = await limit.acquire(signal)`. */
export class Limit {
  #free: number;
  readonly #queue = new WaitQueue();

  /** `max` is the number of slots, rounded down. Throws RangeError below 1. */
  constructor(max: number) {
    if (!(max >= 1)) throw new RangeError(`Cannot limit to "${max}": must be 1 or more`);
    this.#free = Math.floor(max);
  }

  /**
   * Resolves to a slot, which its disposal gives back. Rejects with `signal.reason` as soon as the signal aborts. Whoever
   * is urgent goes before all who wait.
   */
  async acquire(signal?: AbortSignal, options: WaitOptions = {}): Promise<Disposable> {
    signal?.throwIfAborted();
    if (this.#free > 0) this.#free--;
    else await this.#queue.wait(signal, options);
    return this.#slot();
  }

  /** A slot is handed straight to the next in the queue, so that a later call cannot overtake it. */
  #slot(): Disposable {
    let isHeld = true;
    return {
      [Symbol.dispose]: () => {
        if (!isHeld) return;
        isHeld = false;
        if (!this.#queue.next()) this.#free++;
      },
    };
  }
}
