/**
 * All reasons and event names: why a resize that is wanted does not happen, or that it happened.
 *
 * Logs, metric labels, conditions, events and `podfit explain` use the same words. They are public.
 */
import type { Problem } from "../units/untrusted.ts";

export const HOLD_REASONS = [
  "Warmup",
  "StreakShort",
  "InBand",
  "AtBound",
  "AtTarget",
  "MetricsUnavailable",
  "BaselineUnavailable",
  "NotRunning",
  "NotOwner",
] as const;

/** A reason of HOLD_REASONS. */
export type HoldReason = typeof HOLD_REASONS[number];

/** Why the API server refused a PATCH. */
export const REFUSAL_REASONS = [
  "NodeCapacity",
  "Quota",
  "LimitRange",
  "Rights",
  "Invalid",
  "Unsupported",
  "RetryLater",
] as const;

/** A reason of REFUSAL_REASONS. */
export type RefusalReason = typeof REFUSAL_REASONS[number];

/** Why a resize that is wanted does not happen now. */
export const BLOCK_REASONS = [
  "Cooldown",
  "Delay",
  "NotReady",
  "NotRunning",
  "ResizeInProgress",
  "ResizeDeferred",
  "ResizeInfeasible",
  "ResizeError",
  "QoSInvariantBlocked",
  "MemoryInUse",
  "ScaleDownWindow",
  "RestartRequired",
  "CrashLoop",
  "ScaleInPending",
  "MaxUnavailable",
  "DisruptionBudget",
  "PodResources",
  ...REFUSAL_REASONS,
  "DryRun",
] as const;

/** A reason of BLOCK_REASONS. */
export type BlockReason = typeof BLOCK_REASONS[number];

/**
 * Reasons that hold a scale-up until an administrator provides capacity. The condition Limited and the saturation of a
 * pod follow from them.
 */
export const LIMIT_REASONS = [
  "AtBound",
  "NodeCapacity",
  "Quota",
  "LimitRange",
  "PodResources",
  "QoSInvariantBlocked",
  "ResizeDeferred",
  "ResizeInfeasible",
  "ResizeError",
  "Unsupported",
  "Rights",
  "Invalid",
  "MaxUnavailable",
  "DisruptionBudget",
] as const satisfies readonly (HoldReason | BlockReason)[];

/** A reason of LIMIT_REASONS. */
export type LimitReason = typeof LIMIT_REASONS[number];

/** What makes a resize another than the next one by usage: the pod is new, and gets the size of its siblings. */
export const RESIZE_REASONS = ["Inherited"] as const;

/** A reason of RESIZE_REASONS. */
export type ResizeReason = typeof RESIZE_REASONS[number];

/** Why the kubelet has not applied a resize (KEP-1287). */
export type StuckReason = Extract<BlockReason, "ResizeDeferred" | "ResizeInfeasible" | "ResizeError">;

/** Reasons that belong to an autoscaler as a whole, in its conditions. */
export const AUTOSCALER_REASONS = [
  "InvalidSpec",
  "NamespaceExcluded",
  "TooLarge",
  "TooMany",
  "OverBudget",
  "TargetNotFound",
  "ContainerNotFound",
  "Paused",
  "Disabled",
] as const;

/** The name of an event, without its prefix. */
export type NoticeName = keyof typeof NOTICES;

/** Event names without the prefix `PodResourceAutoscaler`, and their types. */
export const NOTICES = {
  ScaleUp: "Normal",
  ScaleDown: "Normal",
  MetricsUnavailable: "Warning",
  MetricsRecovered: "Normal",
  BaselineUnavailable: "Warning",
  BaselineAvailable: "Normal",
  ResizeInProgress: "Normal",
  ResizePending: "Warning",
  QoSInvariantBlocked: "Warning",
  ScaleFailed: "Warning",
  ResizeMayRestart: "Warning",
  RestartWaiting: "Normal",
  Inherited: "Normal",
  Limited: "Warning",
  OOMKilled: "Warning",
  InvalidSpec: "Warning",
  NamespaceExcluded: "Warning",
  TooLarge: "Warning",
  TooMany: "Warning",
  OverBudget: "Warning",
  TargetNotFound: "Warning",
  ContainerNotFound: "Warning",
} as const satisfies Record<string, "Normal" | "Warning">;

/** The event of a block, for those that have one. */
export const BLOCK_NOTICE: Readonly<Partial<Record<BlockReason, NoticeName>>> = {
  ResizeInProgress: "ResizeInProgress",
  ResizeDeferred: "ResizePending",
  ResizeInfeasible: "ResizePending",
  ResizeError: "ResizePending",
  QoSInvariantBlocked: "QoSInvariantBlocked",
  MemoryInUse: "ScaleFailed",
  RestartRequired: "ResizeMayRestart",
  MaxUnavailable: "RestartWaiting",
  DisruptionBudget: "RestartWaiting",
  NodeCapacity: "ScaleFailed",
  Quota: "ScaleFailed",
  LimitRange: "ScaleFailed",
  PodResources: "ScaleFailed",
  Rights: "ScaleFailed",
  Invalid: "ScaleFailed",
  Unsupported: "ScaleFailed",
};

/** An Event as data, before it is written as a Kubernetes Event on the autoscaler. */
export interface Notice {
  readonly autoscaler: string;
  readonly name: NoticeName;
  readonly message: string;
}

/** Reasons why a restart waits. They count as limits only once they have lasted. */
export const RESTART_WAITS: ReadonlySet<string> = new Set<BlockReason>(["MaxUnavailable", "DisruptionBudget"]);

/** Of holds and blocks. */
export const PASSING_REASONS: ReadonlySet<HoldReason | BlockReason> = new Set(
  ["Warmup", "StreakShort", "MetricsUnavailable", "NotRunning", "Cooldown", "Delay", "NotReady"] as const,
);

/** Joins problems to one sentence, each with its path. Clauses: C5, C51. */
export function formatProblems(problems: readonly Problem[]): string {
  return problems.map(({ path, message }) => `${path}: ${message}`).join("; ");
}
