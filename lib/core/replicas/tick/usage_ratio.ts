/**
 * The ratio of usage to target over some pods (R34, R35): sums and quotients exact and cut, the ratio a double, in the HPA controller's order.
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/controller/podautoscaler/metrics/utilization.go
 */
import type { ResourceTarget } from "../../../scaled_object/trigger.ts";

/** One pod's usage and request in thousandths; the request is 0 where the target is an average value. */
export interface CountedPod {
  readonly usage: bigint;
  readonly request: bigint;
}

/** Of at least one pod. `null` where all requests together are 0. */
export function toUsageRatio(pods: readonly CountedPod[], target: ResourceTarget): number | null {
  const usage = sum(pods, "usage");
  if (target.kind === "AverageValue") return Number(usage / BigInt(pods.length)) / Number(target.milli);
  const requests = sum(pods, "request");
  return requests === 0n ? null : Number(100n * usage / requests) / target.percent;
}

/** What a missing pod is taken to use when replicas would fall: all of its request, or the target if that is more (R37). */
export function toAssumedUsage(request: bigint, target: ResourceTarget): bigint {
  return target.kind === "AverageValue" ? target.milli : request * BigInt(Math.max(100, target.percent)) / 100n;
}

function sum(pods: readonly CountedPod[], key: keyof CountedPod): bigint {
  return pods.reduce((total, pod) => total + pod[key], 0n);
}
