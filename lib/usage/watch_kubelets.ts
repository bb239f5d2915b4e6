/**
 * Usage from the summaries of kubelets. Nodes are polled in groups, so that a large cluster is neither asked nor held in
 * memory all at once, and one wake of the process serves many polls: alone each would cost twice as much.
 */
import type { Clock } from "../runtime/clock.ts";
import type { SummarySource } from "./summary_source.ts";
import { pollKubelet } from "./poll.ts";
import type { WatchUsage } from "./watch_usage.ts";

/** The time, and a number from 0 to 1. */
export interface WatchKubeletsOptions {
  readonly clock: Clock;
  /** Gives the phase of this process, so that of several podfits not all ask at once. */
  readonly random: () => number;
}

/** Polls `source`, which must live as long as any of the watches. */
export function watchKubelets(
  { fetchSummary }: Pick<SummarySource, "fetchSummary">,
  { clock, random }: WatchKubeletsOptions,
): WatchUsage {
  const phaseMs = random() * GROUP_MS;
  let watched = 0;
  return async function* (node, options) {
    const toGroupMs = (GROUP_MS - (clock.monotonic() + phaseMs) % GROUP_MS) % GROUP_MS;
    const firstMs = toGroupMs + Math.floor(watched / GROUP) * GROUP_MS;
    const initialDelayMs = firstMs % options.interval();
    watched++;
    try {
      yield* pollKubelet(node, { ...options, fetchSummary, clock, initialDelayMs });
    } finally {
      watched--;
    }
  };
}

/** Nodes of a group; to send their requests takes some 5 ms. */
const GROUP = 16;
/**
 * From group to group; those of 1,280 nodes fill 5 s, the interval of metered pods. Most intervals are multiples of it, so that a node that comes later
 * still falls in with others.
 */
const GROUP_MS = 62.5;
