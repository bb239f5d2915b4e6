/**
 * Pieces of work one after the other, with a rest after each few ms of them in which timers and sockets go first: what a thousand nodes answer at about
 * the same time does not hold up a probe, or a request.
 */
import type { Clock } from "./clock.ts";

/** So much work, ms, is done before the next rest. */
const STRETCH_MS = 5;

/** Gives what `job` gives, or rejects with what it throws. It is done at once unless others wait, or a rest is due. */
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
