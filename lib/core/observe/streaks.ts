/**
 * One sample against the thresholds of each side (C30, C31): in which direction it points, and for how many samples in
 * a row it has. What a full streak leads to is for the proposals.
 */
import type { SideRule } from "../../autoscaler/autoscaler.ts";
import type { Resources, SideKey } from "../../units/resources.ts";
import type { Direction } from "../decision.ts";
import { type Evidence, readEvidence } from "./evidence.ts";
import { fillsLimit } from "./pressure.ts";
import { NO_STREAKS, type Sample, type Streak, type View } from "../state.ts";

/**
 * The number that the side is judged and sized by, millicores or bytes: of CPU the demand, which is never below usage
 * (L21). `null` while no rate is known.
 */
export function readUsage(rule: SideRule, sample: Sample | null): number | null {
  if (sample === null) return null;
  return rule.resource === "cpu" ? sample.demandMillicores : sample.workingSetBytes;
}

/** A container at so much of its memory limit is next to being killed, percent (L11). */
const NEAR_LIMIT_PERCENT = 95;

/** Whether the next allocation may be the last; both in bytes. */
export function isNearLimit(usage: number, limit: number): boolean {
  return usage * 100 >= NEAR_LIMIT_PERCENT * limit;
}

/** The request or limit in force that usage is compared with; a zero is as good as none (C37). */
export function readBaseline(rule: SideRule, actual: Resources): number | null {
  return actual[rule.key] || null;
}

/**
 * Thresholds are inclusive. Compared without dividing, so that exactly 75 % is 75 %. `low`: what the lower threshold is
 * held against, where that is not the usage itself (L4).
 */
export function judge(rule: SideRule, usage: number, baseline: number, low = usage): Direction | null {
  if (usage * 100 >= rule.scaleUpThresholdPercent * baseline) return "up";
  if (low * 100 <= rule.scaleDownThresholdPercent * baseline) return "down";
  return null;
}

/** What one more sample is held against. */
export interface StreakContext {
  readonly sample: Sample;
  readonly actual: Resources;
  /** With the sample in it. */
  readonly evidence: Evidence;
  /** OOM kills are answered, and so is memory that is about to be killed (L11). */
  readonly answersKills?: boolean;
}

/** The streaks after one more sample that counts. */
export function nextStreaks(
  rules: readonly SideRule[],
  streaks: View["streaks"],
  { sample, actual, evidence, answersKills = false }: StreakContext,
): View["streaks"] {
  let next: Partial<Record<SideKey, Streak>> | null = null;
  for (const rule of rules) {
    const usage = readUsage(rule, sample);
    const baseline = readBaseline(rule, actual);
    if (usage === null || baseline === null) continue;
    const low = rule.down.percentile === null ? usage : readEvidence(evidence, rule) ?? usage;
    const direction = judge(rule, usage, baseline, low);
    const isSaturated = rule.resource === "cpu"
      ? sample.isSaturated
      : answersKills && rule.key === "memory.limits" && isNearLimit(usage, baseline);
    // What a limit holds back is no evidence that less would do (L1).
    if (direction === null || isSaturated && direction === "down") continue;
    const before = streaks[rule.key]?.direction === direction ? streaks[rule.key] : undefined;
    const isSure = before !== undefined || rule.resource !== "cpu" || !mayBegin(sample, actual["cpu.limits"]);
    const used: Used = { usage, usageBytes: sample.usageBytes, isSaturated: isSaturated && isSure };
    next ??= {};
    next[rule.key] = before === undefined ? newStreak(direction, used) : nextStreak(before, rule, used);
  }
  return next ?? NO_STREAKS;
}

/** To wait for the next sample of so short a beat costs less than a resize that is too small, and its cooldown. */
const SHORT_MS = 5_000;

/**
 * Whether a step of load may lie within the sample: held back for a part of a short interval, in which less was used than
 * the limit. Its demand is a mean with what was before, so it counts as one of a streak and no more (L22).
 */
function mayBegin({ from, at, cpuMillicores }: Sample, limitMillicores: number | null): boolean {
  return at - from <= SHORT_MS && !fillsLimit(cpuMillicores, limitMillicores);
}

/** Whether the side's streak has as many samples as its rule asks for; a saturated one is full at once (L22). */
export function isFull(rule: SideRule, streaks: View["streaks"]): boolean {
  const streak = streaks[rule.key];
  return streak !== undefined && (streak.isSaturated || streak.count >= rule[streak.direction].consecutiveSamples);
}

interface Used {
  readonly usage: number;
  readonly usageBytes: number | null;
  readonly isSaturated: boolean;
}

function newStreak(direction: Direction, { usage, usageBytes, isSaturated }: Used): Streak {
  return {
    direction,
    count: 1,
    isSaturated,
    peakUsage: usage,
    olderPeakUsage: null,
    peakUsageBytes: usageBytes,
    olderPeakUsageBytes: null,
  };
}

/** A blocked streak may last for days: its peaks are renewed with every whole `consecutiveSamples`. */
function nextStreak(before: Streak, rule: SideRule, { usage, usageBytes, isSaturated }: Used): Streak {
  const { direction, peakUsage, olderPeakUsage, peakUsageBytes, olderPeakUsageBytes } = before;
  const count = before.count + 1;
  return before.count % rule[direction].consecutiveSamples === 0
    ? {
      direction,
      count,
      isSaturated,
      peakUsage: usage,
      olderPeakUsage: peakUsage,
      peakUsageBytes: usageBytes,
      olderPeakUsageBytes: peakUsageBytes,
    }
    : {
      direction,
      count,
      isSaturated,
      peakUsage: Math.max(peakUsage, usage),
      olderPeakUsage,
      peakUsageBytes: highest(peakUsageBytes, usageBytes),
      olderPeakUsageBytes,
    };
}

function highest(a: number | null, b: number | null): number | null {
  return a === null || b === null ? a ?? b : Math.max(a, b);
}

/** Whether at least half of the sample's interval lies after `from` (C31), both in the source's clock. */
export function isCounted(sample: Sample, from: number): boolean {
  return from <= (sample.from + sample.at) / 2;
}
