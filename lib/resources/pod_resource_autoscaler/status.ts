/**
 * Computes the status of a PodResourceAutoscaler: conditions, the last resize and recommendations.
 *
 * It is level-based: computed as a whole each time, and written when it differs.
 */
import { type Action, EVERY_CONTAINER } from "../../model/autoscaler.ts";
import type { AUTOSCALER_CONDITIONS, AutoscalerConditionReason } from "../../model/meanings/conditions.ts";
import { formatProblems, type LimitReason } from "../../model/reasons.ts";
import { RESOURCE_FIELDS, type Resources } from "../../units/resources.ts";
import type { LabelSelector } from "../../units/selector.ts";
import { formatTime } from "../../units/time.ts";
import { measureJson, type Problem } from "../../units/untrusted.ts";
import type { PolicyFields } from "./profiles.ts";
import { type ContainerStatus, findWaiting, isNearAmount, type PodSizes, type SizeText, toSizeText } from "./sizes.ts";

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
  readonly pods?: number;
  /** The median requests of a pod. */
  readonly requests?: SizeText["requests"];
  readonly containers?: readonly ContainerStatus[];
  /** The reason of one of its containers; of a paused autoscaler `Paused`. */
  readonly waiting?: string;
  /** The recommendations of mode recommend. */
  readonly recommendations?: readonly Recommendation[];
  /** What a profile came to. */
  readonly effectivePolicy?: PolicyFields;
}

/** What a status is computed from. */
export interface StatusFacts extends LimitedFacts {
  /** The generation of the spec that the facts are about. */
  readonly generation: number;
  /** The resource whose list is stale for too long; `null` while the facts are known. */
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
  /** The recommendations of mode recommend; `null` in mode apply, and if not all pods are seen. */
  readonly recommended: readonly Recommended[] | null;
  /** The sizes of the tracked pods; `null` if not all pods are seen. */
  readonly sizes: PodSizes | null;
  /** How many of the tracked pods have no usage. */
  readonly unread: number;
  /** Why the first of these has none. */
  readonly unreadWhy: string;
  /** Each podfit knows only the usage of its pods, and this status is about all pods. */
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
  /** The change as text: `lastScaleResourceChange` of the status. */
  readonly change: string;
}

/**
 * Returns the status at `now` (epoch ms) that follows `before`. A condition keeps its `lastTransitionTime` while its
 * status stays.
 */
export function nextStatus(before: AutoscalerStatus, facts: StatusFacts, now: number): AutoscalerStatus {
  const { lastScale, selector, effectivePolicy, recommended, sizes } = facts;
  const waiting = facts.paused ? "Paused" : findWaiting(sizes?.containers ?? []);
  const verdicts = [
    toUnknownIfStale(computeReady(facts), facts),
    toUnknownIfStale(computeActive(facts), facts),
    computeScaling(facts, now),
    toUnknownIfStale(computeMetrics(facts), facts),
    toUnknownIfStale(computeLimited(facts), facts),
  ];
  return {
    conditions: verdicts.map((verdict) => toCondition(verdict, before, { generation: facts.generation, now })),
    observedGeneration: facts.generation,
    ...(selector === null || measureJson(selector, MAX_SELECTOR_BYTES) > MAX_SELECTOR_BYTES
      ? {}
      : { effectiveSelector: selector }),
    ...(lastScale === null ? {} : {
      lastScaleTime: formatTime(lastScale.at),
      lastScaleAction: lastScale.action,
      lastScaleResourceChange: lastScale.change,
    }),
    scaling: verdicts.some(({ type, status }) => type === "Scaling" && status === "True"),
    ...(sizes === null ? {} : { pods: facts.tracked, ...sizes }),
    ...(waiting === null ? {} : { waiting }),
    ...(recommended === null || recommended.length === 0 ? {} : { recommendations: toRecommendations(recommended) }),
    ...(effectivePolicy === null ? {} : { effectivePolicy }),
  };
}

/** Returns whether a resize is so far ahead of `now` that the wall clock must have been set back since. */
export function isInFuture({ at }: LastScale, now: number): boolean {
  return at - now > MAX_CLOCK_SKEW_MS;
}

/** Returns the name of the container that pods lack: one, or any that is not excluded. */
export function describeContainer({ containerName }: Pick<StatusFacts, "containerName">): string {
  return containerName === EVERY_CONTAINER
    ? "a container that excludeContainers does not leave out"
    : `a container "${containerName}"`;
}

/** Pods whose scale-ups are held by a reason that needs an administrator: the condition Limited. */
export interface LimitFacts {
  /** The first such pod; `null` = none. */
  readonly first: { readonly pod: string; readonly reason: LimitReason } | null;
  /** How many pods are held, by reason. */
  readonly reasons: ReadonlyMap<string, number>;
}

/** Nothing is held. */
export const UNLIMITED: LimitFacts = { first: null, reasons: new Map() };

/** The sizes of one container over all pods that were sampled. Each field is computed alone. */
export interface Recommended {
  readonly container: string;
  readonly min: Resources;
  /** The middle one; of an even number the lower. */
  readonly median: Resources;
  readonly max: Resources;
  /** The size that pods start with; `null` if every pod that is seen was resized. */
  readonly template: Resources | null;
}

/**
 * Returns what to publish after `before`: the same object while no amount has moved by a twentieth, so that the status
 * is not a time series. Clauses: L51.
 */
export function nextRecommended(
  before: readonly Recommended[] | null,
  now: readonly Recommended[],
): readonly Recommended[] {
  return before !== null && before.length === now.length && now.every((one, index) => isNearlySame(one, before[index]))
    ? before
    : now;
}

/** The API allows 32768 characters; a person reads fewer. */
const MAX_MESSAGE_LENGTH = 2048;

/** A larger selector is not repeated in the status, which is kept in memory, in etcd and in each watch event. */
const MAX_SELECTOR_BYTES = 4096;

const MAX_CLOCK_SKEW_MS = 60_000;

interface ConditionVerdict extends Pick<Condition, "status" | "message"> {
  readonly type: keyof typeof AUTOSCALER_CONDITIONS;
  readonly reason: AutoscalerConditionReason | LimitReason;
}

/** Returns Unknown if the list is stale. The text does not depend on how long. */
function toUnknownIfStale(verdict: ConditionVerdict, { stale }: StatusFacts): ConditionVerdict {
  if (stale === null) return verdict;
  const message =
    `nothing was heard of ${stale} from the API server for minutes, and pods are left as they are until ` +
    "something is: podfit's log says why";
  return { type: verdict.type, status: "Unknown", reason: "Stale", message };
}

function computeReady({ problems, warnings, paused, missingTarget }: StatusFacts): ConditionVerdict {
  const type = "Ready";
  const [first] = problems;
  if (first !== undefined) {
    return { type, status: "False", reason: first.reason ?? "InvalidSpec", message: formatProblems(problems) };
  }
  if (paused) {
    return { type, status: "True", reason: "Paused", message: "spec.paused is true: pods are left as they are" };
  }
  if (missingTarget !== null) {
    return { type, status: "False", reason: "TargetNotFound", message: missingTarget };
  }
  const message = warnings.length === 0 ? "the spec is valid" : `the spec is valid, but ${formatProblems(warnings)}`;
  return { type, status: "True", reason: "Valid", message };
}

function computeActive(facts: StatusFacts): ConditionVerdict {
  const type = "Active";
  const ready = computeReady(facts);
  if (facts.paused || ready.status === "False") {
    return { type, status: "False", reason: ready.reason, message: ready.message };
  }
  if (facts.tracked > 0) return { type, status: "True", reason: "Tracking", message: formatPodCount(facts.tracked) };
  if (facts.matched > 0) {
    const message = `none of ${formatPodCount(facts.matched)} has ${describeContainer(facts)}`;
    return { type, status: "False", reason: "ContainerNotFound", message };
  }
  return { type, status: "False", reason: "NoPods", message: "no eligible pod matches" };
}

function computeScaling({ paused, problems, lastScale, cooldownMs }: StatusFacts, now: number): ConditionVerdict {
  const type = "Scaling";
  if (paused) return { type, status: "False", reason: "Paused", message: "spec.paused is true" };
  if (problems.length === 0 && lastScale !== null && !isInFuture(lastScale, now) && now < lastScale.at + cooldownMs) {
    const reason = lastScale.action === "scaleUp" ? "ScaleUp" : "ScaleDown";
    return { type, status: "True", reason, message: lastScale.change };
  }
  return { type, status: "False", reason: "Idle", message: "no resize within the cooldown" };
}

function computeMetrics(
  { paused, tracked, unread, unreadWhy, isUsageElsewhere = false }: StatusFacts,
): ConditionVerdict {
  const type = "Metrics";
  if (paused) return { type, status: "Unknown", reason: "Paused", message: "spec.paused is true" };
  if (tracked === 0) return { type, status: "Unknown", reason: "NoPods", message: "no pod is tracked" };
  if (isUsageElsewhere) {
    const message =
      "each podfit reads the usage of its own pods only: see the metric podfit_kubelet_reads_total of each";
    return { type, status: "Unknown", reason: "NodeLocal", message };
  }
  if (unread > 0) {
    const message = `no usage of ${unread} of ${formatPodCount(tracked)}: ${unreadWhy}`;
    return { type, status: "False", reason: "MetricsUnavailable", message };
  }
  return { type, status: "True", reason: "Available", message: "usage of every tracked pod is read" };
}

function toCondition(
  verdict: ConditionVerdict,
  before: AutoscalerStatus,
  { generation, now }: { generation: number; now: number },
): Condition {
  const old = before.conditions?.find(({ type }) => type === verdict.type);
  return {
    ...verdict,
    message: verdict.message.slice(0, MAX_MESSAGE_LENGTH).toWellFormed(),
    lastTransitionTime: old?.status === verdict.status ? old.lastTransitionTime : formatTime(now),
    observedGeneration: generation,
  };
}

function formatPodCount(count: number): string {
  return count === 1 ? "1 pod" : `${count} pods`;
}

/** What the condition is judged by. */
interface LimitedFacts {
  readonly paused: boolean;
  readonly tracked: number;
  readonly limits: LimitFacts;
  /** This podfit is responsible for one node or pod, so none sees all pods of an autoscaler. */
  readonly isNodeLocal: boolean;
}

/** Returns the condition Limited, with the reason of the first pod that is held. */
function computeLimited(
  { paused, tracked, limits: { first, reasons }, isNodeLocal }: LimitedFacts,
): ConditionVerdict {
  const type = "Limited";
  if (paused) return { type, status: "Unknown", reason: "Paused", message: "spec.paused is true" };
  if (tracked === 0) return { type, status: "Unknown", reason: "NoPods", message: "no pod is tracked" };
  if (isNodeLocal) {
    const message = "each podfit handles only a part of the pods: see the metric podfit_limited_pods of each one";
    return { type, status: "Unknown", reason: "NodeLocal", message };
  }
  if (first === null) {
    return { type, status: "False", reason: "NotLimited", message: "no pod wants more than it can be given" };
  }
  let pods = 0;
  for (const count of reasons.values()) pods += count;
  const message = `${pods} of ${tracked === 1 ? "1 pod" : `${tracked} pods`} ${pods === 1 ? "wants" : "want"} more ` +
    `than can be given; the first is "${first.pod}": ${first.reason}`;
  return { type, status: "True", reason: first.reason, message };
}

/** As the API has it: quantities by field and resource. */
interface Recommendation {
  readonly container: string;
  readonly min: SizeText;
  readonly median: SizeText;
  readonly max: SizeText;
  readonly template?: SizeText;
}

/** Returns the text of each size; an amount is rounded up as a resize would round it. */
function toRecommendations(all: readonly Recommended[]): readonly Recommendation[] {
  return all.map(({ container, min, median, max, template }) => ({
    container,
    min: toSizeText(min),
    median: toSizeText(median),
    max: toSizeText(max),
    ...(template !== null && { template: toSizeText(template) }),
  }));
}

function isNearlySame(now: Recommended, before: Recommended | undefined): boolean {
  if (before?.container !== now.container) return false;
  if ((before.template === null) !== (now.template === null)) return false;
  const pairs = [[now.min, before.min], [now.median, before.median], [now.max, before.max]] as const;
  if (!pairs.every(([a, b]) => RESOURCE_FIELDS.every((key) => isNearAmount(a[key], b[key])))) return false;
  return now.template === null || RESOURCE_FIELDS.every((key) => now.template?.[key] === before.template?.[key]);
}
