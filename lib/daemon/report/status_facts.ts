/** What an autoscaler's status follows from, put together from what the daemon knows; and which of it makes an event. */
import {
  type AutoscalerStatus,
  describeContainer,
  isAhead,
  type LastScale,
  listProblems,
  type StatusFacts,
} from "../../autoscaler/conditions.ts";
import type { LimitFacts } from "../../autoscaler/limited.ts";
import type { Recommended } from "../../autoscaler/recommendation.ts";
import { toEffectivePolicy } from "../../autoscaler/effective_policy.ts";
import type { NoticeName } from "../../core/reasons.ts";
import type { Problem } from "../../units/problem.ts";
import type { AutoscalerFacts } from "../inventory/facts.ts";
import type { Resolution } from "../inventory/tracked.ts";
import { readStatus } from "./read_status.ts";
import { toSteadyWords } from "./steady_words.ts";

/** What a status follows from, beside the autoscaler itself. */
export interface StatusSources {
  readonly resolution: Resolution;
  /** The resource that is too old to go by (C51); none by default. */
  readonly stale?: string | null;
  /** `null` = the podfits of the pods know it, and this one does not. */
  readonly unread: { readonly count: number; readonly why: string } | null;
  readonly limits: LimitFacts;
  readonly recommended: readonly Recommended[] | null;
  readonly isNodeLocal: boolean;
  /** The last resize of this process; the one that the status names may be newer, or from before a restart. */
  readonly lastScale: LastScale | null;
  readonly now: number;
}

/** The facts that `nextStatus` judges. */
export function toStatusFacts(
  parsed: AutoscalerFacts,
  { resolution, stale = null, unread, limits, recommended, isNodeLocal, lastScale, now }: StatusSources,
): StatusFacts {
  const { autoscaler, status, generation, problems, warnings } = parsed;
  const { selector, matched, tracked } = resolution;
  return {
    generation,
    stale,
    problems,
    warnings: resolution.crowdedOut === 0 ? warnings : [...warnings, warnOfCrowd(resolution)],
    paused: autoscaler?.paused ?? false,
    missingTarget: describeMissing(parsed, resolution),
    selector: selector?.source ?? null,
    containerName: autoscaler?.containerName ?? "",
    matched,
    tracked: tracked.size,
    unread: unread?.count ?? 0,
    unreadWhy: toSteadyWords(unread?.why ?? ""),
    limits,
    recommended,
    isNodeLocal,
    isUsageElsewhere: unread === null,
    lastScale: newest(lastScale, readLastScale(readStatus(status)), now),
    cooldownMs: autoscaler?.cooldownMs ?? 0,
    effectivePolicy: autoscaler === null || autoscaler.profile === null ? null : toEffectivePolicy(autoscaler),
  };
}

function warnOfCrowd({ crowdedOut }: Resolution): Problem {
  const pods = crowdedOut === 1 ? "1 of its pods has" : `${crowdedOut} of its pods have`;
  return {
    path: "spec.priority",
    message:
      `${pods} as many autoscalers of higher rank for the container as podfit asks (--max-contenders): raise the ` +
      "priority, or delete some",
  };
}

/** The newer of two resizes. One that lies ahead was dated by a clock that has been set back since: the other is newer. */
export function newest(a: LastScale | null, b: LastScale | null, now: number): LastScale | null {
  if (a === null || b === null) return a ?? b;
  if (isAhead(a, now) !== isAhead(b, now)) return isAhead(a, now) ? b : a;
  return a.at >= b.at ? a : b;
}

/** The notice of the state that the autoscaler is in, and its message; `null` when all is well. */
export function findTrouble(facts: StatusFacts): readonly [NoticeName | null, string] {
  if (facts.problems.length > 0) return ["InvalidSpec", listProblems(facts.problems)];
  if (facts.missingTarget !== null && !facts.paused) return ["TargetNotFound", facts.missingTarget];
  if (facts.matched > 0 && facts.tracked === 0) {
    return ["ContainerNotFound", `no matching pod has ${describeContainer(facts)}`];
  }
  return [null, ""];
}

function describeMissing(
  { autoscaler }: AutoscalerFacts,
  { isTargetMissing, targetProblems }: Resolution,
): string | null {
  if (!isTargetMissing || !autoscaler?.target) return null;
  const target = `${autoscaler.target.kind} "${autoscaler.target.name}"`;
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
