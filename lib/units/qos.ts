/**
 * The QoS class that Kubernetes gives a pod. The API server refuses a resize that would change it (contract C35).
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/core/v1/helper/qos/qos.go
 */
import type { Resource, Resources } from "./resources.ts";

export type QosClass = "Guaranteed" | "Burstable" | "BestEffort";

export interface PodSize {
  /** `spec.resources`, also when it is empty; `null` when it is absent. If it is set, it alone counts. */
  readonly podResources: Resources | null;
  /** All containers and init containers, finished ones included, without ephemeral containers. */
  readonly containers: readonly Resources[];
}

/**
 * Gives the class as ComputePodQOS does, from the sizes as they are. The API server sets an absent request to its limit
 * before it computes the class: a pod that it returned has that default already, a manifest needs it first.
 */
export function computeQosClass(pod: PodSize): QosClass {
  const sizes = pod.podResources === null ? pod.containers : [pod.podResources];
  if (sizes.every((size) => RESOURCES.every((resource) => !hasRequest(size, resource) && !hasLimit(size, resource)))) {
    return "BestEffort";
  }
  const isLimited = sizes.every((size) => RESOURCES.every((resource) => hasLimit(size, resource)));
  return isLimited && RESOURCES.every((resource) => isBalanced(sizes, resource)) ? "Guaranteed" : "Burstable";
}

const RESOURCES: readonly Resource[] = ["cpu", "memory"];

/** A quantity of zero counts as absent. */
function hasRequest(size: Resources, resource: Resource): boolean {
  return (size[REQUEST[resource]] ?? 0) > 0;
}

function hasLimit(size: Resources, resource: Resource): boolean {
  return (size[LIMIT[resource]] ?? 0) > 0;
}

/** Names that are put together anew are slow to look up, and this is asked of every resize. */
const REQUEST = { cpu: "cpu.requests", memory: "memory.requests" } as const;
const LIMIT = { cpu: "cpu.limits", memory: "memory.limits" } as const;

/** Compares the sums over all containers: 100m of 200m beside 300m of 200m is balanced. */
function isBalanced(sizes: readonly Resources[], resource: Resource): boolean {
  let difference = 0;
  for (const size of sizes) {
    difference += Math.max(size[LIMIT[resource]] ?? 0, 0) - Math.max(size[REQUEST[resource]] ?? 0, 0);
  }
  return difference === 0;
}
