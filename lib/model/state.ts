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

// What the fold remembers of one pod between two decisions: plain JSON with a format version, so that it can be shown,
// recorded and replayed. Nothing in it is ever changed in place; `next...` functions return the state that follows.

/** The version of PodState's shape. A record of another version is refused by its parser. */
export const STATE_VERSION = 4;

/** The state of one pod; JSON keeps it whole. */
export interface PodState {
  readonly version: typeof STATE_VERSION;
  /** The pod's resourceVersion at the last evaluation: while it and the contenders stay, its facts are known. */
  readonly resourceVersion: string | null;
  /** When the last evaluation was, epoch ms of steady time. */
  readonly at: number;
  /** By container name: those that some contender targets, or in which a resize of podfit's is stuck for nobody any more. */
  readonly containers: Readonly<Record<string, ContainerState>>;
  /** By the key of an autoscaler: what each contender has sampled of its container. */
  readonly views: Readonly<Record<string, AutoscalerView>>;
  /** The highest generation that a PATCH of ours was answered with; a watch may still show an older one. */
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
  /** Requests on one resourceVersion that got no answer: the pod will show whether one arrived, and which. */
  readonly unconfirmed: readonly UnconfirmedRequest[];
  /** The pod as contenders in mode recommend would have it (L51); `null` without any. */
  readonly shadow: RecommendedState | null;
  /** The last fall of its workload's replicas that has ended its scale-downs' streaks (R86); `null` = none has. */
  readonly scaledIn: Since | null;
}

/** What became of a pod in which every recommended resize was accepted and enacted at once (L51). */
export interface RecommendedState {
  /** By container: the size that it would have. A container that was never resized has the pod's own. */
  readonly sizes: Readonly<Record<string, Resources>>;
  /** Its generation: 1, and one more with each resize. */
  readonly generation: number;
  /** Of the recommending contenders; it has no shadow of its own. */
  readonly state: PodState;
}

/** A request that may have arrived or not (C45). */
export interface UnconfirmedRequest extends ResizeRequest {
  /** When the answer failed to come, epoch ms. */
  readonly at: number;
}

/** A resize that was accepted and is not yet seen in force (C45). */
export interface Command {
  readonly container: string;
  /** The autoscaler's uid. */
  readonly autoscaler: string;
  readonly action: Action;
  readonly generation: number;
  readonly at: number;
  readonly to: Resources;
}

/** What is remembered of a container, whoever contends for it. */
export interface ContainerState {
  readonly instance: string | null;
  /** Since when the gate of each `after` is open (C24); `null` while it is shut. */
  readonly running: Since | null;
  readonly readySince: number | null;
  readonly podReady: Since | null;
  /** The size in force when last seen; its change ends the streaks (C31). */
  readonly actual: Resources;
  /** A sample counts when at least half of its interval lies after this (C31), epoch ms. */
  readonly countsFrom: number;
  /** The last resize of the container (C42), and the managedFields time it was last read from, epoch ms. */
  readonly resizedAt: number | null;
  /** The last scale-up of the container (L3), epoch ms; an entry of managedFields tells no direction, and counts as one. */
  readonly raisedAt: number | null;
  readonly entryAt: number | null;
  /** When a stuck resize was last reverted (C47), epoch ms. */
  readonly revertedAt: number | null;
  /** What the API server refused, or was given up, by side (C44, C47). */
  readonly refusals: Refusals;
  /** It was given the size of its siblings: that happens once (L40). */
  readonly isInherited: boolean;
  /** How its instances have ended in the last half hour, at most a dozen, oldest first (L7, L10). */
  readonly endings: readonly Ending[];
  /** The answer to the last OOM kill; `null` before there was one (L11). */
  readonly reflex: OomResponse | null;
  readonly killFloor: KillFloor | null;
}

/** A state that another clock has dated: it is never taken to begin later than it was first seen. */
export interface Since {
  readonly at: number;
  readonly since: number;
}

/** The same of a condition about a resize, which begins anew with another reason. */
export interface ConditionSince {
  readonly reason: string;
  readonly at: number | null;
  readonly since: number;
}

/** What one contender has seen of its container. */
export interface AutoscalerView {
  /** The autoscaler's generation: a changed spec restarts the streaks (C16). */
  readonly generation: number;
  readonly container: string;
  /** When the next evaluation of this contender is due, epoch ms. */
  readonly dueAt: number;
  readonly sampling: Sampling;
  readonly streaks: Readonly<Partial<Record<ResourceField, Streak>>>;
  /** What scale-downs rest on beside their streaks (L2, L4). */
  readonly evidence: Evidence;
  /** Since when some streak has been full without a break, epoch ms; `null` while none is. */
  readonly wantedSince: number | null;
  /** For how long it has been short of what it wants, as replicas look at it (R84, R85). */
  readonly shortage: Shortage;
  /** What holds its scale-ups, and for how many samples in a row (L53); `null` while nothing does. */
  readonly limited: LimitedScaleUp | null;
  /** Since when a side at its bound has held the scale-downs of another resource (L34), epoch ms; `null` = none does. */
  readonly vetoedSince: number | null;
  /** Since when there has been no new usage, once that lasted too long (C22), epoch ms; `null` while usage comes. */
  readonly silentSince: number | null;
  /** What people have been notified of, and what has not ended since. */
  readonly notified: Reported;
}

/** A scale-up has been held by what does not pass by itself. */
export interface LimitedScaleUp {
  /** Of the newest such sample. */
  readonly reason: LimitReason;
  readonly samples: number;
}

/** Samples in a row on the same side of a threshold (C31). */
export interface Streak {
  readonly direction: "up" | "down";
  readonly count: number;
  /** Highest usage of the side since the last whole `consecutiveSamples`, and of those before (L1). */
  readonly peakUsage: number;
  readonly olderPeakUsage: number | null;
  /** The newest sample showed a CPU side (L22), or memory (L11), at its limit: one is enough to go up. */
  readonly isSaturated: boolean;
  /** Highest usageBytes since the last whole `consecutiveSamples`, and of those before; `null` without any (C46). */
  readonly peakUsageBytes: number | null;
  readonly olderPeakUsageBytes: number | null;
}

/** How far the sampling of a container has come. */
export interface Sampling {
  /** The older point of the next rate. */
  readonly anchor: Anchor | null;
  /** The same of the pod's own counter, a series apart from it (L60); its instance is the container's. */
  readonly witness: Anchor | null;
  readonly sample: Sample | null;
  /** When something new was last seen, or sampling began: receive time, epoch ms. */
  readonly newAt: number;
  /** The next point only warms up, a rate too: the container was seen to restart, or was not seen for long. */
  readonly warming: boolean;
}

/** A point that a later one is held against; `counterNs` is 0 for a source of rates. */
export interface Anchor {
  readonly instance: string;
  readonly at: number;
  readonly counterNs: number;
  readonly pressure: Pressure | null;
  /** As of its point (L13); absent where the source counts none. */
  readonly oomKills?: number;
}

/** One usage of one container. `at` and `from` are times of the source's clock, `seenAt` is one of ours. */
export interface Sample {
  readonly at: number;
  readonly from: number;
  readonly seenAt: number;
  readonly cpuMillicores: number;
  /** The share of the interval, 0 to 1, in which the CPU limit held it back; `null` = not measured (L20). */
  readonly heldBack: number | null;
  /** At its CPU limit, or held back by it. */
  readonly isSaturated: boolean;
  /** What it would have used without the limit, never less than it used (L21). */
  readonly demandMillicores: number;
  readonly workingSetBytes: number;
  readonly usageBytes: number | null;
  readonly podUsageBytes: number | null;
  /** Processes killed for memory within the interval that the container has survived (L13); absent = none known of. */
  readonly oomKills?: number;
}

// What a scale-down rests on beside its streak (L1, L2, L4): for how long usage has been watched without a gap, and
// per side the peak of its window or a percentile of what was seen. It belongs to the container, not to an instance of
// it: a restart, another size and a changed spec leave it as it is.

/** The evidence of one contender; plain JSON. */
export interface Evidence {
  /** Since when usage has come without a gap, epoch ms; `null` before the first sample. */
  readonly since: number | null;
  /** When the newest sample was seen, epoch ms. */
  readonly until: number;
  /** Sides whose rule has a window or a percentile. */
  readonly sides: Readonly<Partial<Record<ResourceField, Peaks | Histogram>>>;
}

// The peak of usage within a window (L2), as one peak per thirtieth of it: whatever the window's length, a bounded
// list of numbers. An empty thirtieth is no gap, and the effective window is up to a thirtieth longer.

/** Peaks of one window; plain JSON. */
export interface Peaks {
  readonly kind: "peaks";
  readonly windowMs: number;
  /**
   * Pairs of a bucket and the peak in it, oldest first, each peak below the one before: a lower one before a higher one
   * will never be the highest again.
   */
  readonly pairs: readonly number[];
}

// A percentile of CPU usage of which old samples weigh less and less (L4), in a state of bounded size: buckets 10 %
// apart below the largest sample that still weighs anything. The field's recommenders keep histograms likewise:
// https://github.com/kubernetes/autoscaler/blob/master/vertical-pod-autoscaler/pkg/recommender/util/decaying_histogram.go

/** Weights of buckets; plain JSON. */
export interface Histogram {
  readonly kind: "histogram";
  /** A sample of this time weighs 1, one a half-life later 2, epoch ms. */
  readonly at: number;
  readonly halfLifeMs: number;
  /** The exponent of the first bucket: it holds usage in (RATIO^(top-1), RATIO^top], the next one what is below. */
  readonly top: number;
  /** From the top down; as many as are needed. The last of BUCKETS holds all that is smaller, too. */
  readonly weights: readonly number[];
}

// For how many samples in a row a container has been short of what it wants: what is remembered of it (R84, R85).

/** Counts of samples in a row; plain JSON. */
export interface Shortage {
  /** Usage was at the limit in force. */
  readonly atLimit: Readonly<Record<Resource, number>>;
  /** CPU was at its limit, or measured as held back by it (L20). */
  readonly clipped: number;
  /** By request: a scale-up with a full streak was held by what does not pass by itself. */
  readonly held: Readonly<Partial<Record<ResourceField, number>>>;
}

// What people have been notified of: a matter is news when it begins and when it ends, not at each evaluation.

/** What a person may be notified of, each apart from the others. */
export type NoticeTopic =
  | "metrics"
  | "stuck"
  | "block"
  | "restart"
  | "shrink"
  | "kill"
  | `baseline ${ResourceField}`
  | `held ${ResourceField}`;

/** By topic, what was last published and still stands; nothing where nothing does. */
export type Reported = Readonly<Partial<Record<NoticeTopic, string>>>;

// What can be read of a pod's state while it rests (`rest.ts`): how the pod stands, without what only its next
// decision needs.

/** A whole state is one as well. */
export interface ReadableState extends Omit<PodState, "views" | "shadow"> {
  readonly views: Readonly<Record<string, ReadableView>>;
  readonly shadow: (Omit<RecommendedState, "state"> & { readonly state: ReadableState }) | null;
}

/** How one contender stands. */
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

/** Shared, so that a view without streaks costs no memory for them. */
export const NO_STREAKS: AutoscalerView["streaks"] = Object.freeze({});

/** Shared, so that a view that has seen nothing costs no memory for it. */
export const NO_EVIDENCE: Evidence = Object.freeze({ since: null, until: 0, sides: Object.freeze({}) });

/** Shared, so that a container that lacks nothing costs no memory for it. */
export const NO_SHORTAGE: Shortage = Object.freeze({
  atLimit: Object.freeze({ cpu: 0, memory: 0 }),
  clipped: 0,
  held: Object.freeze({}),
});

/** Shared, so that a view of which nobody was notified costs no memory for it. */
export const NOTHING_REPORTED: Reported = Object.freeze({});

/** Undefined while no contender targets the container. A container may be named `constructor`, as a property of every object. */
export function findContainerState(
  { containers }: Pick<PodState, "containers">,
  name: string,
): ContainerState | undefined {
  return Object.hasOwn(containers, name) ? containers[name] : undefined;
}

/**
 * The key of the view that a request, decision or notice of an autoscaler is about: they name the autoscaler by its uid
 * and the container.
 */
export function toViewKey(
  { views }: Pick<PodState, "views">,
  { autoscaler, container }: { readonly autoscaler: string; readonly container: string },
): string {
  return views[autoscaler]?.container === container ? autoscaler : toAutoscalerKey(autoscaler, container);
}

// One sample against the thresholds of each side (C30, C31): in which direction it points, and for how many samples in
// a row it has. What a full streak leads to is for the proposals.

/** Whether the side's streak has as many samples as its rule asks for; a saturated one is full at once (L22). */
export function isStreakFull(rule: FieldPolicy, streaks: AutoscalerView["streaks"]): boolean {
  const streak = streaks[rule.key];
  return streak !== undefined && (streak.isSaturated || streak.count >= rule[streak.direction].consecutiveSamples);
}

// For how many samples in a row has a container been short of what it wants (R84, R85)? The law itself does not ask:
// replicas do, before they scale out or in.

/** Whether a scale-up of the side has a full streak. */
export function isScaleUpWanted(rule: FieldPolicy, streaks: AutoscalerView["streaks"]): boolean {
  return streaks[rule.key]?.direction === "up" && isStreakFull(rule, streaks);
}

/** Whether the pod cannot get what it wants of that request, as far as the last samples say (R84). */
export function isSaturated(
  rule: FieldPolicy,
  { streaks, shortage }: Pick<AutoscalerView, "streaks" | "shortage">,
): boolean {
  return isScaleUpWanted(rule, streaks) && (shortage.held[rule.key] ?? 0) >= computeShortSamples(rule);
}

/** How many samples in a row make a side saturated, or its container's CPU clipped. */
export function computeShortSamples({ up }: FieldPolicy): number {
  return Math.max(MIN_SHORT_SAMPLES, up.consecutiveSamples);
}

/** So many samples in a row count, at least. */
const MIN_SHORT_SAMPLES = 2;
