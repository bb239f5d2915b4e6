/**
 * The table of all metric families: name, help, labels and buckets. Names, labels and buckets are public. Label values
 * come from object names or closed lists, so the number of series is bounded.
 */
import { REFUSAL_REASONS } from "../../model/reasons.ts";

/** A metric family of the text format; `buckets` are the upper bounds of a histogram. */
export interface FamilyRow {
  readonly kind: "counter" | "gauge" | "histogram";
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  /** The labels with the namespace and name of the owner; by default `namespace` and `name`. */
  readonly ownerLabels?: readonly [namespace: string, name: string];
  readonly buckets?: readonly number[];
}

/** The reasons in `error_total`: refusals of a PATCH, and other errors. Clauses: C44. */
export const ERROR_REASONS = [
  ...REFUSAL_REASONS,
  "StatusWrite",
  "MetricsUnavailable",
  "StatusCompute",
  "Evaluation",
  "NodeLoop",
] as const;

/** A value of the label `reason` of `error_total`. */
export type ErrorReason = typeof ERROR_REASONS[number];

const PER_FIELD = ["namespace", "name", "resource", "side", "direction"] as const;

/**
 * The families of resizes and of the process, by their name in the code. Dashboards and alerts read names, labels and
 * buckets of `kedify_` families, so they do not change. Clauses: C52.
 */
export const FAMILIES = {
  total: {
    kind: "gauge",
    name: "kedify_agent_pra_total",
    help: "Autoscalers in a namespace",
    labels: ["namespace"],
  },
  scalingActive: {
    kind: "gauge",
    name: "kedify_agent_pra_scaling_active",
    help: "Autoscalers of a namespace inside lastScaleTime + cooldown",
    labels: ["namespace"],
  },
  active: {
    kind: "gauge",
    name: "kedify_agent_pod_resource_autoscaler_active",
    help: "1 while the autoscaler has a tracked pod, else 0",
    labels: ["namespace", "name"],
  },
  reconciles: {
    kind: "counter",
    name: "kedify_agent_pra_reconcile_count",
    help: "Reconciliations of autoscalers",
    labels: [],
  },
  resourceUpdates: {
    kind: "counter",
    name: "kedify_agent_pra_resource_updates",
    help: "Resizes sent and accepted",
    labels: [],
  },
  errors: {
    kind: "counter",
    name: "kedify_agent_pra_error_total",
    help: "Errors, by reason",
    labels: ["namespace", "reason"],
  },
  decisions: {
    kind: "counter",
    name: "kedify_agent_pra_scale_decisions_total",
    help: "Resource fields that a new sample should change, sent or blocked",
    labels: PER_FIELD,
  },
  blocked: {
    kind: "counter",
    name: "kedify_agent_pra_scale_blocked_total",
    help: "Wanted resizes that did not happen, by reason",
    labels: ["namespace", "name", "reason"],
  },
  deltaAbsolute: {
    kind: "histogram",
    name: "kedify_agent_pra_scale_delta_absolute",
    help: "Size of a change, in millicores for cpu and MiB for memory",
    labels: PER_FIELD,
    buckets: [10, 50, 100, 250, 500, 1000, 2000],
  },
  deltaPercent: {
    kind: "histogram",
    name: "kedify_agent_pra_scale_delta_percent",
    help: "Size of a change, in percent of the amount before",
    labels: PER_FIELD,
    buckets: [1, 5, 10, 25, 50, 100, 200],
  },
  evaluation: {
    kind: "histogram",
    name: "kedify_agent_pra_evaluation_duration_seconds",
    help: "Time that one evaluation took",
    labels: ["namespace", "name"],
    buckets: [0.0001, 0.001, 0.01, 0.1, 1],
  },
  timeToApply: {
    kind: "histogram",
    name: "kedify_agent_pra_time_to_apply_seconds",
    help: "Time from the request of a resize until the pod's status shows it",
    labels: ["namespace", "name", "direction"],
    buckets: [0.1, 0.5, 1, 5, 15, 60, 300],
  },
  limitedPods: {
    kind: "gauge",
    name: "podfit_limited_pods",
    help: "Pods that need more and are held, by reason",
    labels: ["namespace", "name", "reason"],
  },
  buildInfo: {
    kind: "gauge",
    name: "podfit_build_info",
    help: "1, with the versions and the commit of the build",
    labels: ["version", "commit", "deno"],
  },
  cpu: {
    kind: "counter",
    name: "process_cpu_seconds_total",
    help: "CPU time of the process, user and system",
    labels: [],
  },
  residentMemory: {
    kind: "gauge",
    name: "process_resident_memory_bytes",
    help: "Resident memory of the process",
    labels: [],
  },
  startTime: {
    kind: "gauge",
    name: "process_start_time_seconds",
    help: "When the process started, Unix time",
    labels: [],
  },
  heap: { kind: "gauge", name: "podfit_heap_bytes", help: "JavaScript heap in use", labels: [] },
  loopBlock: {
    kind: "gauge",
    name: "podfit_loop_block_seconds",
    help: "Longest time since the last scrape that the event loop was blocked",
    labels: [],
  },
  apiRequests: {
    kind: "counter",
    name: "podfit_api_requests_total",
    help: "Answers of the API server, by status code; code 0 when there was none",
    labels: ["verb", "resource", "code"],
  },
  watchEvents: {
    kind: "counter",
    name: "podfit_watch_events_total",
    help: "Watch events received",
    labels: ["resource", "type"],
  },
  watchErrors: {
    kind: "counter",
    name: "podfit_watch_errors_total",
    help: "Watches that ended in an error",
    labels: ["resource"],
  },
  watchContactAge: {
    kind: "gauge",
    name: "podfit_watch_last_contact_age_seconds",
    help: "Time since the API server last reported on a resource; the longest of several lists",
    labels: ["resource"],
  },
  objectBytes: {
    kind: "gauge",
    name: "podfit_objects_bytes",
    help: "Bytes of autoscalers, ScaledObjects and TriggerAuthentications, of the 20 namespaces with most",
    labels: ["namespace"],
  },
  kubeletReads: {
    kind: "counter",
    name: "podfit_kubelet_reads_total",
    help: "Reads of a node's usage",
    labels: ["result"],
  },
  kubeletReadDuration: {
    kind: "histogram",
    name: "podfit_kubelet_read_duration_seconds",
    help: "Time that a read of a node's usage took",
    labels: [],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  },
  usageSkipped: {
    kind: "counter",
    name: "podfit_usage_skipped_total",
    help: "Figures in a node's usage that were skipped as malformed or implausible",
    labels: ["reason"],
  },
  usageSource: { kind: "gauge", name: "podfit_usage_source", help: "1 for the source in use", labels: ["source"] },
  nodesBySource: {
    kind: "gauge",
    name: "podfit_nodes_by_usage_source",
    help: "Nodes by the source that serves them, where there are several",
    labels: ["source"],
  },
  events: {
    kind: "counter",
    name: "podfit_events_total",
    help: "Kubernetes Events, by result",
    labels: ["result"],
  },
  trackedPods: { kind: "gauge", name: "podfit_tracked_pods", help: "Pods that are tracked", labels: [] },
  nodePollers: { kind: "gauge", name: "podfit_node_pollers", help: "Nodes that are polled", labels: [] },
  leading: {
    kind: "gauge",
    name: "leader_election_master_status",
    help: "1 while this process holds the Lease of that name, 0 while another may",
    labels: ["name"],
  },
  leaderTransitions: {
    kind: "counter",
    name: "podfit_leader_transitions_total",
    help: "How often this process has begun to lead",
    labels: [],
  },
  logLinesDropped: {
    kind: "counter",
    name: "podfit_log_lines_dropped_total",
    help: "Log lines that were dropped because the reader of the log was too slow",
    labels: [],
  },
} as const satisfies Record<string, FamilyRow>;

const TRIGGER = ["namespace", "metric", "scaledObject", "scaler", "triggerIndex", "type"] as const;

const OBJECT = ["namespace", "scaledObject"] as const;

const NAMED = ["namespace", "name"] as const;

/**
 * The families of ScaledObjects, by their name in the code. `keda_` families are those of KEDA
 * (pkg/metricscollector/prommetrics.go). They are on the page when there is a ScaledObject. Clauses: R93.
 */
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
    help: "Time that the last query for the trigger's metric took",
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
    help: "Replicas that the last evaluation computed",
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
  triggerWait: {
    kind: "histogram",
    name: "podfit_trigger_wait_seconds",
    help: "Time that queries of triggers waited for their turn, by the namespace of the ScaledObject",
    labels: ["namespace"],
    buckets: [0.01, 0.1, 1, 5, 15, 60],
  },
  deactivationsHeld: {
    kind: "gauge",
    name: "podfit_deactivations_held",
    help: "ScaledObjects that wait for their turn to go to zero, by --max-deactivations-per-minute",
    labels: [],
  },
  evaluation: {
    kind: "histogram",
    name: "podfit_replica_evaluation_seconds",
    help: "Time that one evaluation of a ScaledObject took, without its queries",
    labels: NAMED,
    ownerLabels: NAMED,
    buckets: [0.0001, 0.001, 0.005, 0.01, 0.05, 1],
  },
} as const satisfies Record<string, FamilyRow>;
