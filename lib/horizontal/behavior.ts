/**
 * How fast may replicas follow the metrics?
 *
 * First the stabilization windows, then the rate policies of spec.advanced.horizontalPodAutoscalerConfig.behavior, as
 * the HPA controller applies them. The history holds what both need: earlier recommendations and podfit's own writes.
 */
import type { RecordedNeed, ScaleEvent, ScalingHistory } from "../model/replicas_state.ts";
import {
  type Behavior,
  DEFAULT_BEHAVIOR,
  type ScaledObject,
  type ScalingPolicy,
  type ScalingRules,
} from "../model/scaled_object.ts";

export interface StabilizationInput {
  readonly now: number;
  readonly replicas: number;
  readonly need: number;
  /** `null` = none, which is not the same as the defaults. */
  readonly behavior: Behavior | null;
}

/** The result of the stabilization windows. */
interface StabilizedNeed {
  readonly stabilized: number;
  /** With the need recorded as it was found. */
  readonly history: ScalingHistory;
}

/** --horizontal-pod-autoscaler-downscale-stabilization. */
const DOWN_WINDOW_MS = 300_000;

/**
 * Returns the replicas after the stabilization windows, as the HPA controller's stabilizeRecommendation does.
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/controller/podautoscaler/horizontal.go
 * Clauses: R41, R42.
 */
export function stabilize(history: ScalingHistory, input: StabilizationInput): StabilizedNeed {
  const { behavior } = input;
  return behavior === null
    ? stabilizeWithoutBehavior(history, input)
    : stabilizeWithBehavior(history, { ...input, behavior });
}

/** A need exactly 300 s old still counts. */
function stabilizeWithoutBehavior(history: ScalingHistory, { now, need }: StabilizationInput): StabilizedNeed {
  const isOld = ({ at }: { readonly at: number }) => at < now - DOWN_WINDOW_MS;
  const counted = history.needs.filter((one) => !isOld(one)).map(({ replicas }) => replicas);
  return { stabilized: Math.max(need, ...counted), history: recordNeed(history, { replicas: need, at: now }, isOld) };
}

/** Both windows apply in either direction. A need exactly as old as the window does not count. */
function stabilizeWithBehavior(
  history: ScalingHistory,
  { now, replicas, need, behavior: { scaleUp, scaleDown } }: StabilizationInput & { readonly behavior: Behavior },
): StabilizedNeed {
  const [upCutoff, downCutoff] = [now - scaleUp.windowMs, now - scaleDown.windowMs];
  const since = (cutoff: number) => history.needs.filter(({ at }) => at > cutoff).map((one) => one.replicas);
  const min = Math.min(need, ...since(upCutoff));
  const max = Math.max(need, ...since(downCutoff));
  return {
    stabilized: Math.min(Math.max(replicas, min), max),
    history: recordNeed(history, { replicas: need, at: now }, ({ at }) => at < upCutoff && at < downCutoff),
  };
}

export interface RateInput {
  readonly now: number;
  readonly replicas: number;
  readonly stabilized: number;
  /** At least 1. */
  readonly minReplicas: number;
  readonly maxReplicas: number;
  readonly behavior: Behavior | null;
}

export type ScalingLimit = "TooManyReplicas" | "TooFewReplicas" | "ScaleUpLimit" | "ScaleDownLimit";

/** `limit`: why replicas differ from the stabilized number; `null` = they do not. */
export interface LimitedReplicas {
  readonly desired: number;
  readonly limit: ScalingLimit | null;
}

/**
 * Returns the replicas after rate policies and bounds, in doubles and in the HPA controller's order: 100 and 10 % are
 * 111, 10 less 90 % are 0.
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/controller/podautoscaler/horizontal.go
 * Clauses: R41, R43.
 */
export function limitRate(history: ScalingHistory, input: RateInput): LimitedReplicas {
  const { behavior, replicas, stabilized, minReplicas, maxReplicas } = input;
  if (behavior === null) return limitWithoutBehavior(input);
  if (stabilized > replicas) {
    const max = Math.max(replicas, computeUpLimit(history, input, behavior.scaleUp));
    return atMost(stabilized, maxReplicas > max ? [max, "ScaleUpLimit"] : [maxReplicas, "TooManyReplicas"]);
  }
  if (stabilized < replicas) {
    const min = Math.min(replicas, computeDownLimit(history, input, behavior.scaleDown));
    return atLeast(stabilized, minReplicas < min ? [min, "ScaleDownLimit"] : [minReplicas, "TooFewReplicas"]);
  }
  return { desired: stabilized, limit: null };
}

/** Without behavior, replicas may double in one scaling loop, or become 4. */
function limitWithoutBehavior({ replicas, stabilized, minReplicas, maxReplicas }: RateInput): LimitedReplicas {
  if (stabilized < minReplicas) return { desired: minReplicas, limit: "TooFewReplicas" };
  const max = Math.max(2 * replicas, 4);
  return atMost(stabilized, maxReplicas > max ? [max, "ScaleUpLimit"] : [maxReplicas, "TooManyReplicas"]);
}

function atMost(desired: number, [max, limit]: readonly [number, ScalingLimit]): LimitedReplicas {
  return desired > max ? { desired: max, limit } : { desired, limit: null };
}

function atLeast(desired: number, [min, limit]: readonly [number, ScalingLimit]): LimitedReplicas {
  return desired < min ? { desired: min, limit } : { desired, limit: null };
}

type RateNow = Pick<RateInput, "now" | "replicas">;

function computeUpLimit(history: ScalingHistory, now: RateNow, { select, policies }: ScalingRules): number {
  if (select === "Disabled") return now.replicas;
  const limits = policies.map((policy) => {
    const start = computePeriodStart(history, now, policy);
    return policy.type === "Pods" ? start + policy.value : Math.ceil(start * (1 + policy.value / 100));
  });
  return select === "Min" ? Math.min(...limits) : Math.max(...limits);
}

function computeDownLimit(history: ScalingHistory, now: RateNow, { select, policies }: ScalingRules): number {
  if (select === "Disabled") return now.replicas;
  const limits = policies.map((policy) => {
    const start = computePeriodStart(history, now, policy);
    return policy.type === "Pods" ? start - policy.value : Math.trunc(start * (1 - policy.value / 100));
  });
  // The smallest change leaves the most replicas.
  return select === "Min" ? Math.max(...limits) : Math.min(...limits);
}

/**
 * Returns the replicas at the start of the period, computed from the scaling loop's own changes since then in both
 * directions.
 */
function computePeriodStart(
  { ups, downs }: ScalingHistory,
  { now, replicas }: RateNow,
  { periodMs }: ScalingPolicy,
): number {
  const sum = (events: readonly ScaleEvent[]) =>
    events.reduce((total, { at, change }) => at > now - periodMs ? total + change : total, 0);
  return replicas - sum(ups) + sum(downs);
}

/** An accepted write of the scaling loop; `now` is when that loop was due. */
export interface Rescale {
  readonly from: number;
  readonly to: number;
  readonly now: number;
  readonly behavior: Behavior | null;
}

/**
 * At first sight the current replicas count as the need, so replicas do not fall for one window.
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/controller/podautoscaler/horizontal.go
 * Clauses: R31, R44, R45.
 */
export function startHistory(replicas: number, now: number): ScalingHistory {
  return { needs: [{ replicas, at: now }], ups: [], downs: [] };
}

/** Without behavior nothing is recorded, because no rate applies. */
export function recordRescale(history: ScalingHistory, { from, to, now, behavior }: Rescale): ScalingHistory {
  if (behavior === null) return history;
  const event = { change: Math.abs(to - from), at: now, isOutdated: false };
  if (to > from) return { ...history, ups: storeEvent(history.ups, event, behavior.scaleUp) };
  return { ...history, downs: storeEvent(history.downs, event, behavior.scaleDown) };
}

/** Replaces the last need that is outside of every window, or adds one. */
function recordNeed(
  history: ScalingHistory,
  need: RecordedNeed,
  isOld: (need: RecordedNeed) => boolean,
): ScalingHistory {
  const slot = history.needs.findLastIndex(isOld);
  return { ...history, needs: putInSlot(history.needs, need, slot) };
}

/**
 * Only the longest period of this direction decides. It may be shorter than a period of the other direction that still
 * needs the event. Clauses: R44.
 */
function storeEvent(
  events: readonly ScaleEvent[],
  event: ScaleEvent,
  { policies }: ScalingRules,
): readonly ScaleEvent[] {
  const cutoff = event.at - Math.max(0, ...policies.map(({ periodMs }) => periodMs));
  const marked = events.map((one) => one.at < cutoff ? { ...one, isOutdated: true } : one);
  return putInSlot(marked, event, marked.findLastIndex(({ isOutdated }) => isOutdated));
}

/** -1 = at the end. */
function putInSlot<T>(list: readonly T[], item: T, slot: number): readonly T[] {
  return slot < 0 ? [...list, item] : list.with(slot, item);
}

/**
 * Returns the behavior of the scaling loop. A paused direction is Disabled, so `behavior` is then present, with
 * defaults. Clauses: R55, R56.
 */
export function disablePausedDirections({ behavior, annotations }: ScaledObject): Behavior | null {
  const { isScaleInPaused, isScaleOutPaused } = annotations;
  if (!isScaleInPaused && !isScaleOutPaused) return behavior;
  const { scaleUp, scaleDown } = behavior ?? DEFAULT_BEHAVIOR;
  return {
    scaleUp: isScaleOutPaused ? { ...scaleUp, select: "Disabled" } : scaleUp,
    scaleDown: isScaleInPaused ? { ...scaleDown, select: "Disabled" } : scaleDown,
  };
}
