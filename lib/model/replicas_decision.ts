/**
 * What decideReplicas may read, and what it returns.
 *
 * decideReplicas(state, input) -> { state, write, notices, report }
 *
 * The input is one observation: a change, a blocker, readings for one of the two loops, the answer to a write, or the
 * deletion. The result is the next state, at most one write to /scale, events, and a report for log and metrics.
 */
import type { ReadyCondition } from "./pod.ts";
import type { ReplicasState } from "./replicas_state.ts";
import type { ScaledObjectFacts } from "./scaled_object.ts";

/** Everything that one reconcile may read in addition to the state. */
export interface ReplicasInput {
  /** When the loop was due, or when the change was seen: steady time, epoch ms. */
  readonly now: number;
  /** How far the wall clock is ahead of `now`, ms; absent = 0. Times of pods and of the API server are wall times. */
  readonly wallAheadMs?: number;
  /** The object as podfit knows it. Steps call the parsed object in it, `scaledObject`, just `object`. */
  readonly object: ScaledObjectFacts;
  readonly observation: ReplicasObservation;
  /** `--dry-run`: nothing is written. */
  readonly dryRun: boolean;
  /** `--keda-deactivation`: replicas go to zero or idle as soon as KEDA would do it. */
  readonly kedaDeactivation?: boolean;
  /** Other warnings for the message of condition Ready, for example checks of other HPAs that were skipped. */
  readonly warnings?: readonly string[];
  /** What pods of the target lack for a trigger; the other triggers are used. */
  readonly lack?: string;
}

export type ReplicasObservation =
  /** The object or podfit appeared, the spec or an annotation changed, or a blocker is gone. No trigger is queried. */
  | { readonly kind: "changed"; readonly scale: Scale }
  /** Neither loop runs until the blocker is gone. */
  | { readonly kind: "obstructed"; readonly obstacle: Blocker }
  /** `triggers` has one for each external trigger, by its index. */
  | { readonly kind: "poll"; readonly scale: Scale; readonly triggers: TriggerReadings; readonly readyPods: number }
  /** `triggers` has one for each trigger, by its index; `readyPods` is `countReadyPods`' answer. */
  | {
    readonly kind: "tick";
    readonly scale: Scale;
    readonly triggers: TriggerReadings;
    readonly readyPods: number | null;
  }
  | { readonly kind: "answered"; readonly write: ScaleWrite; readonly answer: ScaleAnswer }
  /** metadata.deletionTimestamp is set; `scale` is `null` when the target is gone. */
  | { readonly kind: "deleted"; readonly scale: Scale | null };

export type TriggerReadings = ReadonlyMap<number, TriggerReading>;

/** What asking one trigger gave. */
export type TriggerReading =
  /**
   * The value of the source, not rounded. `isCounted`: it does not repeat a value that was counted. `isEmpty`: the
   * source had none, which counts as 0. `milli`: the value in thousandths, where the source has it exactly. `byPod`: the
   * values of which it is the sum.
   */
  | {
    readonly kind: "value";
    readonly value: number;
    readonly isCounted: boolean;
    readonly isEmpty?: boolean;
    readonly milli?: bigint;
    readonly byPod?: PodValues;
  }
  | { readonly kind: "failed"; readonly message: string; readonly isCounted: boolean }
  /** For a cpu or memory trigger; `isCoupled`: its target is coupled with the size of the pods. */
  | { readonly kind: "pods"; readonly pods: readonly PodReading[]; readonly isCoupled: boolean };

/** The answer to a pods-metric trigger. */
export interface PodValues {
  /** All pods that the selector lists, with their value as `metric`. */
  readonly pods: readonly PodReading[];
  /** Values of pods that podfit does not list, thousandths: the HPA counts them too. */
  readonly others: readonly bigint[];
}

/** The target's subresource scale. */
export interface Scale {
  /** spec.replicas, 0 where it is absent. */
  readonly replicas: number;
  readonly statusReplicas: number;
  readonly resourceVersion: string;
  /** The target's uid: another one is another target. */
  readonly uid: string;
  /** The plural name of the target's resource, by discovery; absent for Deployments and StatefulSets. */
  readonly resource?: string;
}

/** Why an object is not scaled. */
export type Blocker =
  | { readonly kind: "invalid" }
  /**
   * ScaledObjectCheckFailed: no target, no /scale, no right, another HPA, a missing secret, an authentication that is
   * not there. `fault`: what is wrong with the target, in KEDA's words.
   */
  | { readonly kind: "check"; readonly reason: CheckReason; readonly message: string; readonly fault?: TargetFault }
  /** AmbiguousSelector, InvalidSelector. */
  | { readonly kind: "selector"; readonly reason: "AmbiguousSelector" | "InvalidSelector"; readonly message: string }
  /** GET scale failed: FailedGetScale. */
  | { readonly kind: "scale"; readonly message: string };

/** A PUT of scale: the number that was read, and the new one. */
export interface ScaleWrite {
  readonly from: Scale;
  readonly replicas: number;
  /** What decided: "poll" = the activation loop, "tick" = the scaling loop, a pause, or the end of the object. */
  readonly half: "poll" | "tick" | "paused" | "restore";
  /** When the loop was due. It dates what is recorded once the write is accepted, however late the answer comes. */
  readonly at: number;
  readonly reason: ReplicasReason;
  /** The message of the event and of the log line. */
  readonly message: string;
}

/** What became of a write. */
export type ScaleAnswer =
  | { readonly kind: "accepted"; readonly replicas: number }
  /** Not written: something changed before the write, or podfit may not write now. */
  | { readonly kind: "dropped" }
  /** Not written: the cluster has had as many deactivations as it may within a minute. */
  | { readonly kind: "held"; readonly message: string }
  | { readonly kind: "refused"; readonly code: number; readonly message: string }
  | { readonly kind: "unanswered"; readonly message: string };

/** The result of a reconcile: the caller stores the state, sends the write and publishes the rest. */
export interface ReplicasOutcome {
  readonly state: ReplicasState;
  readonly write: ScaleWrite | null;
  readonly notices: readonly ReplicasNotice[];
  /** For log and metrics; `null` if no loop ran. */
  readonly report: ReplicasReport | null;
}

/** One pod that the target's selector lists, deleting and finished ones too. */
export interface PodReading {
  readonly name: string;
  /** status.phase. */
  readonly phase: string;
  readonly isDeleting: boolean;
  /** status.startTime, epoch ms. */
  readonly startAt: number | null;
  /** The condition Ready; `null` without one. */
  readonly ready: ReadyCondition | null;
  /** `null` = missing. */
  readonly metric: PodMetric | null;
  /** The requests that Utilization is compared with; equal for an uncoupled pod. AverageValue does not use them. */
  readonly requests: PodRequests | { readonly problem: RequestProblem };
  /**
   * Its CPU limit is too small, so its usage is below its demand: for the high estimate it counts with max(usage,
   * maximum request).
   */
  readonly isClipped: boolean;
}

/** What a pod, or one container of it, used. */
export interface PodMetric {
  readonly milli: bigint;
  /** The end of the sample, by the node's clock, epoch ms. */
  readonly at: number;
  readonly windowMs: number;
}

/** The two requests that a pod's usage may be compared with: initial request <= maximum request. */
export interface PodRequests {
  readonly born: bigint;
  readonly full: bigint;
}

/** Why a pod has no request to be held against: that makes the metric of the trigger an error. */
export interface RequestProblem {
  readonly reason: "NoRequest" | "NoContainer" | "BaselineUnavailable";
  /** Names the pod and the container. */
  readonly message: string;
}

/** What one loop found and did. */
export interface ReplicasReport {
  /** "poll" = the activation loop, "tick" = the scaling loop. */
  readonly half: "poll" | "tick";
  readonly replicas: number;
  /** The number of replicas after this reconcile, if its write is accepted. */
  readonly desired: number;
  /** `null` = no change was wanted. */
  readonly reason: ReplicasReason | null;
  readonly message: string;
  readonly triggers: readonly TriggerReport[];
  /** What the metrics ask for before any limit; `null` where no metric was computed. */
  readonly need: number | null;
  /** After the windows; `null` likewise. */
  readonly stabilized: number | null;
}

/** The result of one trigger. */
export interface TriggerReport {
  /** That of a formula is 0, as in KEDA's metrics. */
  readonly index: number;
  /** `composite` = the formula, which comes last. */
  readonly type: string;
  /** Its metric's name; that of a cpu or memory trigger is `cpu`, `memory`. */
  readonly metricName: string;
  /**
   * The value that counted: that of fallback too, and of a cpu or memory trigger the sum over its pods. `null` = there
   * was none.
   */
  readonly value: number | null;
  /** Why asking it failed; `null` = it did not. */
  readonly error: string | null;
  /** `null` = the trigger has no activity. */
  readonly isActive: boolean | null;
  /** Only in the scaling loop. */
  readonly proposal: ProposalReport | null;
}

/** How the scaling loop computed a trigger's proposal. */
export interface ProposalReport {
  readonly replicas: number;
  /** Replicas needed if the pods had their maximum requests. Equal to `hi` for a trigger that is not coupled. */
  readonly lo: number;
  /** Replicas needed if the pods had their initial requests. */
  readonly hi: number;
  /** Of usage to target, by the run that decided; `null` where there is none. */
  readonly ratio: number | null;
  readonly ready: number;
  readonly unready: number;
  readonly missing: number;
}

export const REPLICAS_REASONS = [
  "ScaledOut",
  "ScaledIn",
  "Activated",
  "Deactivated",
  "WithinTolerance",
  "ScaleUpStabilized",
  "ScaleDownStabilized",
  "ScaleUpLimit",
  "ScaleDownLimit",
  "TooManyReplicas",
  "TooFewReplicas",
  "ScalingDisabled",
  "ScalerCooldown",
  "DeactivationHeld",
  "Idle",
  "VerticalFirst",
  "VerticalUp",
  "MetricInvalid",
  "TriggerFailed",
  "TriggerEmpty",
  "OtherHPA",
  "AmbiguousSelector",
  "Conflict",
  "Paused",
  "DryRun",
  "InvalidSpec",
  "TargetNotFound",
  "Rights",
  "KEDAIsScaling",
  "NoRecord",
] as const;

/** A reason of REPLICAS_REASONS. */
export type ReplicasReason = typeof REPLICAS_REASONS[number];

/** Why a check failed. */
export const CHECK_REASONS = [
  "OtherHPA",
  "Conflict",
  "TargetNotFound",
  "Rights",
  "TriggerFailed",
  "KEDAIsScaling",
  "NoRecord",
] as const satisfies readonly ReplicasReason[];

export type CheckReason = typeof CHECK_REASONS[number];

/** Texts of KEDA's events. */
export const TARGET_FAULTS = [
  "Target resource doesn't exist",
  "Target resource doesn't expose /scale subresource",
] as const;

export type TargetFault = typeof TARGET_FAULTS[number];

/** Names and types. */
export const REPLICAS_NOTICES = {
  ScaledObjectReady: "Normal",
  ScaledObjectPaused: "Normal",
  ScaledObjectUnpaused: "Normal",
  ScaledObjectFallbackActivated: "Normal",
  ScaledObjectFallbackDeactivated: "Normal",
  KEDAScalersStarted: "Normal",
  KEDAScalersStopped: "Normal",
  KEDAScaleTargetActivated: "Normal",
  KEDAScaleTargetDeactivated: "Normal",
  KEDAScalerInfo: "Normal",
  SuccessfulRescale: "Normal",
  ScaledObjectCheckFailed: "Warning",
  ScaledObjectDeleted: "Warning",
  KEDAScalerFailed: "Warning",
  KEDAMetricSourceFailed: "Warning",
  DeactivationHeld: "Warning",
  KEDAScaleTargetActivationFailed: "Warning",
  KEDAScaleTargetDeactivationFailed: "Warning",
  FailedRescale: "Warning",
  FailedGetScale: "Warning",
  FailedComputeMetricsReplicas: "Warning",
} as const satisfies Record<string, "Normal" | "Warning">;

export type ReplicasNoticeName = keyof typeof REPLICAS_NOTICES;

/** An Event on a ScaledObject as data. */
export interface ReplicasNotice {
  readonly name: ReplicasNoticeName;
  readonly message: string;
}
