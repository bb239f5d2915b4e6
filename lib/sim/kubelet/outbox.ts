/**
 * The writes of a kubelet, by key: only the newest of each key is sent, keys side by side and each by itself in order,
 * and tried again with growing waits until it is taken or given up.
 */
import { backoffMs } from "../../runtime/backoff.ts";
import type { Clock } from "../../runtime/clock.ts";
import { Limit } from "../../runtime/limit.ts";
import { untilAborted } from "../../runtime/waits.ts";

/** How items are sent, and how a failure is waited out. */
export interface OutboxOptions<T> {
  readonly clock: Clock;
  readonly random: () => number;
  /** Sends an item. It is tried again when this rejects. */
  readonly send: (matter: T, key: string) => Promise<void>;
  readonly onError: (error: unknown) => void;
  /** Tries after which a matter is dropped. */
  readonly maxTries?: number;
  /** Keys that wait; more are dropped. */
  readonly maxKeys?: number;
  /** How many are sent at once. */
  readonly width?: number;
}

const RETRY = { baseMs: 200, maxMs: 10_000 };

/** Items to be sent, one after the other for each key, of which only the newest counts. */
export class Outbox<T> {
  readonly #options: OutboxOptions<T>;
  readonly #waiting = new Map<string, T>();
  readonly #sending = new Map<string, Promise<void>>();
  readonly #limit: Limit;
  #signal: AbortSignal | null = null;

  constructor(options: OutboxOptions<T>) {
    this.#options = options;
    this.#limit = new Limit(options.width ?? 8);
  }

  put(key: string, matter: T): void {
    if (!this.#waiting.has(key) && this.#waiting.size >= (this.#options.maxKeys ?? Infinity)) return;
    this.#waiting.set(key, matter);
    this.#start(key);
  }

  forget(key: string): void {
    this.#waiting.delete(key);
  }

  /** Sends until the signal aborts. Items that wait then are sent by the next run. */
  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    for (const key of this.#waiting.keys()) this.#start(key);
    await untilAborted(signal);
    this.#signal = null;
    await Promise.all(this.#sending.values());
  }

  #start(key: string): void {
    const signal = this.#signal;
    if (signal === null || this.#sending.has(key)) return;
    const sending = this.#sendAll(key, signal).finally(() => {
      this.#sending.delete(key);
      // It came when the last one had just been sent.
      if (this.#waiting.has(key) && !signal.aborted) this.#start(key);
    });
    this.#sending.set(key, sending);
  }

  async #sendAll(key: string, signal: AbortSignal): Promise<void> {
    const { clock, random, send, onError, maxTries = Infinity } = this.#options;
    for (let tries = 0; !signal.aborted && this.#waiting.has(key);) {
      const matter = this.#waiting.get(key) as T;
      try {
        using _slot = await this.#limit.acquire(signal);
        // A newer one may have come while this one waited.
        const newest = this.#waiting.get(key) ?? matter;
        await send(newest, key);
        if (this.#waiting.get(key) === newest) this.#waiting.delete(key);
        tries = 0;
      } catch (error) {
        if (signal.aborted) return;
        onError(error);
        if (++tries >= maxTries) {
          this.#waiting.delete(key);
          return;
        }
        await clock.sleep(backoffMs(tries - 1, { ...RETRY, random }), signal).catch(() => {});
      }
    }
  }
}
