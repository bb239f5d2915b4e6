/** KEDAScalerFailed and KEDAMetricSourceFailed (R92): once when a trigger begins to fail, or fails otherwise. */
import { listExternalTriggers } from "../../../scaled_object/list_triggers.ts";
import type { ScaledObject } from "../../../scaled_object/scaled_object.ts";
import { type Composite, COMPOSITE_NAME } from "../composite.ts";
import type { ExternalMetric } from "../metrics.ts";
import type { ReplicasNotice } from "../notices.ts";
import { type Notified, readTopic, setTopic } from "./notified.ts";

/** What fails now: by topic, why it does; `null` = it does not. */
type Failing = readonly (readonly [topic: string, error: string | null])[];

/** `composite` is `null` without a formula. */
export function notifyOfFailed(
  before: Notified,
  metrics: readonly ExternalMetric[],
  composite: Composite | null,
): { readonly notified: Notified; readonly notices: readonly ReplicasNotice[] } {
  const failing = [...listFailing(metrics), ...listFailedComposite(metrics, composite)];
  const news = failing.filter(([topic, error]) => error !== null && readTopic(before, topic) !== error);
  const name = composite === null ? "KEDAScalerFailed" : "KEDAMetricSourceFailed";
  return {
    notified: failing.reduce((notified, [topic, error]) => setTopic(notified, topic, error), before),
    notices: news.map(([topic, error]) => ({ name, message: `${topic.slice(PREFIX.length)}: ${error}` })),
  };
}

const PREFIX = "trigger ";

function listFailing(metrics: readonly ExternalMetric[]): Failing {
  return metrics.map(({ trigger, result }) => [
    `${PREFIX}${trigger.metricName}`,
    result.kind === "value" ? null : result.error,
  ]);
}

/** Where a trigger fails that says it all. */
function listFailedComposite(metrics: readonly ExternalMetric[], composite: Composite | null): Failing {
  if (composite === null) return [];
  const isNews = composite.kind === "failed" && metrics.every(({ result }) => result.kind !== "failed");
  return [[`${PREFIX}${COMPOSITE_NAME}`, isNews ? composite.error : null]];
}

/** Forgets what the object has no more. */
export function forgetTriggers(notified: Notified, object: ScaledObject): Notified {
  const names = new Set([...listExternalTriggers(object).map(({ metricName }) => metricName), COMPOSITE_NAME]);
  const isKept = (topic: string) => !topic.startsWith(PREFIX) || names.has(topic.slice(PREFIX.length));
  return Object.fromEntries(Object.entries(notified).filter(([topic]) => isKept(topic)));
}
