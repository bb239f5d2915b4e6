/**
 * Which podfit resizes a pod (C17)? One with the label `podfit.dev/mode: sidecar` is resized by the podfit in it and by no
 * other; one without it by any other. A sidecar leaves a pod without the label alone: others do not know of it.
 */
import type { Input } from "../decision.ts";
import type { PodFacts } from "./pod_facts.ts";

const LABEL = "podfit.dev/mode";
const SIDECAR = "sidecar";

/** Whether the podfit in the pod resizes it, if there is one. */
export function isOfSidecar({ labels }: Pick<PodFacts, "labels">): boolean {
  return labels[LABEL] === SIDECAR;
}

/** Why another podfit than this one resizes the pod; `null` where this one does. */
export function explainForeign({ pod, isSidecar = false }: Pick<Input, "pod" | "isSidecar">): string | null {
  if (isOfSidecar(pod) === isSidecar) return null;
  return isSidecar
    ? `the pod has no label ${LABEL}=${SIDECAR}, so that a podfit outside of it may resize it too: add the label to its ` +
      "pod template"
    : `the pod has the label ${LABEL}=${SIDECAR}: the podfit in it resizes it`;
}
