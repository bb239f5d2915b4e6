/**
 * How many may begin per second? A token bucket with a queue in order of arrival, as the rate limiter of client-go has
 * it: `burst` at once, and `perSecond` from then on.
 */
import type { Clock } from "./clock.ts";
import { type WaitOptions, WaitQueue } from "./wait_queue.ts";

/** How fast the bucket fills, and how much it holds. */
export interface RateOptions {
  readonly clock: Pick<Clock, "monotonic" | "sleep">;
  /** Above 0; a fraction is allowed. */
  readonly perSecond: number;
  /** 1 or more. */
  readonly burst: number;
}

/** Used as `await rate.take(signal)`. */
export class Rate {
  readonly #options: RateOptions;
  readonly #queue = new WaitQueue(() => {
    if (this.#queue.size === 0) this.#sleeping?.abort();
  });
  #tokens: number;
  #filledAtMs: number;
  /** Aborted when nobody waits any more: then no timer stays behind. */
  #sleeping: AbortController | null = null;

  /** Throws RangeError where nothing could ever pass. */
  constructor(options: RateOptions) {
    const { perSecond, burst, clock } = options;
    if (!(perSecond > 0)) throw new RangeError(`Cannot limit to "${perSecond}" per second: must be above 0`);
    if (!(burst >= 1)) throw new RangeError(`Cannot limit to a burst of "${burst}": must be 1 or more`);
    this.#options = options;
    this.#tokens = burst;
    this.#filledAtMs = clock.monotonic();
  }

  /**
   * Resolves when it is the caller's turn. Rejects with `signal.reason` as soon as the signal aborts. Whoever is urgent
   * goes before all who wait.
   */
  take(signal?: AbortSignal, options: WaitOptions = {}): Promise<void> {
    const turn = this.#queue.wait(signal, options);
    this.#serve();
    return turn;
  }

  /** The turn was not used: the next may have it at once. */
  giveBack(): void {
    this.#tokens++;
    this.#serve();
  }

  /** Empties the bucket: those who come next pass one by one. */
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
