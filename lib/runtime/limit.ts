/**
 * How many may do this at once? A counting limit with a fair queue: `using slot = await limit.acquire(signal)`.
 */

export class Limit {
  #free: number;
  readonly #queue: (() => void)[] = [];

  constructor(max: number) {
    if (!(max >= 1)) throw new RangeError(`Cannot limit to "${max}": must be 1 or more`);
    this.#free = Math.floor(max);
  }

  /** Resolves to a slot that its disposal gives back, first come first served; rejects with `signal.reason`. */
  acquire(signal?: AbortSignal): Promise<Disposable> {
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
      this.#queue.push(enter);
      signal?.addEventListener("abort", leave, { once: true });
    });
  }

  /** A slot goes straight to the next in the queue, so that nobody can slip in between. */
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
