/**
 * A valid ScaledObject: its target, bounds, behavior, fallback, formula and triggers, with every default filled in.
 *
 * Times are in ms. Amounts of metrics are in thousandths, as bigint. lib/resources/scaled_object makes these objects
 * out of the API's.
 */
import type { CronSchedule } from "../units/cron.ts";
import type { Selector } from "../units/selector.ts";
import type { Problem } from "../units/untrusted.ts";

/** One valid ScaledObject. */
export interface ScaledObject {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly generation: number;
  /** metadata.creationTimestamp, epoch ms: R53 and R78 go by it. */
  readonly createdAt: number;
  readonly target: Target;
  readonly pollIntervalMs: number;
  readonly cooldownMs: number;
  readonly initialCooldownMs: number;
  /** minReplicaCount. The scaling loop uses max(1, this). */
  readonly minReplicas: number;
  readonly maxReplicas: number;
  /** idleReplicaCount; `null` = not set. */
  readonly idleReplicas: number | null;
  readonly fallback: Fallback | null;
  readonly restoresReplicas: boolean;
  /** horizontalPodAutoscalerConfig.name: which HPA `transfersHpa` is about. */
  readonly hpaName: string | null;
  /** `null` if the manifest has none, which differs from an empty one. */
  readonly behavior: Behavior | null;
  /** `null` = the triggers count each for itself. */
  readonly formula: Formula | null;
  readonly triggers: readonly Trigger[];
  readonly annotations: Annotations;
}

/** spec.scaleTargetRef. */
export interface Target {
  /** `apps/v1` unless given. */
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  /**
   * envSourceContainerName, which podfit does not use: KEDA uses it for settings that end in FromEnv. `null` = not
   * given.
   */
  readonly envContainer: string | null;
}

/** The value of a trigger that has failed too often. */
export interface Fallback {
  /** Active once more failures in a row than this. */
  readonly failureThreshold: number;
  readonly replicas: number;
  readonly behavior: FallbackBehavior;
}

/** KEDA's names. */
export const FALLBACK_BEHAVIORS = [
  "static",
  "currentReplicas",
  "currentReplicasIfHigher",
  "currentReplicasIfLower",
  "scalingModifiers",
] as const;

export type FallbackBehavior = typeof FALLBACK_BEHAVIORS[number];

/** Settings given as annotations. */
export interface Annotations {
  /** autoscaling.keda.sh/paused or -replicas. */
  readonly isPaused: boolean;
  /** autoscaling.keda.sh/paused-replicas; `null` = not there. */
  readonly pausedReplicas: number | null;
  /** autoscaling.keda.sh/paused-scale-in and -scale-out. */
  readonly isScaleInPaused: boolean;
  readonly isScaleOutPaused: boolean;
  /** autoscaling.keda.sh/force-activation. */
  readonly isForcedActive: boolean;
  /** scaledobject.keda.sh/transfer-hpa-ownership. */
  readonly transfersHpa: boolean;
  /** validations.keda.sh/hpa-ownership is "true". */
  readonly ignoresHpas: boolean;
}

/**
 * A ScaledObject whose triggers KEDA measures, and whose replicas podfit sets (`--scaled-objects=selected`).
 * Clauses: M2, M4, M5.
 */
export interface Adoption {
  /** `autoscaling.keda.sh/paused: "true"`, and no annotation with which KEDA sets replicas. */
  readonly isKedaPaused: boolean;
  /** Identifies the triggers and the formula as they are now. */
  readonly triggersHash: string;
  /** `null` = the object has no record that can be used. */
  readonly record: AdoptionRecord | null;
  /** Why the annotation cannot be read as a record; `null` = it is one, or there is none. */
  readonly problem: string | null;
  /** A trigger is measured by KEDA, and nothing says what KEDA asks for it. */
  readonly lacksRecord: boolean;
  /** A trigger is measured by KEDA, and the record is that of other triggers. */
  readonly isStale: boolean;
}

/** What KEDA asks of each trigger, as its HPA had it (annotation `podfit.dev/keda-metrics`). Clauses: M4. */
export interface AdoptionRecord {
  /** `triggersHash` of the triggers that it was made for. */
  readonly triggers: string;
  readonly metrics: readonly AdoptedMetric[];
}

/** One metric of KEDA's HPA. */
export interface AdoptedMetric {
  /** The place in spec.triggers; `null` = the result of the formula. */
  readonly index: number | null;
  /** `s0-kafka-orders`. */
  readonly name: string;
  readonly metricType: MetricType;
  readonly targetMilli: bigint;
}

/** While an object has it, its deletion waits for podfit, or for KEDA where that runs. */
export const FINALIZER = "finalizer.keda.sh";

/** A ScaledObject as it was seen, valid or not. */
export interface ScaledObjectFacts {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly createdAt: number;
  /** metadata.deletionTimestamp is set. */
  readonly isDeleting: boolean;
  readonly finalizers: readonly string[];
  /** `null` if it is invalid: `problems` has the causes. */
  readonly scaledObject: ScaledObject | null;
  /** For an invalid object whose replicas are restored at its deletion: the target without triggers. */
  readonly restoring: ScaledObject | null;
  /** Of a valid object, those of single triggers, which fail for that. */
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  /** What the operator's limits have changed of it, for Ready's message. */
  readonly limited?: readonly string[];
  /** Paused, even if the rest is invalid. */
  readonly isPaused: boolean;
  /** `null` = KEDA has no part in it. */
  readonly adoption: Adoption | null;
  /** As the API server has it: of any shape. */
  readonly status: unknown;
}

export type Trigger = ResourceTrigger | ExternalTrigger;

interface CommonTrigger {
  /** Its place in spec.triggers. */
  readonly index: number;
  /** As given; `null` without one. */
  readonly name: string | null;
}

/** CPU or memory of the target's pods, relative to their requests or as an average. */
export interface ResourceTrigger extends CommonTrigger {
  readonly kind: "resource";
  readonly type: "cpu" | "memory";
  /** KEP-1610's container; `null` = the pod as a whole. */
  readonly container: string | null;
  readonly target: ResourceTarget;
  /** metadata.baseline; `null` = not given. */
  readonly baseline: Baseline | null;
}

export type ResourceTarget =
  | { readonly kind: "Utilization"; readonly percent: number }
  /** Thousandths of a core or byte, per pod. */
  | { readonly kind: "AverageValue"; readonly milli: bigint };

/** The request that usage is compared with: a fixed amount, the initial request of the pod, or its request in force. */
export type Baseline = { readonly kind: "amount"; readonly milli: bigint } | { readonly kind: "initial" | "live" };

/** A value that is asked for elsewhere. */
export interface ExternalTrigger extends CommonTrigger {
  readonly kind: "external";
  /** One of `EXTERNAL_TYPES`, or another one of KEDA's if KEDA measures it. */
  readonly type: string;
  /** `s0-prometheus` and the like. */
  readonly metricName: string;
  readonly metricType: MetricType;
  /** Rounded, never below 1; `null` only if a formula has a target itself. */
  readonly targetMilli: bigint | null;
  /** Active strictly above this. */
  readonly activation: number;
  /** useCachedMetrics. */
  readonly isCached: boolean;
  /** KEDA has the same metric: it is asked where podfit cannot use the authentication. */
  readonly isServedByKeda: boolean;
  readonly source: TriggerSource;
  readonly authentication: AuthenticationRef | null;
}

/** The metric of a formula (status.compositeScalerName). */
export const COMPOSITE_METRIC_NAME = "composite-metric";

/** The metrics of an HPA that are not about CPU and memory: `Pods`, `Object` and `External`. Clauses: M17. */
export const METRIC_TYPES = ["pods-metric", "object-metric", "external-metric"] as const;

export type MetricsApiType = typeof METRIC_TYPES[number];

export const EXTERNAL_TYPES = [
  "cron",
  "kubernetes-resource",
  "kubernetes-workload",
  "metrics-api",
  "prometheus",
  ...METRIC_TYPES,
] as const;

export type ExternalType = typeof EXTERNAL_TYPES[number];

/** triggers[].authenticationRef. */
export interface AuthenticationRef {
  readonly kind: "TriggerAuthentication" | "ClusterTriggerAuthentication";
  readonly name: string;
}

/** Where the value comes from. What may be given by a TriggerAuthentication as well is `null` where the metadata has it not. */
export type TriggerSource =
  | CronSource
  | WorkloadSource
  | ObjectSource
  | MetricsApiSource
  | PrometheusSource
  | KedaSource
  | MetricSource
  | InvalidSource;

/** There is no value, because the trigger has a mistake: it fails each time. Clauses: R4. */
interface InvalidSource {
  readonly kind: "invalid";
  /** With its path. */
  readonly problem: string;
}

/** The value is a metric of custom.metrics.k8s.io or external.metrics.k8s.io, as an HPA has it. Clauses: M17. */
export interface MetricSource {
  readonly kind: "metric";
  /** As the API has it. */
  readonly metric: string;
  /** Of the metric, as `kubectl -l` has it; empty = none. */
  readonly selector: string;
  readonly of:
    | { readonly kind: "external" }
    /** The pods of the target. */
    | { readonly kind: "pods" }
    /** In the namespace of the ScaledObject; a Namespace is always that one. */
    | { readonly kind: "object"; readonly apiVersion: string; readonly objectKind: string; readonly name: string };
}

/** The value is KEDA's, through external.metrics.k8s.io. Clauses: M10, M11. */
export interface KedaSource {
  readonly kind: "keda";
  /** Of the ScaledObject: KEDA's metrics have it as a label. */
  readonly object: string;
  /** Why KEDA cannot be asked; `null` = it can. */
  readonly problem: string | null;
}

/** R11: desiredReplicas from start until end, else 0; the target is 1. */
interface CronSource {
  readonly kind: "cron";
  /** An IANA name that the runtime accepts. */
  readonly timezone: string;
  readonly start: CronSchedule;
  readonly end: CronSchedule;
  readonly desiredReplicas: number;
}

/** R12: how many pods, or nodes of pods. */
interface WorkloadSource {
  readonly kind: "kubernetes-workload";
  readonly selector: Selector;
  readonly isByNode: boolean;
}

/** R97: a number in a key of one object of the namespace. */
export interface ObjectSource {
  readonly kind: "kubernetes-resource";
  readonly objectKind: "ConfigMap" | "Secret";
  readonly name: string;
  readonly key: string;
  readonly format: "number" | "json" | "yaml";
  /** Empty for the format `number`. */
  readonly valueLocation: string;
  readonly valueType: "float64" | "int64" | "quantity";
}

/** R13. */
export interface MetricsApiSource extends HttpSource {
  readonly kind: "metrics-api";
  readonly url: string;
  /** As written, and checked against `format`. */
  readonly valueLocation: string;
  readonly format: "json" | "prometheus" | "yaml";
  /** How the key is sent, and by which name; `null` = by TriggerAuthentication, or the default. */
  readonly method: "header" | "query" | null;
  readonly keyParamName: string | null;
  readonly apiKey: string | null;
  /** What becomes of the values of all endpoints of the Service that the URL names; `null` = the URL itself is asked. */
  readonly aggregation: Aggregation | null;
}

export const AGGREGATIONS = ["average", "sum", "max", "min"] as const;

export type Aggregation = typeof AGGREGATIONS[number];

/** R14. */
export interface PrometheusSource extends HttpSource {
  readonly kind: "prometheus";
  readonly serverAddress: string;
  readonly query: string;
  readonly namespace: string | null;
  readonly queryParameters: readonly (readonly [name: string, value: string])[];
  readonly customHeaders: readonly (readonly [name: string, value: string])[];
  readonly ignoresNullValues: boolean;
  /** The manifest has ignoreNullValues: what an empty answer means is not podfit's choice. */
  readonly hasNullRule: boolean;
}

interface HttpSource {
  /** Which of them the metadata asks for; `null` = the TriggerAuthentication may. */
  readonly authModes: readonly AuthMode[] | null;
  readonly isTlsUnverified: boolean;
  /** 3 s unless given. */
  readonly timeoutMs: number;
}

export type AuthMode = "apiKey" | "basic" | "bearer" | "custom" | "oauth";

/** Returns whether podfit counts failures of the trigger and replaces its value: for KEDA's, KEDA does. Clauses: M13. */
export function hasOwnFallback({ source }: Pick<ExternalTrigger, "source">): boolean {
  return source.kind !== "keda";
}

/** Returns whether an empty answer of the trigger may mean that its metric is missing, and not zero. Clauses: R58. */
export function doubtsEmptyAnswers({ source }: Pick<ExternalTrigger, "source">): boolean {
  return source.kind === "prometheus" && !source.hasNullRule;
}

/**
 * Returns whether the activation loop's values are used: it can change replicas, the scaling loop takes its values, or a
 * formula is computed from them. Otherwise pollingInterval has no effect, as in KEDA. Clauses: R8.
 */
export function isPolled({ minReplicas, idleReplicas, formula, triggers }: ScaledObject): boolean {
  if (minReplicas === 0 || idleReplicas !== null || formula !== null) return true;
  return listExternalTriggers({ triggers }).some(({ isCached }) => isCached);
}

/** Returns what is wrong with single triggers, each with its path. Clauses: R4. */
export function listMistakes({ triggers }: Pick<ScaledObject, "triggers">): readonly string[] {
  return triggers.flatMap((one) =>
    one.kind === "external" && one.source.kind === "invalid" ? [one.source.problem] : []
  );
}

/** Returns the triggers whose value comes from outside the cluster. */
export function listExternalTriggers({ triggers }: Pick<ScaledObject, "triggers">): readonly ExternalTrigger[] {
  return triggers.filter((trigger) => trigger.kind === "external");
}

/** Returns the triggers that read the target's pods. */
export function listResourceTriggers({ triggers }: Pick<ScaledObject, "triggers">): readonly ResourceTrigger[] {
  return triggers.filter((trigger) => trigger.kind === "resource");
}

/** Both directions: where one is given, the other one is filled in whole. */
export interface Behavior {
  readonly scaleUp: ScalingRules;
  readonly scaleDown: ScalingRules;
}

/** One direction. */
export interface ScalingRules {
  /** stabilizationWindowSeconds. */
  readonly windowMs: number;
  readonly select: "Max" | "Min" | "Disabled";
  readonly policies: readonly ScalingPolicy[];
  /** As a double, as Go's AsApproximateFloat64 gives it; `null` = not given: 0.1. */
  readonly tolerance: number | null;
}

/** How much may change within a period. */
export interface ScalingPolicy {
  readonly type: "Pods" | "Percent";
  readonly value: number;
  readonly periodMs: number;
}

const PERIOD_MS = 15_000;

const ALL_AT_ONCE: ScalingPolicy = { type: "Percent", value: 100, periodMs: PERIOD_MS };

/** The API server's default for an empty `behavior`. */
export const DEFAULT_BEHAVIOR: Behavior = {
  scaleUp: {
    windowMs: 0,
    select: "Max",
    policies: [{ type: "Pods", value: 4, periodMs: PERIOD_MS }, ALL_AT_ONCE],
    tolerance: null,
  },
  scaleDown: { windowMs: 300_000, select: "Max", policies: [ALL_AT_ONCE], tolerance: null },
};

/** A formula that compiles, with its target. */
export interface Formula {
  readonly text: string;
  readonly program: Program;
  /** The text of `target` as a double. Values are compared with `targetMilli`. */
  readonly target: number;
  /** trunc(1000 * target), never below 1. */
  readonly targetMilli: bigint;
  /** 0 unless given. */
  readonly activationTarget: number;
  readonly metricType: MetricType;
}

/** How a value of an external metric is compared with its target: by pod, or as a whole. */
export type MetricType = "AverageValue" | "Value";

/** A program that can be run any number of times. Holds no state. */
export interface Program {
  /** The names that it uses and does not define, each once, in the order of their first use. */
  readonly names: readonly string[];
  /** Never throws. `null` is nil, for a trigger that has failed. */
  readonly run: (values: Readonly<Record<string, number | null>>) => ProgramResult;
}

/** A double (integers are converted at the end), nil, or why the number is missing. */
export type ProgramResult =
  | { readonly kind: "number"; readonly value: number }
  | { readonly kind: "nil" }
  | { readonly kind: "error"; readonly message: string };

/** Returns the target as text: `apps/v1.Deployment shop/web`. Clauses: R76, R92. */
export function formatTarget({ namespace, name, scaledObject }: ScaledObjectFacts): string {
  if (scaledObject === null) return `target of ${namespace}/${name}`;
  return `${formatTargetKind(scaledObject.target)} ${namespace}/${scaledObject.target.name}`;
}

/**
 * Returns the text of `apps/v1.Deployment`, as in status.scaleTargetKind; for the core group
 * `/v1.ReplicationController`.
 */
export function formatTargetKind({ apiVersion, kind }: Pick<Target, "apiVersion" | "kind">): string {
  const { group, version } = splitApiVersion(apiVersion);
  return `${group}/${version}.${kind}`;
}

/** Splits `apps/v1` into both parts; `v1` has no group. */
export function splitApiVersion(apiVersion: string): { readonly group: string; readonly version: string } {
  const slash = apiVersion.indexOf("/");
  return { group: apiVersion.slice(0, Math.max(0, slash)), version: apiVersion.slice(slash + 1) };
}
