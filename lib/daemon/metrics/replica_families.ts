/**
 * Which metrics of ScaledObjects are there? `keda_` families are KEDA's (pkg/metricscollector/prommetrics.go), letter for letter, as dashboards
 * and alerts read them (R93); `podfit_` is ours. They are on the page once there is a ScaledObject.
 */
import type { FamilyRow } from "./families.ts";

const TRIGGER = ["namespace", "metric", "scaledObject", "scaler", "triggerIndex", "type"] as const;
const OBJECT = ["namespace", "scaledObject"] as const;
const NAMED = ["namespace", "name"] as const;

/** Every family, by the name that the code knows it by. */
export const REPLICA_FAMILIES = {
  scalerActive: {
    kind: "gauge",
    name: "keda_scaler_active",
    help: "1 while the trigger is active, else 0",
    labels: TRIGGER,
    ownerLabels: OBJECT,
  },
  scalerValue: {
    kind: "gauge",
    name: "keda_scaler_metrics_value",
    help: "Value of the trigger's metric at its last evaluation",
    labels: TRIGGER,
    ownerLabels: OBJECT,
  },
  scalerLatency: {
    kind: "gauge",
    name: "keda_scaler_metrics_latency_seconds",
    help: "Time that the last question for the trigger's metric took",
    labels: TRIGGER,
    ownerLabels: OBJECT,
  },
  scalerErrors: {
    kind: "counter",
    name: "keda_scaler_detail_errors_total",
    help: "Failed evaluations of a trigger",
    labels: TRIGGER,
    ownerLabels: OBJECT,
  },
  paused: {
    kind: "gauge",
    name: "keda_scaled_object_paused",
    help: "1 while the ScaledObject is paused, else 0",
    labels: OBJECT,
    ownerLabels: OBJECT,
  },
  objectErrors: {
    kind: "counter",
    name: "keda_scaled_object_errors_total",
    help: "Errors of a ScaledObject, those of its triggers included",
    labels: OBJECT,
    ownerLabels: OBJECT,
  },
  emptyResponses: {
    kind: "counter",
    name: "keda_scaler_empty_upstream_responses_total",
    help: "Queries that were answered without a value",
    labels: ["namespace", "scaledResource", "triggerName", "metricName", "resourceType", "ignoreNullValues"],
    ownerLabels: ["namespace", "scaledResource"],
  },
  triggersRegistered: {
    kind: "gauge",
    name: "keda_trigger_registered_total",
    help: "Triggers of valid ScaledObjects, by type",
    labels: ["type"],
  },
  resourcesRegistered: {
    kind: "gauge",
    name: "keda_resource_registered_total",
    help: "ScaledObjects in a namespace",
    labels: ["type", "namespace"],
  },
  loopLatency: {
    kind: "gauge",
    name: "keda_internal_scale_loop_latency_seconds",
    help: "How late the last poll of the ScaledObject began",
    labels: ["namespace", "type", "resource"],
    ownerLabels: ["namespace", "resource"],
  },
  current: {
    kind: "gauge",
    name: "podfit_replicas_current",
    help: "Replicas of the target when it was last evaluated",
    labels: NAMED,
    ownerLabels: NAMED,
  },
  desired: {
    kind: "gauge",
    name: "podfit_replicas_desired",
    help: "Replicas that the last evaluation came to",
    labels: NAMED,
    ownerLabels: NAMED,
  },
  need: {
    kind: "gauge",
    name: "podfit_replicas_need",
    help: "Replicas that the metrics asked for last, before windows and limits",
    labels: NAMED,
    ownerLabels: NAMED,
  },
  writes: {
    kind: "counter",
    name: "podfit_replica_writes_total",
    help: "Accepted writes of replicas",
    labels: ["namespace", "name", "direction", "half"],
    ownerLabels: NAMED,
  },
  holds: {
    kind: "counter",
    name: "podfit_replica_holds_total",
    help: "Evaluations that left replicas as they were, by reason",
    labels: ["namespace", "name", "reason"],
    ownerLabels: NAMED,
  },
  evaluation: {
    kind: "histogram",
    name: "podfit_replica_evaluation_seconds",
    help: "Time that one evaluation of a ScaledObject took, without what is asked for it",
    labels: NAMED,
    ownerLabels: NAMED,
    buckets: [0.0001, 0.001, 0.005, 0.01, 0.05, 1],
  },
} as const satisfies Record<string, FamilyRow>;
