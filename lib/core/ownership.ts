/**
 * Which of several autoscalers resizes a container (C12): highest priority, then one that names the container before
 * one that stands for every container (L50), then the one that may act earliest, then the smaller name. Chosen anew at each evaluation; the others keep their streaks.
 */
import type { Autoscaler } from "../autoscaler/autoscaler.ts";
import { readCooldownEnd, readGateStart } from "./gate/eligibility.ts";
import type { ContainerFacts, PodFacts } from "./pod/pod_facts.ts";
import type { ContainerState } from "./state.ts";

/** The container that is contended for, and when. */
export interface OwnershipContext {
  readonly now: number;
  readonly pod: PodFacts;
  readonly container: ContainerFacts;
  readonly containerState: Pick<ContainerState, "running" | "readySince" | "podReady" | "resizedAt">;
}

/** The owner among contenders for one container; `null` when there are none. */
export function chooseOwner(contenders: readonly Autoscaler[], context: OwnershipContext): Autoscaler | null {
  let owner: Autoscaler | null = null;
  for (const contender of contenders) {
    if (owner === null || compareContenders(contender, owner, context) < 0) owner = contender;
  }
  return owner;
}

function compareContenders(a: Autoscaler, b: Autoscaler, context: OwnershipContext): number {
  if (a.priority !== b.priority) return b.priority - a.priority;
  if (a.isWildcard !== b.isWildcard) return a.isWildcard ? 1 : -1;
  const [first, second] = [readEligibleAt(a, context), readEligibleAt(b, context)];
  if (first !== second) return first - second;
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

/** max(gate opens, last resize + cooldown), not before now, epoch ms; Infinity while the gate is shut. */
export function readEligibleAt(autoscaler: Autoscaler, { now, containerState }: OwnershipContext): number {
  const start = readGateStart(autoscaler, containerState);
  if (start === null) return Infinity;
  return Math.max(start + autoscaler.delayMs, readCooldownEnd(containerState, autoscaler.cooldownMs), now);
}
