/**
 * A Clock that moves only when told, under which an hour passes as fast as its work is done. `advance` wakes sleepers in
 * the order they are due, one at a time, and gives each a few turns of the event loop, so that what it does next (and
 * sleeps on next) still happens within the same advance. Only for transports in process: a socket knows no such time.
 */
import { setImmediate } from "node:timers";
import { type Clock, type Timeout, timeoutError } from "./clock.ts";

/** 2026-11-20T11:00:00Z */
export const START = Date.UTC(2026, 10, 20, 11);

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
    const alarm = { sequence: this.#sequence++, dueMs: this.#elapsedMs + Math.max(0, ms), ring };
    this.#alarms.add(alarm);
    return () => this.#alarms.cancel(alarm);
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

/** A heap by time and, at the same time, by the order they were set: a cluster keeps thousands of them. */
class Alarms {
  readonly #heap: Alarm[] = [];
  readonly #waiting = new Set<Alarm>();

  get size(): number {
    return this.#waiting.size;
  }

  add(alarm: Alarm): void {
    this.#waiting.add(alarm);
    let index = this.#heap.push(alarm) - 1;
    for (let parent = (index - 1) >> 1; index > 0 && this.#isBefore(index, parent); parent = (index - 1) >> 1) {
      this.#swap(index, parent);
      index = parent;
    }
  }

  /** It stays in the heap until its time has come. */
  cancel(alarm: Alarm): void {
    this.#waiting.delete(alarm);
    if (this.#waiting.size === 0) this.#heap.length = 0;
  }

  take(untilMs: number): Alarm | null {
    for (let first = this.#heap[0]; first !== undefined; first = this.#heap[0]) {
      const isWaiting = this.#waiting.has(first);
      if (isWaiting && first.dueMs > untilMs) return null;
      this.#removeFirst();
      if (isWaiting) {
        this.#waiting.delete(first);
        return first;
      }
    }
    return null;
  }

  #removeFirst(): void {
    this.#swap(0, this.#heap.length - 1);
    this.#heap.pop();
    for (let index = 0;;) {
      const [left, right] = [2 * index + 1, 2 * index + 2];
      let least = index;
      if (left < this.#heap.length && this.#isBefore(left, least)) least = left;
      if (right < this.#heap.length && this.#isBefore(right, least)) least = right;
      if (least === index) return;
      this.#swap(index, least);
      index = least;
    }
  }

  #isBefore(a: number, b: number): boolean {
    const [one, other] = [this.#heap[a], this.#heap[b]];
    if (one === undefined || other === undefined) return false;
    return one.dueMs === other.dueMs ? one.sequence < other.sequence : one.dueMs < other.dueMs;
  }

  #swap(a: number, b: number): void {
    const [one, other] = [this.#heap[a], this.#heap[b]];
    if (one === undefined || other === undefined) return;
    [this.#heap[a], this.#heap[b]] = [other, one];
  }
}

/**
 * Lets chains of awaits proceed. Each turn is a macrotask, before which all microtasks run; several, because streams
 * and responses hop through macrotasks of their own. Not setTimeout(0): that costs 2 ms a turn, setImmediate 10 us.
 */
export async function settle(turns = 10): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
}
