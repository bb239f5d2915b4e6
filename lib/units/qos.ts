/**
 * The QoS class that Kubernetes gives a pod of these sizes. A resize that changes it is refused (contract C35).
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/core/v1/helper/qos/qos.go
 */
import type { Resource, Resources } from "./resources.ts";

export type QosClass = "Guaranteed" | "Burstable" | "BestEffort";

export interface PodSize {
  /** `spec.resources`, also when empty; `null` = absent. If set, it alone counts. */
  readonly podResources: Resources | null;
  /** All containers and all init containers, finished ones too; no ephemeral ones. */
  readonly containers: readonly Resources[];
}

/**
 * As ComputePodQOS: takes the sizes as they stand. The API server has set an absent request to its limit
 * before it computes the class, so a pod read from it needs nothing; a bare manifest needs that default first.
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
  return (size[`${resource}.requests`] ?? 0) > 0;
}

function hasLimit(size: Resources, resource: Resource): boolean {
  return (size[`${resource}.limits`] ?? 0) > 0;
}

/** The sums count, not each container: 100m of 200m beside 300m of 200m is balanced. */
function isBalanced(sizes: readonly Resources[], resource: Resource): boolean {
  let difference = 0;
  for (const size of sizes) {
    difference += Math.max(size[`${resource}.limits`] ?? 0, 0) - Math.max(size[`${resource}.requests`] ?? 0, 0);
  }
  return difference === 0;
}
