/**
 * What time is it, and how does the code wait? A Clock has wall time, steady time and monotonic time.
 *
 * Real timers appear in this file only. All other code takes a Clock, so that a test or a simulation can move time by
 * hand.
 */

export interface Clock {
  /**
   * Returns the wall time, epoch ms. It may step in either direction: it is for what people read, for cron, and for the
   * API.
   */
  now(): number;
  /** Returns the steady time, epoch ms: the wall time at the start plus the time since then. Decisions use it alone. */
  steady(): number;
  /** Returns the ms since an arbitrary start; it never steps. */
  monotonic(): number;
  /** Resolves after `ms`, or rejects with `signal.reason` as soon as the signal aborts. Leaves no timer behind. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Returns a signal that aborts after `ms` with a TimeoutError, unless it is disposed before. */
  timeout(ms: number): Timeout;
}

export interface Timeout extends Disposable {
  readonly signal: AbortSignal;
}

/** setTimeout takes a signed 32-bit number and fires at once for a larger one. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The clock of this machine. A wait of more than 24.8 days ends after 24.8 days. */
export const systemClock: Clock = {
  now: Date.now,
  steady: () => Math.floor(performance.timeOrigin + performance.now()),
  monotonic: () => performance.now(),
  sleep,
  timeout,
};

/**
 * Returns by how much the wall clock is ahead of steady time, in ms, rounded to whole seconds like API timestamps. It
 * is 0 until the wall clock is set. A time of another clock minus this is comparable with steady time. `steady` is the
 * present steady time, for callers that have read it already.
 */
export function computeWallAheadMs(clock: Pick<Clock, "now" | "steady">, steady = clock.steady()): number {
  return Math.round((clock.now() - steady) / 1000) * 1000 + 0;
}

/** Returns the reason of a timeout's signal, for every clock: a TimeoutError, as `AbortSignal.timeout()` has it. */
export function timeoutError(ms: number): DOMException {
  return new DOMException(`Timed out after ${Math.round(ms)} ms`, "TimeoutError");
}

export function isTimeoutError(reason: unknown): boolean {
  return reason instanceof DOMException && reason.name === "TimeoutError";
}

/**
 * Returns a clock whose time passes `speed` times as fast: at speed 60 an hour takes a minute. It starts at the other
 * clock's wall time. Throws RangeError unless the speed is above 0.
 */
export function scaleClock(clock: Clock, speed: number): Clock {
  if (!(speed > 0) || !Number.isFinite(speed)) throw new RangeError(`Cannot scale a clock by ${speed}: not above 0`);
  const [startAt, startMs] = [clock.now(), clock.monotonic()];
  const steadyAt = clock.steady();
  return {
    now: () => startAt + (clock.now() - startAt) * speed,
    steady: () => startAt + (clock.steady() - steadyAt) * speed,
    monotonic: () => (clock.monotonic() - startMs) * speed,
    sleep: (ms, signal) => clock.sleep(ms / speed, signal),
    timeout: (ms) => clock.timeout(ms / speed),
  };
}

/** Calls `ring` at a time that its owner sets again and again. Alarms that ring at the same time share a timer. */
export class Alarm {
  readonly #clock: AlarmClock;
  readonly #ring: () => void;
  /** Of all alarms of the clock, by the time at which they ring, monotonic ms. */
  readonly #groups: Map<number, AlarmGroup>;
  /** `null` = it is not set. */
  #group: AlarmGroup | null = null;

  /** `ring` must not throw. */
  constructor(clock: AlarmClock, ring: () => void) {
    this.#clock = clock;
    this.#ring = ring;
    this.#groups = GROUPS.get(clock) ?? new Map();
    GROUPS.set(clock, this.#groups);
  }

  /** Sets it to `dueMs`, monotonic: it rings at that time, or up to `withinMs` later. Replaces the time it had. */
  set(dueMs: number, withinMs = 0): void {
    this.cancel();
    const atMs = withinMs === 0 ? dueMs : Math.ceil(dueMs / withinMs) * withinMs;
    let group = this.#groups.get(atMs);
    if (group === undefined) {
      this.#groups.set(atMs, group = { atMs, alarms: new Set(), ending: new AbortController() });
      void this.#wait(group);
    }
    group.alarms.add(this);
    this.#group = group;
  }

  /** It does not ring before it is set again. The last one of a timer ends the timer. */
  cancel(): void {
    const group = this.#group;
    if (group === null) return;
    this.#group = null;
    group.alarms.delete(this);
    if (group.alarms.size > 0) return;
    this.#groups.delete(group.atMs);
    // Without a reason it would make an error with a stack.
    group.ending.abort(CANCELLED);
  }

  async #wait({ atMs, alarms, ending }: AlarmGroup): Promise<void> {
    try {
      await this.#clock.sleep(Math.max(0, atMs - this.#clock.monotonic()), ending.signal);
      // A timer drops parts of a millisecond, so it may end too early.
      const leftMs = atMs - this.#clock.monotonic();
      if (leftMs > 0) await this.#clock.sleep(leftMs, ending.signal);
    } catch {
      return;
    }
    this.#groups.delete(atMs);
    for (const alarm of alarms) {
      alarm.#group = null;
      alarm.#ring();
    }
  }
}

/** The waits of one loop. A thousand loops keep few timers: their alarms share them, and each has one listener. */
export class Pause implements Disposable {
  readonly #signal: AbortSignal;
  readonly #alarm: Alarm;
  readonly #end = () => {
    this.#alarm.cancel();
    this.#wake();
  };
  #wake = () => {};

  constructor(clock: AlarmClock, signal: AbortSignal) {
    this.#signal = signal;
    this.#alarm = new Alarm(clock, () => this.#wake());
    signal.addEventListener("abort", this.#end);
  }

  /** Resolves at that time, monotonic, when the signal aborts, or when `end` is called. One wait at a time. */
  until(dueMs: number): Promise<void> {
    if (this.#signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wake = resolve;
      this.#alarm.set(dueMs);
    });
  }

  /** Ends the wait; without one it does nothing. */
  end(): void {
    this.#end();
  }

  [Symbol.dispose](): void {
    this.#signal.removeEventListener("abort", this.#end);
    this.#end();
  }
}

type AlarmClock = Pick<Clock, "monotonic" | "sleep">;

interface AlarmGroup {
  readonly atMs: number;
  readonly alarms: Set<Alarm>;
  readonly ending: AbortController;
}

const CANCELLED = new Error("the alarm was cancelled");

const GROUPS = new WeakMap<AlarmClock, Map<number, AlarmGroup>>();

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
