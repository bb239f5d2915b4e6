/**
 * What do the conditions of both kinds of objects and their reasons mean, and what should people do?
 *
 * The types of the code that sets conditions are the keys of these tables, so no reason is without an entry. The reasons
 * of `Limited` are in reasons.ts. docs/reference/reasons.md is generated from here.
 */
import type { AUTOSCALER_REASONS } from "../reasons.ts";
import type { ConditionType, OwnConditionType } from "../replicas_state.ts";
import type { Entry } from "./reasons.ts";

/** A condition type, in one sentence. */
type TypeMeanings<Type extends string> = Readonly<Record<Type, string>>;

type ConditionEntry<Type extends string> = Entry & {
  /** Each condition that has the reason, with its status. */
  readonly in: readonly `${Type}=${"True" | "False" | "Unknown"}`[];
};

export const AUTOSCALER_CONDITIONS = {
  Ready: "The spec is valid and its target exists.",
  Active: "At least one pod is tracked.",
  Scaling: "A pod was resized within the cooldown.",
  Metrics: "The usage of each tracked pod is read.",
  Limited: "A pod needs more, and cannot be given more until something changes. Alert on True.",
} as const satisfies TypeMeanings<string>;

type AutoscalerCondition = keyof typeof AUTOSCALER_CONDITIONS;

const NOTHING = "Nothing.";

const PAUSED = "Set `spec.paused` to false to let podfit resize pods again.";

export const AUTOSCALER_CONDITION_MEANINGS = {
  Valid: {
    in: ["Ready=True"],
    means: "podfit can use the spec",
    act: "Read the message: it may have warnings.",
    alert: "no",
  },
  Paused: {
    in: ["Ready=True", "Active=False", "Scaling=False", "Metrics=Unknown", "Limited=Unknown"],
    means: "spec.paused is true",
    act: PAUSED,
    alert: "no",
  },
  InvalidSpec: {
    in: ["Ready=False", "Active=False"],
    means: "a field of the spec is invalid",
    act: "Correct the fields that the message names. `podfit lint` reports them before you apply.",
    alert: "lasting",
  },
  NamespaceExcluded: {
    in: ["Ready=False", "Active=False"],
    means: "podfit leaves this namespace alone",
    act: "Use another namespace, or change `excludeNamespaces`.",
    alert: "no",
  },
  TooLarge: {
    in: ["Ready=False", "Active=False"],
    means: "the object has more bytes than podfit takes",
    act: "Make the object smaller. Large annotations count too.",
    alert: "lasting",
  },
  TooMany: {
    in: ["Ready=False", "Active=False"],
    means: "the namespace has more such objects than podfit takes",
    act: "Delete objects, or raise `--max-autoscalers-per-namespace`. The oldest ones are used.",
    alert: "lasting",
  },
  OverBudget: {
    in: ["Ready=False", "Active=False"],
    means: "the objects of the namespace have more bytes than podfit takes",
    act: "Make objects smaller, or raise `--max-object-bytes-per-namespace`. The oldest ones are used.",
    alert: "lasting",
  },
  TargetNotFound: {
    in: ["Ready=False", "Active=False"],
    means: "the target does not exist",
    act: "Create the workload, or correct `target`.",
    alert: "lasting",
  },
  Disabled: {
    in: [],
    means: "podfit is disabled and does nothing",
    act: "Set `PRA_ENABLED=true`. No condition has this word.",
    alert: "no",
  },
  Tracking: { in: ["Active=True"], means: "podfit follows these pods", act: NOTHING, alert: "no" },
  ContainerNotFound: {
    in: ["Active=False"],
    means: "no matching pod has the container",
    act: "Correct `containerName`. The message names the container.",
    alert: "lasting",
  },
  NoPods: {
    in: ["Active=False", "Metrics=Unknown", "Limited=Unknown"],
    means: "no eligible pod matches",
    act: "If pods should match, compare their labels with `status.effectiveSelector`.",
    alert: "no",
  },
  ScaleUp: { in: ["Scaling=True"], means: "a pod was made larger within the cooldown", act: NOTHING, alert: "no" },
  ScaleDown: { in: ["Scaling=True"], means: "a pod was made smaller within the cooldown", act: NOTHING, alert: "no" },
  Idle: { in: ["Scaling=False"], means: "no pod was resized within the cooldown", act: NOTHING, alert: "no" },
  Available: { in: ["Metrics=True"], means: "the usage of each tracked pod is read", act: NOTHING, alert: "no" },
  MetricsUnavailable: {
    in: ["Metrics=False"],
    means: "the usage of some pods is not read",
    act:
      "The message has the error. With certificate errors of kubelets, see `kubelet.insecureTls` and `--kubelet-ca`.",
    alert: "lasting",
  },
  NodeLocal: {
    in: ["Metrics=Unknown", "Limited=Unknown"],
    means: "each podfit sees only a part of the pods",
    act: "Read the metrics `podfit_kubelet_reads_total` and `podfit_limited_pods` of each podfit.",
    alert: "no",
  },
  NotLimited: { in: ["Limited=False"], means: "no pod needs more than it can get", act: NOTHING, alert: "no" },
  Stale: {
    in: ["Ready=Unknown", "Active=Unknown", "Metrics=Unknown", "Limited=Unknown"],
    means: "podfit has not had news of a list from the API server for 5 minutes",
    act: "Check the API server and the network. podfit's log names the list. Pods keep their sizes meanwhile.",
    alert: "yes",
  },
} as const satisfies
  & Readonly<Record<string, ConditionEntry<AutoscalerCondition>>>
  & Readonly<Record<typeof AUTOSCALER_REASONS[number], unknown>>;

/** A reason of a condition of a PodResourceAutoscaler, except those that only `Limited` has. */
export type AutoscalerConditionReason = keyof typeof AUTOSCALER_CONDITION_MEANINGS;

/** The conditions of a ScaledObject: KEDA's, those of an HPA, and podfit's own where KEDA runs too. */
export const SCALED_OBJECT_CONDITIONS: TypeMeanings<ConditionType | OwnConditionType> = {
  Ready: "The spec is valid, the target exists, and the triggers can be read.",
  Active: "At least one trigger is active.",
  Fallback: "At least one trigger uses the replicas of `fallback`, because it fails.",
  Paused: "An annotation pauses the object.",
  HPAActive: "The number of replicas can be computed from the metrics.",
  AbleToScale: "The scale of the target can be read and written.",
  ScalingLimited: "The computed number is outside of the bounds or rates.",
  PodfitScaling:
    "Next to KEDA, podfit sets the replicas. False has a reason of `Ready`, or one of those for replicas above.",
  PodfitActive: "Next to KEDA, at least one trigger is active. It has the reasons of `Active`.",
  PodfitFallback:
    "Next to KEDA, at least one trigger uses the replicas of `fallback`. It has the reasons of `Fallback`.",
};

const TRIGGERS = "Read the events KEDAScalerFailed of the object, and check address, credentials and query.";

const USAGE = "Check that the pods run, have requests, and that podfit reads usage: see `podfit_kubelet_reads_total`.";

export const SCALED_OBJECT_CONDITION_MEANINGS = {
  ScaledObjectReady: {
    in: ["Ready=True"],
    means: "the object is used",
    act: "Read the message: it may have warnings.",
    alert: "no",
  },
  ScaledObjectCheckFailed: {
    in: ["Ready=False"],
    means: "the object is invalid, or something prevents scaling",
    act: "Do what the message says. Replicas stay as they are.",
    alert: "lasting",
  },
  PartialTriggerError: {
    in: ["Ready=Unknown"],
    means: "some triggers cannot be read",
    act: TRIGGERS,
    alert: "lasting",
  },
  TriggerError: { in: ["Ready=False"], means: "no trigger can be read", act: TRIGGERS, alert: "lasting" },
  TriggerEmpty: {
    in: ["Ready=False"],
    means: "triggers that had values have none any more",
    act: "Check the query and its source. Replicas do not fall meanwhile.",
    alert: "lasting",
  },
  ErrorGettingCurrentReplicas: {
    in: ["Ready=False"],
    means: "the scale of the target cannot be read",
    act: "Read the message of the API server. Check the rights and the target.",
    alert: "lasting",
  },
  ErrorScalingTarget: {
    in: ["Ready=False"],
    means: "the target cannot be started, stopped or set to its minimum",
    act: "Read the message of the API server. Often an admission webhook refuses it.",
    alert: "yes",
  },
  UnknownState: {
    in: ["Ready=Unknown", "Active=Unknown", "HPAActive=Unknown"],
    means:
      "nothing is known, because the object is blocked, paused or being deleted, or podfit has had no news of a list from the " +
      "API server for 5 minutes",
    act:
      "See the conditions `Ready` and `Paused`. If the message names a list, podfit's log says why it cannot be read.",
    alert: "no",
  },
  ScalerActive: {
    in: ["Active=True"],
    means: "a trigger is active, or an annotation forces it",
    act: NOTHING,
    alert: "no",
  },
  ScalerNotActive: { in: ["Active=False"], means: "no trigger is active", act: NOTHING, alert: "no" },
  ScalerCooldown: {
    in: ["Active=False"],
    means: "no trigger is active, and cooldownPeriod is not over",
    act: NOTHING,
    alert: "no",
  },
  DeactivationHeld: {
    in: ["Active=False"],
    means: "the workload waits for its turn to go to zero",
    act: "Check whether a shared source has lost its data. `--max-deactivations-per-minute` sets the rate.",
    alert: "lasting",
  },
  FallbackExists: {
    in: ["Fallback=True"],
    means: "a trigger fails, and its fallback counts",
    act: TRIGGERS,
    alert: "lasting",
  },
  NoFallbackFound: { in: ["Fallback=False"], means: "no fallback counts", act: NOTHING, alert: "no" },
  ScaledObjectPaused: {
    in: ["Paused=True"],
    means: "an annotation pauses the object",
    act: "Remove the annotation to scale again.",
    alert: "no",
  },
  ScaledObjectUnpaused: { in: ["Paused=False"], means: "the pause annotation was removed", act: NOTHING, alert: "no" },
  HPAActive: { in: ["HPAActive=True"], means: "the number of replicas is computed", act: NOTHING, alert: "no" },
  ScalingDisabled: {
    in: ["HPAActive=True"],
    means: "the target has 0 or its idle replicas, so nothing is computed",
    act: "Nothing. A trigger that becomes active starts it.",
    alert: "no",
  },
  FailedGetResourceMetric: {
    in: ["HPAActive=False"],
    means: "the CPU or memory of the pods is not known",
    act: USAGE,
    alert: "lasting",
  },
  FailedGetContainerResourceMetric: {
    in: ["HPAActive=False"],
    means: "the CPU or memory of the container is not known",
    act: USAGE,
    alert: "lasting",
  },
  FailedGetExternalMetric: {
    in: ["HPAActive=False"],
    means: "the value of a trigger is not known",
    act: TRIGGERS,
    alert: "lasting",
  },
  FailedGetPodsMetric: {
    in: ["HPAActive=False"],
    means: "the metric of the pods is not known",
    act: TRIGGERS,
    alert: "lasting",
  },
  FailedGetObjectMetric: {
    in: ["HPAActive=False"],
    means: "the metric of the object is not known",
    act: TRIGGERS,
    alert: "lasting",
  },
  InvalidMetricSourceType: {
    in: ["HPAActive=False"],
    means: "the object has no metric to compute with",
    act: "Add a trigger.",
    alert: "lasting",
  },
  InvalidSelector: {
    in: ["HPAActive=False"],
    means: "the selector in the target's scale cannot be used",
    act: "Correct the selector of the target, or of the controller that serves its scale.",
    alert: "lasting",
  },
  AmbiguousSelector: {
    in: ["HPAActive=False"],
    means: "another workload selects the same pods",
    act: "Give the workloads selectors that do not overlap.",
    alert: "lasting",
  },
  SucceededGetScale: { in: ["AbleToScale=True"], means: "the scale of the target was read", act: NOTHING, alert: "no" },
  ReadyForNewScale: { in: ["AbleToScale=True"], means: "nothing holds the computed number", act: NOTHING, alert: "no" },
  ScaleUpStabilized: {
    in: ["AbleToScale=True"],
    means: "a lower number was enough within the scale-up window",
    act: NOTHING,
    alert: "no",
  },
  ScaleDownStabilized: {
    in: ["AbleToScale=True"],
    means: "a higher number was needed within the scale-down window",
    act: NOTHING,
    alert: "no",
  },
  SucceededRescale: { in: ["AbleToScale=True"], means: "the new number was written", act: NOTHING, alert: "no" },
  FailedGetScale: {
    in: ["AbleToScale=False"],
    means: "the scale of the target cannot be read",
    act: "Read the message of the API server. Check the rights and the target.",
    alert: "lasting",
  },
  FailedUpdateScale: {
    in: ["AbleToScale=False"],
    means: "the new number was refused, or had no answer",
    act: "Read the message of the API server. Often an admission webhook refuses it.",
    alert: "lasting",
  },
  DesiredWithinRange: {
    in: ["ScalingLimited=False"],
    means: "the number is within bounds and rates",
    act: NOTHING,
    alert: "no",
  },
  ScaleUpLimit: {
    in: ["ScalingLimited=True"],
    means: "behavior.scaleUp allows no more in this time",
    act: NOTHING,
    alert: "no",
  },
  ScaleDownLimit: {
    in: ["ScalingLimited=True"],
    means: "behavior.scaleDown allows no fewer in this time",
    act: NOTHING,
    alert: "no",
  },
  TooManyReplicas: {
    in: ["ScalingLimited=True"],
    means: "maxReplicaCount is reached",
    act: "If the load is real, raise `maxReplicaCount`. Check first that the cluster has room.",
    alert: "lasting",
  },
  TooFewReplicas: { in: ["ScalingLimited=True"], means: "minReplicaCount is reached", act: NOTHING, alert: "no" },
  Scaling: {
    in: ["PodfitScaling=True"],
    means: "podfit sets the replicas, and KEDA measures what podfit does not",
    act: "Read the message: it may have warnings.",
    alert: "no",
  },
  RecordStale: {
    in: ["PodfitScaling=False"],
    means: "the triggers have changed since the object was adopted",
    act: "Run `podfit adopt so/NAME` again. Until then replicas may grow, and do not fall.",
    alert: "lasting",
  },
} as const satisfies Readonly<Record<string, ConditionEntry<ConditionType | OwnConditionType>>>;

/** A reason of a condition that podfit sets on a ScaledObject. */
export type ScaledObjectConditionReason = keyof typeof SCALED_OBJECT_CONDITION_MEANINGS;
