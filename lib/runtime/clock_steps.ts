/** How far was the wall clock set, beside the time that has passed? An operator, NTP or a resumed machine sets it. */
import type { Clock } from "./clock.ts";

/**
 * Gives a function that says by how much the clock was set since it was last asked, ms; negative where it was set back.
 * Below five seconds it is 0, and counts with what comes: clocks are slewed a little all the time.
 */
export function watchSteps(clock: Pick<Clock, "now" | "monotonic">): () => number {
  let lookedAt = clock.now();
  let offsetMs = lookedAt - clock.monotonic();
  return () => {
    const now = clock.now();
    // Asked for every pod: the other clock costs many times as much as this one.
    if (now >= lookedAt && now < lookedAt + LOOK_MS) return 0;
    lookedAt = now;
    const stepMs = Math.round(now - clock.monotonic() - offsetMs);
    if (Math.abs(stepMs) < LEAST_MS) return 0;
    offsetMs += stepMs;
    return stepMs;
  };
}

const LEAST_MS = 5_000;
/** A step that ends in what would be the same second is seen in the next one. */
const LOOK_MS = 1_000;
