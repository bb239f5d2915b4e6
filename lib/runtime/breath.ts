/** Lets others go first where much is to be done at a stretch. */
import type { Clock } from "./clock.ts";

/** So much work, ms, is done before the next breath. */
const STRETCH_MS = 5;

/** To be called between two pieces of work: sleeps for no time once they have taken 5 ms together. Never rejects. */
export type Breathe = () => Promise<void> | null;

/** Begins a stretch of work. */
export function startStretch({ clock, signal }: {
  readonly clock: Pick<Clock, "monotonic" | "sleep">;
  readonly signal: AbortSignal;
}): Breathe {
  let sinceMs = clock.monotonic();
  return () => {
    if (clock.monotonic() - sinceMs < STRETCH_MS) return null;
    return clock.sleep(0, signal).catch(() => {}).then(() => void (sinceMs = clock.monotonic()));
  };
}
