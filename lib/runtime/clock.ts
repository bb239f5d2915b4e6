/**
 * What time is it, and how does one wait? The only file in which real timers appear; all else takes a Clock, so that a
 * test or a simulation can move time by hand.
 */

export interface Clock {
  /** Wall clock, epoch ms; may step. */
  now(): number;
  /** Never steps; ms since an arbitrary start. */
  monotonic(): number;
  /** Rejects with `signal.reason` when aborted; leaves no timer behind. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** A signal that aborts after `ms`, unless it is disposed before. */
  timeout(ms: number): Timeout;
}

export interface Timeout extends Disposable {
  readonly signal: AbortSignal;
}

export const systemClock: Clock = { now: Date.now, monotonic: () => performance.now(), sleep, timeout };

/** The reason of a timeout's signal; the same on every clock, and the name that `AbortSignal.timeout` uses. */
export function timeoutError(ms: number): DOMException {
  return new DOMException(`Timed out after ${ms} ms`, "TimeoutError");
}

/** setTimeout holds a signed 32-bit number and fires at once beyond it; so a longer wait ends early, at 24.8 days. */
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
