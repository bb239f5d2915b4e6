/**
 * Replicas by the usage of pods against one yardstick (R37), as the HPA controller's GetResourceReplicas and calcPlainMetricReplicas.
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/controller/podautoscaler/replica_calculator.go
 */
import type { ResourceTarget } from "../../../scaled_object/trigger.ts";
import type { PodReading } from "../pod_reading.ts";
import type { Groups, MeasuredPod } from "./groups.ts";
import { toReplicas } from "./to_replicas.ts";
import { isWithin, type Tolerance } from "./tolerance.ts";
import { type CountedPod, toAssumedUsage, toUsageRatio } from "./usage_ratio.ts";

/** What one run comes to. */
export interface Run {
  readonly replicas: number;
  /** The last that was computed: over all pods that had to be filled in, if any. */
  readonly ratio: number;
}

export interface RunInput {
  readonly target: ResourceTarget;
  readonly replicas: number;
  readonly tolerance: Tolerance;
  /** Thousandths. */
  readonly requestOf: (pod: PodReading) => bigint;
  readonly usageOf: (pod: MeasuredPod) => bigint;
}

/** Of groups with at least one ready pod. `null` where the requests are 0. */
export function proposeByGroups(groups: Groups, input: RunInput): Run | null {
  const { target, tolerance, replicas, requestOf, usageOf } = input;
  const ready = groups.ready.map((pod) => ({ usage: usageOf(pod), request: requestOf(pod) }));
  const ratio = toUsageRatio(ready, target);
  if (ratio === null) return null;
  const isUp = ratio > 1;
  if (groups.missing.length === 0 && !(isUp && groups.unready.length > 0)) {
    return { ratio, replicas: isWithin(ratio, tolerance) ? replicas : toReplicas(ratio * ready.length) };
  }
  return proposeFilled([...ready, ...fillIn(groups, ratio, input)], ratio, input);
}

/** Missing pods are taken against the direction, unready ones only against up. At 1 nobody is filled in. */
function fillIn({ missing, unready }: Groups, ratio: number, { target, requestOf }: RunInput): readonly CountedPod[] {
  const idle = (pod: PodReading): CountedPod => ({ usage: 0n, request: requestOf(pod) });
  if (ratio > 1) return [...missing, ...unready].map(idle);
  if (ratio === 1) return [];
  return missing.map((pod) => ({ usage: toAssumedUsage(requestOf(pod), target), request: requestOf(pod) }));
}

function proposeFilled(counted: readonly CountedPod[], before: number, input: RunInput): Run | null {
  const { target, tolerance, replicas } = input;
  const ratio = toUsageRatio(counted, target);
  if (ratio === null) return null;
  const isTurned = (before < 1 && ratio > 1) || (before > 1 && ratio < 1);
  if (isWithin(ratio, tolerance) || isTurned) return { ratio, replicas };
  const proposed = toReplicas(ratio * counted.length);
  const isAgainst = (ratio < 1 && proposed > replicas) || (ratio > 1 && proposed < replicas);
  return { ratio, replicas: isAgainst ? replicas : proposed };
}
