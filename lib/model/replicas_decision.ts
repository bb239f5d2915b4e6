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

// What one pass of a ScaledObject through its fold may look at, and what comes of it:
//
// decideReplicas(state, input) -> { state, write, notices, report }
//
// One state per object and one writer. The poll half activates and deactivates, the tick half does what the HPA does;
// the shell calls them by their clocks (R7) and never both at once (R8).

/** Everything that one pass may look at, beside the state. */
export interface ReplicasInput {
  /** When the half was due (R7), or what happened was seen; steady time, epoch ms. */
  readonly now: number;
  /** How far the wall clock is ahead of `now`, ms; absent = 0. Times of pods and of the API server are wall times. */
  readonly wallAheadMs?: number;
  readonly object: ScaledObjectFacts;
  readonly observation: ReplicasObservation;
  /** `--dry-run`: nothing is written. */
  readonly dryRun: boolean;
  /** What the message of condition Ready warns of, beside: checks of other HPAs that were skipped (R77). */
  readonly warnings?: readonly string[];
}

export type ReplicasObservation =
  /** The object or podfit appeared, the spec or an annotation changed, or an obstacle is gone. No trigger is asked. */
  | { readonly kind: "changed"; readonly scale: Scale }
  /** Neither half runs until it is gone. */
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
  /** As the source has it, not rounded (R17). `isSampleCounted`: it is no repetition of one that was counted (R8, R70). */
  | { readonly kind: "value"; readonly value: number; readonly isCounted: boolean }
  | { readonly kind: "failed"; readonly message: string; readonly isCounted: boolean }
  /** Of a cpu or memory trigger; `isCoupled` (R80). */
  | { readonly kind: "pods"; readonly pods: readonly PodReading[]; readonly isCoupled: boolean };

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

/** Why nothing is done with an object. */
export type Blocker =
  | { readonly kind: "invalid" }
  /** ScaledObjectCheckFailed: no target, no /scale, no right, another HPA, a missing secret, an authentication that is not there. */
  | { readonly kind: "check"; readonly reason: CheckReason; readonly message: string }
  /** AmbiguousSelector (R78), InvalidSelector (R30). */
  | { readonly kind: "selector"; readonly reason: "AmbiguousSelector" | "InvalidSelector"; readonly message: string }
  /** GET scale failed: FailedGetScale. */
  | { readonly kind: "scale"; readonly message: string };

/** PUT of scale: from what was read to what shall be. */
export interface ScaleWrite {
  readonly from: Scale;
  readonly replicas: number;
  readonly half: "poll" | "tick" | "paused" | "restore";
  /** When the half was due (R7): stamps what is recorded once the write is accepted, however late the answer comes. */
  readonly at: number;
  readonly reason: ReplicasReason;
  /** What the event and the log say of it. */
  readonly message: string;
}

/** What became of a write. */
export type ScaleAnswer =
  | { readonly kind: "accepted"; readonly replicas: number }
  /** Somebody else wrote meanwhile, and replicas are others (R46). */
  | { readonly kind: "dropped" }
  | { readonly kind: "refused"; readonly code: number; readonly message: string }
  | { readonly kind: "unanswered"; readonly message: string };

/** What a pass comes to: the shell stores the state, sends the write and passes the rest on. */
export interface ReplicasOutcome {
  readonly state: ReplicasState;
  readonly write: ScaleWrite | null;
  readonly notices: readonly ReplicasNotice[];
  /** For log and metrics; `null` where no half ran. */
  readonly report: ReplicasReport | null;
}

// A pod of the target as one cpu or memory trigger sees it: how the pod stands, what it uses, and what that is held
// against. All amounts are in thousandths (millicores; thousandths of a byte), as the HPA controller computes (R21).

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
  /** `null` = missing (R23). */
  readonly metric: PodMetric | null;
  /** What Utilization is held against (R25, R82): of an uncoupled pod both are the same. AverageValue does not look at it. */
  readonly requests: PodRequests | { readonly problem: RequestProblem };
  /** Its usage understates what it wants, as its CPU limit is too small (R85): it counts with max(usage, full) in the run that gives hi. */
  readonly isClipped: boolean;
}

/** What a pod, or one container of it, used. */
export interface PodMetric {
  readonly milli: bigint;
  /** The end of the sample, by the node's clock, epoch ms (R22). */
  readonly at: number;
  readonly windowMs: number;
}

/** A pod's yardsticks (R82): born <= full. */
export interface PodRequests {
  readonly born: bigint;
  readonly full: bigint;
}

/** Why a pod has no request to be held against: that makes the metric of the trigger an error (R25, R82). */
export interface RequestProblem {
  readonly reason: "NoRequest" | "NoContainer" | "BaselineUnavailable";
  /** Names the pod and the container. */
  readonly message: string;
}

// What a pass of a ScaledObject tells log, metrics and people who ask why (R94).

/** What one half found and did. */
export interface ReplicasReport {
  readonly half: "poll" | "tick";
  readonly replicas: number;
  /** After this pass, if what it writes is accepted. */
  readonly desired: number;
  /** `null` = nothing was wanted. */
  readonly reason: ReplicasReason | null;
  readonly message: string;
  readonly triggers: readonly TriggerReport[];
  /** What the metrics ask for before any limit; `null` where no metric was computed. */
  readonly need: number | null;
  /** After the windows; `null` likewise. */
  readonly stabilized: number | null;
}

/** What one trigger said. */
export interface TriggerReport {
  /** That of a formula is 0, as in KEDA's metrics. */
  readonly index: number;
  /** `composite` = the formula, which comes last. */
  readonly type: string;
  /** Its metric's name; that of a cpu or memory trigger is `cpu`, `memoryCoordinate`. */
  readonly metricName: string;
  /** The value that counted: that of fallback too (R71), and of a cpu or memory trigger the sum over its pods. `null` = there was none. */
  readonly value: number | null;
  /** Why asking it failed; `null` = it did not. */
  readonly error: string | null;
  /** `null` = it says nothing of activity. */
  readonly isActive: boolean | null;
  /** Of the tick half only. */
  readonly proposal: ProposalReport | null;
}

/** How the tick half came to a trigger's proposal. */
export interface ProposalReport {
  readonly replicas: number;
  /** Where they differ the trigger is coupled (R83). */
  readonly lo: number;
  readonly hi: number;
  /** Of usage to target, by the run that decided; `null` where there is none. */
  readonly ratio: number | null;
  readonly ready: number;
  readonly unready: number;
  readonly missing: number;
}

// Why replicas are what they are: part of the one vocabulary (C53, R94).

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
  "Idle",
  "VerticalFirst",
  "VerticalUp",
  "MetricInvalid",
  "TriggerFailed",
  "OtherHPA",
  "AmbiguousSelector",
  "Conflict",
  "Paused",
  "DryRun",
  "InvalidSpec",
  "TargetNotFound",
  "Rights",
] as const;

/** A word of REPLICAS_REASONS. */
export type ReplicasReason = typeof REPLICAS_REASONS[number];

/** Why a check failed. */
export const CHECK_REASONS = [
  "OtherHPA",
  "Conflict",
  "TargetNotFound",
  "Rights",
  "TriggerFailed",
] as const satisfies readonly ReplicasReason[];

type CheckReason = typeof CHECK_REASONS[number];

// The events of ScaledObjects (R92): KEDA's names, and HPA's.

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
  ScaledObjectUpdateFailed: "Warning",
  ScaledObjectDeleted: "Warning",
  KEDAScalerFailed: "Warning",
  KEDAMetricSourceFailed: "Warning",
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
