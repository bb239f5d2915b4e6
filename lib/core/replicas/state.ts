/** What the fold of a ScaledObject remembers between two passes: plain JSON with a format version. Nothing in it is changed in place. */
import type { History } from "./tick/history.ts";
import type { Conditions } from "./conditions.ts";
import type { Notified } from "./notify/notified.ts";

/** The version of ReplicasState's shape. */
export const REPLICAS_STATE_VERSION = 1;

/** The state of one ScaledObject. What must outlive podfit is in its status as well, and read from there (`seedReplicasState`). */
export interface ReplicasState {
  readonly version: typeof REPLICAS_STATE_VERSION;
  /** What the tick half goes by (R45); `null` before its first tick, and once the object was paused. */
  readonly history: History | null;
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
  readonly notified: Notified;
}
