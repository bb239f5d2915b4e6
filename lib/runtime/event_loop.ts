/**
 * How does a process with much synchronous work stay responsive?
 *
 * One queue runs the work in short slices. LoopLag measures for how long the event loop was blocked.
 */
import type { Clock } from "./clock.ts";

// One queue for all synchronous work of a process. After each 5 ms of it the event loop turns once, so that a thousand
// nodes that answer at about the same time hold up no probe and no request.

/** Resolves to what `job` returns, or rejects with what it throws. Runs it at once unless others are queued, or a rest is due. */
export type RunQueued = <T>(job: () => T) => Promise<T>;

/** The queue of the event loop in which the clock's sleeps end: whoever passes the same clock gets the same queue. */
export function getComputeQueue(clock: LoopClock): RunQueued {
  const compute = QUEUES.get(clock) ?? createComputeQueue(clock);
  QUEUES.set(clock, compute);
  return compute;
}

/**
 * The same function, whose calls wait for their turn, and whose answers do before they are passed on: a hundred that come together are
 * otherwise handled in one turn of the event loop.
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

// For how long was the event loop blocked? Measures how late the sleeps of a clock wake, and keeps the longest delay.
// It sets no timer of its own, so it measures as often as the process sleeps.

/** A clock, and the longest that the event loop was blocked. */
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

  /** Gives the longest delay since the last call, in ms. */
  takeMaxMs(): number {
    const longestMs = this.#longestMs;
    this.#longestMs = 0;
    return longestMs;
  }
}

/** Work, ms, between two turns of the event loop. */
const SLICE_MS = 5;

/** Microtasks: more than a request takes from its turn to the socket, or an answer to whoever waits for it. */
const MICROTASKS_PER_JOB = 32;

type LoopClock = Pick<Clock, "monotonic" | "sleep">;

const QUEUES = new WeakMap<LoopClock, RunQueued>();

function createComputeQueue(clock: LoopClock): RunQueued {
  const waiting: (() => void)[] = [];
  let workedMs = 0;
  let isBusy = false;

  async function work(): Promise<void> {
    isBusy = true;
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
      const startedMs = clock.monotonic();
      job();
      // What its answer sets off, such as a request that is sent, is part of the work.
      for (let hop = 0; hop < MICROTASKS_PER_JOB; hop++) await null;
      workedMs += clock.monotonic() - startedMs;
      if (workedMs < SLICE_MS) continue;
      await clock.sleep(0);
      workedMs = 0;
    }
    isBusy = false;
  }

  return <T>(job: () => T) => {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    waiting.push(() => {
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
