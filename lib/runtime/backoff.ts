/**
 * When may a failed request be tried again?
 *
 * A jittered exponential wait for one caller, and a circuit breaker for all callers of a server that has answered that
 * it is busy.
 */
import type { Clock } from "./clock.ts";

// How long to wait before the next try? The wait doubles with every failure up to a ceiling, and is jittered so that
// clients which failed together do not come back together.

/**
 * Gives the wait in whole ms after failure number `attempt` in a row, counted from 0: between half of the ceiling and
 * all of it.
 */
export function backoffMs(attempt: number, { baseMs, maxMs, random }: BackoffOptions): number {
  const ceilingMs = Math.min(maxMs, baseMs * 2 ** Math.max(0, attempt));
  return Math.round(ceilingMs * (1 + random()) / 2);
}

// When may a server be asked again that has said it is busy? One brake for all who ask it: while it holds nobody asks;
// then one asks for all, and the others go on when that one was served, or wait longer when it was not.

/** The server has said that it is busy. */
export interface BusyAnswer {
  /** How long to wait as it asked, ms; `null` = it did not say. */
  readonly waitMs: number | null;
}

/** Leave to ask once. Disposal without a note leaves it to the next to find out. */
export interface Permit extends Disposable {
  /** What came of it; `null` = the server was not busy. */
  report(busy: BusyAnswer | null): void;
}

/** Shared by all who ask one server. */
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

  /** `null` while it holds, and while another asks for all. */
  tryAcquire(): Permit | null {
    if (!this.#isOpen) return this.#newPermit(false);
    if (this.#isProbing || this.#options.clock.monotonic() < this.#openUntilMs) return null;
    this.#isProbing = true;
    return this.#newPermit(true);
  }

  /** Resolves when the caller may ask, in order of arrival. Rejects with `signal.reason` as soon as the signal aborts. */
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

  /** Of those that were under way together each may be answered so: that is one time. */
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

/** What waits are made of. */
interface CircuitBreakerOptions {
  readonly clock: Pick<Clock, "monotonic" | "sleep">;
  readonly random: () => number;
}

const BASE_WAIT_MS = 1_000;

const MAX_OWN_WAIT_MS = 30_000;

/** Whoever asks for a longer wait gets one for that request, but not for all. */
const MAX_ASKED_WAIT_MS = 60_000;

/** After so long without a busy answer waits begin anew. */
const RESET_AFTER_MS = 60_000;

const UNTIL_WOKEN_MS = 24 * 3_600_000;
