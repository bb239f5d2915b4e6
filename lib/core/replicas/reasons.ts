/** Why replicas are what they are: part of the one vocabulary (C53, R94). */

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
export type CheckReason = typeof CHECK_REASONS[number];
