/** A clock that runs faster than another, or slower: a cluster on it lives through an hour while a minute passes. */
import type { Clock } from "./clock.ts";

/** Its wall time begins as the other's, and its waits are as much shorter as it is faster. */
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
