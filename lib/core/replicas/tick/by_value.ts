/**
 * What an external trigger or a formula asks for (R38, R39): GetExternalPerPodMetricReplicas and GetExternalMetricReplicas of the HPA controller.
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/controller/podautoscaler/replica_calculator.go
 */
import type { MetricType } from "../../../scaled_object/formula.ts";
import type { Proposal } from "./proposal.ts";
import { toReplicas } from "./to_replicas.ts";
import { isWithin, type Tolerance } from "./tolerance.ts";

export interface ValueInput {
  /** Thousandths, within 63 bits; only a formula's may be negative. */
  readonly valueMilli: bigint;
  /** Thousandths, above 0. */
  readonly targetMilli: bigint;
  readonly metricType: MetricType;
  /** spec.replicas, above 0. */
  readonly replicas: number;
  /** status.replicas. */
  readonly statusReplicas: number;
  /** `countReadyPods`: `null` = the selector lists no pod. */
  readonly readyPods: number | null;
  readonly tolerance: Tolerance;
}

/** A failure is as the HPA controller words it. */
export function proposeByValue(input: ValueInput): Proposal {
  return input.metricType === "AverageValue" ? proposeByAverage(input) : proposeByWhole(input);
}

/** The controller takes a negative sum of such a metric for an overflow, and so for the largest there is. */
const MAX_VALUE = 2n ** 63n - 1n;

function proposeByAverage({ valueMilli, targetMilli, statusReplicas, tolerance }: ValueInput): Proposal {
  const value = Number(valueMilli < 0n ? MAX_VALUE : valueMilli);
  const target = Number(targetMilli);
  // Without pods this is infinite, or no number.
  const ratio = value / (target * statusReplicas);
  const replicas = isWithin(ratio, tolerance) ? statusReplicas : toReplicas(value / target);
  return toProposal(replicas, Number.isFinite(ratio) ? ratio : null, 0);
}

function proposeByWhole({ valueMilli, targetMilli, replicas, readyPods, tolerance }: ValueInput): Proposal {
  const ratio = Number(valueMilli) / Number(targetMilli);
  if (isWithin(ratio, tolerance)) return toProposal(replicas, ratio, readyPods ?? 0);
  if (readyPods === null) {
    const cause = "no pods returned by selector while calculating replica count";
    return {
      kind: "failed",
      reason: "FailedGetExternalMetric",
      message: `failed to get external metric: unable to calculate ready pods: ${cause}`,
    };
  }
  return toProposal(toReplicas(ratio * readyPods), ratio, readyPods);
}

function toProposal(replicas: number, ratio: number | null, ready: number): Proposal {
  return { kind: "proposal", replicas, lo: replicas, hi: replicas, ratio, ready, unready: 0, missing: 0 };
}
