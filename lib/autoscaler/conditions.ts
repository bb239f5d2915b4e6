/**
 * Facts about an autoscaler -> its status (C5, C51): level-based, so it is computed whole each time and written when it
 * differs. `lastTransitionTime` moves only when a condition's status does.
 */
import type { LabelSelector } from "../units/selector.ts";
import { formatTime } from "../units/time.ts";
import type { Action } from "./autoscaler.ts";
import type { Problem } from "../units/problem.ts";

export interface Condition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
  readonly observedGeneration: number;
}

export interface AutoscalerStatus {
  readonly conditions?: readonly Condition[];
  readonly observedGeneration?: number;
  /** The selector as the API has it. */
  readonly effectiveSelector?: LabelSelector | null;
  readonly lastScaleTime?: string;
  readonly lastScaleAction?: Action;
  readonly lastScaleResourceChange?: string;
  readonly scaling?: boolean;
}

export interface StatusFacts {
  readonly generation: number;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  readonly paused: boolean;
  /** The whole sentence, e.g. `deployment "web" does not exist`, when the target cannot be resolved. */
  readonly missingTarget: string | null;
  readonly selector: LabelSelector | null;
  readonly containerName: string;
  readonly matched: number;
  readonly tracked: number;
  /** Tracked pods whose usage cannot be read, and why the first one's cannot. */
  readonly unread: number;
  readonly unreadWhy: string;
  readonly lastScale: LastScale | null;
  readonly cooldownMs: number;
}

export interface LastScale {
  readonly at: number;
  readonly action: Action;
  readonly change: string;
}

/** The API's limit is 32768; a person reads less. */
const LONGEST_MESSAGE = 2048;
const CLOCKS_DIFFER_MS = 60_000;

export function nextStatus(before: AutoscalerStatus, facts: StatusFacts, now: number): AutoscalerStatus {
  const { lastScale, selector } = facts;
  const verdicts = [judgeReady(facts), judgeActive(facts), judgeScaling(facts, now), judgeMetrics(facts)];
  return {
    conditions: verdicts.map((verdict) => toCondition(verdict, before, { generation: facts.generation, now })),
    observedGeneration: facts.generation,
    ...(selector === null ? {} : { effectiveSelector: selector }),
    ...(lastScale === null ? {} : {
      lastScaleTime: formatTime(lastScale.at),
      lastScaleAction: lastScale.action,
      lastScaleResourceChange: lastScale.change,
    }),
    scaling: verdicts.some(({ type, status }) => type === "Scaling" && status === "True"),
  };
}

/** Farther than clocks of two machines differ: the wall clock has been set back since. */
export function isAhead({ at }: LastScale, now: number): boolean {
  return at - now > CLOCKS_DIFFER_MS;
}

type Verdict = Pick<Condition, "type" | "status" | "reason" | "message">;

function judgeReady({ problems, warnings, paused, missingTarget }: StatusFacts): Verdict {
  const type = "Ready";
  if (problems.length > 0) return { type, status: "False", reason: "InvalidSpec", message: listProblems(problems) };
  if (paused) {
    return { type, status: "True", reason: "Paused", message: "spec.paused is true: pods are left as they are" };
  }
  if (missingTarget !== null) {
    return { type, status: "False", reason: "TargetNotFound", message: missingTarget };
  }
  const message = warnings.length === 0 ? "the spec is valid" : `the spec is valid, but ${listProblems(warnings)}`;
  return { type, status: "True", reason: "Valid", message };
}

function judgeActive(facts: StatusFacts): Verdict {
  const type = "Active";
  const ready = judgeReady(facts);
  if (facts.paused || ready.status === "False") {
    return { type, status: "False", reason: ready.reason, message: ready.message };
  }
  if (facts.tracked > 0) return { type, status: "True", reason: "Tracking", message: countPods(facts.tracked) };
  if (facts.matched > 0) {
    const message = `none of ${countPods(facts.matched)} has a container "${facts.containerName}"`;
    return { type, status: "False", reason: "ContainerNotFound", message };
  }
  return { type, status: "False", reason: "NoPods", message: "no eligible pod matches" };
}

function judgeScaling({ paused, problems, lastScale, cooldownMs }: StatusFacts, now: number): Verdict {
  const type = "Scaling";
  if (paused) return { type, status: "False", reason: "Paused", message: "spec.paused is true" };
  if (problems.length === 0 && lastScale !== null && !isAhead(lastScale, now) && now < lastScale.at + cooldownMs) {
    const reason = lastScale.action === "scaleUp" ? "ScaleUp" : "ScaleDown";
    return { type, status: "True", reason, message: lastScale.change };
  }
  return { type, status: "False", reason: "Idle", message: "no resize within the cooldown" };
}

function judgeMetrics({ paused, tracked, unread, unreadWhy }: StatusFacts): Verdict {
  const type = "Metrics";
  if (paused) return { type, status: "Unknown", reason: "Paused", message: "spec.paused is true" };
  if (tracked === 0) return { type, status: "Unknown", reason: "NoPods", message: "no pod is tracked" };
  if (unread > 0) {
    const message = `no usage of ${unread} of ${countPods(tracked)}: ${unreadWhy}`;
    return { type, status: "False", reason: "MetricsUnavailable", message };
  }
  return { type, status: "True", reason: "Available", message: "usage of every tracked pod is read" };
}

function toCondition(
  verdict: Verdict,
  before: AutoscalerStatus,
  { generation, now }: { generation: number; now: number },
): Condition {
  const old = before.conditions?.find(({ type }) => type === verdict.type);
  return {
    ...verdict,
    message: verdict.message.slice(0, LONGEST_MESSAGE).toWellFormed(),
    lastTransitionTime: old?.status === verdict.status ? old.lastTransitionTime : formatTime(now),
    observedGeneration: generation,
  };
}

export function listProblems(problems: readonly Problem[]): string {
  return problems.map(({ path, message }) => `${path}: ${message}`).join("; ");
}

function countPods(count: number): string {
  return count === 1 ? "1 pod" : `${count} pods`;
}
