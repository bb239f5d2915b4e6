/**
 * A PodResourceAutoscaler after parsing: every default and override is resolved, so no decision checks a field again.
 *
 * The types are here because both decisions, the daemon and the commands use them. The parser is in
 * `lib/resources/pod_resource_autoscaler/`. Also: the request or limit that usage is compared with, and how long usage
 * may be absent.
 */
import type { RequestOrLimit, Resource, ResourceField, Resources } from "../units/resources.ts";
import type { Selector } from "../units/selector.ts";

/** What a resize does; the direction in which every changed field moves, and `lastScaleAction` of the status. */
export type Action = "scaleUp" | "scaleDown";

export type WorkloadKind = "deployment" | "daemonset" | "statefulset";

/** In `containerName`: every container and native sidecar of the pod. */
export const EVERY_CONTAINER = "*";

/** The name of a built-in policy. Values in the manifest override its values. */
export type ProfileName = "latency" | "balanced" | "thrifty";

/** Names of fields are those of the custom resource, with a unit; `crds/` describes them. */
export interface Autoscaler {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  readonly paused: boolean;
  readonly priority: number;
  /** Exactly one of target and selector is set. */
  readonly target: { readonly kind: WorkloadKind; readonly name: string } | null;
  readonly selector: Selector | null;
  readonly containerName: string;
  /**
   * Identifies an autoscaler within one pod: its uid. Where `containerName` was EVERY_CONTAINER, the container name is
   * added.
   */
  readonly key: string;
  /** `containerName` is EVERY_CONTAINER in the manifest: an exact name goes first at equal priority. */
  readonly isWildcard: boolean;
  /** Those that EVERY_CONTAINER leaves out. */
  readonly excludeContainers: readonly string[];
  readonly profile: ProfileName | null;
  /** `recommend`: everything is decided and nothing is resized. */
  readonly mode: "apply" | "recommend";
  /** `inherit`: a new pod gets the size of its siblings. */
  readonly newPods: "template" | "inherit";
  /** `resource`: a field that must grow and cannot blocks only the scale-downs of the same resource. */
  readonly veto: "all" | "resource";
  /** `raise`: the memory limit goes up at once after an OOM kill. */
  readonly oom: "raise" | "ignore";
  /** `measure`: CPU that a limit throttled counts as demand. */
  readonly throttling: "measure" | "ignore";
  /** Memory may be scaled down where that restarts the container. */
  readonly restartToShrink: boolean;
  /**
   * How many pods of a workload may be unavailable because resizes restart their containers; absent =
   * DEFAULT_MAX_UNAVAILABLE.
   */
  readonly maxUnavailable?: MaxUnavailable;
  readonly pollIntervalMs: number;
  readonly cooldownMs: number;
  readonly after: ResizeAfter;
  readonly delayMs: number;
  /** The managed fields in the order of RESOURCE_FIELDS; at least one. */
  readonly sides: readonly FieldPolicy[];
}

/** A number of pods, or a share of them in percent. */
export type MaxUnavailable =
  | { readonly kind: "pods"; readonly pods: number }
  | { readonly kind: "percent"; readonly percent: number };

/** When one resource field is resized, and to which size. */
export interface FieldPolicy {
  readonly key: ResourceField;
  readonly resource: Resource;
  readonly side: RequestOrLimit;
  readonly scaleUpThresholdPercent: number;
  readonly scaleDownThresholdPercent: number;
  readonly up: DirectionPolicy;
  readonly down: ScaleDownPolicy;
  /**
   * A cooldown was given for one direction: then a scale-up waits for the last scale-up only. Else both directions wait
   * for the last resize.
   */
  readonly hasOwnCooldowns: boolean;
  /** A profile manages the field only if the container has it. If not, nothing is reported as missing. */
  readonly isOptional: boolean;
  readonly bounds: Bounds;
}

/** What a field does in one direction: the value given for the direction, else the field's own, else the policy's. */
export interface DirectionPolicy {
  readonly consecutiveSamples: number;
  readonly cooldownMs: number;
  readonly targetUtilizationPercent: number;
}

/** The conditions of a scale-down in addition to its streak. */
export interface ScaleDownPolicy extends DirectionPolicy {
  /** How long usage must have been low, in ms; 0 = only the streak counts. */
  readonly windowMs: number;
  /** Used instead of the peak; `null` = the peak. CPU only. */
  readonly percentile: Percentile | null;
}

/** A percentile of samples. The weight of a sample halves with each half-life. */
export interface Percentile {
  /** 50 to 100. */
  readonly percent: number;
  readonly halfLifeMs: number;
}

/** The bounds of one field, in millicores or bytes; `null` for no bound. */
export interface Bounds {
  readonly min: number | null;
  readonly max: number | null;
  readonly step: number | null;
  readonly stepPercent: number | null;
}

/** Returns the `key` of an autoscaler for one container of EVERY_CONTAINER. */
export function toAutoscalerKey(uid: string, container: string): string {
  return `${uid}/${container}`;
}

/** Returns the key of an autoscaler's view of one of its containers. */
export function toViewKey({ isWildcard, uid, key }: Autoscaler, container: string): string {
  return isWildcard ? toAutoscalerKey(uid, container) : key;
}

/**
 * Returns the request or limit in force that usage is compared with; `null` if it is missing or zero.
 * Clauses: C37, C30, C31.
 */
export function findBaseline(rule: FieldPolicy, actual: Resources): number | null {
  return actual[rule.key] || null;
}

/** A sample that was first seen longer ago than this causes no resize, in ms. */
export const SILENCE_MS = 60_000;

/**
 * Returns how long usage may be absent before the streaks end, in ms. It is at least three poll intervals.
 * Clauses: C22.
 */
export function computeSilenceMs({ pollIntervalMs }: Pick<Autoscaler, "pollIntervalMs">): number {
  return Math.max(SILENCE_MS, 3 * pollIntervalMs);
}

/** The condition that a container or its pod must meet before a resize. Sampling does not wait for it. */
type ResizeAfter = "running" | "containerReady" | "podReady";
