/** Waits that are written in more than one place. None of them rejects. */
import type { Clock } from "./clock.ts";

/** Resolves when the signal aborts; at once where it has. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Resolves when the work, which must not reject, has ended or has taken so long. What is still under way goes on. */
export async function atMost(ms: number, work: Promise<unknown>, clock: Pick<Clock, "sleep">): Promise<void> {
  const patience = new AbortController();
  const tooLong = clock.sleep(ms, patience.signal).catch(() => {});
  await Promise.race([work, tooLong]);
  patience.abort();
}
