/**
 * How does a process with much synchronous work stay responsive?
 *
 * One queue runs the work. After each 5 ms the event loop turns once, so that a thousand nodes that answer together
 * delay no probe. The work of namespaces takes turns. LoopLag measures for how long the event loop was blocked. It sets no timer, it measures existing
 * sleeps.
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
    const sleep = async (ms: number, signal?: AbortSignal) => {
      const dueMs = clock.monotonic() + Math.max(0, ms);
      await clock.sleep(ms, signal);
      this.#longestMs = Math.max(this.#longestMs, clock.monotonic() - dueMs);
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

type LoopClock = Pick<Clock, "monotonic" | "sleep">;

const QUEUES = new WeakMap<LoopClock, RunQueued>();

function createComputeQueue(clock: LoopClock): RunQueued {
  const waiting = new Lanes<() => void>();
  let workedMs = 0;
  let isBusy = false;

  async function work(): Promise<void> {
    isBusy = true;
    for (let next = waiting.take(); next !== null; next = waiting.take()) {
      const startedMs = clock.monotonic();
      next.item();
      // What the answer triggers, such as another request, is part of the work.
      for (let hop = 0; hop < MICROTASKS_PER_JOB; hop++) await null;
      workedMs += clock.monotonic() - startedMs;
      if (workedMs < SLICE_MS) continue;
      await clock.sleep(0);
      workedMs = 0;
    }
    isBusy = false;
  }

  return <T>(job: () => T, lane = "") => {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    waiting.add(lane, () => {
      try {
        resolve(job());
      } catch (error) {
        reject(error);
      }
    });
    if (!isBusy) void work();
    return promise;
  };
}
