/**
 * A ScaledObject as the rest of podfit knows it: valid, with every default filled in, times in ms (R2). `parse_scaled_object.ts` makes it
 * out of the API's object and its annotations; what is invalid never gets here.
 */
import type { Behavior } from "./behavior.ts";
import type { Formula } from "./formula.ts";
import type { Problem } from "../units/problem.ts";
import type { Trigger } from "./trigger.ts";

/** One valid ScaledObject. */
export interface ScaledObject {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly generation: number;
  /** metadata.creationTimestamp, epoch ms: R53 and R78 go by it. */
  readonly createdAt: number;
  readonly target: Target;
  readonly pollIntervalMs: number;
  readonly cooldownMs: number;
  readonly initialCooldownMs: number;
  /** minReplicaCount; the tick half's own is max(1, this). */
  readonly minReplicas: number;
  readonly maxReplicas: number;
  /** idleReplicaCount; `null` = not set. */
  readonly idleReplicas: number | null;
  readonly fallback: Fallback | null;
  readonly restoresReplicas: boolean;
  /** horizontalPodAutoscalerConfig.name: which HPA `transfersHpa` is about (R76). */
  readonly hpaName: string | null;
  /** `null` when the manifest has none at all, which is not the same as an empty one (R41). Without what R56 makes of it. */
  readonly behavior: Behavior | null;
  /** `null` = the triggers count each for itself. */
  readonly formula: Formula | null;
  readonly triggers: readonly Trigger[];
  readonly annotations: Annotations;
}

/** spec.scaleTargetRef. */
export interface Target {
  /** `apps/v1` unless given. */
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  /** envSourceContainerName, which nothing here reads: KEDA does for settings that end in FromEnv. `null` = not given. */
  readonly envContainer: string | null;
}

/** What stands for the value of a trigger that has failed too often (R70, R71). */
export interface Fallback {
  /** Active once more failures in a row than this. */
  readonly failureThreshold: number;
  readonly replicas: number;
  readonly behavior: FallbackBehavior;
}

/** In KEDA's words. */
export const FALLBACK_BEHAVIORS = [
  "static",
  "currentReplicas",
  "currentReplicasIfHigher",
  "currentReplicasIfLower",
  "scalingModifiers",
] as const;
export type FallbackBehavior = typeof FALLBACK_BEHAVIORS[number];

/** What people steer by annotation. */
export interface Annotations {
  /** autoscaling.keda.sh/paused or -replicas (R55). */
  readonly isPaused: boolean;
  /** autoscaling.keda.sh/paused-replicas; `null` = not there. */
  readonly pausedReplicas: number | null;
  /** autoscaling.keda.sh/paused-scale-in and -scale-out (R56). */
  readonly isScaleInPaused: boolean;
  readonly isScaleOutPaused: boolean;
  /** autoscaling.keda.sh/force-activation (R51). */
  readonly isForcedActive: boolean;
  /** scaledobject.keda.sh/transfer-hpa-ownership (R76). */
  readonly transfersHpa: boolean;
  /** validations.keda.sh/hpa-ownership is "true" (R77). */
  readonly ignoresHpas: boolean;
}

/** A ScaledObject as it was seen, valid or not. */
export interface ScaledObjectFacts {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly createdAt: number;
  /** metadata.deletionTimestamp is set. */
  readonly isDeleting: boolean;
  readonly finalizers: readonly string[];
  /** `null` when it is invalid: then `problems` says why. */
  readonly scaledObject: ScaledObject | null;
  /** Of an invalid one whose replicas are to be restored when it is deleted (R57): its target, and no trigger. */
  readonly restoring: ScaledObject | null;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  /** What the operator's limits have changed of it, for Ready's message. */
  readonly limited?: readonly string[];
  /** Paused, even where the rest is invalid (R55). */
  readonly isPaused: boolean;
  /** As the API server has it: of any shape. */
  readonly status: unknown;
}
