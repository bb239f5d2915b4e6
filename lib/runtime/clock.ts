/**
 * What time is it, and how does one wait? Real timers appear in this file only. All other code takes a Clock, so that a
 * test or a simulation can move time by hand.
 */

export interface Clock {
  /** Gives the wall time in epoch ms; it may step in either direction. */
  now(): number;
  /** Gives the ms since an arbitrary start; never steps. */
  monotonic(): number;
  /** Resolves after `ms`, or rejects with `signal.reason` as soon as the signal aborts. Leaves no timer behind. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Gives a signal that aborts after `ms` with a TimeoutError, unless it is disposed before. */
  timeout(ms: number): Timeout;
}

export interface Timeout extends Disposable {
  readonly signal: AbortSignal;
}

/** The clock of this machine. A wait of more than 24.8 days ends early, after these. */
export const systemClock: Clock = { now: Date.now, monotonic: () => performance.now(), sleep, timeout };

/** Makes the reason of a timeout's signal, on every clock: a TimeoutError, as `AbortSignal.timeout()` has it. */
export function timeoutError(ms: number): DOMException {
  return new DOMException(`Timed out after ${ms} ms`, "TimeoutError");
}

/** setTimeout takes a signed 32-bit number and fires at once for a larger one. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const timer = setTimeout(wake, Math.min(ms, LONGEST_TIMER_MS));
    signal?.addEventListener("abort", abort, { once: true });

    function wake(): void {
      signal?.removeEventListener("abort", abort);
      resolve();
    }
    function abort(): void {
      clearTimeout(timer);
      reject(signal?.reason);
    }
  });
}

function timeout(ms: number): Timeout {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(timeoutError(ms)), Math.min(ms, LONGEST_TIMER_MS));
  return { signal: controller.signal, [Symbol.dispose]: () => clearTimeout(timer) };
}
