/**
 * The four amounts of a container that an in-place resize may change, and the QoS class that follows from them.
 *
 * A resource field is one of the amounts, such as `cpu.requests`.
 */

export type Resource = "cpu" | "memory";

export const RESOURCES: readonly Resource[] = ["cpu", "memory"];

export type RequestOrLimit = "requests" | "limits";

/** One of the four amounts, e.g. `cpu.requests`. */
export type ResourceField = `${Resource}.${RequestOrLimit}`;

/** A container's size: integer millicores for cpu, bytes for memory; `null` for an absent request or limit. */
export type Resources = Readonly<Record<ResourceField, number | null>>;

/** All four, in the order in which they are listed everywhere. */
export const RESOURCE_FIELDS: readonly ResourceField[] = [
  "cpu.requests",
  "cpu.limits",
  "memory.requests",
  "memory.limits",
];

/** The size of a container without requests and limits. */
export const NO_RESOURCES: Resources = {
  "cpu.requests": null,
  "cpu.limits": null,
  "memory.requests": null,
  "memory.limits": null,
};

/** The granularity of a resize: 1 millicore, 1 MiB in bytes. Clauses: C33. */
export const RESIZE_UNIT: Readonly<Record<Resource, number>> = { cpu: 1, memory: 1024 * 1024 };

/** Returns the resource of a resource field: `cpu` of `cpu.requests`. */
export function resourceOf(key: ResourceField): Resource {
  return key.startsWith("cpu") ? "cpu" : "memory";
}

/** Returns the second part of a resource field: `requests` of `cpu.requests`. */
export function requestOrLimitOf(key: ResourceField): RequestOrLimit {
  return key.endsWith("requests") ? "requests" : "limits";
}

/** Returns the other resource field of its resource: `cpu.limits` of `cpu.requests`. */
export function counterpartOf(key: ResourceField): ResourceField {
  return COUNTERPARTS[key];
}

const COUNTERPARTS: Readonly<Record<ResourceField, ResourceField>> = {
  "cpu.requests": "cpu.limits",
  "cpu.limits": "cpu.requests",
  "memory.requests": "memory.limits",
  "memory.limits": "memory.requests",
};

/** Returns whether two sizes are equal in all four amounts. */
export function isSameSize(a: Resources, b: Resources): boolean {
  return a === b || RESOURCE_FIELDS.every((key) => a[key] === b[key]);
}

/** Amounts of cpu and memory: requested, or left. */
export interface Amounts {
  readonly cpuMillicores: number;
  readonly memoryBytes: number;
}

export type QosClass = "Guaranteed" | "Burstable" | "BestEffort";

interface PodSize {
  /** `spec.resources`, also if it is empty; `null` if it is absent. If it is set, only it counts. */
  readonly podResources: Resources | null;
  /** All containers and init containers, finished ones included, without ephemeral containers. */
  readonly containers: readonly Resources[];
}

/**
 * Returns the class as ComputePodQOS does, from the sizes without defaults. The API server first sets an absent request
 * to its limit: a pod that it returned has that default already, a manifest does not.
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/core/v1/helper/qos/qos.go
 * Clauses: C35.
 */
export function computeQosClass(pod: PodSize): QosClass {
  const sizes = pod.podResources === null ? pod.containers : [pod.podResources];
  if (sizes.every((size) => RESOURCES.every((resource) => !hasRequest(size, resource) && !hasLimit(size, resource)))) {
    return "BestEffort";
  }
  const isLimited = sizes.every((size) => RESOURCES.every((resource) => hasLimit(size, resource)));
  return isLimited && RESOURCES.every((resource) => isBalanced(sizes, resource)) ? "Guaranteed" : "Burstable";
}

/** A quantity of zero counts as absent. */
function hasRequest(size: Resources, resource: Resource): boolean {
  return (size[REQUEST[resource]] ?? 0) > 0;
}

function hasLimit(size: Resources, resource: Resource): boolean {
  return (size[LIMIT[resource]] ?? 0) > 0;
}

/** Constants, because concatenated names are slow to look up, and every resize needs them. */
const REQUEST = { cpu: "cpu.requests", memory: "memory.requests" } as const;

const LIMIT = { cpu: "cpu.limits", memory: "memory.limits" } as const;

/** Compares the sums over all containers: 100m of 200m and 300m of 200m are balanced. */
function isBalanced(sizes: readonly Resources[], resource: Resource): boolean {
  let difference = 0;
  for (const size of sizes) {
    difference += Math.max(size[LIMIT[resource]] ?? 0, 0) - Math.max(size[REQUEST[resource]] ?? 0, 0);
  }
  return difference === 0;
}
