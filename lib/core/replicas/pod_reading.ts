/**
 * A pod of the target as one cpu or memory trigger sees it: how the pod stands, what it uses, and what that is held against. All amounts are in
 * thousandths (millicores; thousandths of a byte), as the HPA controller computes (R21).
 */

import type { ReadyCondition } from "../pod/pod_facts.ts";

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
  readonly requests: Requests | { readonly problem: RequestProblem };
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
export interface Requests {
  readonly born: bigint;
  readonly full: bigint;
}

/** Why a pod has no request to be held against: that makes the metric of the trigger an error (R25, R82). */
export interface RequestProblem {
  readonly reason: "NoRequest" | "NoContainer" | "BaselineUnavailable";
  /** Names the pod and the container. */
  readonly message: string;
}
