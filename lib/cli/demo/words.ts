/** Reasons in the few words that fit next to a chart. */
import type { ReplicasReason } from "../../model/replicas_decision.ts";
import type { SizeReason } from "../explanation/explanation.ts";

/** Returns two or three plain words for a reason; its own words if they are plain: `NodeCapacity` -> `node capacity`. */
export function toShortWords(reason: string): string {
  const short: Readonly<Record<string, string | undefined>> = SHORT;
  return short[reason] ?? reason.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter}`).toLowerCase();
}

const SHORT: Readonly<Partial<Record<SizeReason | ReplicasReason, string>>> = {
  InBand: "usage in range",
  Warmup: "waits for samples",
  StreakShort: "waits for samples",
  MetricsUnavailable: "usage not known",
  BaselineUnavailable: "no request",
  NotOwner: "sized by another",
  Delay: "just started",
  ResizeInProgress: "kubelet resizes it",
  ResizeDeferred: "kubelet waits for room",
  NodeCapacity: "node full",
  PodResources: "pod's own limit",
  ResizeInfeasible: "node too small",
  ScaleDownWindow: "not low for long yet",
  CrashLoop: "crashed recently",
  ScaleInPending: "fewer pods soon",
  VerticalFirst: "pods grow first",
  VerticalUp: "CPU limits grow first",
  RetryLater: "server asks to wait",
  ScaleUpStabilized: "not high for long yet",
  ScaleDownStabilized: "not low for long yet",
  ScaleUpLimit: "grows at its rate",
  ScaleDownLimit: "shrinks at its rate",
  TooManyReplicas: "at most replicas",
  TooFewReplicas: "at fewest replicas",
  ScalingDisabled: "at zero",
};
