/**
 * Two sources of usage as one: a node is read by the better one, and by the other for as long as that cannot be. Each node
 * is judged by itself. A source takes over only once it has shown that it can: one that fails is left for one that gives
 * usage, and the better one comes back after several readings in a row, tried after waits that grow.
 *
 * One source's readings are given at a time. No two sources name the instances of containers alike, so a change of it is
 * another instance to whoever compares points: the streaks of the node's pods begin anew, no difference spans two sources,
 * and what was seen of a window stays.
 */
import type { Reading } from "../../api/usage.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { WatchUsage, WatchUsageOptions } from "../watch_usage.ts";
import { Patience } from "./patience.ts";
import { type Candidate, isFailing, type Next, Reader } from "./reader.ts";

/** A source and its name. */
export type NamedSource = Pick<Candidate, "name" | "watchUsage">;

/** The time, and a number from 0 to 1 that spreads the tries of many nodes. */
export interface FallBackOptions {
  readonly clock: Pick<Clock, "monotonic">;
  readonly random: () => number;
}

/** Readings say by `served` whose they are. */
export function fallBack(better: NamedSource, other: NamedSource, options: FallBackOptions): WatchUsage {
  return async function* (node, watch) {
    const first: Candidate = { ...better, patience: new Patience(options) };
    const second: Candidate = { ...other, patience: new Patience(options) };
    let serving = new Reader(first, node, watch);
    let trial: Reader | null = null;
    // Why the source that does not serve is no better.
    let elsewhere: string | null = null;

    const mark = (reading: Reading): Reading => {
      const { source } = serving;
      const served = { source: source.name, because: source === first ? null : elsewhere };
      return reading.kind === "usage" || elsewhere === null
        ? { ...reading, served }
        : { ...reading, served, message: `${reading.message}; ${elsewhere}` };
    };
    const startTrial = (): Reader | null => {
      const source = serving.source === first ? second : first;
      const isUrgent = isFailing(serving);
      return (isUrgent || source === first) && source.patience.mayTry(isUrgent)
        ? new Reader(source, node, watch)
        : null;
    };

    try {
      while (true) {
        const next: readonly Promise<Next>[] = trial === null ? [serving.next()] : [serving.next(), trial.next()];
        const { reader, result } = await Promise.race(next);
        if (result.done === true) return;
        reader.take(result.value, isUseful(result.value, watch));
        if (reader === serving) {
          if (serving.source === first && serving.failures === 0) {
            elsewhere = null;
            trial?.close();
            trial = null;
          }
          trial ??= startTrial();
          yield mark(result.value);
        } else if (reader.failures > 0) {
          elsewhere = reader.why;
          reader.source.patience.fail();
          reader.close();
          trial = null;
        } else if (reader.successes >= (isFailing(serving) ? 1 : RETURN_AFTER)) {
          elsewhere = isFailing(serving) ? serving.why : null;
          if (isFailing(serving)) serving.source.patience.leave();
          serving.close();
          serving = reader;
          trial = null;
          serving.source.patience.serve();
          yield mark(result.value);
        }
      }
    } finally {
      serving.close();
      trial?.close();
    }
  };
}

/** Readings in a row, so that a source that fails now and then does not come and go. */
const RETURN_AFTER = 3;

/** A node that is down is in the list of metrics.k8s.io no more, and that is no failure: it has nothing of the node. */
function isUseful(reading: Reading, watch: WatchUsageOptions): boolean {
  return reading.kind === "usage" && (reading.pods.size > 0 || !isAnythingRunning(watch));
}

function isAnythingRunning({ pods }: WatchUsageOptions): boolean {
  for (const { containers } of pods()) if (containers.some(({ runningAt }) => runningAt !== null)) return true;
  return false;
}
