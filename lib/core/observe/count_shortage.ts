/**
 * For how many samples in a row has a container been short of what it wants (R84, R85)? The law itself does not ask: replicas
 * do, before they scale out or in.
 */
import type { Autoscaler, SideRule } from "../../autoscaler/autoscaler.ts";
import type { Resources, SideKey } from "../../units/resources.ts";
import { fillsLimit } from "./pressure.ts";
import { NO_SHORTAGE, type Shortage } from "./shortage.ts";
import { isFull, isNearLimit } from "./streaks.ts";
import { NO_STREAKS, type Sample, type View } from "../state.ts";

/** Of a view whose samples so far say nothing of what is now: another instance, another size, or silence. */
export const NOTHING_WANTED: Pick<View, "streaks" | "wantedSince" | "shortage"> = Object.freeze({
  streaks: NO_STREAKS,
  wantedSince: null,
  shortage: NO_SHORTAGE,
});

/** So many samples in a row count, at least. */
const LEAST_SAMPLES = 2;

/** How many samples in a row make a side saturated, or its container's CPU clipped. */
export function readShortSamples({ up }: SideRule): number {
  return Math.max(LEAST_SAMPLES, up.consecutiveSamples);
}

/** Whether a scale-up of the side has a full streak. */
export function isWantedUp(rule: SideRule, streaks: View["streaks"]): boolean {
  return streaks[rule.key]?.direction === "up" && isFull(rule, streaks);
}

/** Whether the pod cannot get what it wants of that request, as far as the last samples say (R84). */
export function isSaturated(rule: SideRule, { streaks, shortage }: Pick<View, "streaks" | "shortage">): boolean {
  return isWantedUp(rule, streaks) && (shortage.held[rule.key] ?? 0) >= readShortSamples(rule);
}

/** What one more sample is held against. */
interface LimitSample {
  readonly sample: Sample;
  /** The size in force; `null` = the sample is of another one, and says nothing of this. */
  readonly actual: Resources | null;
  /** Memory is not in it (L60). */
  readonly isCpuAlone: boolean;
}

/** The counts of samples at limits after one more. */
export function countAtLimit(before: Shortage, { sample, actual, isCpuAlone }: LimitSample): Shortage {
  const isCpuFull = actual !== null && fillsLimit(sample.cpuMillicores, actual["cpu.limits"]);
  const isClipped = actual !== null && (isCpuFull || sample.isSaturated);
  const limit = actual?.["memory.limits"] ?? null;
  const isMemoryFull = limit !== null && isNearLimit(sample.workingSetBytes, limit);
  const { atLimit, held } = before;
  const cpu = isCpuFull ? atLimit.cpu + 1 : 0;
  const memory = isCpuAlone ? atLimit.memory : isMemoryFull ? atLimit.memory + 1 : 0;
  const clipped = isClipped ? before.clipped + 1 : 0;
  if (cpu === atLimit.cpu && memory === atLimit.memory && clipped === before.clipped) return before;
  return cpu + memory + clipped === 0 && held === NO_SHORTAGE.held
    ? NO_SHORTAGE
    : { atLimit: { cpu, memory }, clipped, held };
}

/** What a scale-up of a side met: `limit` does not pass by itself, `cooldown` does, `other` says nothing. */
export type UpAnswer = "limit" | "cooldown" | "other";

/** The counts of held requests after one more sample; `answer` says how the scale-up of a side that is wanted fared. */
export function countHeld(
  { streaks, shortage }: View,
  { sides }: Pick<Autoscaler, "sides">,
  answer: (key: SideKey) => UpAnswer,
): Shortage {
  let next: Partial<Record<SideKey, number>> | null = null;
  for (const rule of sides) {
    if (rule.side !== "requests" || !isWantedUp(rule, streaks)) continue;
    const count = nextHeld(shortage, rule, answer(rule.key));
    if (count > 0) (next ??= {})[rule.key] = count;
  }
  if (next === null && shortage.held === NO_SHORTAGE.held) return shortage;
  return { ...shortage, held: next ?? NO_SHORTAGE.held };
}

/** Nothing is wanted any more. */
export function endHeld(before: Shortage): Shortage {
  return before.held === NO_SHORTAGE.held ? before : { ...before, held: NO_SHORTAGE.held };
}

/** What passes by itself neither counts nor ends it; a cooldown counts once usage has been at the limit for as long. */
function nextHeld({ atLimit, held }: Shortage, rule: SideRule, answer: UpAnswer): number {
  const before = held[rule.key] ?? 0;
  const needed = readShortSamples(rule);
  switch (answer) {
    case "limit":
      return before + 1;
    case "cooldown":
      return atLimit[rule.resource] >= needed ? Math.max(before, needed) : before;
    case "other":
      return before;
  }
}
