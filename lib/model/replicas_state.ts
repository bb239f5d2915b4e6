/**
 * What podfit remembers of one ScaledObject between two evaluations, and of the usage of its pods.
 *
 * The state is plain JSON with a format version. Nothing in it is changed in place.
 */

/** The version of ReplicasState's shape. */
export const REPLICAS_STATE_VERSION = 1;

/** The state of one ScaledObject. What must outlive podfit is in its status as well, and read from there (`seedReplicasState`). */
export interface ReplicasState {
  readonly version: typeof REPLICAS_STATE_VERSION;
  /** The history of the scaling loop; `null` before its first run, and after the object was paused. */
  readonly history: ScalingHistory | null;
  /** Failures in a row by metric name. */
  readonly failures: Readonly<Record<string, number>>;
  /** By metric name: what those triggers answered since podfit started whose empty answers are doubted. */
  readonly answers: Readonly<Record<string, TriggerAnswers>>;
  /** Activation checks since podfit started in which every trigger answered; counted up to 2. */
  readonly answeredChecks: number;
  /** By metric name: the activity found by the activation loop (status.triggersActivity). */
  readonly activity: Readonly<Record<string, boolean>>;
  /** Epoch ms, in whole seconds; `null` = never active. */
  readonly lastActiveAt: number | null;
  /**
   * The last result of the activation loop. While it is `false` the scaling loop may be held; `null` before the first
   * run.
   */
  readonly isActive: boolean | null;
  /** status.originalReplicaCount; `null` before the target was seen. */
  readonly originalReplicas: number | null;
  /** The plural name of the target's resource (status.scaleTargetGVKR); `null` before the target was seen. */
  readonly targetResource: string | null;
  /** status.pausedReplicaCount. */
  readonly pausedReplicas: number | null;
  readonly conditions: Conditions;
  /** hi < replicas, and replicas may fall: downs of coupled fields are held. */
  readonly isScaleInPending: boolean;
  /** When the scaling loop last scaled in, epoch ms. */
  readonly scaledInAt: number | null;
  /** What was reported and has not ended, by topic. */
  readonly notified: ReportedTopics;
}

export const CONDITION_TYPES = [
  "Ready",
  "Active",
  "Fallback",
  "Paused",
  "HPAActive",
  "AbleToScale",
  "ScalingLimited",
] as const;

export type ConditionType = typeof CONDITION_TYPES[number];

/** The conditions of podfit where all others are KEDA's. Clauses: M7. */
export const OWN_CONDITION_TYPES = ["PodfitScaling", "PodfitActive", "PodfitFallback"] as const;

export type OwnConditionType = typeof OWN_CONDITION_TYPES[number];

/** One condition; KEDA's have no times. */
export interface Condition {
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}

/** Those that have been found out. */
export type Conditions = Readonly<Partial<Record<ConditionType, Condition>>>;

/** Lists keep their slots: an old entry is overwritten in place, as the controller does. Plain JSON. */
export interface ScalingHistory {
  readonly needs: readonly RecordedNeed[];
  readonly ups: readonly ScaleEvent[];
  readonly downs: readonly ScaleEvent[];
}

/** A need before any limit, at the tick that found it. */
export interface RecordedNeed {
  readonly replicas: number;
  readonly at: number;
}

/** An accepted write of the scaling loop. */
export interface ScaleEvent {
  /** Positive. */
  readonly change: number;
  readonly at: number;
  /** Marked for good as older than the longest period of its direction. */
  readonly isOutdated: boolean;
}

/** What one trigger answered since podfit started. */
export interface TriggerAnswers {
  /** It gave a value, or was active before podfit started. */
  readonly hadValue: boolean;
  /** Since when the answers have no value, epoch ms; `null` = the last one had a value, or there was none yet. */
  readonly emptySince: number | null;
}

/** By topic (`trigger s0-prometheus`, `write`): the reported problem. A topic without a problem is absent. */
export type ReportedTopics = Readonly<Record<string, string>>;

/** Failures in a row by metric name. */
export type Failures = Readonly<Record<string, number>>;

export const NEW_REPLICAS_STATE: ReplicasState = {
  version: REPLICAS_STATE_VERSION,
  history: null,
  failures: {},
  answers: {},
  answeredChecks: 0,
  activity: {},
  lastActiveAt: null,
  isActive: null,
  originalReplicas: null,
  targetResource: null,
  pausedReplicas: null,
  conditions: {},
  isScaleInPending: false,
  scaledInAt: null,
  notified: {},
};
