/** Waits, always bounded, for what must become true. */
import type { Clock } from "../../../lib/runtime/clock.ts";

export interface WaitOptions {
  readonly timeoutMs?: number;
  readonly everyMs?: number;
}

/** Thrown by a probe: what is waited for can no longer happen. */
export class Hopeless extends Error {
  override readonly name = "Hopeless";
}

/** Returns the probe's first value that is not null, undefined or false; a failure names the last error it threw. */
export async function waitUntil<T>(
  description: string,
  probe: () => Promise<T | null | undefined | false>,
  options: WaitOptions & { readonly clock: Pick<Clock, "monotonic" | "sleep"> },
): Promise<T> {
  const { timeoutMs = 60_000, everyMs = 250, clock } = options;
  const start = clock.monotonic();
  for (let tries = 1;; tries++) {
    let last = "it was not so yet";
    let cause: unknown;
    try {
      const value = await probe();
      if (value !== null && value !== undefined && value !== false) return value;
    } catch (error) {
      if (error instanceof Hopeless) {
        throw new Error(`Waited in vain for ${description}: ${error.message}`, { cause: error });
      }
      cause = error;
      last = error instanceof Error ? error.message : String(error);
    }
    const waitedMs = clock.monotonic() - start;
    if (waitedMs + everyMs > timeoutMs) {
      const spent = `${(waitedMs / 1000).toFixed(1)} s and ${tries} tries`;
      throw new Error(`Waited in vain for ${description}: after ${spent}, ${last}`, { cause });
    }
    await clock.sleep(everyMs);
  }
}
