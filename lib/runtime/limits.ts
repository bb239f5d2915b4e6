/**
 * How many calls may begin per second, and how many may run at once?
 *
 * A token bucket as in client-go, a counting semaphore, and the queue in which callers of both wait.
 */
import type { Clock } from "./clock.ts";

/** Callers that wait for a turn, in order of arrival. The owner lets them go one by one. */
class WaitQueue {
  readonly #waiting: (() => void)[] = [];
  readonly #onCancelled: () => void;

  /** `onLeave` is called when a caller leaves without a turn. */
  constructor(onLeave: () => void = () => {}) {
    this.#onCancelled = onLeave;
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
        this.#onCancelled();
        reject(signal?.reason);
      };
      if (isUrgent) this.#waiting.unshift(enter);
      else this.#waiting.push(enter);
      signal?.addEventListener("abort", leave, { once: true });
    });
  }

  /** Lets the first caller go; returns false if the queue is empty. */
  next(): boolean {
    const enter = this.#waiting.shift();
    enter?.();
    return enter !== undefined;
  }
}

/** `burst` calls pass at once, then `perSecond`. Used as `await rate.take(signal)`. */
export class TokenBucket {
  readonly #options: TokenBucketOptions;
  readonly #queue = new WaitQueue(() => {
    if (this.#queue.size === 0) this.#sleeping?.abort();
  });
  #tokens: number;
  #filledAtMs: number;
  /** Aborted when the queue is empty, so that no timer stays behind. */
  #sleeping: AbortController | null = null;

  /** Throws RangeError for limits that let no call pass. */
  constructor(options: TokenBucketOptions) {
    const { perSecond, burst, clock } = options;
    if (!(perSecond > 0)) throw new RangeError(`Cannot limit to "${perSecond}" per second: must be above 0`);
    if (!(burst >= 1)) throw new RangeError(`Cannot limit to a burst of "${burst}": must be 1 or more`);
    this.#options = options;
    this.#tokens = burst;
    this.#filledAtMs = clock.monotonic();
  }

  /**
   * Resolves when it is the caller's turn. Rejects with `signal.reason` as soon as the signal aborts. An urgent caller
   * passes all that wait.
   */
  take(signal?: AbortSignal, options: WaitOptions = {}): Promise<void> {
    const turn = this.#queue.wait(signal, options);
    this.#serve();
    return turn;
  }

  /** Returns a turn that was not used: the next caller has it at once. */
  giveBack(): void {
    this.#tokens++;
    this.#serve();
  }

  /** Empties the bucket: the next callers pass one by one. */
  drain(): void {
    this.#fill();
    this.#tokens = Math.min(this.#tokens, 0);
  }

  #serve(): void {
    this.#fill();
    while (this.#tokens >= 1 && this.#queue.next()) this.#tokens--;
    if (this.#queue.size > 0 && this.#sleeping === null) void this.#sleep();
  }

  async #sleep(): Promise<void> {
    const { clock, perSecond } = this.#options;
    const sleeping = new AbortController();
    this.#sleeping = sleeping;
    await clock.sleep(Math.ceil((1 - this.#tokens) / perSecond * 1000), sleeping.signal).catch(() => {});
    this.#sleeping = null;
    this.#serve();
  }

  #fill(): void {
    const { clock, perSecond, burst } = this.#options;
    const nowMs = clock.monotonic();
    this.#tokens = Math.min(burst, this.#tokens + (nowMs - this.#filledAtMs) / 1000 * perSecond);
    this.#filledAtMs = nowMs;
  }
}

/** Used as `using slot = await limit.acquire(signal)`. */
export class Semaphore {
  #free: number;
  readonly #queue = new WaitQueue();

  /** `max` is the number of slots, rounded down. Throws RangeError below 1. */
  constructor(max: number) {
    if (!(max >= 1)) throw new RangeError(`Cannot limit to "${max}": must be 1 or more`);
    this.#free = Math.floor(max);
  }

  /**
   * Resolves to a slot; its disposal frees it. Rejects with `signal.reason` as soon as the signal aborts. An urgent
   * caller passes all that wait.
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

/** How fast the bucket fills, and how much it holds. */
interface TokenBucketOptions {
  readonly clock: Pick<Clock, "monotonic" | "sleep">;
  /** Above 0; a fraction is allowed. */
  readonly perSecond: number;
  /** 1 or more. */
  readonly burst: number;
}

interface WaitOptions {
  /** The caller passes all that wait. */
  readonly isUrgent?: boolean;
}
