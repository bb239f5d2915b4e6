/**
 * A valid ScaledObject: its target, bounds, behavior, fallback, formula and triggers, with every default filled in.
 *
 * Times are in ms. Amounts of metrics are in thousandths, as bigint. lib/resources/scaled_object makes these objects
 * out of the API's.
 */
import type { CronSchedule } from "../units/cron.ts";
import type { Selector } from "../units/selector.ts";
import type { Problem } from "../units/untrusted.ts";

// A ScaledObject as the rest of podfit knows it: valid, with every default filled in, times in ms (R2).
// `parse_scaled_object.ts` makes it out of the API's object and its annotations; what is invalid never gets here.

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
  /** minReplicaCount; the tick half's own is max(1, this). */
  readonly minReplicas: number;
  readonly maxReplicas: number;
  /** idleReplicaCount; `null` = not set. */
  readonly idleReplicas: number | null;
  readonly fallback: Fallback | null;
  readonly restoresReplicas: boolean;
  /** horizontalPodAutoscalerConfig.name: which HPA `transfersHpa` is about (R76). */
  readonly hpaName: string | null;
  /** `null` when the manifest has none at all, which is not the same as an empty one (R41). Without what R56 makes of it. */
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
  /** envSourceContainerName, which nothing here reads: KEDA does for settings that end in FromEnv. `null` = not given. */
  readonly envContainer: string | null;
}

/** What stands for the value of a trigger that has failed too often (R70, R71). */
export interface Fallback {
  /** Active once more failures in a row than this. */
  readonly failureThreshold: number;
  readonly replicas: number;
  readonly behavior: FallbackBehavior;
}

/** In KEDA's words. */
export const FALLBACK_BEHAVIORS = [
  "static",
  "currentReplicas",
  "currentReplicasIfHigher",
  "currentReplicasIfLower",
  "scalingModifiers",
] as const;

export type FallbackBehavior = typeof FALLBACK_BEHAVIORS[number];

/** What people steer by annotation. */
export interface Annotations {
  /** autoscaling.keda.sh/paused or -replicas (R55). */
  readonly isPaused: boolean;
  /** autoscaling.keda.sh/paused-replicas; `null` = not there. */
  readonly pausedReplicas: number | null;
  /** autoscaling.keda.sh/paused-scale-in and -scale-out (R56). */
  readonly isScaleInPaused: boolean;
  readonly isScaleOutPaused: boolean;
  /** autoscaling.keda.sh/force-activation (R51). */
  readonly isForcedActive: boolean;
  /** scaledobject.keda.sh/transfer-hpa-ownership (R76). */
  readonly transfersHpa: boolean;
  /** validations.keda.sh/hpa-ownership is "true" (R77). */
  readonly ignoresHpas: boolean;
}

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
  /** `null` when it is invalid: then `problems` says why. */
  readonly scaledObject: ScaledObject | null;
  /** Of an invalid one whose replicas are to be restored when it is deleted (R57): its target, and no trigger. */
  readonly restoring: ScaledObject | null;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  /** What the operator's limits have changed of it, for Ready's message. */
  readonly limited?: readonly string[];
  /** Paused, even where the rest is invalid (R55). */
  readonly isPaused: boolean;
  /** As the API server has it: of any shape. */
  readonly status: unknown;
}

// What a ScaledObject scales by: its triggers, each of one kind (R10 to R18). Amounts of metrics are in thousandths
// ("milli"), as bigint.

export type Trigger = ResourceTrigger | ExternalTrigger;

interface CommonTrigger {
  /** Its place in spec.triggers. */
  readonly index: number;
  /** As given; `null` without one. */
  readonly name: string | null;
}

/** CPU or memory of the target's pods, in relation to what they ask for or as an average (R10). */
export interface ResourceTrigger extends CommonTrigger {
  readonly kind: "resource";
  readonly type: "cpu" | "memory";
  /** KEP-1610's container; `null` = the pod as a whole. */
  readonly container: string | null;
  readonly target: ResourceTarget;
  /** metadata.baseline (R82); `null` = not given. */
  readonly baseline: Baseline | null;
}

export type ResourceTarget =
  | { readonly kind: "Utilization"; readonly percent: number }
  /** Thousandths of a core or byte, per pod. */
  | { readonly kind: "AverageValue"; readonly milli: bigint };

/** What a coupled trigger takes for a pod's request: that amount, the one it was born with, or the one it has. */
export type Baseline = { readonly kind: "amount"; readonly milli: bigint } | { readonly kind: "born" | "live" };

/** A value that is asked for elsewhere. */
export interface ExternalTrigger extends CommonTrigger {
  readonly kind: "external";
  readonly type: ExternalType;
  /** `s0-prometheus` and the like (R18). */
  readonly metricName: string;
  readonly metricType: MetricType;
  /** Rounded as R17 has it, never below 1; `null` only where a formula has a target of its own (R60). */
  readonly targetMilli: bigint | null;
  /** Active strictly above this. */
  readonly activation: number;
  /** useCachedMetrics (R19). */
  readonly isCached: boolean;
  readonly source: TriggerSource;
  readonly authentication: AuthenticationRef | null;
}

export const EXTERNAL_TYPES = ["cron", "kubernetes-workload", "metrics-api", "prometheus"] as const;

export type ExternalType = typeof EXTERNAL_TYPES[number];

/** triggers[].authenticationRef (R16). */
export interface AuthenticationRef {
  readonly kind: "TriggerAuthentication" | "ClusterTriggerAuthentication";
  readonly name: string;
}

/** Where the value comes from. What may be given by a TriggerAuthentication as well is `null` where the metadata has it not. */
export type TriggerSource = CronSource | WorkloadSource | MetricsApiSource | PrometheusSource;

/** R11: desiredReplicas from start until end, else 0; the target is 1. */
interface CronSource {
  readonly kind: "cron";
  /** An IANA name that this runtime knows. */
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

/** R13. */
export interface MetricsApiSource extends HttpSource {
  readonly kind: "metrics-api";
  readonly url: string;
  /** As written, and checked against `formatResizes`. */
  readonly valueLocation: string;
  readonly format: "json" | "prometheus" | "yaml";
  /** How the key is sent, and by which name; `null` = by TriggerAuthentication, or the default. */
  readonly method: "header" | "query" | null;
  readonly keyParamName: string | null;
  readonly apiKey: string | null;
}

/** R14. */
export interface PrometheusSource extends HttpSource {
  readonly kind: "prometheus";
  readonly serverAddress: string;
  readonly query: string;
  readonly namespace: string | null;
  readonly queryParameters: readonly (readonly [name: string, value: string])[];
  readonly customHeaders: readonly (readonly [name: string, value: string])[];
  readonly ignoresNullValues: boolean;
}

interface HttpSource {
  /** Which of them the metadata asks for; `null` = the TriggerAuthentication may. */
  readonly authModes: readonly AuthMode[] | null;
  readonly isTlsUnverified: boolean;
  /** 3 s unless given. */
  readonly timeoutMs: number;
}

export type AuthMode = "apiKey" | "basic" | "bearer" | "custom";

// The triggers of a ScaledObject by kind, in the order of the manifest.

/** Those whose value is asked for elsewhere. */
export function listExternalTriggers({ triggers }: Pick<ScaledObject, "triggers">): readonly ExternalTrigger[] {
  return triggers.filter((trigger) => trigger.kind === "external");
}

/** Those that look at pods. */
export function listResourceTriggers({ triggers }: Pick<ScaledObject, "triggers">): readonly ResourceTrigger[] {
  return triggers.filter((trigger) => trigger.kind === "resource");
}

// How fast replicas may follow the metrics, with every field filled in as the API server fills them in (R5).
// https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/#configurable-scaling-behavior

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

/** What the API server fills in for a `behavior` that says nothing (R5). */
export const DEFAULT_BEHAVIOR: Behavior = {
  scaleUp: {
    windowMs: 0,
    select: "Max",
    policies: [{ type: "Pods", value: 4, periodMs: PERIOD_MS }, ALL_AT_ONCE],
    tolerance: null,
  },
  scaleDown: { windowMs: 300_000, select: "Max", policies: [ALL_AT_ONCE], tolerance: null },
};

// advanced.scalingModifiers: one value computed from those of the external triggers (R60 to R63).

/** A formula that compiles, with its target. */
export interface Formula {
  readonly text: string;
  readonly program: Program;
  /** The text of `target` as a double; what it is compared with is `targetMilli`. */
  readonly target: number;
  /** trunc(1000 * target), never below 1. */
  readonly targetMilli: bigint;
  /** 0 unless given. */
  readonly activationTarget: number;
  readonly metricType: MetricType;
}

/** How a value of an external metric is compared with its target: by pod, or as a whole. */
export type MetricType = "AverageValue" | "Value";

// A compiled formula: the numeric part of the language of github.com/expr-lang/expr 1.17.8 (R62).

/** A program that can be run any number of times. Holds no state. */
export interface Program {
  /** The names that it uses and does not define, each once, in the order of their first use. */
  readonly names: readonly string[];
  /** Never throws. `null` stands for nil: of a trigger that has failed (R71). */
  readonly run: (values: Readonly<Record<string, number | null>>) => ProgramResult;
}

/** A double (integers of the language are converted last), nil, or why there is no number. */
export type ProgramResult =
  | { readonly kind: "number"; readonly value: number }
  | { readonly kind: "nil" }
  | { readonly kind: "error"; readonly message: string };

// The words of events on ScaledObjects, KEDA's where it has them (R76, R92).

/** `apps/v1.Deployment shop/web`. */
export function formatTarget({ namespace, name, scaledObject }: ScaledObjectFacts): string {
  if (scaledObject === null) return `target of ${namespace}/${name}`;
  return `${formatTargetKind(scaledObject.target)} ${namespace}/${scaledObject.target.name}`;
}

/** `apps/v1.Deployment`, as status.scaleTargetKind has it; of the core group `/v1.ReplicationController`. */
export function formatTargetKind({ apiVersion, kind }: Pick<Target, "apiVersion" | "kind">): string {
  const { group, version } = splitApiVersion(apiVersion);
  return `${group}/${version}.${kind}`;
}

/** `apps/v1` has both, `v1` no group. */
export function splitApiVersion(apiVersion: string): { readonly group: string; readonly version: string } {
  const slash = apiVersion.indexOf("/");
  return { group: apiVersion.slice(0, Math.max(0, slash)), version: apiVersion.slice(slash + 1) };
}
