/**
 * What a pod takes of its node: the sum of its containers and sidecars, or the largest init container if that is more;
 * and whether there is room for it beside the others, in the words of the kubelet.
 */
import type { Resource, Resources, SideKey } from "../../units/resources.ts";
import { NO_RESOURCES } from "../../units/resources.ts";
import type { BoundPod } from "./bound_pod.ts";
import type { NodeConfig, PodCgroup } from "./state.ts";

/** Sizes by container name. */
export type Sizes = Readonly<Record<string, Resources>>;

/** What a pod takes of its node. */
export interface Needs {
  readonly cpu: number;
  readonly memory: number;
}

/** What a pod takes of its node with these sizes. */
export function readNeeds(pod: BoundPod, sizes: Sizes): Needs {
  const read = (key: "cpu.requests" | "memory.requests") => pod.podResources?.[key] ?? readTotal(pod, sizes, key).given;
  return { cpu: read("cpu.requests"), memory: read("memory.requests") };
}

/** The settings of the pod's cgroup. A memory limit counts only when each container has one. */
export function toCgroup(pod: BoundPod, sizes: Sizes): PodCgroup {
  const limit = readTotal(pod, sizes, "memory.limits");
  const cpuLimit = readTotal(pod, sizes, "cpu.limits");
  return {
    cpuRequest: readTotal(pod, sizes, "cpu.requests").given,
    // Shown for a pod with one unlimited container too (measured).
    cpuLimit: cpuLimit.given > 0 ? cpuLimit.given : null,
    memoryRequest: readTotal(pod, sizes, "memory.requests").given,
    memoryLimit: limit.isWhole ? limit.given : null,
  };
}

/** A sum over the containers of a pod. */
export interface Total {
  readonly given: number;
  /** True when no container lacks this side. */
  readonly isWhole: boolean;
}

/** The sum of one side over the containers of a pod. */
export function readTotal(pod: BoundPod, sizes: Sizes, key: SideKey): Total {
  let [running, sidecars, init, isWhole] = [0, 0, 0, true];
  for (const { name, kind, size } of pod.containers) {
    const amount = (sizes[name] ?? size ?? NO_RESOURCES)[key];
    if (amount === null) isWhole = false;
    // An init container runs beside the sidecars that were started before it.
    if (kind === "init") init = Math.max(init, sidecars + (amount ?? 0));
    else running += amount ?? 0;
    if (kind === "sidecar") sidecars += amount ?? 0;
  }
  return { given: Math.max(running, init), isWhole };
}

/** What a node has too little of. */
export interface Shortage {
  readonly resource: "cpu" | "memory" | "pods";
  readonly message: string;
}

/** `used`: by all other pods that have not ended, and their number. */
export function findShortage(
  config: NodeConfig,
  needs: Needs,
  used: Needs & { readonly pods: number },
): Shortage | null {
  if (used.pods + 1 > config.pods) return shortage("pods", 1, { used: used.pods, capacity: config.pods });
  const capacities: Readonly<Record<Resource, number>> = { cpu: config.cpuMillicores, memory: config.memoryBytes };
  for (const resource of ["cpu", "memory"] as const) {
    const capacity = capacities[resource];
    if (needs[resource] > 0 && used[resource] + needs[resource] > capacity) {
      return shortage(resource, needs[resource], { used: used[resource], capacity });
    }
  }
  return null;
}

function shortage(
  resource: Shortage["resource"],
  requested: number,
  { used, capacity }: { readonly used: number; readonly capacity: number },
): Shortage {
  const numbers = `requested: ${requested}, used: ${used}, capacity: ${capacity}`;
  return { resource, message: `Node didn't have enough resource: ${resource}, ${numbers}` };
}
