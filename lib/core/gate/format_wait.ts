/** How gates tell people what is left of a wait. */
import { formatDuration } from "../../units/duration.ts";

/** Whole seconds, rounded up, so that nobody comes back too early. */
export function formatWait(ms: number): string {
  return formatDuration(Math.ceil(ms / 1000) * 1000);
}
