/**
 * Which long-running tasks run now? A set of keyed tasks: each runs from its start to its stop, and is started again with
 * back-off where it fails. Two tasks of one key never overlap.
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

  /** Does nothing for a key that is started already, nor after disposal. */
  start(key: string, start: Start): void {
    if (this.#isDisposed || this.#running.has(key)) return;
    const task: Task = { start, controller: new AbortController(), ended: Promise.resolve() };
    task.ended = this.#run(key, task);
    this.#running.set(key, task);
  }

  /** Returns at once; a task of that key that is started next waits for the end of this one. */
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

  /** Aborts all and waits for all. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    for (const key of [...this.#running.keys()]) this.stop(key);
    await Promise.all(this.#ending.values());
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
  readonly start: Start;
  readonly controller: AbortController;
  ended: Promise<void>;
}
