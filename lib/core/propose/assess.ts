/**
 * One sample against one side's thresholds (C30, C31): utilization, streak and wish. A wish is a direction whose
 * streak is full; whether it can be granted is for sizing and the gates.
 */
import type { Resources, SideKey } from "../../units/resources.ts";
import type { Assessment, Direction } from "../decision.ts";
import { findContainer, type PodFacts, readActual } from "../pod/pod_facts.ts";
import type { Autoscaler, SideRule } from "../../autoscaler/autoscaler.ts";
import { NO_STREAKS, type PodState, type Sample, type Streak, type View } from "../state.ts";

/** Of the side's resource, in its unit; `null` while no rate is known. */
export function readUsage(side: SideRule, sample: Sample | null): number | null {
  if (sample === null) return null;
  return side.resource === "cpu" ? sample.cpuMillicores : sample.workingSetBytes;
}

/** A zero baseline is as good as none (C37). */
export function readBaseline(side: SideRule, actual: Resources): number | null {
  return actual[side.key] || null;
}

/** Thresholds are inclusive. Compared without dividing, so that exactly 75 % is 75 %. */
export function judge(side: SideRule, usage: number, baseline: number): Direction | null {
  if (usage * 100 >= side.scaleUpThresholdPercent * baseline) return "up";
  if (usage * 100 <= side.scaleDownThresholdPercent * baseline) return "down";
  return null;
}

/** The streaks after one more sample that counts. */
export function nextStreaks(
  sides: readonly SideRule[],
  streaks: View["streaks"],
  { sample, actual }: { sample: Sample; actual: Resources },
): View["streaks"] {
  let next: Partial<Record<SideKey, Streak>> | null = null;
  for (const side of sides) {
    const usage = readUsage(side, sample);
    const baseline = readBaseline(side, actual);
    if (usage === null || baseline === null) continue;
    const direction = judge(side, usage, baseline);
    if (direction === null) continue;
    const before = streaks[side.key];
    next ??= {};
    next[side.key] = before?.direction === direction
      ? nextStreak(before, side, sample)
      : { direction, count: 1, peakUsageBytes: sample.usageBytes, olderPeakUsageBytes: null };
  }
  return next ?? NO_STREAKS;
}

/** Some side's streak is full: a wish stands, in one direction or the other. */
export function hasWish(sides: readonly SideRule[], streaks: View["streaks"]): boolean {
  if (streaks === NO_STREAKS) return false;
  return sides.some(({ key, consecutiveSamples }) => (streaks[key]?.count ?? 0) >= consecutiveSamples);
}

/** A blocked streak may last for days: what it remembers of usage is renewed with every whole `consecutiveSamples`. */
function nextStreak(before: Streak, { consecutiveSamples }: SideRule, { usageBytes }: Sample): Streak {
  const { direction, peakUsageBytes, olderPeakUsageBytes } = before;
  const count = before.count + 1;
  return before.count % consecutiveSamples === 0
    ? { direction, count, peakUsageBytes: usageBytes, olderPeakUsageBytes: peakUsageBytes }
    : { direction, count, peakUsageBytes: highest(peakUsageBytes, usageBytes), olderPeakUsageBytes };
}

function highest(a: number | null, b: number | null): number | null {
  return a === null || b === null ? a ?? b : Math.max(a, b);
}

/** Every configured side as it stands with the newest sample. */
export function assess(sides: readonly SideRule[], view: View, actual: Resources): readonly Assessment[] {
  return sides.map((side) => {
    const usage = readUsage(side, view.sampling.sample);
    const baseline = readBaseline(side, actual);
    const streak = view.streaks[side.key];
    const isFull = streak !== undefined && streak.count >= side.consecutiveSamples;
    return {
      key: side.key,
      usage,
      baseline,
      utilizationPercent: usage === null || baseline === null ? null : usage / baseline * 100,
      samples: streak?.count ?? 0,
      wish: isFull && baseline !== null ? streak.direction : null,
    };
  });
}

/** As `assess`, out of a pod's state: for those who log or explain a decision. Empty while nothing is known. */
export function readAssessments(policy: Autoscaler, state: PodState, pod: PodFacts): readonly Assessment[] {
  const view = state.views[policy.uid];
  const container = findContainer(pod, policy.containerName);
  return view === undefined || container === null ? [] : assess(policy.sides, view, readActual(container));
}

/** Any side that wants up wins; else any that wants down (C32). */
export function chooseDirection(assessments: readonly Assessment[]): Direction | null {
  if (assessments.some(({ wish }) => wish === "up")) return "up";
  return assessments.some(({ wish }) => wish === "down") ? "down" : null;
}

/** At least half of the sample's interval lies after `from` (C31), both in the source's clock. */
export function isCounted(sample: Sample, from: number): boolean {
  return from <= (sample.from + sample.at) / 2;
}
