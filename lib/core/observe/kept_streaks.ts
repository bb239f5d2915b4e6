/**
 * Which streaks go on over a resize (L22). By the letter it ends all of its container (C31); but behind a limit each
 * sample may bring one, and a streak of memory that starts anew with each of them would never fill.
 */
import type { Resources, SideKey } from "../../units/resources.ts";
import { NO_STREAKS, type View } from "../state.ts";

type Streaks = View["streaks"];

/** After an accepted PATCH: memory's, if a saturated sample is what brought it and CPU is all that it changes. */
export function keepOverPatch(streaks: Streaks, changes: readonly SideKey[]): Streaks {
  const isSaturated = streaks["cpu.requests"]?.isSaturated || streaks["cpu.limits"]?.isSaturated;
  return isSaturated && changes.every((key) => key.startsWith("cpu.")) ? keepMemory(streaks) : NO_STREAKS;
}

/** Once such a size is in force: what its PATCH has left of memory's. `isOwn`: podfit has commanded it. */
export function keepInForce(
  streaks: Streaks,
  { before, after, isOwn }: { readonly before: Resources; readonly after: Resources; readonly isOwn: boolean },
): Streaks {
  const isCpuAlone = before["memory.requests"] === after["memory.requests"] &&
    before["memory.limits"] === after["memory.limits"];
  return isOwn && isCpuAlone ? keepMemory(streaks) : NO_STREAKS;
}

/** Those of memory, and no others. */
export function keepMemory(streaks: Streaks): Streaks {
  const { "memory.requests": requests, "memory.limits": limits } = streaks;
  if (requests === undefined && limits === undefined) return NO_STREAKS;
  return {
    ...(requests === undefined ? {} : { "memory.requests": requests }),
    ...(limits === undefined ? {} : { "memory.limits": limits }),
  };
}
