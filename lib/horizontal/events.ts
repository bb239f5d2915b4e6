/**
 * The events on a ScaledObject, and what was reported already.
 *
 * An event is sent when a matter begins or changes, not at each evaluation. Most follow from conditions; the others are
 * about triggers, writes and the start of scaling.
 */
import type { ReplicasNotice, ReplicasNoticeName, ScaleWrite } from "../model/replicas_decision.ts";
import type { Condition, Conditions, ConditionType, ReportedTopics } from "../model/replicas_state.ts";
import {
  COMPOSITE_METRIC_NAME,
  formatTarget,
  listExternalTriggers,
  type ScaledObject,
  type ScaledObjectFacts,
  type Trigger,
  type TriggerSource,
} from "../model/scaled_object.ts";
import type { CompositeMetric, ExternalMetric } from "./external_metrics.ts";

/** Returns the events for changed conditions, in the order of the table. Clauses: R92. */
export function listConditionNotices(before: Conditions, after: Conditions): readonly ReplicasNotice[] {
  return CONDITION_NOTICES.flatMap(({ type, name, isNews, message }) => {
    const now = after[type];
    if (now === undefined || !isNews(before[type], now)) return [];
    return [{ name, message: message ?? now.message }];
  });
}

interface ConditionNotice {
  readonly type: ConditionType;
  readonly name: ReplicasNoticeName;
  readonly isNews: (before: Condition | undefined, now: Condition) => boolean;
  /** The condition's own message unless given. */
  readonly message?: string;
}

const CONDITION_NOTICES: readonly ConditionNotice[] = [
  { type: "Paused", name: "ScaledObjectPaused", isNews: becomes("True") },
  { type: "Paused", name: "ScaledObjectUnpaused", isNews: ends },
  { type: "Ready", name: "ScaledObjectReady", isNews: becomes("True"), message: "ScaledObject is ready for scaling" },
  { type: "Ready", name: "ScaledObjectCheckFailed", isNews: hasReason("ScaledObjectCheckFailed") },
  {
    type: "Fallback",
    name: "ScaledObjectFallbackActivated",
    isNews: becomes("True"),
    message: "ScaledObject fallback is active",
  },
  {
    type: "Fallback",
    name: "ScaledObjectFallbackDeactivated",
    isNews: ends,
    message: "ScaledObject fallback is no longer active",
  },
  { type: "AbleToScale", name: "FailedGetScale", isNews: hasReason("FailedGetScale") },
];

function becomes(status: Condition["status"]): ConditionNotice["isNews"] {
  return (before, now) => now.status === status && before?.status !== status;
}

function ends(before: Condition | undefined, now: Condition): boolean {
  return before?.status === "True" && now.status !== "True";
}

/** Another message is another cause. */
function hasReason(reason: string): ConditionNotice["isNews"] {
  return (before, now) => now.reason === reason && (before?.reason !== reason || before.message !== now.message);
}

/** What fails now: the cause by topic; `null` = it does not fail. */
type TriggerErrors = readonly (readonly [topic: string, error: string | null])[];

/**
 * Returns an event when a trigger begins to fail, or fails with another error. `composite` is `null` without a formula.
 * Clauses: R92.
 */
export function reportFailedTriggers(
  before: ReportedTopics,
  metrics: readonly ExternalMetric[],
  composite: CompositeMetric | null,
): { readonly notified: ReportedTopics; readonly notices: readonly ReplicasNotice[] } {
  const failing = [...listTriggerErrors(metrics), ...listCompositeErrors(metrics, composite)];
  const news = failing.filter(([topic, error]) => error !== null && findTopic(before, topic) !== error);
  const name = composite === null ? "KEDAScalerFailed" : "KEDAMetricSourceFailed";
  return {
    notified: failing.reduce((notified, [topic, error]) => setTopic(notified, topic, error), before),
    notices: news.map(([topic, error]) => ({ name, message: `${topic.slice(TRIGGER_TOPIC_PREFIX.length)}: ${error}` })),
  };
}

const TRIGGER_TOPIC_PREFIX = "trigger ";

function listTriggerErrors(metrics: readonly ExternalMetric[]): TriggerErrors {
  return metrics.map(({ trigger, result }) => [
    `${TRIGGER_TOPIC_PREFIX}${trigger.metricName}`,
    result.kind === "value" ? null : result.error,
  ]);
}

/** If a trigger fails, its own event is enough. */
function listCompositeErrors(metrics: readonly ExternalMetric[], composite: CompositeMetric | null): TriggerErrors {
  if (composite === null) return [];
  const isNews = composite.kind === "failed" && metrics.every(({ result }) => result.kind !== "failed");
  return [[`${TRIGGER_TOPIC_PREFIX}${COMPOSITE_METRIC_NAME}`, isNews ? composite.error : null]];
}

/** Removes the topics of triggers that the object no longer has. */
export function dropRemovedTriggers(notified: ReportedTopics, object: ScaledObject): ReportedTopics {
  const names = new Set([...listExternalTriggers(object).map(({ metricName }) => metricName), COMPOSITE_METRIC_NAME]);
  const isKept = (topic: string) =>
    !topic.startsWith(TRIGGER_TOPIC_PREFIX) || names.has(topic.slice(TRIGGER_TOPIC_PREFIX.length));
  return Object.fromEntries(Object.entries(notified).filter(([topic]) => isKept(topic)));
}

/** The new record of what was reported, and the events to send. */
interface ScalersReport {
  readonly notified: ReportedTopics;
  readonly notices: readonly ReplicasNotice[];
}

const SCALERS_TOPIC = "scalers";

/**
 * Returns the events for the start, and for each type of trigger that is new since the last ones. Each new podfit process
 * reports all again, as KEDA does. Clauses: R92.
 */
export function reportScalersStarted(before: ReportedTopics, { triggers }: ScaledObject): ScalersReport {
  const known = findTopic(before, SCALERS_TOPIC);
  // What KEDA measures is built by KEDA, and what has a mistake by neither.
  const isOwn = (trigger: Trigger) => trigger.kind === "resource" || !UNBUILT.includes(trigger.source.kind);
  const own = triggers.filter(isOwn);
  const built = [...new Set(own.map(({ type }) => type))];
  const isNew = (type: string) => !(known ?? "").split(",").includes(type);
  const messages = built.filter(isNew).map((type) => `Scaler ${type} is built`);
  return {
    notified: setTopic(before, SCALERS_TOPIC, built.join(",")),
    notices: [...messages, ...(known === null ? ["Started scalers watch"] : [])].map((message) => (
      { name: "KEDAScalersStarted", message }
    )),
  };
}

const UNBUILT: readonly TriggerSource["kind"][] = ["keda", "invalid"];

/** Returns the event for an object that was reported as started. */
export function reportScalersStopped(before: ReportedTopics): ScalersReport {
  if (findTopic(before, SCALERS_TOPIC) === null) return { notified: before, notices: [] };
  const notice: ReplicasNotice = { name: "KEDAScalersStopped", message: "Stopped scalers watch" };
  return { notified: setTopic(before, SCALERS_TOPIC, null), notices: [notice] };
}

/** An HPA was deleted, and its object continues with its replicas. Clauses: R76, R92. */
export function toTransferredNotice(hpa: {
  readonly name: string;
  /** spec.minReplicas; `null` if absent. */
  readonly min: number | null;
  readonly max: number;
  /** status.desiredReplicas. */
  readonly desired: number;
}): ReplicasNotice {
  const message = `Deleted HorizontalPodAutoscaler "${hpa.name}" and took over: its minimum was ${hpa.min ?? 1}, its ` +
    `maximum ${hpa.max}, and it wanted ${hpa.desired} last`;
  return { name: "KEDAScalerInfo", message };
}

const HELD_TOPIC = "held";

/** Returns one event when a deactivation begins to wait, however long it waits. Clauses: R59, R92. */
export function reportHeld(before: ReportedTopics, message: string | null): ScalersReport {
  const isNews = message !== null && findTopic(before, HELD_TOPIC) === null;
  return {
    notified: setTopic(before, HELD_TOPIC, message === null ? null : HELD_TOPIC),
    notices: isNews ? [{ name: "DeactivationHeld", message }] : [],
  };
}

/** One event for each accepted write. */
export function toWrittenNotice({ half, reason, message }: ScaleWrite): ReplicasNotice {
  if (half === "poll" && reason === "Activated") return { name: "KEDAScaleTargetActivated", message };
  if (half === "poll" && reason === "Deactivated") return { name: "KEDAScaleTargetDeactivated", message };
  return { name: "SuccessfulRescale", message };
}

/** The event for a write that was refused or got no answer. */
export function toFailedWriteNotice(write: ScaleWrite, cause: string, object: ScaledObjectFacts): ReplicasNotice {
  const { half, reason, from, replicas, message } = write;
  const what = `${formatTarget(object)} from ${from.replicas} to ${replicas}: ${cause}`;
  if (half === "poll" && reason === "Activated") {
    return { name: "KEDAScaleTargetActivationFailed", message: `Failed to scale ${what}` };
  }
  if (half === "poll" && reason === "Deactivated") {
    return { name: "KEDAScaleTargetDeactivationFailed", message: `Failed to deactivate ${what}` };
  }
  return { name: "FailedRescale", message: `${message}; error: ${cause}` };
}

/**
 * `value` is the current state of the topic, `null` = nothing. Returns the same object if it did not change.
 * Clauses: C50, R92.
 */
export function setTopic(notified: ReportedTopics, topic: string, value: string | null): ReportedTopics {
  if (findTopic(notified, topic) === value) return notified;
  const rest = Object.entries(notified).filter(([one]) => one !== topic);
  return Object.fromEntries(value === null ? rest : [...rest, [topic, value]]);
}

/** Returns what was reported of a topic; `null` = nothing. */
export function findTopic(notified: ReportedTopics, topic: string): string | null {
  return Object.hasOwn(notified, topic) ? notified[topic] ?? null : null;
}
