/**
 * How many calls may begin per second, and how many may run at once?
 *
 * A token bucket as in client-go, a counting semaphore, and the queue in which callers of both wait. Callers of several
 * namespaces take turns: each namespace is a lane.
 */
import type { Clock } from "./clock.ts";
import { Lanes } from "./lanes.ts";

interface WaitQueueOptions {
  readonly places?: number;
  readonly minShare?: number;
  readonly onLeave: () => void;
}

/** Callers that wait for a turn. The owner lets them go one by one. */
class WaitQueue {
  readonly lanes: Lanes<() => void>;
  readonly #onLeave: () => void;

  /** `onLeave` is called when a caller leaves without a turn. `places` are shared by the lanes. */
  constructor({ places, minShare, onLeave }: WaitQueueOptions) {
    this.lanes = new Lanes(places, minShare);
    this.#onLeave = onLeave;
  }

  get size(): number {
    return this.lanes.count();
  }

  /** Resolves when it is the caller's turn. Rejects with `signal.reason` as soon as the signal aborts. */
  wait(signal: AbortSignal | undefined, { lane = "", isUrgent = false }: WaitOptions): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const enter = () => {
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      const leave = () => {
        this.lanes.remove(lane, enter);
        this.#onLeave();
        reject(signal?.reason);
      };
      this.lanes.add(lane, enter, { isUrgent });
      signal?.addEventListener("abort", leave, { once: true });
    });
  }

  /** Lets the next caller go, and returns its lane; `null` if none may go. */
  next(): string | null {
    const next = this.lanes.take();
    next?.item();
    return next?.lane ?? null;
  }
}

/** `burst` calls pass at once, then `perSecond`. Used as `await rate.take(signal)`. */
export class TokenBucket {
  readonly #options: TokenBucketOptions;
  readonly #queue = new WaitQueue({
    onLeave: () => {
      if (this.#queue.size === 0) this.#sleeping?.abort();
    },
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
   * passes the others.
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
    while (this.#tokens >= 1 && this.#queue.next() !== null) this.#tokens--;
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
  readonly #queue: WaitQueue;

  /**
   * `max` is the number of slots, rounded down. Throws RangeError below 1. If they are shared by lanes, a lane holds at
   * most max / (lanes + 1) of them, or `minShare` if that is less, 4 by default. So a slot is free for a lane that is new.
   */
  constructor(
    max: number,
    { isShared = false, minShare }: { readonly isShared?: boolean; readonly minShare?: number } = {},
  ) {
    if (!(max >= 1)) throw new RangeError(`Cannot limit to "${max}": must be 1 or more`);
    this.#free = Math.floor(max);
    this.#queue = new WaitQueue({
      ...(isShared && { places: this.#free }),
      ...(minShare !== undefined && { minShare }),
      onLeave: () => this.#serve(),
    });
  }

  /**
   * Resolves to a slot; its disposal frees it. Rejects with `signal.reason` as soon as the signal aborts. An urgent
   * caller passes the others.
   */
  async acquire(signal?: AbortSignal, options: WaitOptions = {}): Promise<Disposable> {
    const turn = this.#queue.wait(signal, options);
    this.#serve();
    await turn;
    return this.#slot(options.lane ?? "");
  }

  /** Returns a slot if the lane may have one now, otherwise `null`. */
  tryAcquire(lane = ""): Disposable | null {
    const { lanes } = this.#queue;
    if (this.#free === 0 || !lanes.mayHold(lane)) return null;
    this.#free--;
    lanes.hold(lane);
    return this.#slot(lane);
  }

  /** A slot is handed straight to the next in the queue, so that a later call cannot overtake it. */
  #serve(): void {
    while (this.#free > 0) {
      const lane = this.#queue.next();
      if (lane === null) return;
      this.#free--;
      this.#queue.lanes.hold(lane);
    }
  }

  #slot(lane: string): Disposable {
    let isHeld = true;
    return {
      [Symbol.dispose]: () => {
        if (!isHeld) return;
        isHeld = false;
        this.#free++;
        this.#queue.lanes.release(lane);
        this.#serve();
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

/** The queue of a caller. */
interface WaitOptions {
  /** The namespace that the call is for. Lanes take turns. */
  readonly lane?: string;
  /** The caller passes the others. */
  readonly isUrgent?: boolean;
}
