/**
 * How much work may one namespace cause?
 *
 * A token bucket for each namespace, in milliseconds that were measured and in bytes. Work is counted when it is done,
 * so a namespace can be in debt. Then its next work waits until the debt is paid.
 */
import type { Clock } from "./clock.ts";

/** What each namespace may use on average, and what it may use at once after a pause. */
export interface BudgetLimits {
  readonly msPerSecond: number;
  readonly burstMs: number;
  readonly bytesPerSecond: number;
  readonly burstBytes: number;
}

/** Work that was done. */
export interface Work {
  /** Milliseconds of the event loop. */
  readonly ms?: number;
  readonly bytes?: number;
}

interface Account {
  ms: number;
  bytes: number;
  /** When both were computed. */
  atMs: number;
  /** When work of it had to wait last. */
  delayedAtMs: number;
}

/** A namespace counts as delayed for this time, so that a status which says so does not change back and forth. */
const DELAYED_MS = 60_000;

/** Accounts that are kept before those that are full again are removed. */
const MAX_ACCOUNTS = 256;

export class WorkBudget {
  readonly #clock: Pick<Clock, "monotonic" | "sleep">;
  readonly #limits: BudgetLimits;
  readonly #accounts = new Map<string, Account>();

  constructor(clock: Pick<Clock, "monotonic" | "sleep">, limits: BudgetLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  spend(namespace: string, { ms = 0, bytes = 0 }: Work): void {
    const account = this.#fill(namespace);
    account.ms -= ms;
    account.bytes -= bytes;
  }

  /** Resolves when the namespace is not in debt. Rejects with `signal.reason` as soon as the signal aborts. */
  async wait(namespace: string, signal: AbortSignal): Promise<void> {
    for (let waitMs = this.#getWaitMs(namespace); waitMs > 0; waitMs = this.#getWaitMs(namespace)) {
      this.#fill(namespace).delayedAtMs = this.#clock.monotonic();
      await this.#clock.sleep(waitMs, signal);
    }
    signal.throwIfAborted();
  }

  /** Returns whether work of the namespace had to wait within the last minute. */
  isDelayed(namespace: string): boolean {
    const { delayedAtMs = -Infinity } = this.#accounts.get(namespace) ?? {};
    return this.#clock.monotonic() - delayedAtMs < DELAYED_MS;
  }

  #getWaitMs(namespace: string): number {
    const { ms, bytes } = this.#fill(namespace);
    const { msPerSecond, bytesPerSecond } = this.#limits;
    return Math.ceil(1000 * Math.max(0, -ms / msPerSecond, -bytes / bytesPerSecond));
  }

  #fill(namespace: string): Account {
    const { msPerSecond, burstMs, bytesPerSecond, burstBytes } = this.#limits;
    const nowMs = this.#clock.monotonic();
    const known = this.#accounts.get(namespace);
    if (known === undefined) {
      if (this.#accounts.size >= MAX_ACCOUNTS) this.#removeFull();
      const account = { ms: burstMs, bytes: burstBytes, atMs: nowMs, delayedAtMs: -Infinity };
      this.#accounts.set(namespace, account);
      return account;
    }
    const seconds = (nowMs - known.atMs) / 1000;
    known.ms = Math.min(burstMs, known.ms + seconds * msPerSecond);
    known.bytes = Math.min(burstBytes, known.bytes + seconds * bytesPerSecond);
    known.atMs = nowMs;
    return known;
  }

  #removeFull(): void {
    for (const namespace of [...this.#accounts.keys()]) {
      const { ms, bytes } = this.#fill(namespace);
      const isFull = ms === this.#limits.burstMs && bytes === this.#limits.burstBytes;
      if (isFull && !this.isDelayed(namespace)) this.#accounts.delete(namespace);
    }
  }
}
