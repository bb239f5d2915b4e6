/** When a source that failed may be tried again: waits grow, so that one that comes and goes is believed less each time. */
import type { Clock } from "../../runtime/clock.ts";

/** How one source does for one node. */
export class Patience {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #random: () => number;
  #waitMs = LEAST_MS;
  #failedAtMs = -Infinity;
  #untilMs = -Infinity;
  #servesSinceMs: number;

  /** `random` gives a number from 0 to 1. */
  constructor({ clock, random }: { readonly clock: Pick<Clock, "monotonic">; readonly random: () => number }) {
    this.#clock = clock;
    this.#random = random;
    this.#servesSinceMs = clock.monotonic();
  }

  /** `isUrgent`: nothing else gives usage, so the wait is short, and does not grow. */
  mayTry(isUrgent: boolean): boolean {
    const nowMs = this.#clock.monotonic();
    return nowMs >= this.#untilMs || isUrgent && nowMs - this.#failedAtMs >= URGENT_MS;
  }

  /** It was tried, and failed. */
  fail(): void {
    const nowMs = this.#clock.monotonic();
    this.#failedAtMs = nowMs;
    this.#untilMs = nowMs + this.#waitMs * (1 + JITTER * this.#random());
    this.#waitMs = Math.min(2 * this.#waitMs, MOST_MS);
  }

  /** It serves from now on. */
  serve(): void {
    this.#servesSinceMs = this.#clock.monotonic();
  }

  /** It has served, and fails now: what went well for long is forgiven. */
  leave(): void {
    if (this.#clock.monotonic() - this.#servesSinceMs >= MOST_MS) this.#waitMs = LEAST_MS;
    this.fail();
  }
}

/** One poll of metrics-server: a pod that it does not know yet may be in its next list. */
const URGENT_MS = 15_000;
const LEAST_MS = 60_000;
const MOST_MS = 30 * 60_000;
const JITTER = 0.2;
