/** Lets a few through at a time, so that a thousand nodes that wait for one answer do not go on all in one go. */
import type { Clock } from "../../runtime/clock.ts";

/** Makes a gate. Each passing resolves when its turn has come, and rejects with the signal's reason. */
export function createTurns(clock: Pick<Clock, "monotonic" | "sleep">): (signal: AbortSignal) => Promise<void> {
  let slotMs = -Infinity;
  let taken = 0;
  return async (signal) => {
    const nowMs = clock.monotonic();
    if (slotMs < nowMs) [slotMs, taken] = [nowMs, 0];
    if (taken === GROUP) [slotMs, taken] = [slotMs + GAP_MS, 0];
    taken++;
    if (slotMs > nowMs) await clock.sleep(slotMs - nowMs, signal);
  };
}

/** Nodes, whose pods are evaluated in some 10 ms. */
const GROUP = 16;
const GAP_MS = 20;
