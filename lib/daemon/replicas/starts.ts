/** When does each object begin? Those that appear together begin one after the other: what they do each 15 s would else fall on one moment for ever. */
import { TICK_MS } from "../../core/replicas/early_tick.ts";
import type { Clock } from "../../runtime/clock.ts";

/** So far apart, ms, over the period of ticks: of more objects some begin together. */
const APART_MS = 10;

/** Gives how long, ms, the next object is to wait; 0 for one that appears by itself. */
export function createStarts(clock: Pick<Clock, "monotonic">): () => number {
  let lastMs = -Infinity;
  return () => {
    const now = clock.monotonic();
    lastMs = Math.max(now, lastMs + APART_MS);
    if (lastMs - now >= TICK_MS) lastMs = now;
    return lastMs - now;
  };
}
