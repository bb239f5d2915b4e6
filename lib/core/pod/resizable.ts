/** Which containers of a pod does an autoscaler stand for (C15, L50)? */
import { type Autoscaler, EVERY_CONTAINER } from "../../autoscaler/autoscaler.ts";
import { findContainer, type PodFacts } from "./pod_facts.ts";

/**
 * Gives the names, each once: the one that the autoscaler names, or with EVERY_CONTAINER those of all containers and
 * native sidecars that it does not leave out. Empty where the pod has none of them.
 */
export function listContainers(
  { containerName, excludeContainers }: Pick<Autoscaler, "containerName" | "excludeContainers">,
  pod: PodFacts,
): readonly string[] {
  if (containerName !== EVERY_CONTAINER) return findContainer(pod, containerName) === null ? NONE : [containerName];
  const names = new Set<string>();
  for (const { name, kind } of pod.containers) {
    if (kind !== "init" && !excludeContainers.includes(name)) names.add(name);
  }
  return [...names];
}

const NONE: readonly string[] = [];
