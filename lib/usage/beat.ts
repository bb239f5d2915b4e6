/**
 * One reading per cycle, for as long as the signal lasts. Readings never overlap, and a cycle that was missed (a slow
 * node, a busy consumer) is not made up: the next reading comes at once, and the one after a cycle later. One that is late by
 * less than half a cycle leaves the beat as it is: nodes that a busy moment has held up together would otherwise be read together from then on.
 */
import type { Clock } from "../runtime/clock.ts";

/** When is read, and until when. */
export interface BeatOptions {
  /** Ms from reading to reading; asked again while waiting, so that a shorter one counts at once. */
  readonly interval: () => number;
  readonly clock: Clock;
  /** Before the first reading, to spread the nodes. */
  readonly initialDelayMs?: number;
  /** Ends the iteration, without an error. */
  readonly signal: AbortSignal;
}

/** Whatever is asked for, a node is read no more often than that, on average. */
export const MIN_INTERVAL_MS = 1000;

/** What `read` gives, until the signal aborts. Rejects only when `read` does. */
export async function* readAtBeat<T>(read: () => Promise<T> | T, options: BeatOptions): AsyncGenerator<T> {
  const { clock, signal, initialDelayMs = 0 } = options;
  await sleep(initialDelayMs, options);
  let dueMs = clock.monotonic();
  while (!signal.aborted) {
    const reading = await read();
    if (signal.aborted) return;
    yield reading;
    for (let leftMs = 1; leftMs > 0 && !signal.aborted;) {
      leftMs = dueMs + toIntervalMs(options) - clock.monotonic();
      if (leftMs > 0) await sleep(leftMs > LAST_WAIT_MS ? LOOK_AGAIN_MS : leftMs, options);
    }
    dueMs += toIntervalMs(options);
    const lateMs = clock.monotonic() - dueMs;
    if (lateMs > toIntervalMs(options) / 2) dueMs += lateMs;
  }
}

/** How long a cycle is at this moment. */
function toIntervalMs({ interval }: Pick<BeatOptions, "interval">): number {
  const intervalMs = interval();
  return intervalMs >= MIN_INTERVAL_MS ? intervalMs : MIN_INTERVAL_MS;
}

/** How often a long wait asks for the interval anew; at the default of 15 s nothing but the poll itself wakes. */
const LOOK_AGAIN_MS = 5_000;
const LAST_WAIT_MS = 15_000;

function sleep(ms: number, { clock, signal }: BeatOptions): Promise<void> {
  // Rejects only when aborted, which every caller looks at next.
  return clock.sleep(ms, signal).catch(() => {});
}
