/**
 * What is remembered of one pod between two decisions: plain JSON with a version.
 *
 * It can be shown, recorded and replayed. Nothing in it is changed in place: functions named `next...` return the
 * state that follows. The questions at the end are those that the size of a pod and the number of pods both ask.
 */
import type { Pressure } from "../api/usage.ts";
import type { Resource, ResourceField, Resources } from "../units/resources.ts";
import { type Action, type FieldPolicy, toAutoscalerKey } from "./autoscaler.ts";
import type { Ending, KillFloor, OomResponse, Refusals } from "./container_history.ts";
import type { LimitReason } from "./reasons.ts";
import type { ResizeRequest } from "./resize_request.ts";

/** The version of PodState's shape. The parser refuses a record of another version. */
export const STATE_VERSION = 4;

/** The state of one pod. It survives JSON unchanged. */
export interface PodState {
  readonly version: typeof STATE_VERSION;
  /**
   * The pod's resourceVersion at the last evaluation. While it and the matching autoscalers stay, the pod's facts are
   * known.
   */
  readonly resourceVersion: string | null;
  /** When the last evaluation was, epoch ms. */
  readonly at: number;
  /** By container name: containers that an autoscaler targets, or that have a stuck resize of podfit. */
  readonly containers: Readonly<Record<string, ContainerState>>;
  /** By the key of a matching autoscaler: what it has sampled of its container. */
  readonly views: Readonly<Record<string, AutoscalerView>>;
  /** The highest generation in the answer to a PATCH of podfit. A watch may still show an older one. */
  readonly generation: number;
  /** Since when the pod has its conditions PodResizePending and PodResizeInProgress; `null` = it has none. */
  readonly pendingSince: ConditionSince | null;
  readonly inProgressSince: ConditionSince | null;
  /** When spec and reported size were first seen to differ without a resize condition, epoch ms. */
  readonly differingSince: number | null;
  /** A PATCH met a conflict on this resourceVersion: a newer pod is on its way. */
  readonly conflict: { readonly resourceVersion: string; readonly at: number } | null;
  /** The accepted PATCH that is not yet enacted. */
  readonly command: Command | null;
  /** Requests on one resourceVersion that got no answer. The pod will show whether one arrived, and which. */
  readonly unconfirmed: readonly UnconfirmedRequest[];
  /** The recommended state of autoscalers in mode recommend; `null` without any. */
  readonly shadow: RecommendedState | null;
  /** The last removal of its workload's replicas that ended its streaks down; `null` = none has. */
  readonly scaledIn: Since | null;
}

/** The state of the pod if every recommended resize had been accepted and applied at once. */
export interface RecommendedState {
  /** By container: the recommended size. A container that was never resized is absent. */
  readonly sizes: Readonly<Record<string, Resources>>;
  /** Its generation: 1, and one more with each resize. */
  readonly generation: number;
  /** The state of the autoscalers that recommend. Its `shadow` is `null`. */
  readonly state: PodState;
}

/** A request that may have arrived or not. */
export interface UnconfirmedRequest extends ResizeRequest {
  /** When the answer failed to come, epoch ms. */
  readonly at: number;
}

/** A resize that was accepted and is not yet seen in force. */
export interface Command {
  readonly container: string;
  /** The autoscaler's uid. */
  readonly autoscaler: string;
  readonly action: Action;
  readonly generation: number;
  readonly at: number;
  readonly to: Resources;
}

/** What is remembered of a container, for all autoscalers. */
export interface ContainerState {
  readonly instance: string | null;
  /** Since when the gate of each `after` is open; `null` while it is closed. */
  readonly running: Since | null;
  readonly readySince: number | null;
  readonly podReady: Since | null;
  /** The size in force when last seen; its change ends the streaks. */
  readonly actual: Resources;
  /** A sample counts if at least half of its interval is after this time, epoch ms. */
  readonly countsFrom: number;
  /** The last resize of the container, and the managedFields time it was last read from, epoch ms. */
  readonly resizedAt: number | null;
  /** The last scale-up of the container, epoch ms. An entry of managedFields has no direction and counts as one. */
  readonly raisedAt: number | null;
  readonly entryAt: number | null;
  /** When a stuck resize was last reverted, epoch ms. */
  readonly revertedAt: number | null;
  /** By field: sizes that the API server refused, or that were taken back. */
  readonly refusals: Refusals;
  /** It was given the size of its siblings, which happens once. */
  readonly isInherited: boolean;
  /** How its instances ended in the last half hour: at most twelve, oldest first. */
  readonly endings: readonly Ending[];
  /** The answer to the last OOM kill; `null` before there was one. */
  readonly reflex: OomResponse | null;
  readonly killFloor: KillFloor | null;
}

/** A time from another clock. `since` is never later than when podfit first saw it. */
export interface Since {
  readonly at: number;
  readonly since: number;
}

/** The same for a resize condition. Another reason starts it again. */
export interface ConditionSince {
  readonly reason: string;
  readonly at: number | null;
  readonly since: number;
}

/** What one matching autoscaler has sampled of its container. */
export interface AutoscalerView {
  /** The autoscaler's generation: a changed spec restarts the streaks. */
  readonly generation: number;
  readonly container: string;
  /** When the next evaluation for this autoscaler is due, epoch ms. */
  readonly dueAt: number;
  readonly sampling: Sampling;
  readonly streaks: Readonly<Partial<Record<ResourceField, Streak>>>;
  /** The peaks and percentiles that scale-downs depend on, in addition to their streaks. */
  readonly evidence: Evidence;
  /** Since when some streak has been full without a break, epoch ms; `null` while none is. */
  readonly wantedSince: number | null;
  /** For how many samples the container has had too little, as the number of replicas uses it. */
  readonly shortage: Shortage;
  /** The reason that holds its scale-ups, and for how many samples in a row; `null` without one. */
  readonly limited: LimitedScaleUp | null;
  /** Since when a field at its bound has held the scale-downs of another resource, epoch ms; `null` = none does. */
  readonly vetoedSince: number | null;
  /** Since when there has been no new usage, once that lasted too long, epoch ms; `null` while usage arrives. */
  readonly silentSince: number | null;
  /** What was reported and has not ended. */
  readonly notified: Reported;
}

/** A scale-up is held by a reason that needs an administrator. */
export interface LimitedScaleUp {
  /** The reason at the newest such sample. */
  readonly reason: LimitReason;
  readonly samples: number;
}

/** Samples in a row beyond the same threshold. */
export interface Streak {
  readonly direction: "up" | "down";
  readonly count: number;
  /** Highest usage of the field since the last whole `consecutiveSamples`, and in the one before. */
  readonly peakUsage: number;
  readonly olderPeakUsage: number | null;
  /** The newest sample showed CPU or memory at its limit: one sample is enough to scale up. */
  readonly isSaturated: boolean;
  /** Highest usageBytes since the last whole `consecutiveSamples`, and of those before; `null` without any. */
  readonly peakUsageBytes: number | null;
  readonly olderPeakUsageBytes: number | null;
}

/** The progress of a container's sampling. */
export interface Sampling {
  /** The older point of the next rate. */
  readonly anchor: Anchor | null;
  /** The same for the pod's own counter, a separate series; its instance is the container's. */
  readonly witness: Anchor | null;
  readonly sample: Sample | null;
  /** When something new was last seen, or sampling began: receive time, epoch ms. */
  readonly newAt: number;
  /** The next point only warms up: the container restarted, or was not seen for long. */
  readonly warming: boolean;
}

/** A point that a later one is compared with; `counterNs` is 0 if the source returns rates. */
export interface Anchor {
  readonly instance: string;
  readonly at: number;
  readonly counterNs: number;
  readonly pressure: Pressure | null;
  /** The count at its point; absent if the source does not count kills. */
  readonly oomKills?: number;
}

/** One usage of one container. `at` and `from` are times of the source's clock; `seenAt` is podfit's time. */
export interface Sample {
  readonly at: number;
  readonly from: number;
  readonly seenAt: number;
  readonly cpuMillicores: number;
  /** The share of the interval, 0 to 1, in which the CPU limit throttled it; `null` = not measured. */
  readonly heldBack: number | null;
  /** At its CPU limit, or throttled by it. */
  readonly isSaturated: boolean;
  /** What it would have used without the limit; never less than what it used. */
  readonly demandMillicores: number;
  readonly workingSetBytes: number;
  readonly usageBytes: number | null;
  readonly podUsageBytes: number | null;
  /** Processes killed for memory within the interval while the container ran on; absent = not known. */
  readonly oomKills?: number;
  /** All of its processes wait for memory for much of the time. Absent = they do not, or it is not known. */
  readonly isMemoryStalled?: true;
}

/**
 * The evidence for scale-downs of one autoscaler; plain JSON. It belongs to the container: a restart, another size and
 * a changed spec keep it.
 */
export interface Evidence {
  /** Since when usage has come without a gap, epoch ms; `null` before the first sample. */
  readonly since: number | null;
  /** When the newest sample was seen, epoch ms. */
  readonly until: number;
  /** Fields whose rule has a window or a percentile. */
  readonly sides: Readonly<Partial<Record<ResourceField, Peaks | Histogram>>>;
}

/** The peaks of one window, one for each thirtieth of it; plain JSON. An empty thirtieth does not break the window. */
export interface Peaks {
  readonly kind: "peaks";
  readonly windowMs: number;
  /**
   * Pairs of a bucket and its peak, oldest first. Each peak is below the one before, since a lower one before a higher
   * one never becomes the highest again.
   */
  readonly pairs: readonly number[];
}

/**
 * A percentile of CPU usage with decaying weights; plain JSON. Buckets are 10 % apart. VPA's histogram works likewise:
 * https://github.com/kubernetes/autoscaler/blob/master/vertical-pod-autoscaler/pkg/recommender/util/decaying_histogram.go
 */
export interface Histogram {
  readonly kind: "histogram";
  /** A sample at this time weighs 1, one a half-life later weighs 2; epoch ms. */
  readonly at: number;
  readonly halfLifeMs: number;
  /** The exponent of the first bucket: it holds usage in (BUCKET_RATIO^(top-1), BUCKET_RATIO^top], the next one what is below. */
  readonly top: number;
  /** From the top down. The last of HISTOGRAM_BUCKETS also holds everything smaller. */
  readonly weights: readonly number[];
}

/** Counts of samples in a row in which the container had too little; plain JSON. */
export interface Shortage {
  /** Usage was at the limit in force. */
  readonly atLimit: Readonly<Record<Resource, number>>;
  /** CPU was at its limit, or was throttled by it. */
  readonly clipped: number;
  /** By request: a scale-up with a full streak was held by a reason that needs an administrator. */
  readonly held: Readonly<Partial<Record<ResourceField, number>>>;
}

/** The topics of reports, each independent of the others. */
export type NoticeTopic =
  | "metrics"
  | "stuck"
  | "block"
  | "restart"
  | "shrink"
  | "kill"
  | `baseline ${ResourceField}`
  | `held ${ResourceField}`;

/** By topic: the last report that has not ended. A topic without one is absent. */
export type Reported = Readonly<Partial<Record<NoticeTopic, string>>>;

/** The parts of a state that can be read while it is packed. A whole state is one as well. */
export interface ReadableState extends Omit<PodState, "views" | "shadow"> {
  readonly views: Readonly<Record<string, ReadableView>>;
  readonly shadow: (Omit<RecommendedState, "state"> & { readonly state: ReadableState }) | null;
}

/** The parts of a view that can be read while it is packed. */
export interface ReadableView extends Omit<AutoscalerView, "sampling" | "evidence"> {
  readonly sampling: Pick<Sampling, "newAt">;
}

/** The state of a pod that was never evaluated. */
export const NEW_POD_STATE: PodState = {
  version: STATE_VERSION,
  resourceVersion: null,
  at: 0,
  containers: {},
  views: {},
  generation: 0,
  pendingSince: null,
  inProgressSince: null,
  differingSince: null,
  conflict: null,
  command: null,
  unconfirmed: [],
  shadow: null,
  scaledIn: null,
};

/** Shared, so that a view without streaks needs no memory for them. */
export const NO_STREAKS: AutoscalerView["streaks"] = Object.freeze({});

/** Shared, so that a view without samples needs no memory for it. */
export const NO_EVIDENCE: Evidence = Object.freeze({ since: null, until: 0, sides: Object.freeze({}) });

/** Shared, so that a container that has enough needs no memory for it. */
export const NO_SHORTAGE: Shortage = Object.freeze({
  atLimit: Object.freeze({ cpu: 0, memory: 0 }),
  clipped: 0,
  held: Object.freeze({}),
});

/** Shared, so that a view without reports needs no memory for it. */
export const NOTHING_REPORTED: Reported = Object.freeze({});

/**
 * Returns the container's state; undefined if no autoscaler targets it. A container may be named `constructor`, so only
 * own properties count.
 */
export function findContainerState(
  { containers }: Pick<PodState, "containers">,
  name: string,
): ContainerState | undefined {
  return Object.hasOwn(containers, name) ? containers[name] : undefined;
}

/**
 * Returns the key of the view for a request, decision or notice. They name the autoscaler by its uid, and the
 * container.
 */
export function toViewKey(
  { views }: Pick<PodState, "views">,
  { autoscaler, container }: { readonly autoscaler: string; readonly container: string },
): string {
  return views[autoscaler]?.container === container ? autoscaler : toAutoscalerKey(autoscaler, container);
}

/**
 * Returns whether the field's streak has as many samples as its rule asks for. A saturated streak is full at once.
 * Clauses: L22, C30, C31.
 */
export function isStreakFull(rule: FieldPolicy, streaks: AutoscalerView["streaks"]): boolean {
  const streak = streaks[rule.key];
  return streak !== undefined && (streak.isSaturated || streak.count >= rule[streak.direction].consecutiveSamples);
}

/** Returns whether a scale-up of the field has a full streak. Clauses: R84, R85. */
export function isScaleUpWanted(rule: FieldPolicy, streaks: AutoscalerView["streaks"]): boolean {
  return streaks[rule.key]?.direction === "up" && isStreakFull(rule, streaks);
}

/** Returns whether the pod cannot get the request that it needs, according to the last samples. Clauses: R84. */
export function isSaturated(
  rule: FieldPolicy,
  { streaks, shortage }: Pick<AutoscalerView, "streaks" | "shortage">,
): boolean {
  return isScaleUpWanted(rule, streaks) && (shortage.held[rule.key] ?? 0) >= computeShortSamples(rule);
}

/** Returns how many samples in a row make a field saturated, or its container's CPU throttled. */
export function computeShortSamples({ up }: FieldPolicy): number {
  return Math.max(MIN_SHORT_SAMPLES, up.consecutiveSamples);
}

/** The fewest samples in a row that count. */
const MIN_SHORT_SAMPLES = 2;
