/**
 * Whether the size of a pod's containers has reached the pod's own cgroup. A kubelet without the fix of issue 138760 leaves it
 * as it was where no container that a resize changes is running, and says that the resize is done.
 * https://github.com/kubernetes/kubernetes/issues/138760
 */
import type { PodFacts } from "./pod_facts.ts";

/** The kernel rounds a limit down to whole pages; less than this is no sign, bytes. */
const LEAST_BYTES = 1024 * 1024;

/**
 * By how much the memory limit of the pod's cgroup is below the sum of its containers' limits, bytes; 0 = it is not, or
 * nobody knows. With resources of the pod itself the sum is not its limit.
 */
export function readShortfall({ memoryLimitBytes, podResources, containers }: PodFacts): number {
  if (memoryLimitBytes === null || podResources !== null) return 0;
  let sum = 0;
  for (const { kind, spec, reported } of containers) {
    if (kind === "init") continue;
    const limit = (reported ?? spec)["memory.limits"];
    // One without a limit: the pod has none either.
    if (limit === null) return 0;
    sum += limit;
  }
  const shortfall = sum - memoryLimitBytes;
  return shortfall < LEAST_BYTES ? 0 : shortfall;
}
