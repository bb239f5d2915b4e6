/**
 * Answers that are kept for a while: how is the same question not asked twice?
 *
 * Concurrent callers share one question. Failures are not kept.
 */
import type { Clock } from "./clock.ts";

/** An answer and how long it is valid, ms. */
export interface CacheableAnswer<T> {
  readonly value: T;
  readonly keepMs: number;
}

interface KeptAnswer<T> {
  readonly value: T;
  readonly untilMs: number;
}

/**
 * Answers by key, at most `maxEntries`. If it is full, it drops the answer that became invalid first. If all are valid,
 * it drops the one that was not used for the longest time. So a flood of short-lived answers does not remove others.
 */
export class AnswerCache<T> {
  readonly #options: AnswerCacheOptions;
  /** Ordered by their last use. */
  readonly #kept = new Map<string, KeptAnswer<T>>();
  readonly #asking = new Map<string, Promise<T>>();

  constructor(options: AnswerCacheOptions) {
    this.#options = options;
  }

  /** Returns the last answer, even if it is no longer valid; undefined if it was dropped. */
  last(key: string): T | undefined {
    return this.#use(key)?.value;
  }

  isValid(key: string): boolean {
    return (this.#kept.get(key)?.untilMs ?? -Infinity) > this.#options.clock.monotonic();
  }

  /** Returns a valid answer, or asks. Rejects as `ask` does. */
  get(key: string, ask: () => Promise<CacheableAnswer<T>>): Promise<T> {
    const kept = this.#use(key);
    if (kept !== undefined && this.isValid(key)) return Promise.resolve(kept.value);
    const asking = this.#asking.get(key) ?? this.#ask(key, ask).finally(() => this.#asking.delete(key));
    this.#asking.set(key, asking);
    return asking;
  }

  #use(key: string): KeptAnswer<T> | undefined {
    const kept = this.#kept.get(key);
    if (kept === undefined) return undefined;
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    return kept;
  }

  async #ask(key: string, ask: () => Promise<CacheableAnswer<T>>): Promise<T> {
    const { value, keepMs } = await ask();
    const { clock, maxEntries } = this.#options;
    this.#kept.delete(key);
    if (this.#kept.size >= maxEntries) this.#dropOne();
    this.#kept.set(key, { value, untilMs: clock.monotonic() + keepMs });
    return value;
  }

  #dropOne(): void {
    const [oldest] = this.#kept.keys();
    let [dropped, firstMs] = [oldest, this.#options.clock.monotonic()];
    for (const [key, { untilMs }] of this.#kept) if (untilMs < firstMs) [dropped, firstMs] = [key, untilMs];
    if (dropped !== undefined) this.#kept.delete(dropped);
  }
}

interface AnswerCacheOptions {
  readonly clock: Pick<Clock, "monotonic">;
  readonly maxEntries: number;
}
