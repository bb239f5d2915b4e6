/**
 * Which of several autoscalers resizes a container (C12): highest priority, then the one that may act earliest, then
 * the smaller name. Chosen anew at each evaluation; the others keep their streaks.
 */
import { readCooldownEnd, readGateStart } from "./gate/gates.ts";
import type { ContainerFacts, PodFacts } from "./pod/pod_facts.ts";
import type { Autoscaler } from "../autoscaler/autoscaler.ts";
import type { ContainerState } from "./state.ts";

export interface OwnershipContext {
  readonly now: number;
  readonly pod: PodFacts;
  readonly container: ContainerFacts;
  readonly containerState: ContainerState;
}

/** Of contenders for one container; `null` when there are none. */
export function chooseOwner(contenders: readonly Autoscaler[], context: OwnershipContext): Autoscaler | null {
  let owner: Autoscaler | null = null;
  for (const policy of contenders) {
    if (owner === null || compareContenders(policy, owner, context) < 0) owner = policy;
  }
  return owner;
}

function compareContenders(a: Autoscaler, b: Autoscaler, context: OwnershipContext): number {
  if (a.priority !== b.priority) return b.priority - a.priority;
  const [first, second] = [readEligibleAt(a, context), readEligibleAt(b, context)];
  if (first !== second) return first - second;
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

/** max(gate opens, last resize + cooldown), not before now; never while the gate's state has not come. */
export function readEligibleAt(policy: Autoscaler, context: OwnershipContext): number {
  const start = readGateStart(policy, context.containerState);
  if (start === null) return Infinity;
  return Math.max(start + policy.delayMs, readCooldownEnd(context.containerState, policy.cooldownMs), context.now);
}
