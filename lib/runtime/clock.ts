/**
 * What time is it, and how does the code wait? A Clock has wall time and monotonic time.
 *
 * Real timers appear in this file only. All other code takes a Clock, so that a test or a simulation can move time by
 * hand.
 */

// What time is it, and how does one wait? Real timers appear in this file only. All other code takes a Clock, so that
// a test or a simulation can move time by hand.

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

/** setTimeout takes a signed 32-bit number and fires at once for a larger one. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The clock of this machine. A wait of more than 24.8 days ends early, after these. */
export const systemClock: Clock = { now: Date.now, monotonic: () => performance.now(), sleep, timeout };

/** Makes the reason of a timeout's signal, on every clock: a TimeoutError, as `AbortSignal.timeout()` has it. */
export function timeoutError(ms: number): DOMException {
  return new DOMException(`Timed out after ${ms} ms`, "TimeoutError");
}

// How far was the wall clock set, beside the time that has passed? An operator, NTP or a resumed machine sets it.

/**
 * Gives a function that says by how much the clock was set since it was last asked, ms; negative where it was set back.
 * Below five seconds it is 0, and counts with what comes: clocks are slewed a little all the time.
 */
export function watchClockSteps(clock: Pick<Clock, "now" | "monotonic">): () => number {
  let lookedAt = clock.now();
  let offsetMs = lookedAt - clock.monotonic();
  return () => {
    const now = clock.now();
    // Asked for every pod: the other clock costs many times as much as this one.
    if (now >= lookedAt && now < lookedAt + CHECK_INTERVAL_MS) return 0;
    lookedAt = now;
    const stepMs = Math.round(now - clock.monotonic() - offsetMs);
    if (Math.abs(stepMs) < MIN_STEP_MS) return 0;
    offsetMs += stepMs;
    return stepMs;
  };
}

// A clock that runs faster or slower than another: at speed 60, an hour of a simulation takes a minute.

/**
 * Gives a clock whose time passes `speed` times as fast, starting at the other's wall time. Throws RangeError for a
 * speed that is not above 0.
 */
export function scaleClock(clock: Clock, speed: number): Clock {
  if (!(speed > 0) || !Number.isFinite(speed)) throw new RangeError(`Cannot scale a clock by ${speed}: not above 0`);
  const [startAt, startMs] = [clock.now(), clock.monotonic()];
  return {
    now: () => startAt + (clock.now() - startAt) * speed,
    monotonic: () => (clock.monotonic() - startMs) * speed,
    sleep: (ms, signal) => clock.sleep(ms / speed, signal),
    timeout: (ms) => clock.timeout(ms / speed),
  };
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const timer = setTimeout(wake, Math.min(ms, MAX_TIMER_MS));
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
  const timer = setTimeout(() => controller.abort(timeoutError(ms)), Math.min(ms, MAX_TIMER_MS));
  return { signal: controller.signal, [Symbol.dispose]: () => clearTimeout(timer) };
}

const MIN_STEP_MS = 5_000;

/** A step that ends in what would be the same second is seen in the next one. */
const CHECK_INTERVAL_MS = 1_000;
