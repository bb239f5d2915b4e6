/**
 * One queue for all synchronous work. After each 5 ms of it the event loop turns once, so that a thousand nodes that answer at about the same time hold
 * up no probe and no request.
 */
import type { Clock } from "./clock.ts";

/** Work, ms, between two turns of the event loop. */
const STRETCH_MS = 5;

/** Resolves to what `job` returns, or rejects with what it throws. Runs it at once unless others are queued, or a rest is due. */
export type Compute = <T>(job: () => T) => Promise<T>;

export function createCompute(clock: Pick<Clock, "monotonic" | "sleep">): Compute {
  const waiting: (() => void)[] = [];
  let workedMs = 0;
  let isBusy = false;

  function work(): void {
    isBusy = true;
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) {
      const startedMs = clock.monotonic();
      job();
      workedMs += clock.monotonic() - startedMs;
      if (workedMs >= STRETCH_MS) return void rest();
    }
    isBusy = false;
  }

  async function rest(): Promise<void> {
    await clock.sleep(0);
    workedMs = 0;
    work();
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
    if (!isBusy) work();
    return promise;
  };
}
