/** Waits until a start makes sense: what heals by itself is asked again, with growing waits. */
import { backoffMs } from "../../runtime/backoff.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { NotYet } from "./check_cluster.ts";

/** How it is waited, and who hears of it. */
export interface WaitOptions {
  readonly clock: Pick<Clock, "sleep">;
  readonly random: () => number;
  /** Ends the wait. */
  readonly signal: AbortSignal;
  /** Hears why it is not yet so, and in how many ms it is asked again. */
  readonly onFailure: (reason: string, waitMs: number) => void;
}

/** Never sooner than the server asks for. */
const BACKOFF = { baseMs: 1_000, maxMs: 30_000 };

/**
 * Resolves when the check finds nothing. Rejects with what the check rejects with, and with the signal's reason.
 */
export async function waitForCluster(check: () => Promise<NotYet | null>, options: WaitOptions): Promise<void> {
  const { clock, random, signal, onFailure } = options;
  for (let attempt = 0;; attempt++) {
    const found = await check();
    if (found === null) return;
    signal.throwIfAborted();
    const waitMs = Math.max(backoffMs(attempt, { ...BACKOFF, random }), found.retryAfterMs ?? 0);
    onFailure(found.reason, waitMs);
    await clock.sleep(waitMs, signal);
  }
}
