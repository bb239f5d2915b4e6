/**
 * A course: an HPA, and tick by tick what its controller sees. The JSON is that of tests/cluster/replicas (Go), so that one text is run by the
 * real controller and by podfit's tick half. What podfit alone reads of it is said there. Times are ms since the course's start.
 */

/** Where a course's time starts, epoch ms. */
export const EPOCH = Date.UTC(2026, 0, 1);

export interface Course {
  readonly id: string;
  readonly spec: HpaSpec;
  /** Of the scale at the start. */
  readonly replicas: number;
  readonly ticks: readonly CourseTick[];
}

/** spec of autoscaling/v2, as far as it is used. */
export interface HpaSpec {
  readonly minReplicas?: number;
  readonly maxReplicas: number;
  readonly metrics: readonly HpaMetric[];
  readonly behavior?: { readonly scaleUp?: HpaRules; readonly scaleDown?: HpaRules };
}

export interface HpaRules {
  readonly stabilizationWindowSeconds?: number;
  readonly selectPolicy?: "Max" | "Min" | "Disabled";
  readonly policies?: readonly HpaPolicy[];
  /** A quantity. */
  readonly tolerance?: string;
}

export interface HpaPolicy {
  readonly type: "Pods" | "Percent";
  readonly value: number;
  readonly periodSeconds: number;
}

export type HpaMetric =
  | { readonly type: "Resource"; readonly resource: { readonly name: "cpu" | "memory"; readonly target: HpaTarget } }
  | {
    readonly type: "ContainerResource";
    readonly containerResource: {
      readonly name: "cpu" | "memory";
      readonly container: string;
      readonly target: HpaTarget;
    };
  }
  | {
    readonly type: "External";
    readonly external: { readonly metric: HpaMetricName; readonly target: HpaTarget };
  }
  | { readonly type: "Pods"; readonly pods: { readonly metric: HpaMetricName; readonly target: HpaTarget } }
  | {
    readonly type: "Object";
    readonly object: {
      readonly metric: HpaMetricName;
      readonly describedObject: HpaObject;
      readonly target: HpaTarget;
    };
  };

/** A metric of podfit's own triggers pods-metric, object-metric and external-metric, which is asked for. */
export type AskedMetric = Extract<HpaMetric, { readonly type: "Pods" | "Object" | "External" }>;

export interface HpaMetricName {
  readonly name: string;
  readonly selector?: HpaSelector;
  /** The selector as a trigger has it, which podfit alone reads; absent = the metric is not asked for. */
  readonly text?: string;
}

export interface HpaSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: "In" | "NotIn" | "Exists" | "DoesNotExist";
    readonly values?: readonly string[];
  }[];
}

export interface HpaObject {
  readonly apiVersion?: string;
  readonly kind: string;
  readonly name: string;
}

/** Returns the target of a metric of any type. */
export function targetOf(metric: HpaMetric): HpaTarget {
  switch (metric.type) {
    case "Resource":
      return metric.resource.target;
    case "ContainerResource":
      return metric.containerResource.target;
    case "External":
      return metric.external.target;
    case "Pods":
      return metric.pods.target;
    case "Object":
      return metric.object.target;
  }
}

/** Returns the name of a metric that both halves ask the metrics APIs for; `null` for one whose value a course has. */
export function askedOf(metric: HpaMetric): HpaMetricName | null {
  switch (metric.type) {
    case "Resource":
    case "ContainerResource":
      return null;
    case "External":
      return metric.external.metric.text === undefined ? null : metric.external.metric;
    case "Pods":
      return metric.pods.metric;
    case "Object":
      return metric.object.metric;
  }
}

export type HpaTarget =
  | { readonly type: "Utilization"; readonly averageUtilization: number }
  | { readonly type: "AverageValue"; readonly averageValue: string }
  | { readonly type: "Value"; readonly value: string };

export interface CourseTick {
  readonly at: number;
  /** Written by somebody else meanwhile. */
  readonly replicas?: number;
  /** scale.status.replicas; spec's without it. */
  readonly status?: number;
  /** The API server takes no write. */
  readonly refused?: true;
  /** From here on. */
  readonly spec?: HpaSpec;
  readonly pods: readonly CoursePod[];
  /** By resource or resource/container, then by pod, in thousandths; a resource that is not there is an error. */
  readonly usage: Readonly<Record<string, Readonly<Record<string, Sample>>>>;
  /** By metric, in thousandths; one that is not there is asked for. */
  readonly external: Readonly<Record<string, readonly number[]>>;
  /** What the metrics APIs answer, by path and query; a question that is not there has the answer 404. */
  readonly answers?: Readonly<Record<string, unknown>>;
  /**
   * Answers that podfit alone gets, and the controller a 404 in their place: the contract says that they are failures,
   * though the controller would count them (M23).
   */
  readonly refusedAnswers?: Readonly<Record<string, unknown>>;
}

export interface Sample {
  readonly value: number;
  readonly at: number;
  readonly window: number;
}

export interface CoursePod {
  readonly name: string;
  readonly phase: "Running" | "Pending" | "Failed" | "Succeeded";
  readonly deleting?: true;
  readonly start?: number;
  /** Absent = no condition. */
  readonly ready?: "True" | "False" | "Unknown";
  readonly readyAt: number;
  readonly containers: readonly CourseContainer[];
  readonly init?: readonly CourseContainer[];
  readonly resources?: { readonly requests: Readonly<Record<string, string>> };
  readonly overhead?: Readonly<Record<string, string>>;
}

export interface CourseContainer {
  readonly name: string;
  readonly image: "i";
  readonly restartPolicy?: "Always";
  readonly resources: { readonly requests: Readonly<Record<string, string>> };
}

/** What was done in a course. */
export interface CourseResult {
  readonly id: string;
  readonly ticks: readonly TickResult[];
}

export interface TickResult {
  readonly after: number;
  readonly wrote: boolean;
  /** The HPA's, as Status/Reason: AbleToScale, ScalingActive, ScalingLimited. */
  readonly conditions: Readonly<Record<string, string>>;
}
