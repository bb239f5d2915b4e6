/**
 * What do the reasons about the size of a pod and about the number of replicas mean, and what should people do?
 *
 * `podfit explain` prints the meanings, and docs/reference/reasons.md is generated from these tables. The types ask for
 * an entry for each reason.
 */
import type { BlockReason, HoldReason, ResizeReason } from "../reasons.ts";
import type { ReplicasReason } from "../replicas_decision.ts";

/** What an operator needs about one word. */
export interface Entry {
  /** The end of a sentence, without a capital letter and without a full stop. */
  readonly means: string;
  /** What to do, as whole sentences. */
  readonly act: string;
  /** "lasting": only if it stays for 15 minutes or longer. */
  readonly alert: "no" | "lasting" | "yes";
}

const NOTHING = "Nothing.";

/** Why a container keeps its size. "It" is the container or its pod. */
export const SIZE_MEANINGS: Readonly<Record<HoldReason | BlockReason, Entry>> = {
  Warmup: {
    means: "there is no usage of the present size yet",
    act: "Nothing. It ends after two samples.",
    alert: "no",
  },
  StreakShort: {
    means: "too few samples in a row ask for one",
    act: "Nothing. `consecutiveSamples` says how many are needed.",
    alert: "no",
  },
  InBand: { means: "usage is between the thresholds", act: "Nothing. This is the normal state.", alert: "no" },
  AtBound: {
    means: "it is at its bound",
    act: "If it needs more, raise `bounds`, or `--max-cpu` and `--max-memory` of podfit.",
    alert: "lasting",
  },
  AtTarget: { means: "it has the computed size", act: NOTHING, alert: "no" },
  MetricsUnavailable: {
    means: "its usage is not known",
    act:
      "See the condition `Metrics`: its message has the error of the usage source. The pod keeps its size meanwhile.",
    alert: "lasting",
  },
  BaselineUnavailable: {
    means: "it has no request or limit to compare usage with",
    act: "Set the request or limit in the pod template, or remove the field from `policy`.",
    alert: "no",
  },
  NotRunning: {
    means: "the container is not running",
    act: "If it should run, see `kubectl describe pod`.",
    alert: "no",
  },
  NotOwner: {
    means: "another autoscaler sizes this container",
    act: "If this is the wrong one, change `priority`, or make the selectors differ.",
    alert: "no",
  },
  Cooldown: {
    means: "the cooldown after the last resize is not over",
    act: "Nothing. `policy.cooldown` sets the time.",
    alert: "no",
  },
  Delay: {
    means: "the delay after its start is not over",
    act: "Nothing. `policy.delay` sets the time.",
    alert: "no",
  },
  NotReady: {
    means: "it is not ready yet",
    act: "If it stays so, see why the pod is not ready. `policy.after` says what podfit waits for.",
    alert: "no",
  },
  ResizeInProgress: {
    means: "the kubelet is still applying a resize of the pod",
    act: "Nothing. If it lasts for minutes, look at the kubelet of the node.",
    alert: "no",
  },
  ResizeDeferred: {
    means: "the kubelet has deferred a resize of the pod",
    act: "The node is full. Add nodes or move pods. After 5 minutes podfit takes the resize back.",
    alert: "lasting",
  },
  ResizeInfeasible: {
    means: "its node is too small for the last resize",
    act: "Lower the bound, or let the pod run on a larger node. podfit takes the resize back.",
    alert: "lasting",
  },
  ResizeError: {
    means: "the kubelet could not apply the last resize",
    act: "Read the condition `PodResizeInProgress` of the pod and the log of the kubelet.",
    alert: "lasting",
  },
  QoSInvariantBlocked: {
    means: "the pod's QoS class would change",
    act: "Manage requests and limits together for a Guaranteed pod. See the message for the fields.",
    alert: "no",
  },
  MemoryInUse: {
    means: "the memory is in use",
    act: "Nothing. The limit goes down when the container uses less.",
    alert: "no",
  },
  ScaleDownWindow: {
    means: "usage must stay low for the whole scale-down window first",
    act: "Nothing. `scaleDown.window` sets the time.",
    alert: "no",
  },
  RestartRequired: {
    means: "it would restart the container",
    act: "Set `policy.memory.restartToShrink` if a restart is acceptable.",
    alert: "no",
  },
  CrashLoop: {
    means: "the container crashed or was killed a short time ago",
    act: "Read the log of the container. Its memory does not go down until it has run for a while.",
    alert: "no",
  },
  ScaleInPending: {
    means: "the workload will have fewer pods soon",
    act: "Nothing. Fewer pods will have more load each, so their size stays.",
    alert: "no",
  },
  MaxUnavailable: {
    means: "too many pods of the workload are unavailable",
    act: "Find out why the other pods are not ready. `policy.maxUnavailable` sets the number.",
    alert: "lasting",
  },
  DisruptionBudget: {
    means: "a PodDisruptionBudget allows no restart now",
    act: "See `kubectl get pdb`. A budget that never allows a disruption also stops node drains.",
    alert: "lasting",
  },
  NodeCapacity: {
    means: "its node has not enough left",
    act: "Add nodes, move pods away, or lower the bound. podfit does not evict pods.",
    alert: "lasting",
  },
  Quota: {
    means: "a ResourceQuota has not enough left",
    act: "Raise the ResourceQuota, or lower the bounds of the autoscalers in the namespace.",
    alert: "lasting",
  },
  LimitRange: {
    means: "a LimitRange does not allow it",
    act: "Raise the maximum of the LimitRange, or lower the bound.",
    alert: "lasting",
  },
  PodResources: {
    means: "the pod's own resources (`spec.resources`) do not allow it",
    act: "Raise `spec.resources` of the pod template, or lower the bound. podfit never changes them.",
    alert: "lasting",
  },
  Rights: {
    means: "podfit has no right to resize it",
    act: "Grant `patch` on `pods/resize`.",
    alert: "yes",
  },
  Invalid: {
    means: "the API server refused this size",
    act:
      "Read the message of the API server in the event ScaleFailed. Often an admission webhook or policy refuses it, such as for a " +
      "namespace with the label `podfit.dev/excluded`.",
    alert: "lasting",
  },
  Unsupported: {
    means: "the cluster does not support this resize",
    act: "podfit needs Kubernetes 1.33 or later with `pods/resize`. Check the version and the feature gates.",
    alert: "lasting",
  },
  RetryLater: {
    means: "the API server asked to wait",
    act: "Nothing at first. If it lasts, the API server or a webhook has too much load.",
    alert: "lasting",
  },
  DryRun: { means: "podfit runs with --dry-run", act: "Remove the flag to let podfit resize pods.", alert: "no" },
};

/** Why a resize happened, if usage is not the cause. */
export const RESIZE_MEANINGS: Readonly<Record<ResizeReason, Entry>> = {
  Inherited: {
    means: "a new pod was given the median size of its siblings",
    act: "Nothing. `newPods: template` turns it off.",
    alert: "no",
  },
};

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
