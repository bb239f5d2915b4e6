/** How many may do this at once? A counting semaphore with a queue in order of arrival. */

/** Used as `using slot = await limit.acquire(signal)`. */
export class Limit {
  #free: number;
  readonly #queue: (() => void)[] = [];

  /** `max` is the number of slots, rounded down. Throws RangeError below 1. */
  constructor(max: number) {
    if (!(max >= 1)) throw new RangeError(`Cannot limit to "${max}": must be 1 or more`);
    this.#free = Math.floor(max);
  }

  /**
   * Resolves to a slot, which its disposal gives back. Rejects with `signal.reason` as soon as the signal aborts. Whoever
   * is urgent goes before all who wait.
   */
  acquire(signal?: AbortSignal, { isUrgent = false } = {}): Promise<Disposable> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      if (this.#free > 0) {
        this.#free--;
        return resolve(this.#slot());
      }
      const enter = () => {
        signal?.removeEventListener("abort", leave);
        resolve(this.#slot());
      };
      const leave = () => {
        this.#queue.splice(this.#queue.indexOf(enter), 1);
        reject(signal?.reason);
      };
      if (isUrgent) this.#queue.unshift(enter);
      else this.#queue.push(enter);
      signal?.addEventListener("abort", leave, { once: true });
    });
  }

  /** A slot is handed straight to the next in the queue, so that a later call cannot overtake it. */
  #slot(): Disposable {
    let isHeld = true;
    return {
      [Symbol.dispose]: () => {
        if (!isHeld) return;
        isHeld = false;
        const enter = this.#queue.shift();
        if (enter === undefined) this.#free++;
        else enter();
      },
    };
  }
}
