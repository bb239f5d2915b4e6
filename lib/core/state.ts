/**
 * What the fold remembers of one pod between two decisions: plain JSON with a format version, so that it can be shown,
 * recorded and replayed. Nothing in it is ever changed in place; `next...` functions return the state that follows.
 */
import type { Resource, Resources, SideKey } from "../units/resources.ts";
import type { Action } from "../autoscaler/autoscaler.ts";
import type { ResizeRequest } from "./decision.ts";
import type { WaitReason } from "./reasons.ts";

export interface PodState {
  readonly version: 1;
  /** Of the pod at the last turn: while it and the contenders stay, its facts need no second look. */
  readonly resourceVersion: string | null;
  /** When the last turn was: a wall clock may step back. */
  readonly at: number;
  /** By container name: the containers that some contender targets. */
  readonly containers: Readonly<Record<string, ContainerState>>;
  /** By autoscaler uid: what each contender has sampled of its container. */
  readonly views: Readonly<Record<string, View>>;
  /** The highest generation that a PATCH of ours was answered with; a watch may still show an older one. */
  readonly generation: number;
  /** When spec and reported size were first seen to differ without a resize condition. */
  readonly differingSince: number | null;
  /** A PATCH met a conflict on this resourceVersion: a newer pod is on its way. */
  readonly conflict: { readonly resourceVersion: string; readonly at: number } | null;
  /** The accepted PATCH that is not yet enacted. */
  readonly command: Command | null;
  /** PATCHes on one resourceVersion whose answers were lost: the pod will show whether one arrived, and which. */
  readonly unconfirmed: readonly UnconfirmedRequest[];
}

export interface UnconfirmedRequest extends Omit<ResizeRequest, "policy"> {
  /** uid of the autoscaler. */
  readonly autoscaler: string;
  readonly at: number;
}

export interface Command {
  readonly container: string;
  /** uid of the autoscaler. */
  readonly autoscaler: string;
  readonly action: Action;
  readonly generation: number;
  readonly at: number;
  readonly to: Resources;
}

export interface ContainerState {
  readonly instance: string | null;
  /** Since when the gate of each `after` is open (C24); `null` while it is shut. */
  readonly running: Since | null;
  readonly readySince: number | null;
  readonly podReady: Since | null;
  /** The size in force when last seen; its change ends the streaks (C31). */
  readonly actual: Resources;
  /** A sample counts when at least half of its interval lies after this (C31). */
  readonly countsFrom: number;
  /** The last resize of the container (C42), and the managedFields time it was last read from. */
  readonly resizedAt: number | null;
  readonly entryAt: number | null;
  /** The last return of a stuck resize (C47). */
  readonly revertedAt: number | null;
  /** Per resource, the size that was refused or given up (C44, C47). */
  readonly refusals: Readonly<Partial<Record<Resource, Refusal>>>;
}

/** A state that another clock has dated: never taken to begin later than it was first seen. */
export interface Since {
  readonly at: number;
  readonly since: number;
}

export interface Refusal {
  readonly reason: WaitReason;
  readonly message: string;
  readonly until: number;
  readonly waitMs: number;
  readonly action: Action | "return";
  readonly to: Resources;
  /** What must be unchanged for the refusal to hold. */
  readonly podGeneration: number | null;
  readonly autoscaler: string;
  readonly autoscalerGeneration: number;
}

export interface View {
  /** Of the autoscaler: a changed spec restarts the streaks (C16). */
  readonly generation: number;
  readonly container: string;
  readonly dueAt: number;
  readonly sampling: Sampling;
  readonly streaks: Readonly<Partial<Record<SideKey, Streak>>>;
  /** Since when a wish has stood without a break. */
  readonly wantedSince: number | null;
  /** Edge memory of notices: topic -> what was last told. */
  readonly told: Readonly<Record<string, string>>;
}

export interface Streak {
  readonly direction: "up" | "down";
  readonly count: number;
  /** Highest usageBytes since the last whole `consecutiveSamples`, and of those; `null` when none had any (C46). */
  readonly peakUsageBytes: number | null;
  readonly olderPeakUsageBytes: number | null;
}

export interface Sampling {
  /** The older point of the next rate. */
  readonly anchor: { readonly instance: string; readonly at: number; readonly counterNs: number } | null;
  readonly sample: Sample | null;
  /** When something new was last seen, or sampling began: receive time. */
  readonly newAt: number;
  /** The next point only warms up, a rate too: the container was seen to restart, or was not seen for long. */
  readonly warming: boolean;
}

/** One usage of one container. `at` and `from` are times of the source's clock, `seenAt` of ours. */
export interface Sample {
  readonly at: number;
  readonly from: number;
  readonly seenAt: number;
  readonly cpuMillicores: number;
  readonly workingSetBytes: number;
  readonly usageBytes: number | null;
  readonly podUsageBytes: number | null;
}

export const NEW_POD_STATE: PodState = {
  version: 1,
  resourceVersion: null,
  at: 0,
  containers: {},
  views: {},
  generation: 0,
  differingSince: null,
  conflict: null,
  command: null,
  unconfirmed: [],
};

/** Shared, so that a view in which nothing is remembered costs nothing. */
export const NO_STREAKS: View["streaks"] = Object.freeze({});
export const NOTHING_TOLD: View["told"] = Object.freeze({});
