/**
 * Keys to be reconciled: each as often as it is asked for, one at a time, and again after a growing wait when it failed.
 */
import { backoffMs } from "../../runtime/backoff.ts";
import type { Clock } from "../../runtime/clock.ts";

/** What a reconciler does with each key, and how it waits after a failure. */
export interface ReconcilerOptions {
  readonly clock: Clock;
  readonly random: () => number;
  /** Level-based: brings what the key names to what is wanted now. Ms until it wants to be asked again, or nothing. */
  readonly reconcile: (key: string) => Promise<number | void>;
  readonly onError: (error: unknown) => void;
}

const RETRY = { baseMs: 100, maxMs: 30_000 };

/** A queue of keys: each is worked on by one at a time, and again with a back-off when it failed. */
export class Reconciler {
  readonly #options: ReconcilerOptions;
  /** Due times by key, in ms of the clock. */
  readonly #due = new Map<string, number>();
  readonly #failures = new Map<string, number>();
  #wake = () => {};

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  add(key: string, afterMs = 0): void {
    const dueMs = this.#options.clock.monotonic() + afterMs;
    if (dueMs >= (this.#due.get(key) ?? Infinity)) return;
    this.#due.set(key, dueMs);
    this.#wake();
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const next = this.#first();
      const waitMs = next === null ? Infinity : next.dueMs - this.#options.clock.monotonic();
      if (next === null || waitMs > 0) await this.#sleep(waitMs, signal);
      else await this.#reconcile(next.key, signal);
    }
  }

  #first(): { readonly key: string; readonly dueMs: number } | null {
    const now = this.#options.clock.monotonic();
    let first: { key: string; dueMs: number } | null = null;
    for (const [key, dueMs] of this.#due) {
      if (first === null || dueMs < first.dueMs) first = { key, dueMs };
      if (dueMs <= now) break;
    }
    return first;
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<void> {
    const { reconcile, onError, random } = this.#options;
    this.#due.delete(key);
    try {
      const againMs = await reconcile(key);
      this.#failures.delete(key);
      if (typeof againMs === "number") this.add(key, againMs);
    } catch (error) {
      if (signal.aborted) return;
      onError(error);
      const failures = this.#failures.get(key) ?? 0;
      this.#failures.set(key, failures + 1);
      this.add(key, backoffMs(failures, { ...RETRY, random }));
    }
  }

  async #sleep(ms: number, signal: AbortSignal): Promise<void> {
    const woken = new AbortController();
    this.#wake = () => {
      this.#wake = () => {};
      // Given a reason, or an error with its stack is made for each.
      woken.abort("woken");
    };
    const both = AbortSignal.any([signal, woken.signal]);
    await this.#options.clock.sleep(Math.min(ms, LONGEST_MS), both).catch(() => {});
    this.#wake = () => {};
  }
}

const LONGEST_MS = 3_600_000;
