/**
 * Which long-running tasks run now? A set of keyed tasks, reconciled to what is wanted: missing ones are started,
 * unwanted ones aborted, failed ones started again with back-off. Two tasks of one key never overlap.
 */

import { backoffMs } from "./backoff.ts";
import type { Clock } from "./clock.ts";

/** Runs until its signal aborts, and must end soon after. What it throws once aborted is taken for the abort. */
export type Start = (signal: AbortSignal) => Promise<void>;

export interface TaskSetOptions {
  readonly clock: Clock;
  readonly random: () => number;
  /** Told of every failure before the task is started again; must not throw. */
  readonly onError: (key: string, error: unknown) => void;
  readonly baseMs?: number;
  readonly maxMs?: number;
}

export class TaskSet implements AsyncDisposable {
  readonly #options: Required<TaskSetOptions>;
  readonly #running = new Map<string, Task>();
  /** Aborted and not ended yet, by key: a new task of that key waits for it. */
  readonly #ending = new Map<string, Promise<void>>();
  #isDisposed = false;

  constructor(options: TaskSetOptions) {
    this.#options = { baseMs: 1_000, maxMs: 60_000, ...options };
  }

  /** Number of wanted tasks, waiting ones included. */
  get size(): number {
    return this.#running.size;
  }

  /** A task that runs on keeps its old Start until it next has to be started. Does nothing after disposal. */
  reconcile(wanted: ReadonlyMap<string, Start>): void {
    if (this.#isDisposed) return;
    for (const [key, task] of this.#running) {
      if (!wanted.has(key)) this.#end(key, task);
    }
    for (const [key, start] of wanted) {
      const task = this.#running.get(key);
      if (task === undefined) this.#running.set(key, this.#launch(key, start));
      else task.start = start;
    }
  }

  /** Aborts all and waits for all. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    for (const [key, task] of this.#running) this.#end(key, task);
    await Promise.all(this.#ending.values());
  }

  #launch(key: string, start: Start): Task {
    const task: Task = { start, controller: new AbortController(), ended: Promise.resolve() };
    task.ended = this.#run(key, task);
    return task;
  }

  #end(key: string, task: Task): void {
    this.#running.delete(key);
    this.#ending.set(key, task.ended);
    task.controller.abort(new DOMException(`Task "${key}" is no longer wanted`, "AbortError"));
    void task.ended.then(() => {
      if (this.#ending.get(key) === task.ended) this.#ending.delete(key);
    });
  }

  /** A task that returns by itself is started again too, as wanted means running; only a failure is reported. */
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

interface Task {
  start: Start;
  readonly controller: AbortController;
  ended: Promise<void>;
}
