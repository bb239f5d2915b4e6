/**
 * How does a process with much synchronous work stay responsive?
 *
 * After each 5 ms of work the event loop turns once, so that a thousand nodes that answer together delay no probe. One
 * queue runs most of the work; in it namespaces take turns. Events of watches share the 5 ms with it. LoopLag measures
 * for how long the event loop was blocked. It sets no timer, it measures existing sleeps.
 */
import type { Clock } from "./clock.ts";
import { Lanes } from "./lanes.ts";

/**
 * Resolves to the result of `job`, or rejects with its error. Runs it at once if the queue is empty and the slice is
 * not over. Jobs of several lanes take turns: a namespace whose author decides how long its jobs take has its own.
 */
export type RunQueued = <T>(job: () => T, lane?: string) => Promise<T>;

/** Returns the queue of the event loop in which the clock's sleeps end. The same clock gets the same queue. */
export function getComputeQueue(clock: LoopClock): RunQueued {
  const compute = QUEUES.get(clock) ?? createComputeQueue(clock);
  QUEUES.set(clock, compute);
  return compute;
}

/**
 * Returns the same function with calls and answers that pass through the queue. Otherwise a hundred calls that arrive
 * together are handled in one turn of the event loop.
 */
export function queueCalls<Args extends readonly unknown[], T>(
  compute: RunQueued,
  call: (...args: Args) => Promise<T>,
): (...args: Args) => Promise<T> {
  return async (...args) => {
    const { answering } = await compute(() => ({ answering: call(...args) }));
    try {
      return await answering;
    } finally {
      await compute(() => {});
    }
  };
}

/** A clock that measures how late its sleeps wake. */
export class LoopLag {
  /** The same time as the clock that was given; only its sleeps are measured. */
  readonly clock: Clock;
  #longestMs = 0;

  constructor(clock: Clock) {
    const sleep = (ms: number, signal?: AbortSignal) => {
      const dueMs = clock.monotonic() + Math.max(0, ms);
      return clock.sleep(ms, signal).then(() => {
        this.#longestMs = Math.max(this.#longestMs, clock.monotonic() - dueMs);
      });
    };
    this.clock = {
      now: () => clock.now(),
      steady: () => clock.steady(),
      monotonic: () => clock.monotonic(),
      timeout: (ms) => clock.timeout(ms),
      sleep,
    };
  }

  /** Returns the longest delay since the last call, ms. */
  takeMaxMs(): number {
    const longestMs = this.#longestMs;
    this.#longestMs = 0;
    return longestMs;
  }
}

/** Work, ms, between two turns of the event loop. */
const SLICE_MS = 5;

/** Microtasks; a request needs fewer from its turn to the socket, and an answer needs fewer to its caller. */
const MICROTASKS_PER_JOB = 32;

/** To wait for it takes one microtask, and unlike a wait for `null` makes no promise. */
const SETTLED = Promise.resolve();

type LoopClock = Pick<Clock, "monotonic" | "sleep">;

const QUEUES = new WeakMap<LoopClock, RunQueued>();

const SLICES = new WeakMap<LoopClock, LoopSlice>();

/** Returns the slice that all work with this clock shares, the queue's too. */
export function getLoopSlice(clock: LoopClock): LoopSlice {
  const slice = SLICES.get(clock) ?? new LoopSlice(clock);
  SLICES.set(clock, slice);
  return slice;
}

/**
 * The work of all parts in one turn of the event loop. One job at most begins before the slice ends and exceeds it. An
 * event of a watch waits only if the slice is over, because each `await` lets other work run before it.
 */
export class LoopSlice {
  readonly #clock: LoopClock;
  #workedMs = 0;
  #turning: Promise<void> | null = null;

  constructor(clock: LoopClock) {
    this.#clock = clock;
  }

  get isOver(): boolean {
    return this.#workedMs >= SLICE_MS;
  }

  add(ms: number): void {
    this.#workedMs += ms;
  }

  /** Resolves after the next turn of the event loop, when a new slice has begun. */
  turn(): Promise<void> {
    return this.#turning ??= this.#clock.sleep(0).then(() => {
      this.#workedMs = 0;
      this.#turning = null;
    });
  }

  /** Resolves when the slice of a turn has time left: another job may have used up the next one too. */
  async wait(): Promise<void> {
    while (this.isOver) await this.turn();
  }

  /** Runs the job in this turn, and counts its time. */
  measure<T>(job: () => T): T {
    const startedMs = this.#clock.monotonic();
    try {
      return job();
    } finally {
      this.add(this.#clock.monotonic() - startedMs);
    }
  }

  /** Runs the job in this turn, or in a later one if the slice is over. Jobs that wait run in order of arrival. */
  async run<T>(job: () => T): Promise<T> {
    if (this.isOver) await this.wait();
    return this.measure(job);
  }
}

function createComputeQueue(clock: LoopClock): RunQueued {
  const waiting = new Lanes<() => void>();
  const slice = getLoopSlice(clock);
  let isBusy = false;

  async function work(first: () => void): Promise<void> {
    isBusy = true;
    for (let next: (() => void) | null = first; next !== null; next = waiting.take()?.item ?? null) {
      while (slice.isOver) await slice.turn();
      const startedMs = clock.monotonic();
      next();
      // What the answer triggers, such as another request, is part of the work.
      for (let hop = 0; hop < MICROTASKS_PER_JOB; hop++) await SETTLED;
      slice.add(clock.monotonic() - startedMs);
      if (slice.isOver) await slice.turn();
    }
    isBusy = false;
  }

  return <T>(job: () => T, lane = "") => {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const run = () => {
      try {
        resolve(job());
      } catch (error) {
        reject(error);
      }
    };
    if (isBusy) waiting.add(lane, run);
    else void work(run);
    return promise;
  };
}
