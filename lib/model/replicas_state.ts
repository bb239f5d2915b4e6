/**
 * What podfit remembers of one ScaledObject between two evaluations, and of the usage of its pods.
 *
 * The state is plain JSON with a format version. Nothing in it is changed in place.
 */

// What the fold of a ScaledObject remembers between two passes: plain JSON with a format version. Nothing in it is
// changed in place.

/** The version of ReplicasState's shape. */
export const REPLICAS_STATE_VERSION = 1;

/** The state of one ScaledObject. What must outlive podfit is in its status as well, and read from there (`seedReplicasState`). */
export interface ReplicasState {
  readonly version: typeof REPLICAS_STATE_VERSION;
  /** What the tick half goes by (R45); `null` before its first tick, and once the object was paused. */
  readonly history: ScalingHistory | null;
  /** Failures in a row by metric name (R70). */
  readonly failures: Readonly<Record<string, number>>;
  /** By metric name: what the poll half found (status.triggersActivity). */
  readonly activity: Readonly<Record<string, boolean>>;
  /** Epoch ms, in whole seconds (R53); `null` = never active. */
  readonly lastActiveAt: number | null;
  /** What the poll half found last: while it is `false`, R54 may hold the tick half; `null` before the first poll. */
  readonly isActive: boolean | null;
  /** status.originalReplicaCount (R6); `null` before the target was seen. */
  readonly originalReplicas: number | null;
  /** The plural name of the target's resource (status.scaleTargetGVKR); `null` before the target was seen. */
  readonly targetResource: string | null;
  /** status.pausedReplicaCount. */
  readonly pausedReplicas: number | null;
  readonly conditions: Conditions;
  /** hi < replicas, and replicas may fall: downs of coupled sides are held (R86). */
  readonly isScaleInPending: boolean;
  /** When the tick half last scaled in, epoch ms (R86). */
  readonly scaledInAt: number | null;
  /** What people were notified of and still stands, by topic (R92). */
  readonly notified: ReportedTopics;
}

// The conditions of a ScaledObject in KEDA's words, and two of HPA's (R91).

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

/** One condition; KEDA's have no times. */
export interface Condition {
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}

/** Those that have been found out. */
export type Conditions = Readonly<Partial<Record<ConditionType, Condition>>>;

// What the tick half remembers of an object: its needs and its own writes, as the HPA controller keeps them (R31, R44,
// R45). Nothing is changed in place: each function gives the next history.
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/controller/podautoscaler/horizontal.go (storeScaleEvent,
// markScaleEventsOutdated)

/** Lists keep their slots: an old entry is overwritten in place, as the controller does (R44). Plain JSON. */
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

/** An accepted write of the tick half. */
export interface ScaleEvent {
  /** Positive. */
  readonly change: number;
  readonly at: number;
  /** Marked for good as older than the longest period of its direction. */
  readonly isOutdated: boolean;
}

// What people have been notified of: a matter is news when it begins or changes, not at each pass (R92, C50).

/** By topic (`trigger s0-prometheus`, `write`), what stands; nothing where nothing does. */
export type ReportedTopics = Readonly<Record<string, string>>;

// What stands for a trigger that has failed too often (R70, R71), as KEDA's doFallback.
// https://github.com/kedacore/keda/blob/v2.20.2/pkg/fallback/fallback.go

/** Failures in a row by metric name. */
export type Failures = Readonly<Record<string, number>>;

// The state of a ScaledObject of which nothing is known yet.

export const NEW_REPLICAS_STATE: ReplicasState = {
  version: REPLICAS_STATE_VERSION,
  history: null,
  failures: {},
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
