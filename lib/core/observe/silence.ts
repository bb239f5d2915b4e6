/** How long a container may go without new usage before its source counts as gone (C22). */
import type { Autoscaler } from "../../autoscaler/autoscaler.ts";

/** A sample first seen so long ago is acted on no more, ms. */
export const SILENCE_MS = 60_000;

/** After so long without anything new the streaks end, ms: a poll interval above a third of it is no silence. */
export function readSilenceMs({ pollIntervalMs }: Pick<Autoscaler, "pollIntervalMs">): number {
  return Math.max(SILENCE_MS, 3 * pollIntervalMs);
}
