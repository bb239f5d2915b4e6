/** What a ScaledObject scales by: its triggers, each of one kind (R10 to R18). Amounts of metrics are in thousandths ("milli"), as bigint. */
import type { CronSchedule } from "../units/cron.ts";
import type { Selector } from "../units/selector.ts";
import type { MetricType } from "./formula.ts";

export type Trigger = ResourceTrigger | ExternalTrigger;

interface Common {
  /** Its place in spec.triggers. */
  readonly index: number;
  /** As given; `null` without one. */
  readonly name: string | null;
}

/** CPU or memory of the target's pods, in relation to what they ask for or as an average (R10). */
export interface ResourceTrigger extends Common {
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
export interface ExternalTrigger extends Common {
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
  readonly source: Source;
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
export type Source = CronSource | WorkloadSource | MetricsApiSource | PrometheusSource;

/** R11: desiredReplicas from start until end, else 0; the target is 1. */
export interface CronSource {
  readonly kind: "cron";
  /** An IANA name that this runtime knows. */
  readonly timezone: string;
  readonly start: CronSchedule;
  readonly end: CronSchedule;
  readonly desiredReplicas: number;
}

/** R12: how many pods, or nodes of pods. */
export interface WorkloadSource {
  readonly kind: "kubernetes-workload";
  readonly selector: Selector;
  readonly isByNode: boolean;
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
