/** One answer for many nodes: who asks soon after another gets what that one got. */
import type { Clock } from "../../runtime/clock.ts";

/** As long as metrics-server needs at least for a newer point, less what timers ring early or late, ms. */
export const SHARED_MS = 14_000;

/** Makes a reader that asks anew once the last question is so long ago, whatever came of it. */
export function shareAnswer<T>(ask: () => Promise<T>, clock: Pick<Clock, "monotonic">): () => Promise<T> {
  let last: { readonly askedAtMs: number; readonly answer: Promise<T> } | null = null;
  return () => {
    const nowMs = clock.monotonic();
    if (last === null || nowMs - last.askedAtMs >= SHARED_MS) last = { askedAtMs: nowMs, answer: ask() };
    return last.answer;
  };
}
