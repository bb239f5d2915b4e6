/** What the conditions HPAActive, AbleToScale and ScalingLimited say of a tick (R91), in the HPA controller's words. */
import type { Condition } from "../conditions.ts";
import type { Limit } from "./rate.ts";

/** AbleToScale where no need was found. */
export const GOT_SCALE: Condition = {
  status: "True",
  reason: "SucceededGetScale",
  message: "the HPA controller was able to get the target's current scale",
};

/** HPAActive at replicas 0: True, as KEDA has it, and not False as of an HPA. */
export const SCALING_DISABLED: Condition = {
  status: "True",
  reason: "ScalingDisabled",
  message: "scaling is disabled since the replica count of the target is zero",
};

/** AbleToScale once a write of the tick half is accepted. */
export function toRescaled(replicas: number): Condition {
  const message = `the HPA controller was able to update the target scale to ${replicas}`;
  return { status: "True", reason: "SucceededRescale", message };
}

/** HPAActive. */
export function toActive(metric: string): Condition {
  const message = `the HPA was able to successfully calculate a replica count from ${metric}`;
  return { status: "True", reason: "HPAActive", message };
}

export type Stabilization = "ScaleUpStabilized" | "ScaleDownStabilized";

/** AbleToScale; `null` = the windows change nothing. */
export function toAbleToScale(by: Stabilization | null): Condition {
  if (by === null) {
    return { status: "True", reason: "ReadyForNewScale", message: "recommended size matches current size" };
  }
  return { status: "True", reason: by, message: STABILIZED[by] };
}

const STABILIZED: Readonly<Record<Stabilization, string>> = {
  ScaleUpStabilized: "recent recommendations were lower than current one, applying the lowest recent recommendation",
  ScaleDownStabilized:
    "recent recommendations were higher than current one, applying the highest recent recommendation",
};

/** ScalingLimited. */
export function toScalingLimited(limit: Limit | null): Condition {
  if (limit !== null) return { status: "True", reason: limit, message: LIMITS[limit] };
  const message = "the desired count is within the acceptable range";
  return { status: "False", reason: "DesiredWithinRange", message };
}

const LIMITS: Readonly<Record<Limit, string>> = {
  TooManyReplicas: "the desired replica count is more than the maximum replica count",
  TooFewReplicas: "the desired replica count is less than the minimum replica count",
  ScaleUpLimit: "the desired replica count is increasing faster than the maximum scale rate",
  ScaleDownLimit: "the desired replica count is decreasing faster than the maximum scale rate",
};
