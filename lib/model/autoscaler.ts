/**
 * A PodResourceAutoscaler after parsing: every default and override is resolved, so no decision checks a field again.
 *
 * The types are here because both decisions, the daemon and the commands use them. The parser is in
 * `lib/resources/pod_resource_autoscaler/`. Also: the request or limit that usage is compared with, and how long usage
 * may be absent.
 */
import type { RequestOrLimit, Resource, ResourceField, Resources } from "../units/resources.ts";
import type { Selector } from "../units/selector.ts";

// An autoscaler with every field parsed and every default and override resolved. `parse_autoscaler.ts` makes it of the
// custom resource and refuses what is invalid, so nobody checks it again.

/** What a resize does; the direction in which every changed side moves, and `lastScaleAction` of the status. */
export type Action = "scaleUp" | "scaleDown";

export type WorkloadKind = "deployment" | "daemonset" | "statefulset";

/** Stands for every container and native sidecar of a pod, in `containerName`. */
export const EVERY_CONTAINER = "*";

/** A policy under one word (L50); what the manifest gives overrides it. */
export type ProfileName = "latency" | "balanced" | "thrifty";

/** Names of fields are those of the custom resource, with a unit; `crds/` describes them. */
export interface Autoscaler {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  readonly paused: boolean;
  readonly priority: number;
  /** Exactly one of target and selector is set (C2). */
  readonly target: { readonly kind: WorkloadKind; readonly name: string } | null;
  readonly selector: Selector | null;
  readonly containerName: string;
  /**
   * Tells contenders of one pod apart: the uid, and where `containerName` was EVERY_CONTAINER, the container that this
   * one stands for as well.
   */
  readonly key: string;
  /** `containerName` is EVERY_CONTAINER in the manifest: an exact name goes first at equal priority (L50). */
  readonly isWildcard: boolean;
  /** Those that EVERY_CONTAINER leaves out. */
  readonly excludeContainers: readonly string[];
  readonly profile: ProfileName | null;
  /** `computeTargetSize`: everything is decided and nothing resized (L51). */
  readonly mode: "apply" | "recommend";
  /** `inherit`: a new pod gets the size of its siblings (L40). */
  readonly newPods: "template" | "inherit";
  /** `resource`: a side that wants up and cannot holds its own resource only (L34). */
  readonly veto: "all" | "resource";
  /** What an OOM kill does beside being told of: `raiseToMinimum` = the limit goes up at once (L11). */
  readonly oom: "raise" | "ignore";
  /** `measure`: CPU that a limit has held back counts as demand (L21). */
  readonly throttling: "measure" | "ignore";
  /** Memory may be scaled down where that restarts the container (L6). */
  readonly restartToShrink: boolean;
  readonly pollIntervalMs: number;
  readonly cooldownMs: number;
  readonly after: ResizeAfter;
  readonly delayMs: number;
  /** The managed sides in the order of SIDE_KEYS; at least one. */
  readonly sides: readonly FieldPolicy[];
}

/** When and to what one side of a resource is resized. */
export interface FieldPolicy {
  readonly key: ResourceField;
  readonly resource: Resource;
  readonly side: RequestOrLimit;
  readonly scaleUpThresholdPercent: number;
  readonly scaleDownThresholdPercent: number;
  readonly up: DirectionPolicy;
  readonly down: ScaleDownPolicy;
  /**
   * A cooldown was given for one direction: then a scale-up waits for the last scale-up only (L3). Else both directions
   * wait for the last resize (C36).
   */
  readonly hasOwnCooldowns: boolean;
  /** A profile manages the side where the container has it: nothing is missing where it has not. */
  readonly isOptional: boolean;
  readonly bounds: Bounds;
}

/** What a side does in one direction: its value for the direction, its own, or the policy's, in this order (C36, L3). */
export interface DirectionPolicy {
  readonly consecutiveSamples: number;
  readonly cooldownMs: number;
  readonly targetUtilizationPercent: number;
}

/** What a scale-down rests on, beside its streak. */
export interface ScaleDownPolicy extends DirectionPolicy {
  /** How long usage must have been low (L2); 0 = the streak alone. */
  readonly windowMs: number;
  /** Takes the place of the peak (L4); `null` = the peak. CPU only. */
  readonly percentile: Percentile | null;
}

/** A percentile of samples whose weight halves with age. */
export interface Percentile {
  /** 50 to 100. */
  readonly percent: number;
  readonly halfLifeMs: number;
}

/** The bounds of one side, in millicores or bytes; `null` for no bound. */
export interface Bounds {
  readonly min: number | null;
  readonly max: number | null;
  readonly step: number | null;
  readonly stepPercent: number | null;
}

/** The `key` of a contender that stands for one container of EVERY_CONTAINER. */
export function toAutoscalerKey(uid: string, container: string): string {
  return `${uid}/${container}`;
}

// One sample against the thresholds of each side (C30, C31): in which direction it points, and for how many samples in
// a row it has. What a full streak leads to is for the proposals.

/** The request or limit in force that usage is compared with; a zero is as good as none (C37). */
export function findBaseline(rule: FieldPolicy, actual: Resources): number | null {
  return actual[rule.key] || null;
}

// How long a container may go without new usage before its source counts as gone (C22).

/** A sample first seen so long ago is acted on no more, ms. */
export const SILENCE_MS = 60_000;

/** After so long without anything new the streaks end, ms: a poll interval above a third of it is no silence. */
export function computeSilenceMs({ pollIntervalMs }: Pick<Autoscaler, "pollIntervalMs">): number {
  return Math.max(SILENCE_MS, 3 * pollIntervalMs);
}

/** What must be true of a container or its pod before it is resized (C23); sampling does not wait for it. */
type ResizeAfter = "running" | "containerReady" | "podReady";
