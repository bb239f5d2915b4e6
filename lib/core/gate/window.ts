/** What a scale-down of a side still waits for, of its window (L2). */
import type { SideRule } from "../../autoscaler/autoscaler.ts";
import { formatDuration } from "../../units/duration.ts";
import { formatSide } from "../changes.ts";
import { readEvidence, readWatchMs } from "../observe/evidence.ts";
import { readBaseline } from "../observe/streaks.ts";
import { type ContainerFacts, readActual } from "../pod/pod_facts.ts";
import type { ContainerState, PodState, View } from "../state.ts";

/** Until when, as far as that is known (else Infinity), and why, after "but". */
export interface WindowWait {
  readonly until: number;
  readonly why: string;
}

/** The container, and what was seen of it. */
export interface WindowContext {
  readonly now: number;
  readonly view: View;
  readonly container: ContainerFacts;
  readonly containerState: ContainerState;
  /** When replicas last fell: from then on usage is another (R86). */
  readonly state: Pick<PodState, "scaledIn">;
}

/** No instance's memory shrinks before this age, ms: it may still be on its way to its size. */
const FIRST_MS = 60_000;

/** `null` when usage has been low for long enough. */
export function readWindowWait(rule: SideRule, context: WindowContext): WindowWait | null {
  return waitForWatching(rule, context) ?? waitForAge(rule, context) ?? waitForPeak(rule, context);
}

function waitForWatching(
  rule: SideRule,
  { now, view: { evidence }, state: { scaledIn } }: WindowContext,
): WindowWait | null {
  const watchMs = readWatchMs(rule);
  const since = Math.max(evidence.since ?? now, scaledIn?.since ?? -Infinity);
  const until = since + watchMs;
  if (until <= now) return null;
  const where = since === scaledIn?.since ? " since replicas fell" : "";
  return {
    until,
    why: `usage has been watched for ${formatDuration(now - since)} of ${formatDuration(watchMs)}${where}`,
  };
}

function waitForAge(
  { resource, down }: SideRule,
  { now, containerState: { running } }: WindowContext,
): WindowWait | null {
  if (resource !== "memory" || down.windowMs === 0 || running === null) return null;
  const until = running.since + FIRST_MS;
  return until <= now ? null : { until, why: `the container has run for less than ${formatDuration(FIRST_MS)}` };
}

function waitForPeak(rule: SideRule, { view: { evidence }, container }: WindowContext): WindowWait | null {
  const { key, scaleDownThresholdPercent: percent, down: { windowMs, percentile } } = rule;
  const peak = readEvidence(evidence, rule);
  const baseline = readBaseline(rule, readActual(container));
  // A percentile has been held against the threshold by the streak.
  if (percentile !== null || peak === null || baseline === null || peak * 100 <= percent * baseline) return null;
  const used = formatSide(key, Math.ceil(peak));
  return {
    until: Infinity,
    why: `up to ${used} were used in the last ${formatDuration(windowMs)}, above ${percent} % of its size`,
  };
}
