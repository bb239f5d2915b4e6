/**
 * When may a failed request be tried again?
 *
 * A jittered exponential wait for one caller, and a circuit breaker for all callers of a server that has answered that
 * it is busy.
 */
import type { Clock } from "./clock.ts";

/**
 * Returns the wait after failure number `attempt` in a row, counted from 0, in whole ms: between half of the ceiling
 * and all of it. The ceiling doubles with each failure. The jitter spreads clients that failed together.
 */
export function backoffMs(attempt: number, { baseMs, maxMs, random }: BackoffOptions): number {
  const ceilingMs = Math.min(maxMs, baseMs * 2 ** Math.max(0, attempt));
  return Math.round(ceilingMs * (1 + random()) / 2);
}

/** The server has said that it is busy. */
export interface BusyAnswer {
  /** How long the server asked to wait, ms; `null` = it did not say. */
  readonly waitMs: number | null;
}

/** The right to send one request. Disposal without a report leaves the result open: the next caller finds out. */
export interface Permit extends Disposable {
  /** Records the answer; `null` = the server was not busy. */
  report(busy: BusyAnswer | null): void;
}

/**
 * Shared by all callers of one server. While it is open, no request is sent. Then one request probes the server, and
 * the others follow or wait longer.
 */
export class CircuitBreaker {
  readonly #options: CircuitBreakerOptions;
  readonly #waiting = new Set<() => void>();
  #isOpen = false;
  #isProbing = false;
  #openUntilMs = -Infinity;
  #failures = 0;

  constructor(options: CircuitBreakerOptions) {
    this.#options = options;
  }

  /** Returns `null` while the breaker is open, and while another caller probes the server. */
  tryAcquire(): Permit | null {
    if (!this.#isOpen) return this.#newPermit(false);
    if (this.#isProbing || this.#options.clock.monotonic() < this.#openUntilMs) return null;
    this.#isProbing = true;
    return this.#newPermit(true);
  }

  /**
   * Resolves when the caller may send, in order of arrival. Rejects with `signal.reason` as soon as the signal aborts.
   */
  async acquire(signal: AbortSignal): Promise<Permit> {
    for (;;) {
      signal.throwIfAborted();
      const pass = this.tryAcquire();
      if (pass !== null) return pass;
      await this.#wait(signal);
    }
  }

  async #wait(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const waking = new AbortController();
    const wake = () => waking.abort();
    this.#waiting.add(wake);
    signal.addEventListener("abort", wake, { once: true });
    const waitMs = this.#isProbing ? UNTIL_WOKEN_MS : this.#openUntilMs - clock.monotonic();
    await clock.sleep(waitMs, waking.signal).catch(() => {});
    signal.removeEventListener("abort", wake);
    this.#waiting.delete(wake);
  }

  #newPermit(isProbe: boolean): Permit {
    let isOpen = isProbe;
    const close = () => {
      if (!isOpen) return;
      isOpen = false;
      this.#isProbing = false;
      this.#wakeAll();
    };
    return {
      report: (busy) => {
        if (busy !== null) this.#open(busy);
        else if (isOpen) this.#isOpen = false;
        close();
      },
      [Symbol.dispose]: close,
    };
  }

  /** Several requests in flight may get the same answer: they count as one failure. */
  #open({ waitMs }: BusyAnswer): void {
    const { clock, random } = this.#options;
    const nowMs = clock.monotonic();
    if (nowMs - this.#openUntilMs > RESET_AFTER_MS) this.#failures = 0;
    if (nowMs >= this.#openUntilMs) this.#failures++;
    const ownMs = backoffMs(this.#failures - 1, { baseMs: BASE_WAIT_MS, maxMs: MAX_OWN_WAIT_MS, random });
    const untilMs = nowMs + Math.max(ownMs, Math.min(waitMs ?? 0, MAX_ASKED_WAIT_MS));
    this.#isOpen = true;
    this.#openUntilMs = Math.max(this.#openUntilMs, untilMs);
  }

  #wakeAll(): void {
    for (const wake of [...this.#waiting]) wake();
  }
}

interface BackoffOptions {
  /** The ceiling of the first wait. */
  readonly baseMs: number;
  /** The ceiling of every wait. */
  readonly maxMs: number;
  /** Gives a number in [0, 1), as Math.random does. */
  readonly random: () => number;
}

interface CircuitBreakerOptions {
  readonly clock: Pick<Clock, "monotonic" | "sleep">;
  readonly random: () => number;
}

const BASE_WAIT_MS = 1_000;

const MAX_OWN_WAIT_MS = 30_000;

/** A request whose server asks for a longer wait gets it, but the other requests do not. */
const MAX_ASKED_WAIT_MS = 60_000;

/** After this time without a busy answer the waits start again at the shortest. */
const RESET_AFTER_MS = 60_000;

const UNTIL_WOKEN_MS = 24 * 3_600_000;
