/**
 * How fast replicas may follow the metrics, with every field filled in as the API server fills them in (R5).
 * https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/#configurable-scaling-behavior
 */

/** Both directions: where one is given, the other one is filled in whole. */
export interface Behavior {
  readonly scaleUp: ScalingRules;
  readonly scaleDown: ScalingRules;
}

/** One direction. */
export interface ScalingRules {
  /** stabilizationWindowSeconds. */
  readonly windowMs: number;
  readonly select: "Max" | "Min" | "Disabled";
  readonly policies: readonly ScalingPolicy[];
  /** As a double, as Go's AsApproximateFloat64 gives it; `null` = not given: 0.1. */
  readonly tolerance: number | null;
}

/** How much may change within a period. */
export interface ScalingPolicy {
  readonly type: "Pods" | "Percent";
  readonly value: number;
  readonly periodMs: number;
}

const PERIOD_MS = 15_000;
const ALL_AT_ONCE: ScalingPolicy = { type: "Percent", value: 100, periodMs: PERIOD_MS };

/** What the API server fills in for a `behavior` that says nothing (R5). */
export const DEFAULT_BEHAVIOR: Behavior = {
  scaleUp: {
    windowMs: 0,
    select: "Max",
    policies: [{ type: "Pods", value: 4, periodMs: PERIOD_MS }, ALL_AT_ONCE],
    tolerance: null,
  },
  scaleDown: { windowMs: 300_000, select: "Max", policies: [ALL_AT_ONCE], tolerance: null },
};
