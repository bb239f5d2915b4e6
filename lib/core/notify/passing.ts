/** What passes by itself, e.g. after another resource has moved, and does not end a refusal that was published. */
import type { BlockReason, HoldReason } from "../reasons.ts";

/** Of holds and blocks. */
export const PASSING: ReadonlySet<HoldReason | BlockReason> = new Set(
  ["Warmup", "StreakShort", "MetricsUnavailable", "NotRunning", "Cooldown", "Delay", "NotReady"] as const,
);
