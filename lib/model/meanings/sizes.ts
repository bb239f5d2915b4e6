/**
 * What do the reasons about the size of a pod mean, and what should people do?
 *
 * `podfit explain` prints the meanings, and docs/reference/reasons.md is generated from these tables. The types ask for
 * an entry for each reason.
 */
import type { BlockReason, HoldReason, ResizeReason } from "../reasons.ts";

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
    means: "usage was not low for the whole scale-down window",
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
  Rights: {
    means: "podfit has no right to resize it",
    act: "Grant `patch` on `pods/resize`, or see which admission policy refuses it.",
    alert: "yes",
  },
  Invalid: {
    means: "the API server refused this size",
    act: "Read the message of the API server in the event ScaleFailed. Often an admission webhook refuses it.",
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
