/** The sink that counts and measures ScaledObjects in KEDA's families and ours (R93). */
import { readObstacleReason } from "../../../core/replicas/obstructed.ts";
import type { ReplicasReport, TriggerReport } from "../../../core/replicas/report.ts";
import type { ScaledObject, ScaledObjectFacts } from "../../../scaled_object/scaled_object.ts";
import type { ExternalType, Trigger } from "../../../scaled_object/trigger.ts";
import type { ReplicaMetrics, TriggerName } from "../../metrics/replica_metrics.ts";
import type { ReplicasPass, ReplicasSink } from "../sink.ts";

/** KEDA's words for the label `scaler` of a trigger without a name: its Go types. */
const SCALERS: Readonly<Record<ExternalType | "cpu" | "memory", string>> = {
  cpu: "cpuMemoryScaler",
  memory: "cpuMemoryScaler",
  cron: "cronScaler",
  "kubernetes-workload": "kubernetesWorkloadScaler",
  "metrics-api": "metricsAPIScaler",
  prometheus: "prometheusScaler",
};

/** Never throws. `isKnown` is false for an object that was deleted: a late answer brings none of its series back. */
export function createReplicasMetrics(
  { metrics, isKnown }: { readonly metrics: ReplicaMetrics; readonly isKnown: (uid: string) => boolean },
): ReplicasSink {
  return {
    onPass(pass) {
      if (!isKnown(pass.input.object.uid)) return;
      notePass(pass, metrics);
      noteAnswer(pass, metrics);
    },
    onAsked({ object, trigger, seconds, isEmpty }) {
      if (!isKnown(object.uid)) return;
      metrics.asked(toTriggerName(object, trigger, trigger.metricName), seconds);
      const { source } = trigger;
      if (isEmpty && source.kind === "prometheus") {
        const { namespace, name } = object;
        const of = { namespace, name, triggerName: trigger.name ?? "", metric: trigger.metricName };
        metrics.answeredEmpty({ ...of, ignoresNullValues: source.ignoresNullValues });
      }
    },
    onObject(facts) {
      metrics.forgetTriggers(facts);
      metrics.setPaused(facts, facts.isPaused);
    },
    onGone: (facts) => metrics.forget(facts),
  };
}

function notePass({ before, input, outcome, tookMs, lateMs }: ReplicasPass, metrics: ReplicaMetrics): void {
  const { object, observation } = input;
  const { report, state } = outcome;
  if (observation.kind === "obstructed" && before.conditions.Ready?.message !== state.conditions.Ready?.message) {
    metrics.failed(object);
    const reason = readObstacleReason(observation.obstacle);
    if (reason !== null) metrics.held(object, reason);
  }
  if (observation.kind === "poll") metrics.began(object, lateMs / 1000);
  if (report === null) return;
  metrics.evaluated(object, tookMs / 1000);
  const { replicas, desired, need, reason } = report;
  metrics.setReplicas(object, { current: replicas, desired, need });
  if (outcome.write === null && reason !== null) metrics.held(object, reason);
  noteTriggers(object, report, metrics);
}

function noteTriggers(facts: ScaledObjectFacts, { triggers }: ReplicasReport, metrics: ReplicaMetrics): void {
  for (const report of triggers) {
    const of = toReportName(facts, report);
    metrics.setTrigger(of, report);
    metrics.triggerEvaluated(of, report.error !== null);
  }
}

function noteAnswer({ input: { object, observation } }: ReplicasPass, metrics: ReplicaMetrics): void {
  if (observation.kind !== "answered") return;
  const { write: { from, half }, answer } = observation;
  if (answer.kind !== "accepted" && answer.kind !== "dropped") metrics.failed(object);
  if (answer.kind !== "accepted") return;
  metrics.wrote(object, { direction: answer.replicas < from.replicas ? "down" : "up", half });
}

function toReportName(facts: ScaledObjectFacts, { index, metricName, type }: TriggerReport): TriggerName {
  const trigger = findTrigger(facts.scaledObject, index);
  // A composite stands for all external triggers, and is none of them (R61).
  if (trigger === null || type === "composite") {
    return { namespace: facts.namespace, name: facts.name, metric: metricName, scaler: metricName, index };
  }
  return toTriggerName(facts, trigger, metricName);
}

function toTriggerName({ namespace, name }: ScaledObjectFacts, trigger: Trigger, metric: string): TriggerName {
  return { namespace, name, metric, scaler: trigger.name ?? SCALERS[trigger.type], index: trigger.index };
}

function findTrigger(object: ScaledObject | null, index: number): Trigger | null {
  return object?.triggers.find((trigger) => trigger.index === index) ?? null;
}
