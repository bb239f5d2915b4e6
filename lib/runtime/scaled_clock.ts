/** A clock that runs faster or slower than another: at speed 60, an hour of a simulation takes a minute. */
import type { Clock } from "./clock.ts";

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
