/**
 * A Clock that moves only by `advance`, so that an hour passes as fast as its work is done. Sleepers wake one at a
 * time, in the order in which they are due, and each gets some turns of the event loop: what it does next, and its next
 * sleep, belong to the same advance. Works with transports in the same process only, since a socket takes real time.
 */
import { setImmediate } from "node:timers";
import { type Alarm, Alarms } from "./alarms.ts";
import { type Clock, type Timeout, timeoutError } from "./clock.ts";

/** Where the wall time of a virtual clock starts by default: 2026-11-20T11:00:00Z, in epoch ms. */
export const START = Date.UTC(2026, 10, 20, 11);

/** Rejections and timeouts are those of the real clock. */
export class VirtualClock implements Clock {
  #wallAt: number;
  #elapsedMs = 0;
  #sequence = 0;
  readonly #alarms = new Alarms();

  constructor(startAt = START) {
    this.#wallAt = startAt;
  }

  now(): number {
    return this.#wallAt;
  }

  monotonic(): number {
    return this.#elapsedMs;
  }

  /** Steps the wall time to an epoch ms, as an operator or NTP would. Monotonic time stays, so no sleeper wakes. */
  setNow(at: number): void {
    this.#wallAt = at;
  }

  /** How many sleeps and timeouts are waiting. Zero proves that nothing was left behind. */
  get pending(): number {
    return this.#alarms.size;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const cancel = this.#schedule(ms, () => {
        signal?.removeEventListener("abort", abort);
        resolve();
      });
      signal?.addEventListener("abort", abort, { once: true });

      function abort(): void {
        cancel();
        reject(signal?.reason);
      }
    });
  }

  timeout(ms: number): Timeout {
    const controller = new AbortController();
    const cancel = this.#schedule(ms, () => controller.abort(timeoutError(ms)));
    return { signal: controller.signal, [Symbol.dispose]: cancel };
  }

  /**
   * Moves time by `ms` and resolves when everything due in it has run. Rejects when 10,000 alarms ring without time
   * moving, which would be an endless loop.
   */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#elapsedMs + ms;
    let rungAtOnce = 0;
    await settle();
    for (let alarm = this.#alarms.take(untilMs); alarm !== null; alarm = this.#alarms.take(untilMs)) {
      rungAtOnce = alarm.dueMs > this.#elapsedMs ? 0 : rungAtOnce + 1;
      if (rungAtOnce > ENDLESS) throw new Error(`Cannot advance by ${ms} ms: something sleeps 0 ms in an endless loop`);
      this.#moveTo(alarm.dueMs);
      alarm.ring();
      await settle();
    }
    this.#moveTo(untilMs);
  }

  #schedule(ms: number, ring: () => void): () => void {
    const alarm: Alarm = { sequence: this.#sequence++, dueMs: this.#elapsedMs + Math.max(0, ms), ring };
    this.#alarms.add(alarm);
    return () => this.#alarms.cancel(alarm);
  }

  #moveTo(elapsedMs: number): void {
    const byMs = Math.max(0, elapsedMs - this.#elapsedMs);
    this.#elapsedMs += byMs;
    this.#wallAt += byMs;
  }
}

const ENDLESS = 10_000;

/**
 * Resolves after some turns of the event loop, so that chains of awaits proceed. All microtasks run before each turn,
 * and there are several turns because streams and responses need macrotasks of their own. A turn by setTimeout(0) would
 * take 2 ms, by setImmediate it takes 10 us.
 */
export async function settle(turns = 10): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
}
