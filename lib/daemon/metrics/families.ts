/**
 * The table of all metric families: name, help, labels and buckets. Names, labels and buckets are public. Label values
 * come from object names or closed lists, so the number of series is bounded.
 */
import type { Entry } from "../../model/meanings/reasons.ts";
import { REFUSAL_REASONS, type RefusalReason } from "../../model/reasons.ts";

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

const BUG = "Read the log line, and report it: this is a defect of podfit.";

/** A family as docs/reference/metrics.md describes it. */
export interface DescribedFamily extends FamilyRow {
  /** What to do with it, and whether to alert, as whole sentences. */
  readonly use: string;
  /** Only if the name does not end in it. Default: a number of things. */
  readonly unit?: string;
}

/** The errors in `error_total` that are not refusals of a PATCH. */
export const ERROR_MEANINGS = {
  StatusWrite: {
    means: "the status of an object could not be written",
    act: "Check the right to patch the status of the kind that the log line names, such as " +
      "`podresourceautoscalers/status`, and the API server.",
    alert: "lasting",
  },
  MetricsUnavailable: {
    means: "a node's usage could not be read three times in a row",
    act: "See the condition `Metrics` of its autoscalers.",
    alert: "lasting",
  },
  StatusCompute: { means: "a status could not be computed", act: BUG, alert: "yes" },
  Evaluation: { means: "a pod could not be evaluated", act: BUG, alert: "yes" },
  NodeLoop: { means: "the loop of a node ended", act: BUG, alert: "yes" },
} as const satisfies Readonly<Record<string, Entry>>;

/** A value of the label `reason` of `error_total`. */
export type ErrorReason = RefusalReason | keyof typeof ERROR_MEANINGS;

/** The reasons in `error_total`: refusals of a PATCH, and other errors. Clauses: C44. */
export const ERROR_REASONS: readonly ErrorReason[] = [
  ...REFUSAL_REASONS,
  ...Object.keys(ERROR_MEANINGS) as (keyof typeof ERROR_MEANINGS)[],
];

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
    use: "To see where autoscalers are. No alert.",
    labels: ["namespace"],
  },
  scalingActive: {
    kind: "gauge",
    name: "kedify_agent_pra_scaling_active",
    help: "Autoscalers of a namespace inside lastScaleTime + cooldown",
    use: "To see how busy autoscalers are. No alert.",
    labels: ["namespace"],
  },
  active: {
    kind: "gauge",
    name: "kedify_agent_pod_resource_autoscaler_active",
    help: "1 while the autoscaler has a tracked pod, else 0",
    use: "0 for an autoscaler that should have pods: see its condition `Active`. No alert.",
    labels: ["namespace", "name"],
  },
  reconciles: {
    kind: "counter",
    name: "kedify_agent_pra_reconcile_count",
    help: "Reconciliations of autoscalers",
    use: "No growth means that no pod is sampled. No alert: use `podfit_kubelet_reads_total`.",
    labels: [],
  },
  resourceUpdates: {
    kind: "counter",
    name: "kedify_agent_pra_resource_updates",
    help: "Resizes sent and accepted",
    use: "To compare with `kedify_agent_pra_scale_blocked_total`. No alert.",
    labels: [],
  },
  errors: {
    kind: "counter",
    name: "kedify_agent_pra_error_total",
    help: "Errors, by reason",
    use: "Alert if Rights, StatusCompute, Evaluation or NodeLoop grow. The others pass.",
    labels: ["namespace", "reason"],
  },
  decisions: {
    kind: "counter",
    name: "kedify_agent_pra_scale_decisions_total",
    help: "Resource fields that a new sample should change, sent or blocked",
    use: "To see what usage asks for. No alert.",
    labels: PER_FIELD,
  },
  blocked: {
    kind: "counter",
    name: "kedify_agent_pra_scale_blocked_total",
    help: "Wanted resizes that did not happen, by reason",
    use: 'Alert if `reason="Rights"` grows for 15 minutes. See [reasons](reasons.md) for the others.',
    labels: ["namespace", "name", "reason"],
  },
  deltaAbsolute: {
    kind: "histogram",
    name: "kedify_agent_pra_scale_delta_absolute",
    help: "Size of a change, in millicores for cpu and MiB for memory",
    use: "To see how large resizes are. No alert.",
    unit: "millicores, MiB",
    labels: PER_FIELD,
    buckets: [10, 50, 100, 250, 500, 1000, 2000],
  },
  deltaPercent: {
    kind: "histogram",
    name: "kedify_agent_pra_scale_delta_percent",
    help: "Size of a change, in percent of the amount before",
    use: "Many small changes: a longer cooldown or wider thresholds help. No alert.",
    unit: "percent",
    labels: PER_FIELD,
    buckets: [1, 5, 10, 25, 50, 100, 200],
  },
  evaluation: {
    kind: "histogram",
    name: "kedify_agent_pra_evaluation_duration_seconds",
    help: "Time that one evaluation took",
    use: "If it grows, podfit needs more CPU. No alert.",
    labels: ["namespace", "name"],
    buckets: [0.0001, 0.001, 0.01, 0.1, 1],
  },
  timeToApply: {
    kind: "histogram",
    name: "kedify_agent_pra_time_to_apply_seconds",
    help: "Time from the request of a resize until the pod's status shows it",
    use: "Slow kubelets show here. Alert if most resizes take longer than a minute.",
    labels: ["namespace", "name", "direction"],
    buckets: [0.1, 0.5, 1, 5, 15, 60, 300],
  },
  limitedPods: {
    kind: "gauge",
    name: "podfit_limited_pods",
    help: "Pods that need more and are held, by reason",
    use: "Alert if it is above 0 for 15 minutes. The reason says what to change.",
    labels: ["namespace", "name", "reason"],
  },
  buildInfo: {
    kind: "gauge",
    name: "podfit_build_info",
    help: "1, with the versions and the commit of the build",
    use: "Alert if it is absent for 5 minutes: podfit does not run.",
    labels: ["version", "commit", "deno"],
  },
  cpu: {
    kind: "counter",
    name: "process_cpu_seconds_total",
    help: "CPU time of the process, user and system",
    use: "To set the CPU request of podfit. No alert.",
    labels: [],
  },
  residentMemory: {
    kind: "gauge",
    name: "process_resident_memory_bytes",
    help: "Resident memory of the process",
    use: "To set the memory request of podfit. Alert near its limit.",
    labels: [],
  },
  startTime: {
    kind: "gauge",
    name: "process_start_time_seconds",
    help: "When the process started, Unix time",
    use: "Alert if it changes more than 3 times in 30 minutes: podfit restarts.",
    labels: [],
  },
  heap: {
    kind: "gauge",
    name: "podfit_heap_bytes",
    help: "JavaScript heap in use",
    use: "To tell a growing heap from other memory. No alert.",
    labels: [],
  },
  loopBlock: {
    kind: "gauge",
    name: "podfit_loop_block_seconds",
    help: "Longest time since the last scrape that the event loop was blocked",
    use: "Alert if it stays above 2 seconds for minutes: podfit has too little CPU.",
    labels: [],
  },
  apiRequests: {
    kind: "counter",
    name: "podfit_api_requests_total",
    help: "Answers of the API server, by status code; code 0 when there was none",
    use: "Many codes 403, 429 or 500: rights, load or a broken webhook. No alert.",
    labels: ["verb", "resource", "code"],
  },
  watchEvents: {
    kind: "counter",
    name: "podfit_watch_events_total",
    help: "Watch events received",
    use: "To see which resource changes most. No alert.",
    labels: ["resource", "type"],
  },
  watchErrors: {
    kind: "counter",
    name: "podfit_watch_errors_total",
    help: "Watches that ended in an error",
    use: "If it grows steadily, see podfit's log. No alert: use the age below.",
    labels: ["resource"],
  },
  watchContactAge: {
    kind: "gauge",
    name: "podfit_watch_last_contact_age_seconds",
    help:
      "Time since the API server last reported on a resource, or since podfit's start; the longest of several lists",
    use: "Alert if it is above 300 for 2 minutes: podfit does nothing on a stale list.",
    labels: ["resource"],
  },
  objectBytes: {
    kind: "gauge",
    name: "podfit_objects_bytes",
    help: "Bytes of autoscalers, ScaledObjects and TriggerAuthentications, of the 20 namespaces with most",
    use: "To find a namespace near `--max-object-bytes-per-namespace`. No alert.",
    labels: ["namespace"],
  },
  kubeletReads: {
    kind: "counter",
    name: "podfit_kubelet_reads_total",
    help: "Reads of a node's usage",
    use: "Alert if more than half of the reads fail for 15 minutes. `result` names the kind of failure.",
    labels: ["result"],
  },
  kubeletReadDuration: {
    kind: "histogram",
    name: "podfit_kubelet_read_duration_seconds",
    help: "Time that a read of a node's usage took",
    use: "Slow nodes show here. No alert.",
    labels: [],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  },
  usageSkipped: {
    kind: "counter",
    name: "podfit_usage_skipped_total",
    help: "Figures in a node's usage that were skipped as malformed or implausible",
    use: "If it grows steadily, a kubelet reports impossible numbers. No alert.",
    labels: ["reason"],
  },
  usageSource: {
    kind: "gauge",
    name: "podfit_usage_source",
    help: "1 for the value of --stats-source",
    use: "If it is `auto`, see `podfit_nodes_by_usage_source`. No alert.",
    labels: ["source"],
  },
  nodesBySource: {
    kind: "gauge",
    name: "podfit_nodes_by_usage_source",
    help: "Nodes by the source that serves them, where there are several",
    use: "Nodes on a coarser source than others: see why their kubelet cannot be read. No alert.",
    labels: ["source"],
  },
  events: {
    kind: "counter",
    name: "podfit_events_total",
    help: "Kubernetes Events, by result",
    use: "failed: check the right to write events. dropped and rate_limited: there are too many. No alert.",
    labels: ["result"],
  },
  trackedPods: {
    kind: "gauge",
    name: "podfit_tracked_pods",
    help: "Pods that are tracked",
    use: "0 where pods should be tracked: see the conditions of autoscalers. No alert.",
    labels: [],
  },
  nodePollers: {
    kind: "gauge",
    name: "podfit_node_pollers",
    help: "Nodes that are polled",
    use: "Should equal the nodes with tracked pods. No alert.",
    labels: [],
  },
  leading: {
    kind: "gauge",
    name: "leader_election_master_status",
    help: "1 while this process holds the Lease of that name, 0 while another may",
    use: "Alert if no podfit has 1 for 5 minutes: nothing is resized.",
    labels: ["name"],
  },
  leaderTransitions: {
    kind: "counter",
    name: "podfit_leader_transitions_total",
    help: "How often this process has begun to lead",
    use: "If it grows often, podfit loses its Lease: check CPU and the API server. No alert.",
    labels: [],
  },
  logLinesDropped: {
    kind: "counter",
    name: "podfit_log_lines_dropped_total",
    help: "Log lines that were dropped because the reader of the log was too slow",
    use: "Above 0, the log has gaps. No alert.",
    labels: [],
  },
} as const satisfies Record<string, DescribedFamily>;

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
    use: "To see what starts a workload. No alert.",
    labels: TRIGGER,
    ownerLabels: OBJECT,
  },
  scalerValue: {
    kind: "gauge",
    name: "keda_scaler_metrics_value",
    help: "Value of the trigger's metric at its last evaluation",
    use: "To compare with the target. No alert.",
    unit: "the unit of the trigger's metric",
    labels: TRIGGER,
    ownerLabels: OBJECT,
  },
  scalerLatency: {
    kind: "gauge",
    name: "keda_scaler_metrics_latency_seconds",
    help: "Time that the last query for the trigger's metric took",
    use: "A slow source delays scaling. No alert.",
    labels: TRIGGER,
    ownerLabels: OBJECT,
  },
  scalerErrors: {
    kind: "counter",
    name: "keda_scaler_detail_errors_total",
    help: "Failed evaluations of a trigger",
    use: "Alert if it grows for 15 minutes: the trigger cannot be read.",
    labels: TRIGGER,
    ownerLabels: OBJECT,
  },
  paused: {
    kind: "gauge",
    name: "keda_scaled_object_paused",
    help: "1 while the ScaledObject is paused, else 0",
    use: "To find pauses that were forgotten. No alert.",
    labels: OBJECT,
    ownerLabels: OBJECT,
  },
  objectErrors: {
    kind: "counter",
    name: "keda_scaled_object_errors_total",
    help: "Errors of a ScaledObject, those of its triggers included",
    use: "Alert if it grows for 15 minutes. The conditions of the object have the error.",
    labels: OBJECT,
    ownerLabels: OBJECT,
  },
  emptyResponses: {
    kind: "counter",
    name: "keda_scaler_empty_upstream_responses_total",
    help: "Queries that were answered without a value",
    use: "If it grows, the query or its source may be wrong. No alert.",
    labels: ["namespace", "scaledResource", "triggerName", "metricName", "resourceType", "ignoreNullValues"],
    ownerLabels: ["namespace", "scaledResource"],
  },
  triggersRegistered: {
    kind: "gauge",
    name: "keda_trigger_registered_total",
    help: "Triggers of valid ScaledObjects, by type",
    use: "To see which triggers are used. No alert.",
    labels: ["type"],
  },
  resourcesRegistered: {
    kind: "gauge",
    name: "keda_resource_registered_total",
    help: "ScaledObjects in a namespace",
    use: "To see where ScaledObjects are. No alert.",
    labels: ["type", "namespace"],
  },
  loopLatency: {
    kind: "gauge",
    name: "keda_internal_scale_loop_latency_seconds",
    help: "How late the last poll of the ScaledObject began",
    use: "If it grows to many seconds, podfit or its sources are too slow. No alert.",
    labels: ["namespace", "type", "resource"],
    ownerLabels: ["namespace", "resource"],
  },
  current: {
    kind: "gauge",
    name: "podfit_replicas_current",
    help: "Replicas of the target when it was last evaluated",
    use: "To draw next to `podfit_replicas_desired`. No alert.",
    labels: NAMED,
    ownerLabels: NAMED,
  },
  desired: {
    kind: "gauge",
    name: "podfit_replicas_desired",
    help: "Replicas that the last evaluation computed",
    use: "To draw next to `podfit_replicas_current`. No alert.",
    labels: NAMED,
    ownerLabels: NAMED,
  },
  need: {
    kind: "gauge",
    name: "podfit_replicas_need",
    help: "Replicas that the metrics asked for last, before windows and limits",
    use: "Far above `podfit_replicas_desired` for long: a bound or a rate holds it. No alert.",
    labels: NAMED,
    ownerLabels: NAMED,
  },
  writes: {
    kind: "counter",
    name: "podfit_replica_writes_total",
    help: "Accepted writes of replicas",
    use: "Changes in both directions every minute: use a longer window. No alert.",
    labels: ["namespace", "name", "direction", "half"],
    ownerLabels: NAMED,
  },
  holds: {
    kind: "counter",
    name: "podfit_replica_holds_total",
    help: "Evaluations that left replicas as they were, by reason",
    use: 'Alert if `reason="Rights"` grows for 15 minutes. See [reasons](reasons.md) for the others.',
    labels: ["namespace", "name", "reason"],
    ownerLabels: NAMED,
  },
  triggerWait: {
    kind: "histogram",
    name: "podfit_trigger_wait_seconds",
    help: "Time that queries of triggers waited for their turn, by the namespace of the ScaledObject",
    use: "If it grows to seconds, the namespace has too many slow triggers. No alert.",
    labels: ["namespace"],
    buckets: [0.01, 0.1, 1, 5, 15, 60],
  },
  deactivationsHeld: {
    kind: "gauge",
    name: "podfit_deactivations_held",
    help: "ScaledObjects that wait for their turn to go to zero, by --max-deactivations-per-minute",
    use: "Alert if it stays above 0: a shared source of many triggers may have lost its data.",
    labels: [],
  },
  evaluation: {
    kind: "histogram",
    name: "podfit_replica_evaluation_seconds",
    help: "Time that one evaluation of a ScaledObject took, without its queries",
    use: "If it grows, podfit needs more CPU. No alert.",
    labels: NAMED,
    ownerLabels: NAMED,
    buckets: [0.0001, 0.001, 0.005, 0.01, 0.05, 1],
  },
} as const satisfies Record<string, DescribedFamily>;

type LabelOf<Families extends Readonly<Record<string, DescribedFamily>>> = Families[keyof Families]["labels"][number];

/** What each label says. */
export const LABEL_MEANINGS: Readonly<Record<LabelOf<typeof FAMILIES> | LabelOf<typeof REPLICA_FAMILIES>, string>> = {
  code: "status code of the HTTP answer",
  commit: "commit of the build",
  deno: "version of Deno",
  direction: "`up` or `down`",
  half: "what decided: `poll` the activation loop, `tick` the scaling loop, `paused` a pause, `restore` the end",
  ignoreNullValues: "the setting of the trigger",
  metric: "name of the trigger's metric",
  metricName: "name of the trigger's metric",
  name: "name of the object; of `leader_election_master_status` that of the Lease",
  namespace: "namespace of the object",
  reason: "a word of [reasons](reasons.md); of `podfit_usage_skipped_total` `implausible` or `malformed`",
  resource: "`cpu` or `memory`; for the API a plural such as `pods`; for KEDA's metrics the name of the object",
  resourceType: "`ScaledObject`",
  result: "`ok`, or the kind of failure",
  scaledObject: "name of the ScaledObject",
  scaledResource: "name of the ScaledObject",
  scaler: "name of the trigger, or KEDA's name for its type, such as `prometheusScaler`",
  side: "`requests` or `limits`",
  source: "`kubelet`, `proxy`, `cgroup` or `metrics-api`; in `podfit_usage_source` also `auto`",
  triggerIndex: "index of the trigger in the spec",
  triggerName: "name of the trigger in the spec",
  type: "type of the trigger, object or watch event",
  verb: "HTTP verb",
  version: "version of podfit",
};
