/**
 * A Clock that moves only by `advance`. An hour passes as fast as its work is done.
 */
import { setImmediate } from "node:timers";
import { type Clock, type Timeout, timeoutError } from "../../lib/runtime/clock.ts";

// A Clock that moves only by `advance`, so that an hour passes as fast as its work is done. Sleepers wake one at a
// time, in the order in which they are due, and each gets some turns of the event loop: what it does next, and its
// next sleep, belong to the same advance. Works with transports in the same process only, since a socket takes real
// time.

/** Where the wall time of a virtual clock starts by default: 2026-11-20T11:00:00Z, in epoch ms. */
export const VIRTUAL_START_AT = Date.UTC(2026, 10, 20, 11);

// What is due next? The alarms of a virtual clock; an embedded cluster sets thousands of them.

/** A binary heap by due time and sequence. */
class Alarms {
  readonly #heap: Alarm[] = [];
  readonly #waiting = new Set<Alarm>();

  /** How many alarms wait, cancelled ones excluded. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Adds an alarm in logarithmic time. */
  add(alarm: Alarm): void {
    this.#waiting.add(alarm);
    let index = this.#heap.push(alarm) - 1;
    for (let parent = (index - 1) >> 1; index > 0 && this.#isBefore(index, parent); parent = (index - 1) >> 1) {
      this.#swap(index, parent);
      index = parent;
    }
  }

  /** Cancels an alarm in constant time: it stays in the heap until its time has come. */
  cancel(alarm: Alarm): void {
    this.#waiting.delete(alarm);
    if (this.#waiting.size === 0) this.#heap.length = 0;
  }

  /** Removes and gives the next alarm that is due at `untilMs` or before; `null` when there is none. */
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

/** Rejections and timeouts are those of the real clock. */
export class VirtualClock implements Clock {
  #wallAt: number;
  readonly #startAt: number;
  #elapsedMs = 0;
  #sequence = 0;
  readonly #alarms = new Alarms();

  constructor(startAt = VIRTUAL_START_AT) {
    this.#wallAt = this.#startAt = startAt;
  }

  now(): number {
    return this.#wallAt;
  }

  steady(): number {
    return this.#startAt + this.#elapsedMs;
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
    await settleEventLoop();
    for (let alarm = this.#alarms.take(untilMs); alarm !== null; alarm = this.#alarms.take(untilMs)) {
      rungAtOnce = alarm.dueMs > this.#elapsedMs ? 0 : rungAtOnce + 1;
      if (rungAtOnce > MAX_ALARMS_AT_ONCE) {
        throw new Error(`Cannot advance by ${ms} ms: something sleeps 0 ms in an endless loop`);
      }
      this.#moveTo(alarm.dueMs);
      alarm.ring();
      await settleEventLoop();
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

/**
 * Resolves after some turns of the event loop, so that chains of awaits proceed. All microtasks run before each turn,
 * and there are several turns because streams and responses need macrotasks of their own. A turn by setTimeout(0) would
 * take 2 ms, by setImmediate it takes 10 us.
 */
export async function settleEventLoop(turns = 10): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
}

const MAX_ALARMS_AT_ONCE = 10_000;

/** Something that happens when a clock reaches `dueMs`, in ms since the clock's start. */
interface Alarm {
  /** Orders alarms of the same time: the order in which they were set. */
  readonly sequence: number;
  readonly dueMs: number;
  readonly ring: () => void;
}
