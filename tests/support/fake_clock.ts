/**
 * A Clock that moves only when told. `advance` wakes sleepers in the order they are due, one at a time, and gives each
 * a few turns of the event loop, so that what it does next (and sleeps on next) still happens within the same advance.
 */

import { setImmediate } from "node:timers";
import { type Clock, type Timeout, timeoutError } from "../../lib/runtime/clock.ts";

/** 2026-11-20T11:00:00Z */
export const START = Date.UTC(2026, 10, 20, 11);

export class FakeClock implements Clock {
  #wallAt: number;
  #elapsedMs = 0;
  #sequence = 0;
  readonly #alarms = new Map<number, Alarm>();

  constructor(startAt = START) {
    this.#wallAt = startAt;
  }

  now(): number {
    return this.#wallAt;
  }

  monotonic(): number {
    return this.#elapsedMs;
  }

  /** Steps the wall clock as an operator or NTP would; nobody wakes, and monotonic time stays. */
  setNow(at: number): void {
    this.#wallAt = at;
  }

  /** How many sleeps and timeouts are waiting: zero proves that nothing was left behind. */
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

  /** Resolves when time has moved by `ms` and everyone due in it had their turns. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#elapsedMs + ms;
    let rungAtOnce = 0;
    await settle();
    for (let alarm = this.#first(untilMs); alarm !== null; alarm = this.#first(untilMs)) {
      rungAtOnce = alarm.dueMs > this.#elapsedMs ? 0 : rungAtOnce + 1;
      if (rungAtOnce > ENDLESS) throw new Error(`Cannot advance by ${ms} ms: something sleeps 0 ms in an endless loop`);
      this.#moveTo(alarm.dueMs);
      this.#alarms.delete(alarm.sequence);
      alarm.ring();
      await settle();
    }
    this.#moveTo(untilMs);
  }

  #schedule(ms: number, ring: () => void): () => void {
    const sequence = this.#sequence++;
    this.#alarms.set(sequence, { sequence, dueMs: this.#elapsedMs + Math.max(0, ms), ring });
    return () => this.#alarms.delete(sequence);
  }

  /** Alarms due at the same time ring in the order they were set: the map keeps it, and `<` does not disturb it. */
  #first(untilMs: number): Alarm | null {
    let first: Alarm | null = null;
    for (const alarm of this.#alarms.values()) {
      if (alarm.dueMs <= untilMs && (first === null || alarm.dueMs < first.dueMs)) first = alarm;
    }
    return first;
  }

  #moveTo(elapsedMs: number): void {
    const byMs = Math.max(0, elapsedMs - this.#elapsedMs);
    this.#elapsedMs += byMs;
    this.#wallAt += byMs;
  }
}

/** So many alarms without time moving is a loop that would hang the test. */
const ENDLESS = 10_000;

interface Alarm {
  readonly sequence: number;
  readonly dueMs: number;
  readonly ring: () => void;
}

/**
 * Lets chains of awaits proceed. Each turn is a macrotask, before which all microtasks run; several, because streams
 * and responses hop through macrotasks of their own. Not setTimeout(0): that costs 2 ms a turn, setImmediate 10 us.
 */
export async function settle(turns = 10): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
}
