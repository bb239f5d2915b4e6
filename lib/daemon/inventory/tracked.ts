/** What the inventory gives: a pod with the autoscalers that contend for it, and what an autoscaler's spec comes to. */
import type { Autoscaler } from "../../autoscaler/autoscaler.ts";
import type { PodFacts } from "../../core/pod/pod_facts.ts";
import type { Problem } from "../../units/problem.ts";
import type { Selector } from "../../units/selector.ts";

/** A pod that some autoscaler contends for. Another object for each change. */
export interface Tracked {
  readonly pod: PodFacts;
  /** Sorted by name; never empty. */
  readonly contenders: readonly Autoscaler[];
}

/** What an autoscaler's spec comes to in the cluster as it is. */
export interface Resolution {
  /** `null` while the target is missing, or the spec is invalid. */
  readonly selector: Selector | null;
  readonly matched: number;
  /** Matching pods that have the container, by UID. */
  readonly tracked: ReadonlyMap<string, PodFacts>;
  /** How many of them have so many autoscalers of higher rank that this one is not asked. */
  readonly crowdedOut: number;
  readonly isTargetMissing: boolean;
  /** What is wrong with the selector of a target that is there. */
  readonly targetProblems: readonly Problem[];
}
