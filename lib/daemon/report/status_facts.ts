/** What an autoscaler's status follows from, put together from what the daemon knows; and what of it is told as an event. */
import {
  type AutoscalerStatus,
  isAhead,
  type LastScale,
  listProblems,
  type StatusFacts,
} from "../../autoscaler/conditions.ts";
import type { NoticeName } from "../../core/reasons.ts";
import type { AutoscalerFacts } from "../inventory/facts.ts";
import type { Resolution } from "../inventory/tracked.ts";
import { readStatus } from "./read_status.ts";

export interface StatusSources {
  readonly resolution: Resolution;
  readonly unread: { readonly count: number; readonly why: string };
  /** Of this process; what the status says may be newer, or from before a restart. */
  readonly lastScale: LastScale | null;
  readonly now: number;
}

export function toStatusFacts(
  autoscaler: AutoscalerFacts,
  { resolution, unread, lastScale, now }: StatusSources,
): StatusFacts {
  const { autoscaler: policy, status, generation, problems, warnings } = autoscaler;
  const { selector, matched, tracked } = resolution;
  return {
    generation,
    problems,
    warnings,
    paused: policy?.paused ?? false,
    missingTarget: describeMissing(autoscaler, resolution),
    selector: selector?.source ?? null,
    containerName: policy?.containerName ?? "",
    matched,
    tracked: tracked.size,
    unread: unread.count,
    unreadWhy: unread.why,
    lastScale: newest(lastScale, readLastScale(readStatus(status)), now),
    cooldownMs: policy?.cooldownMs ?? 0,
  };
}

/** Of two resizes. One that lies ahead was dated by a clock that has been set back since: the other is newer. */
export function newest(a: LastScale | null, b: LastScale | null, now: number): LastScale | null {
  if (a === null || b === null) return a ?? b;
  if (isAhead(a, now) !== isAhead(b, now)) return isAhead(a, now) ? b : a;
  return a.at >= b.at ? a : b;
}

/** What is told when it begins, and why; `null` when all is well. */
export function findTrouble(facts: StatusFacts): readonly [NoticeName | null, string] {
  if (facts.problems.length > 0) return ["InvalidSpec", listProblems(facts.problems)];
  if (facts.missingTarget !== null && !facts.paused) return ["TargetNotFound", facts.missingTarget];
  if (facts.matched > 0 && facts.tracked === 0) {
    return ["ContainerNotFound", `no matching pod has a container "${facts.containerName}"`];
  }
  return [null, ""];
}

function describeMissing(
  { autoscaler: policy }: AutoscalerFacts,
  { isTargetMissing, targetProblems }: Resolution,
): string | null {
  if (!isTargetMissing || !policy?.target) return null;
  const target = `${policy.target.kind} "${policy.target.name}"`;
  return targetProblems.length === 0
    ? `${target} does not exist`
    : `${target} has a selector that cannot be used: ${listProblems(targetProblems)}`;
}

function readLastScale(
  { lastScaleTime, lastScaleAction, lastScaleResourceChange }: AutoscalerStatus,
): LastScale | null {
  const at = Date.parse(lastScaleTime ?? "");
  if (Number.isNaN(at) || lastScaleAction === undefined) return null;
  return { at, action: lastScaleAction, change: lastScaleResourceChange ?? "" };
}
