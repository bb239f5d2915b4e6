/** Who waits for their turn, in order of arrival; whoever is urgent goes before all others. */

/** How a turn is waited for. */
export interface WaitOptions {
  /** Before all who wait. */
  readonly isUrgent?: boolean;
}

/** Knows nothing of what a turn is: its owner lets them go one by one. */
export class WaitQueue {
  readonly #waiting: (() => void)[] = [];
  readonly #onLeave: () => void;

  /** `onLeave` hears of those who are gone without a turn. */
  constructor(onLeave: () => void = () => {}) {
    this.#onLeave = onLeave;
  }

  get size(): number {
    return this.#waiting.length;
  }

  /** Resolves when it is the caller's turn. Rejects with `signal.reason` as soon as the signal aborts. */
  wait(signal: AbortSignal | undefined, { isUrgent = false }: WaitOptions): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const enter = () => {
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(enter), 1);
        this.#onLeave();
        reject(signal?.reason);
      };
      if (isUrgent) this.#waiting.unshift(enter);
      else this.#waiting.push(enter);
      signal?.addEventListener("abort", leave, { once: true });
    });
  }

  /** Lets the first one go; false where nobody waits. */
  next(): boolean {
    const enter = this.#waiting.shift();
    enter?.();
    return enter !== undefined;
  }
}
