/**
 * Which long-running tasks run now, and how does the code wait for one to end?
 *
 * A TaskSet runs tasks by key. It starts a failed task again after a growing wait, and two tasks of one key never
 * overlap.
 */
import { backoffMs } from "./backoff.ts";
import type { Clock } from "./clock.ts";

/** Runs until its signal aborts, and must end soon after. An error after the abort is not reported. */
export type RunTask = (signal: AbortSignal) => Promise<void>;

export class TaskSet implements AsyncDisposable {
  readonly #options: Required<TaskSetOptions>;
  readonly #running = new Map<string, Task>();
  /** Tasks that were aborted and have not ended yet, by key. A new task of that key waits for their end. */
  readonly #ending = new Map<string, Promise<void>>();
  #isDisposed = false;

  constructor(options: TaskSetOptions) {
    this.#options = { baseMs: 1_000, maxMs: 60_000, ...options };
  }

  /** The number of tasks that were started and not stopped, including those that wait to be started again. */
  get size(): number {
    return this.#running.size;
  }

  /** Starts a task. Does nothing for a key that is started already, and nothing after disposal. Never throws. */
  start(key: string, start: RunTask): void {
    if (this.#isDisposed || this.#running.has(key)) return;
    const task: Task = { start, controller: new AbortController(), ended: Promise.resolve() };
    task.ended = this.#run(key, task);
    this.#running.set(key, task);
  }

  /** Aborts a task and returns at once. The next task of that key waits for its end. */
  stop(key: string): void {
    const task = this.#running.get(key);
    if (task === undefined) return;
    this.#running.delete(key);
    this.#ending.set(key, task.ended);
    task.controller.abort(new DOMException(`Task "${key}" is no longer wanted`, "AbortError"));
    void task.ended.then(() => {
      if (this.#ending.get(key) === task.ended) this.#ending.delete(key);
    });
  }

  /** Aborts all tasks and resolves when they have ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    for (const key of [...this.#running.keys()]) this.stop(key);
    await Promise.all(this.#ending.values());
  }

  /** A task that returns before it is stopped is started again too, without a report. */
  async #run(key: string, task: Task): Promise<void> {
    const { clock, onError, maxMs } = this.#options;
    const { signal } = task.controller;
    await this.#ending.get(key);
    for (let attempt = 0; !signal.aborted; attempt++) {
      const startedMs = clock.monotonic();
      try {
        await task.start(signal);
      } catch (error) {
        if (!signal.aborted) onError(key, error);
      }
      if (clock.monotonic() - startedMs > maxMs) attempt = 0;
      await clock.sleep(backoffMs(attempt, this.#options), signal).catch(() => {});
    }
  }
}

/** Resolves when the signal aborts; at once where it has. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Resolves when the work has ended or the time is over; the work must not reject. Work in progress goes on. */
export async function waitAtMost(ms: number, work: Promise<unknown>, clock: Pick<Clock, "sleep">): Promise<void> {
  const patience = new AbortController();
  const tooLong = clock.sleep(ms, patience.signal).catch(() => {});
  await Promise.race([work, tooLong]);
  patience.abort();
}

/**
 * Settles as the promise does, or rejects with `signal.reason` as soon as the signal aborts. The work behind the
 * promise is not cancelled: other callers may share it.
 */
export async function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([aborted.promise, promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

interface TaskSetOptions {
  readonly clock: Clock;
  readonly random: () => number;
  /** Called for every failure, before the task is started again. Must not throw. */
  readonly onError: (key: string, error: unknown) => void;
  /** The ceiling of the first wait after a failure; 1 s by default. */
  readonly baseMs?: number;
  /** The ceiling of every wait; 60 s by default. A task that ran for longer starts over at `baseMs`. */
  readonly maxMs?: number;
}

interface Task {
  readonly start: RunTask;
  readonly controller: AbortController;
  ended: Promise<void>;
}
