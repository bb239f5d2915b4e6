/**
 * An actuator that counts what the API server refused: as an error of the namespace, and as a resize that was wanted and
 * did not happen (C52). The sample that led to it has counted as decided, not as blocked.
 */
import type { Autoscaler } from "../../autoscaler/autoscaler.ts";
import type { Actuate } from "./actuator.ts";
import type { Metrics } from "../metrics/metrics.ts";

export interface CountRefusalsOptions {
  readonly metrics: Pick<Metrics, "failed" | "blocked">;
  /** False for an autoscaler deleted meanwhile: its series must not come back (C52). */
  readonly isKnown: (policy: Autoscaler) => boolean;
}

export function countRefusals(actuate: Actuate, { metrics, isKnown }: CountRefusalsOptions): Actuate {
  return async (order, tracked) => {
    const answer = await actuate(order, tracked);
    const reason = answer.kind === "refused" ? answer.reason : answer.kind === "lost" ? "RetryLater" : null;
    if (reason === null) return answer;
    const { policy: { namespace, name }, action } = order;
    metrics.failed(namespace, reason);
    // A return (C47) is no scale action.
    if (action !== "return" && isKnown(order.policy)) metrics.blocked({ namespace, name, reason });
    return answer;
  };
}
