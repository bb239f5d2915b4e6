/** The operator's --min-poll-interval for ScaledObjects: how often triggers are asked is the cluster's, too (R2). */
import type { OperatorLimits } from "../../autoscaler/operator_limits.ts";
import type { ScaledObjectFacts } from "../../scaled_object/scaled_object.ts";
import { formatDuration } from "../../units/duration.ts";

/** Gives the object within the limit, and says so where its manifest has less. */
export function limitPolling(
  facts: ScaledObjectFacts,
  { minPollIntervalMs }: Pick<OperatorLimits, "minPollIntervalMs">,
): ScaledObjectFacts {
  const { scaledObject } = facts;
  if (scaledObject === null || minPollIntervalMs === null || scaledObject.pollIntervalMs >= minPollIntervalMs) {
    return facts;
  }
  const message = `spec.pollingInterval: ${
    formatDuration(scaledObject.pollIntervalMs)
  } is raised to podfit's --min-poll-interval ${formatDuration(minPollIntervalMs)}`;
  return {
    ...facts,
    scaledObject: { ...scaledObject, pollIntervalMs: minPollIntervalMs },
    limited: [message],
  };
}
