/**
 * What the fold remembers of one pod between two decisions: plain JSON with a format version, so that it can be shown,
 * recorded and replayed. Nothing in it is ever changed in place; `next...` functions return the state that follows.
 */
import type { Pressure } from "../api/usage.ts";
import { type Action, toContenderKey } from "../autoscaler/autoscaler.ts";
import type { Resources, SideKey } from "../units/resources.ts";
import type { Evidence } from "./observe/evidence.ts";
import type { Shortage } from "./observe/shortage.ts";
import type { Notified } from "./notify/edge.ts";
import type { LimitReason } from "./reasons.ts";
import type { Ending, KillFloor, Reflex } from "./observe/ending.ts";
import type { ResizeRequest } from "./resize_request.ts";
import type { Refusals } from "./settle/refusal.ts";

/** The version of PodState's shape. A record of another version is refused by its parser. */
export const STATE_VERSION = 4;

/** The state of one pod; JSON keeps it whole. */
export interface PodState {
  readonly version: typeof STATE_VERSION;
  /** The pod's resourceVersion at the last evaluation: while it and the contenders stay, its facts are known. */
  readonly resourceVersion: string | null;
  /** When the last evaluation was, epoch ms. A wall clock may step back: see `rebase`. */
  readonly at: number;
  /** By container name: those that some contender targets, or in which a resize of podfit's is stuck for nobody any more. */
  readonly containers: Readonly<Record<string, ContainerState>>;
  /** By the key of an autoscaler: what each contender has sampled of its container. */
  readonly views: Readonly<Record<string, View>>;
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
  readonly shadow: Shadow | null;
  /** The last fall of its workload's replicas that has ended its scale-downs' streaks (R86); `null` = none has. */
  readonly scaledIn: Since | null;
}

/** What became of a pod in which every recommended resize was accepted and enacted at once (L51). */
export interface Shadow {
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
  readonly reflex: Reflex | null;
  readonly killFloor: KillFloor | null;
}

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
export function readViewKey(
  { views }: Pick<PodState, "views">,
  { autoscaler, container }: { readonly autoscaler: string; readonly container: string },
): string {
  return views[autoscaler]?.container === container ? autoscaler : toContenderKey(autoscaler, container);
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
export interface View {
  /** The autoscaler's generation: a changed spec restarts the streaks (C16). */
  readonly generation: number;
  readonly container: string;
  /** When the next evaluation of this contender is due, epoch ms. */
  readonly dueAt: number;
  readonly sampling: Sampling;
  readonly streaks: Readonly<Partial<Record<SideKey, Streak>>>;
  /** What scale-downs rest on beside their streaks (L2, L4). */
  readonly evidence: Evidence;
  /** Since when some streak has been full without a break, epoch ms; `null` while none is. */
  readonly wantedSince: number | null;
  /** For how long it has been short of what it wants, as replicas look at it (R84, R85). */
  readonly shortage: Shortage;
  /** What holds its scale-ups, and for how many samples in a row (L53); `null` while nothing does. */
  readonly limited: Limited | null;
  /** Since when a side at its bound has held the scale-downs of another resource (L34), epoch ms; `null` = none does. */
  readonly vetoedSince: number | null;
  /** Since when there has been no new usage, once that lasted too long (C22), epoch ms; `null` while usage comes. */
  readonly silentSince: number | null;
  /** What people have been notified of, and what has not ended since. */
  readonly notified: Notified;
}

/** A scale-up has been held by what does not pass by itself. */
export interface Limited {
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
export const NO_STREAKS: View["streaks"] = Object.freeze({});
