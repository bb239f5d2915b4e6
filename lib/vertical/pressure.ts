/**
 * Is a container at its limits, and for how many samples in a row has it been short of what it wants?
 *
 * The size of a pod does not depend on these counts. The number of pods does: replicas ask before they scale out or
 * in.
 */
import type { Autoscaler, FieldPolicy } from "../model/autoscaler.ts";
import {
  type AutoscalerView,
  computeShortSamples,
  isScaleUpWanted,
  NO_SHORTAGE,
  type Sample,
  type Shortage,
} from "../model/state.ts";
import type { ResourceField, Resources } from "../units/resources.ts";
import { fillsLimit } from "./samples.ts";

/**
 * Returns whether the next allocation may be the last, or already waits for memory (`isStalled`); both in bytes.
 * Clauses: C30, C31, L15.
 */
export function isNearLimit(usage: number, limit: number, isStalled = false): boolean {
  return usage * 100 >= (isStalled ? STALLED_NEAR_PERCENT : NEAR_LIMIT_PERCENT) * limit;
}

/**
 * Returns the memory limit that the container is next to, in bytes; `null` if it is next to none. In mode recommend it is
 * killed and waits at the limit in force, and would be killed at the recommended one. Clauses: L11, L15, L51.
 */
export function findNearLimit(
  { workingSetBytes, isMemoryStalled }: Sample,
  { actual, real }: { readonly actual: Resources; readonly real: Resources },
): number | null {
  const [recommended, enforced] = [actual["memory.limits"], real["memory.limits"]];
  if (recommended === null || enforced === null) return null;
  const least = Math.min(recommended, enforced);
  if (isNearLimit(workingSetBytes, least)) return least;
  return isNearLimit(workingSetBytes, enforced, isMemoryStalled) ? enforced : null;
}

/** Returns the counts of samples at limits after one more. Clauses: R84, R85. */
export function nextAtLimitCounts(before: Shortage, { sample, actual, isCpuAlone }: LimitSample): Shortage {
  const isCpuFull = actual !== null && fillsLimit(sample.cpuMillicores, actual["cpu.limits"]);
  const isClipped = actual !== null && (isCpuFull || sample.isSaturated);
  const limit = actual?.["memory.limits"] ?? null;
  const isMemoryFull = limit !== null && isNearLimit(sample.workingSetBytes, limit, sample.isMemoryStalled);
  const { atLimit, held } = before;
  const cpu = isCpuFull ? atLimit.cpu + 1 : 0;
  const memory = isCpuAlone ? atLimit.memory : isMemoryFull ? atLimit.memory + 1 : 0;
  const clipped = isClipped ? before.clipped + 1 : 0;
  if (cpu === atLimit.cpu && memory === atLimit.memory && clipped === before.clipped) return before;
  return cpu + memory + clipped === 0 && held === NO_SHORTAGE.held
    ? NO_SHORTAGE
    : { atLimit: { cpu, memory }, clipped, held };
}

/** What a scale-up of a field met: `limit` needs an administrator, `cooldown` ends alone, `other` counts as neither. */
export type ScaleUpAnswer = "limit" | "cooldown" | "other";

/**
 * Returns the counts of held requests after one more sample. `answer` returns what a wanted scale-up of a field met.
 */
export function nextHeldCounts(
  { streaks, shortage }: AutoscalerView,
  { sides }: Pick<Autoscaler, "sides">,
  answer: (key: ResourceField) => ScaleUpAnswer,
): Shortage {
  let next: Partial<Record<ResourceField, number>> | null = null;
  for (const rule of sides) {
    if (rule.side !== "requests" || !isScaleUpWanted(rule, streaks)) continue;
    const count = computeHeldCount(shortage, rule, answer(rule.key));
    if (count > 0) (next ??= {})[rule.key] = count;
  }
  if (next === null && shortage.held === NO_SHORTAGE.held) return shortage;
  return { ...shortage, held: next ?? NO_SHORTAGE.held };
}

/** Returns the counts without held requests. */
export function clearHeldCounts(before: Shortage): Shortage {
  return before.held === NO_SHORTAGE.held ? before : { ...before, held: NO_SHORTAGE.held };
}

/** A container at this much of its memory limit is next to being killed, percent. */
const NEAR_LIMIT_PERCENT = 95;

/**
 * A container that waits for memory is at its limit from here on, percent: the kubelet may be configured to let it wait from
 * 80 % (memoryThrottlingFactor). One that uses less waits for another reason, such as a node without memory.
 */
const STALLED_NEAR_PERCENT = 75;

/** What one more sample is held against. */
interface LimitSample {
  readonly sample: Sample;
  /** The size that the kernel enforces; `null` = the sample belongs to an earlier size. */
  readonly actual: Resources | null;
  /** Memory is not in it. */
  readonly isCpuAlone: boolean;
}

/**
 * Returns the count after one more sample. A block that ends alone neither counts nor ends it; a cooldown counts once
 * usage has been at the limit for as long.
 */
function computeHeldCount({ atLimit, held }: Shortage, rule: FieldPolicy, answer: ScaleUpAnswer): number {
  const before = held[rule.key] ?? 0;
  const needed = computeShortSamples(rule);
  switch (answer) {
    case "limit":
      return before + 1;
    case "cooldown":
      return atLimit[rule.resource] >= needed ? Math.max(before, needed) : before;
    case "other":
      return before;
  }
}
