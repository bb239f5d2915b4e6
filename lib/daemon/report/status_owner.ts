/**
 * Which podfit writes an autoscaler's status, where sidecars and others see the same one (C51)? Sidecars where all its pods
 * are theirs, the others where any is not. Without pods both come to the same status, and either writes it.
 */
import { isOfSidecar } from "../../core/pod/sidecar.ts";
import type { PodFacts } from "../../core/pod/pod_facts.ts";
import type { Mode } from "../inventory/scope.ts";

/** Whether a podfit of this mode does; `pods` are those that the autoscaler tracks. */
export function isStatusOurs(mode: Mode, pods: Iterable<Pick<PodFacts, "labels">>): boolean {
  let hasPods = false;
  for (const pod of pods) {
    if (!isOfSidecar(pod)) return mode !== "sidecar";
    hasPods = true;
  }
  return !hasPods || mode === "sidecar";
}
