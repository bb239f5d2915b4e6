/**
 * Computes the status of a PodResourceAutoscaler: conditions, the last resize and recommendations.
 *
 * It is level-based: computed as a whole each time, and written when it differs.
 */
import { type Action, EVERY_CONTAINER } from "../../model/autoscaler.ts";
import { formatProblems } from "../../model/reasons.ts";
import { formatAmount } from "../../units/quantity.ts";
import { requestOrLimitOf, RESIZE_UNIT, RESOURCE_FIELDS, resourceOf, type Resources } from "../../units/resources.ts";
import type { LabelSelector } from "../../units/selector.ts";
import { formatTime } from "../../units/time.ts";
import type { Problem } from "../../units/untrusted.ts";
import type { PolicyFields } from "./profiles.ts";

// Computes the status of an autoscaler from facts about it (C5, C51). It is level-based: computed as a whole each
// time, and written when it differs. https://pkg.go.dev/k8s.io/apimachinery/pkg/apis/meta/v1#Condition

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

/**
 * Gives the status at `now` (epoch ms) that follows `before`. A condition keeps its `lastTransitionTime` while its
 * status stays.
 */
export function nextStatus(before: AutoscalerStatus, facts: StatusFacts, now: number): AutoscalerStatus {
  const { lastScale, selector, effectivePolicy, recommended } = facts;
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
export function isInFuture({ at }: LastScale, now: number): boolean {
  return at - now > MAX_CLOCK_SKEW_MS;
}

/** Names the container that pods lack: one, or any at all that is not left out. */
export function describeContainer({ containerName }: Pick<StatusFacts, "containerName">): string {
  return containerName === EVERY_CONTAINER
    ? "a container that excludeContainers does not leave out"
    : `a container "${containerName}"`;
}

// The condition Limited (L53): pods want more than they can be given. It is what alerts and replicas listen to.

/** Whose scale-ups are held by what does not pass by itself. */
export interface LimitFacts {
  /** The first such pod; `null` = none. */
  readonly first: { readonly pod: string; readonly reason: string } | null;
  /** How many pods are held, by reason. */
  readonly reasons: ReadonlyMap<string, number>;
}

/** Nothing is held. */
export const UNLIMITED: LimitFacts = { first: null, reasons: new Map() };

// What an autoscaler in mode recommend would have: one entry per container in `status.recommendations` (L51). It is
// written when some amount has moved by a twentieth, so that a status is no time series.

/** The sizes of one container over all pods that were sampled. Each side stands for itself. */
export interface Recommended {
  readonly container: string;
  readonly min: Resources;
  /** The middle one; of an even number the lower. */
  readonly median: Resources;
  readonly max: Resources;
  /** What pods start with; `null` while no pod is seen that nobody has resized. */
  readonly template: Resources | null;
}

/** What to publish after `before` was: the same object while nothing has moved by enough. */
export function nextRecommended(
  before: readonly Recommended[] | null,
  now: readonly Recommended[],
): readonly Recommended[] {
  return before !== null && before.length === now.length && now.every((one, index) => isNearlySame(one, before[index]))
    ? before
    : now;
}

/** The middle one of each side; of an even number the lower. `null` where half of the sizes or more have no such side. */
export function computeMedianSize(sizes: readonly Resources[]): Resources {
  return computeRankedSize(sizes, (count) => Math.floor((count - 1) / 2));
}

/** The smallest of each side. */
export function computeMinSize(sizes: readonly Resources[]): Resources {
  return computeRankedSize(sizes, () => 0);
}

/** The largest of each side. */
export function computeMaxSize(sizes: readonly Resources[]): Resources {
  return computeRankedSize(sizes, (count) => count - 1);
}

/** The API allows 32768 characters; a person reads fewer. */
const MAX_MESSAGE_LENGTH = 2048;

const MAX_CLOCK_SKEW_MS = 60_000;

type ConditionVerdict = Pick<Condition, "type" | "status" | "reason" | "message">;

/** What was true when it was last heard of may be so no more. The words stay the same however long that lasts. */
function toUnknownIfStale(verdict: ConditionVerdict, { stale }: StatusFacts): ConditionVerdict {
  if (stale === null) return verdict;
  const message =
    `nothing was heard of ${stale} from the API server for minutes, and pods are left as they are until ` +
    "something is: podfit's log says why";
  return { type: verdict.type, status: "Unknown", reason: "Stale", message };
}

function computeReady({ problems, warnings, paused, missingTarget }: StatusFacts): ConditionVerdict {
  const type = "Ready";
  if (problems.length > 0) return { type, status: "False", reason: "InvalidSpec", message: formatProblems(problems) };
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
  /** This podfit looks after one node or pod: nobody sees all pods of an autoscaler. */
  readonly isNodeLocal: boolean;
}

/** The condition, without its times. */
interface LimitedVerdict {
  readonly type: "Limited";
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}

/** Its reason is that of the first pod that is held. */
function computeLimited(
  { paused, tracked, limits: { first, reasons }, isNodeLocal }: LimitedFacts,
): LimitedVerdict {
  const type = "Limited";
  if (paused) return { type, status: "Unknown", reason: "Paused", message: "spec.paused is true" };
  if (tracked === 0) return { type, status: "Unknown", reason: "NoPods", message: "no pod is tracked" };
  if (isNodeLocal) {
    const message = "podfit looks after a part of the pods only: see the metric podfit_limited_pods of each podfit";
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

/** As the API has it: quantities by side and resource. */
interface Recommendation {
  readonly container: string;
  readonly min: RecommendedSize;
  readonly median: RecommendedSize;
  readonly max: RecommendedSize;
  readonly template?: RecommendedSize;
}

/** `requests` and `limits` as they stand in a pod. */
type RecommendedSize = Readonly<Partial<Record<"requests" | "limits", Readonly<Record<string, string>>>>>;

/** An amount that moves by less than this share is no news. */
const MIN_CHANGE_SHARE = 0.05;

/** The text of each; an amount is rounded up to what a resize would ask for. */
function toRecommendations(all: readonly Recommended[]): readonly Recommendation[] {
  return all.map(({ container, min, median, max, template }) => ({
    container,
    min: toRecommendedSize(min),
    median: toRecommendedSize(median),
    max: toRecommendedSize(max),
    ...(template !== null && { template: toRecommendedSize(template) }),
  }));
}

function computeRankedSize(sizes: readonly Resources[], rank: (count: number) => number): Resources {
  const found: Record<string, number | null> = {};
  for (const key of RESOURCE_FIELDS) {
    const amounts = sizes.flatMap((size) => size[key] ?? []).sort((a, b) => a - b);
    found[key] = amounts.length * 2 <= sizes.length ? null : amounts[rank(amounts.length)] ?? null;
  }
  return found as Resources;
}

function isNearlySame(now: Recommended, before: Recommended | undefined): boolean {
  if (before?.container !== now.container) return false;
  if ((before.template === null) !== (now.template === null)) return false;
  const pairs = [[now.min, before.min], [now.median, before.median], [now.max, before.max]] as const;
  if (!pairs.every(([a, b]) => RESOURCE_FIELDS.every((key) => isNearAmount(a[key], b[key])))) return false;
  return now.template === null || RESOURCE_FIELDS.every((key) => now.template?.[key] === before.template?.[key]);
}

function isNearAmount(now: number | null, before: number | null): boolean {
  if (now === null || before === null) return now === before;
  return Math.abs(now - before) < MIN_CHANGE_SHARE * before || now === before;
}

function toRecommendedSize(size: Resources): RecommendedSize {
  const sides: Partial<Record<"requests" | "limits", Record<string, string>>> = {};
  for (const key of RESOURCE_FIELDS) {
    const amount = size[key];
    if (amount === null) continue;
    const [side, resource] = [requestOrLimitOf(key), resourceOf(key)];
    (sides[side] ??= {})[resource] = formatAmount(
      Math.ceil(amount / RESIZE_UNIT[resource]) * RESIZE_UNIT[resource],
      resource,
    );
  }
  return sides;
}
