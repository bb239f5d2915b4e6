/**
 * Which pods count for a cpu or memory trigger, and how (R33): the HPA controller's groupPods.
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/controller/podautoscaler/replica_calculator.go
 */
import type { Resource } from "../../../units/resources.ts";
import type { PodMetric, PodReading } from "../pod_reading.ts";

/** A pod that has a metric. */
export type MeasuredPod = PodReading & { readonly metric: PodMetric };

/** Deleting and failed pods are in none of them. */
export interface Groups {
  readonly ready: readonly MeasuredPod[];
  readonly unready: readonly PodReading[];
  readonly missing: readonly PodReading[];
}

/** --horizontal-pod-autoscaler-cpu-initialization-period: how long a pod's start may make it busy. */
const INITIALIZATION_MS = 300_000;
/** --horizontal-pod-autoscaler-initial-readiness-delay: a pod that is unready since then never was ready. */
const INITIAL_READINESS_MS = 30_000;

/** `now` in epoch ms. */
export function groupPods(
  pods: readonly PodReading[],
  { type, now }: { readonly type: Resource; readonly now: number },
): Groups {
  const [ready, unready, missing]: [MeasuredPod[], PodReading[], PodReading[]] = [[], [], []];
  for (const pod of pods) {
    if (pod.isDeleting || pod.phase === "Failed") continue;
    if (pod.phase === "Pending") unready.push(pod);
    else if (!isMeasured(pod)) missing.push(pod);
    else if (type === "cpu" && isUnready(pod, now)) unready.push(pod);
    else ready.push(pod);
  }
  return { ready, unready, missing };
}

function isMeasured(pod: PodReading): pod is MeasuredPod {
  return pod.metric !== null;
}

/** Unknown is not False. */
function isUnready({ startAt, ready, metric }: MeasuredPod, now: number): boolean {
  if (startAt === null || ready === null) return true;
  if (startAt + INITIALIZATION_MS > now) return ready.status === "False" || metric.at < ready.at + metric.windowMs;
  return ready.status === "False" && ready.at < startAt + INITIAL_READINESS_MS;
}
