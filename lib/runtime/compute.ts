/**
 * One queue for all synchronous work of a process. After each 5 ms of it the event loop turns once, so that a thousand nodes that answer at about the
 * same time hold up no probe and no request.
 */
import type { Clock } from "./clock.ts";

/** Work, ms, between two turns of the event loop. */
const STRETCH_MS = 5;

/** Microtasks: more than a request takes from its turn to the socket, or an answer to whoever waits for it. */
const HOPS = 32;

/** Resolves to what `job` returns, or rejects with what it throws. Runs it at once unless others are queued, or a rest is due. */
export type Compute = <T>(job: () => T) => Promise<T>;

type LoopClock = Pick<Clock, "monotonic" | "sleep">;

const QUEUES = new WeakMap<LoopClock, Compute>();

/** The queue of the event loop in which the clock's sleeps end: whoever passes the same clock gets the same queue. */
export function computeOn(clock: LoopClock): Compute {
  const compute = QUEUES.get(clock) ?? createCompute(clock);
  QUEUES.set(clock, compute);
  return compute;
}

function createCompute(clock: LoopClock): Compute {
  const waiting: (() => void)[] = [];
  let workedMs = 0;
  let isBusy = false;

  async function work(): Promise<void> {
    isBusy = true;
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
      const startedMs = clock.monotonic();
      job();
      // What its answer sets off, such as a request that is sent, is part of the work.
      for (let hop = 0; hop < HOPS; hop++) await null;
      workedMs += clock.monotonic() - startedMs;
      if (workedMs < STRETCH_MS) continue;
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

/**
 * The same function, whose calls wait for their turn, and whose answers do before they are passed on: a hundred that come together are
 * otherwise handled in one turn of the event loop.
 */
export function queueCalls<Args extends readonly unknown[], T>(
  compute: Compute,
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
