/** FailedComputeMetricsReplicas where the metrics say nothing: when it begins, or is another kind of metric (R92). */
import type { ReplicasNotice } from "../notices.ts";
import type { TickOutcome } from "../tick/tick.ts";
import { type Notified, readTopic, setTopic } from "./notified.ts";

const TOPIC = "need";
/** Of the first tick after a start or a pause: usage has hardly been looked at, which is no news. */
const EARLY = "early";

/** Messages name a pod, and another one each time: they are no news. */
export function notifyOfNoNeed(
  notified: Notified,
  { outcome: { reason, message, conditions }, isFirst }: { readonly outcome: TickOutcome; readonly isFirst: boolean },
): { readonly notified: Notified; readonly notices: readonly ReplicasNotice[] } {
  if (reason !== "MetricInvalid") return { notified: setTopic(notified, TOPIC, null), notices: [] };
  if (isFirst) return { notified: setTopic(notified, TOPIC, EARLY), notices: [] };
  const kind = conditions.HPAActive?.reason ?? reason;
  if (readTopic(notified, TOPIC) === kind) return { notified, notices: [] };
  return { notified: setTopic(notified, TOPIC, kind), notices: [{ name: "FailedComputeMetricsReplicas", message }] };
}
