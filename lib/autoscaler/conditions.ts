/**
 * Computes the status of an autoscaler from facts about it (C5, C51). It is level-based: computed as a whole each time,
 * and written when it differs.
 * https://pkg.go.dev/k8s.io/apimachinery/pkg/apis/meta/v1#Condition
 */
import type { Problem } from "../units/problem.ts";
import type { LabelSelector } from "../units/selector.ts";
import { formatTime } from "../units/time.ts";
import { judgeLimited, type LimitedFacts } from "./limited.ts";
import { type Recommendation, type Recommended, toRecommendations } from "./recommendation.ts";
import { type Action, EVERY_CONTAINER } from "./autoscaler.ts";
import type { PolicyFields } from "./profiles.ts";

/** A condition as the API has it. */
export interface Condition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
  /** When `status` changed last, in RFC 3339. */
  readonly lastTransitionTime: string;
  readonly observedGeneration: number;
}

/** The status as the API has it; times in RFC 3339. */
export interface AutoscalerStatus {
  readonly conditions?: readonly Condition[];
  readonly observedGeneration?: number;
  readonly effectiveSelector?: LabelSelector | null;
  readonly lastScaleTime?: string;
  readonly lastScaleAction?: Action;
  readonly lastScaleResourceChange?: string;
  readonly scaling?: boolean;
  /** What mode recommend has come to (L51). */
  readonly recommendations?: readonly Recommendation[];
  /** What a profile came to (L50). */
  readonly effectivePolicy?: PolicyFields;
}

/** What a status is computed from. */
export interface StatusFacts extends LimitedFacts {
  /** The generation of the spec that the facts are about. */
  readonly generation: number;
  /** The resource of which nothing was heard for too long to know the facts; `null` when they are known. */
  readonly stale: string | null;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  /** Why the target cannot be resolved, e.g. `deployment "web" does not exist`; `null` when it can. */
  readonly missingTarget: string | null;
  readonly selector: LabelSelector | null;
  readonly containerName: string;
  /** How many pods the selector matches. */
  readonly matched: number;
  /** How many of them have the container. */
  readonly tracked: number;
  /** What mode recommend has come to; `null` in mode apply, and where not all pods are seen. */
  readonly recommended: readonly Recommended[] | null;
  /** How many of the tracked pods have no usage. */
  readonly unread: number;
  /** Why the first of these has none. */
  readonly unreadWhy: string;
  /** Each podfit knows the usage of its own pods, and this status is about the pods of all of them. */
  readonly isUsageElsewhere?: boolean;
  readonly lastScale: LastScale | null;
  readonly cooldownMs: number;
  /** What its profile came to; `null` without one. */
  readonly effectivePolicy: PolicyFields | null;
}

/** The last resize of any pod of an autoscaler. */
export interface LastScale {
  /** Epoch ms. */
  readonly at: number;
  readonly action: Action;
  /** What it changed, for people: `lastScaleResourceChange` of the status. */
  readonly change: string;
}

/** The API allows 32768 characters; a person reads fewer. */
const LONGEST_MESSAGE = 2048;
const CLOCKS_DIFFER_MS = 60_000;

/**
 * Gives the status at `now` (epoch ms) that follows `before`. A condition keeps its `lastTransitionTime` while its
 * status stays.
 */
export function nextStatus(before: AutoscalerStatus, facts: StatusFacts, now: number): AutoscalerStatus {
  const { lastScale, selector, effectivePolicy, recommended } = facts;
  const verdicts = [
    doubt(judgeReady(facts), facts),
    doubt(judgeActive(facts), facts),
    judgeScaling(facts, now),
    doubt(judgeMetrics(facts), facts),
    doubt(judgeLimited(facts), facts),
  ];
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
    ...(recommended === null || recommended.length === 0 ? {} : { recommendations: toRecommendations(recommended) }),
    ...(effectivePolicy === null ? {} : { effectivePolicy }),
  };
}

/** Says whether a resize is so far ahead of `now` that the wall clock must have been set back since. */
export function isAhead({ at }: LastScale, now: number): boolean {
  return at - now > CLOCKS_DIFFER_MS;
}

type Verdict = Pick<Condition, "type" | "status" | "reason" | "message">;

/** What was true when it was last heard of may be so no more. The words stay the same however long that lasts. */
function doubt(verdict: Verdict, { stale }: StatusFacts): Verdict {
  if (stale === null) return verdict;
  const message =
    `nothing was heard of ${stale} from the API server for minutes, and pods are left as they are until ` +
    "something is: podfit's log says why";
  return { type: verdict.type, status: "Unknown", reason: "Stale", message };
}

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
    const message = `none of ${countPods(facts.matched)} has ${describeContainer(facts)}`;
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

function judgeMetrics({ paused, tracked, unread, unreadWhy, isUsageElsewhere = false }: StatusFacts): Verdict {
  const type = "Metrics";
  if (paused) return { type, status: "Unknown", reason: "Paused", message: "spec.paused is true" };
  if (tracked === 0) return { type, status: "Unknown", reason: "NoPods", message: "no pod is tracked" };
  if (isUsageElsewhere) {
    const message =
      "each podfit reads the usage of its own pods only: see the metric podfit_kubelet_reads_total of each";
    return { type, status: "Unknown", reason: "NodeLocal", message };
  }
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

/** Names the container that pods lack: one, or any at all that is not left out. */
export function describeContainer({ containerName }: Pick<StatusFacts, "containerName">): string {
  return containerName === EVERY_CONTAINER
    ? "a container that excludeContainers does not leave out"
    : `a container "${containerName}"`;
}

/** Joins problems to one sentence, each with its path. */
export function listProblems(problems: readonly Problem[]): string {
  return problems.map(({ path, message }) => `${path}: ${message}`).join("; ");
}

function countPods(count: number): string {
  return count === 1 ? "1 pod" : `${count} pods`;
}
