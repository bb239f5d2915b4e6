/** What do the reasons about the number of replicas mean, and what should people do? See sizes.ts. */
import type { ReplicasReason } from "../replicas_decision.ts";
import type { Entry } from "./sizes.ts";

const NOTHING = "Nothing.";

/** Why a workload keeps its replicas or gets others. "It" is the workload. */
export const REPLICAS_MEANINGS: Readonly<Record<ReplicasReason, Entry>> = {
  ScaledOut: { means: "the triggers ask for more", act: NOTHING, alert: "no" },
  ScaledIn: { means: "the triggers ask for fewer", act: NOTHING, alert: "no" },
  Activated: { means: "a trigger is active", act: NOTHING, alert: "no" },
  Deactivated: { means: "no trigger is active", act: NOTHING, alert: "no" },
  WithinTolerance: {
    means: "the triggers are within the tolerance of their targets",
    act: "Nothing. This is the normal state.",
    alert: "no",
  },
  ScaleUpStabilized: {
    means: "a lower number was enough within the scale-up window",
    act: "Nothing. `behavior.scaleUp.stabilizationWindowSeconds` sets the time.",
    alert: "no",
  },
  ScaleDownStabilized: {
    means: "a higher number was needed within the scale-down window",
    act: "Nothing. `behavior.scaleDown.stabilizationWindowSeconds` sets the time.",
    alert: "no",
  },
  ScaleUpLimit: {
    means: "behavior.scaleUp allows no more in this time",
    act: "Nothing at first. If the workload grows too slowly, change the policies of `behavior.scaleUp`.",
    alert: "no",
  },
  ScaleDownLimit: {
    means: "behavior.scaleDown allows no fewer in this time",
    act: "Nothing. The policies of `behavior.scaleDown` set the rate.",
    alert: "no",
  },
  TooManyReplicas: {
    means: "maxReplicaCount is reached",
    act: "If the load is real, raise `maxReplicaCount`. Check first that the cluster has room.",
    alert: "lasting",
  },
  TooFewReplicas: { means: "minReplicaCount is reached", act: NOTHING, alert: "no" },
  ScalingDisabled: {
    means: "its target has 0 replicas and no trigger is active",
    act: "Nothing. A trigger that becomes active starts it.",
    alert: "no",
  },
  ScalerCooldown: {
    means: "cooldownPeriod is not over",
    act: "Nothing. After that time it goes to its minimum.",
    alert: "no",
  },
  DeactivationHeld: {
    means: "many workloads have gone to zero within this minute",
    act:
      "Check whether a shared source, such as Prometheus, has lost its data. If all is well, nothing: it goes on alone.",
    alert: "lasting",
  },
  Idle: { means: "no trigger is active", act: "Nothing. It has its `idleReplicaCount`.", alert: "no" },
  VerticalFirst: {
    means: "its pods grow in place first",
    act: "Nothing. Replicas follow when the pods cannot grow further.",
    alert: "no",
  },
  VerticalUp: {
    means: "the CPU limits of its pods go up first",
    act: "Nothing. Usage at a limit that is too low says little about the need.",
    alert: "no",
  },
  MetricInvalid: {
    means: "a metric cannot be computed",
    act: "Read the condition `HPAActive`. Replicas do not fall meanwhile.",
    alert: "lasting",
  },
  TriggerFailed: {
    means: "a trigger cannot be read",
    act: "Read the event KEDAScalerFailed for the error. Check address, credentials and query.",
    alert: "lasting",
  },
  TriggerEmpty: {
    means: "a trigger has no value",
    act: "Check the query and its source. If empty means zero, set `ignoreNullValues` or a `fallback`.",
    alert: "lasting",
  },
  OtherHPA: {
    means: "a HorizontalPodAutoscaler scales it too",
    act: "Delete the HorizontalPodAutoscaler, or let podfit take it over with the transfer annotation.",
    alert: "lasting",
  },
  AmbiguousSelector: {
    means: "another workload selects the same pods",
    act: "Give the workloads selectors that do not overlap.",
    alert: "lasting",
  },
  Conflict: {
    means: "another ScaledObject has the same target",
    act: "Delete one of the two ScaledObjects. The message names the other one.",
    alert: "lasting",
  },
  Paused: {
    means: "it is paused",
    act: "Remove the pause annotation to let podfit scale it again.",
    alert: "no",
  },
  DryRun: { means: "podfit runs with --dry-run", act: "Remove the flag to let podfit scale it.", alert: "no" },
  InvalidSpec: {
    means: "its ScaledObject is invalid",
    act: "Read the condition `Ready`: it names each field. `podfit lint` reports the same before you apply.",
    alert: "lasting",
  },
  TargetNotFound: {
    means: "its target does not exist",
    act: "Create the target, or correct `scaleTargetRef`.",
    alert: "lasting",
  },
  Rights: {
    means: "podfit has not the right to scale it",
    act: "Grant `get` and `update` on the target's `scale`. The message names the resource.",
    alert: "yes",
  },
  KEDAIsScaling: {
    means: "KEDA scales it",
    act:
      "Run `podfit adopt so/NAME`, which pauses the object for KEDA. If it is paused, look whether KEDA's operator runs.",
    alert: "no",
  },
  NoRecord: {
    means: "podfit does not know what KEDA asks of its triggers",
    act:
      "Run `podfit release so/NAME` and then `podfit adopt so/NAME`: podfit reads it from KEDA's HPA before the pause.",
    alert: "lasting",
  },
};
