/**
 * Who may resize this container: this podfit or the one inside the pod, and for which matching autoscaler?
 *
 * The owner has the highest priority. Equal ones are ordered: an exact container name, the earliest readiness, the
 * smaller name.
 */
import type { Autoscaler } from "./autoscaler.ts";
import type { SizeInput } from "./decision.ts";
import type { ContainerFacts, PodFacts } from "./pod.ts";
import type { ContainerState } from "./state.ts";

/** The container that autoscalers match, and the time. */
export interface OwnershipContext {
  readonly now: number;
  readonly pod: PodFacts;
  readonly container: ContainerFacts;
  readonly containerState: Pick<ContainerState, "running" | "readySince" | "podReady" | "resizedAt">;
}

/** The state of a container that was never evaluated. */
export const NEVER_EVALUATED: OwnershipContext["containerState"] = {
  running: null,
  readySince: null,
  podReady: null,
  resizedAt: null,
};

/** Returns the owner among the matching autoscalers of one container; `null` if there are none. Clauses: C12, L50. */
export function chooseOwner(contenders: readonly Autoscaler[], context: OwnershipContext): Autoscaler | null {
  let owner: Autoscaler | null = null;
  for (const contender of contenders) {
    if (owner === null || compareAutoscalers(contender, owner, context) < 0) owner = contender;
  }
  return owner;
}

/**
 * Returns the later of the gate's opening and the end of the cooldown, not before now, epoch ms; Infinity while the
 * gate is shut.
 */
export function computeEligibleAt(autoscaler: Autoscaler, { now, containerState }: OwnershipContext): number {
  const start = findReadyAt(autoscaler, containerState);
  if (start === null) return Infinity;
  return Math.max(start + autoscaler.delayMs, computeCooldownEnd(containerState, autoscaler.cooldownMs), now);
}

/** Returns when the gate `after` opened, before `delay`, epoch ms; `null` while it is shut. Clauses: C24, C36, C42. */
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
      // A restart within a pod that stays Ready begins a new delay too.
      return podReady === null ? null : Math.max(podReady.since, running?.since ?? 0);
  }
}

/** Returns whether the podfit in the pod resizes it, if there is one. Clauses: C17. */
export function isOfSidecar({ labels }: Pick<PodFacts, "labels">): boolean {
  return labels[MODE_LABEL] === SIDECAR_MODE;
}

/** Returns why another podfit resizes the pod; `null` if this one does. */
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

/** Returns when a cooldown ends, epoch ms; -Infinity when it never began. Clauses: C36, C42. */
function computeCooldownEnd({ resizedAt }: Pick<ContainerState, "resizedAt">, cooldownMs: number): number {
  return resizedAt === null ? -Infinity : resizedAt + cooldownMs;
}

const MODE_LABEL = "podfit.dev/mode";

const SIDECAR_MODE = "sidecar";
