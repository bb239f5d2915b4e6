/**
 * Who may resize this container: this podfit or the one inside the pod, and which of several matching autoscalers?
 */
import type { Autoscaler } from "./autoscaler.ts";
import type { SizeInput } from "./decision.ts";
import type { ContainerFacts, PodFacts } from "./pod.ts";
import type { ContainerState } from "./state.ts";

// Which of several autoscalers resizes a container (C12): highest priority, then one that names the container before
// one that stands for every container (L50), then the one that may act earliest, then the smaller name. Chosen anew at
// each evaluation; the others keep their streaks.

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
    if (owner === null || compareAutoscalers(contender, owner, context) < 0) owner = contender;
  }
  return owner;
}

/** max(gate opens, last resize + cooldown), not before now, epoch ms; Infinity while the gate is shut. */
export function computeEligibleAt(autoscaler: Autoscaler, { now, containerState }: OwnershipContext): number {
  const start = findReadyAt(autoscaler, containerState);
  if (start === null) return Infinity;
  return Math.max(start + autoscaler.delayMs, computeCooldownEnd(containerState, autoscaler.cooldownMs), now);
}

// When a container may be resized at the earliest: its readiness and the cooldown of its last resize (C24, C36, C42).

/** When the gate `after` opened, before `delay`, epoch ms; `null` while it is shut (C24). */
export function findReadyAt(
  { after }: Pick<Autoscaler, "after">,
  { running, readySince, podReady }: Pick<ContainerState, "running" | "readySince" | "podReady">,
): number | null {
  switch (after) {
    case "running":
      return running?.since ?? null;
    case "containerReady":
      return readySince;
    case "podReady":
      // A restart within a pod that stays Ready begins a new delay too (C43).
      return podReady === null ? null : Math.max(podReady.since, running?.since ?? 0);
  }
}

// Which podfit resizes a pod (C17)? One with the label `podfit.dev/mode: sidecar` is resized by the podfit in it and
// by no other; one without it by any other. A sidecar leaves a pod without the label alone: others do not know of it.

/** Whether the podfit in the pod resizes it, if there is one. */
export function isOfSidecar({ labels }: Pick<PodFacts, "labels">): boolean {
  return labels[MODE_LABEL] === SIDECAR_MODE;
}

/** Why another podfit than this one resizes the pod; `null` where this one does. */
export function explainOtherPodfit({ pod, isSidecar = false }: Pick<SizeInput, "pod" | "isSidecar">): string | null {
  if (isOfSidecar(pod) === isSidecar) return null;
  return isSidecar
    ? `the pod has no label ${MODE_LABEL}=${SIDECAR_MODE}, so that a podfit outside of it may resize it too: add the label to its ` +
      "pod template"
    : `the pod has the label ${MODE_LABEL}=${SIDECAR_MODE}: the podfit in it resizes it`;
}

function compareAutoscalers(a: Autoscaler, b: Autoscaler, context: OwnershipContext): number {
  if (a.priority !== b.priority) return b.priority - a.priority;
  if (a.isWildcard !== b.isWildcard) return a.isWildcard ? 1 : -1;
  const [first, second] = [computeEligibleAt(a, context), computeEligibleAt(b, context)];
  if (first !== second) return first - second;
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

/** When a cooldown ends, epoch ms; -Infinity when it never began (C36, C42). */
function computeCooldownEnd({ resizedAt }: Pick<ContainerState, "resizedAt">, cooldownMs: number): number {
  return resizedAt === null ? -Infinity : resizedAt + cooldownMs;
}

const MODE_LABEL = "podfit.dev/mode";

const SIDECAR_MODE = "sidecar";
