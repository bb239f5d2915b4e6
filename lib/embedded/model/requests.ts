/**
 * How much of a node does a pod take, does it fit, and how is CPU shared between containers?
 * A pod requests the sum of its containers and sidecars, or the largest init container if that is more.
 */
import { NO_RESOURCES, type Resource, type ResourceField, type Resources } from "../../units/resources.ts";
import type { BoundPod, NodeConfig, PodCgroup, PodLife } from "./state.ts";

/** Sizes by container name. */
export type Sizes = Readonly<Record<string, Resources>>;

/** What a pod takes of its node with these sizes. */
export function computeNeeds(pod: BoundPod, sizes: Sizes): Needs {
  const read = (key: "cpu.requests" | "memory.requests") =>
    pod.podResources?.[key] ?? computeTotal(pod, sizes, key).given;
  return { cpu: read("cpu.requests"), memory: read("memory.requests") };
}

/** The settings of the pod's cgroup. A memory limit counts only when each container has one. */
export function toCgroup(pod: BoundPod, sizes: Sizes): PodCgroup {
  const limit = computeTotal(pod, sizes, "memory.limits");
  const cpuLimit = computeTotal(pod, sizes, "cpu.limits");
  return {
    cpuRequest: computeTotal(pod, sizes, "cpu.requests").given,
    // Shown for a pod with one unlimited container too (measured).
    cpuLimit: cpuLimit.given > 0 ? cpuLimit.given : null,
    memoryRequest: computeTotal(pod, sizes, "memory.requests").given,
    memoryLimit: limit.isWhole ? limit.given : null,
  };
}

/** The sum of the requests, or of the limits, over the containers of a pod. */
export function computeTotal(pod: BoundPod, sizes: Sizes, key: ResourceField): Total {
  let [running, sidecars, init, isWhole] = [0, 0, 0, true];
  for (const { name, kind, size } of pod.containers) {
    const amount = (sizes[name] ?? size ?? NO_RESOURCES)[key];
    if (amount === null) isWhole = false;
    // An init container runs together with the sidecars that were started before it.
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
  if (used.pods + 1 > config.pods) return toShortage("pods", 1, { used: used.pods, capacity: config.pods });
  const capacities: Readonly<Record<Resource, number>> = { cpu: config.cpuMillicores, memory: config.memoryBytes };
  for (const resource of ["cpu", "memory"] as const) {
    const capacity = capacities[resource];
    if (needs[resource] > 0 && used[resource] + needs[resource] > capacity) {
      return toShortage(resource, needs[resource], { used: used[resource], capacity });
    }
  }
  return null;
}

/** The memory that a pod and its containers use, in bytes. */
export interface PodUse {
  /** The present usage by container name. A container without a process uses nothing. */
  readonly usageBytes: Readonly<Record<string, number>>;
  /** The usage of the pod's cgroup when it was last measured. */
  readonly podUsageBytes: number;
}

/** The kubelet's error, or `null`. */
export function findTooSmall(life: PodLife, pod: BoundPod, use: PodUse): string | null {
  const causes: string[] = [];
  const { memoryLimit } = toCgroup(pod, life.allocated);
  if (isLowered(life.cgroup.memoryLimit, memoryLimit) && use.podUsageBytes >= memoryLimit) {
    causes.push(`attempting to set pod memory limit (${memoryLimit}) below current usage (${use.podUsageBytes})`);
  }
  for (const { name, actual, run } of life.containers) {
    const limit = life.allocated[name]?.["memory.limits"] ?? null;
    const bound = pod.containers.find((one) => one.name === name);
    if (run.kind !== "running" || bound?.restartsOn.memory !== false) continue;
    if (isLowered(actual["memory.limits"], limit) && (use.usageBytes[name] ?? 0) >= limit) {
      const text = `attempting to set container "${name}" memory limit (${limit})`;
      causes.push(`${text} below current usage (${use.podUsageBytes})`);
    }
  }
  if (causes.length === 0) return null;
  return `cannot decrease memory limits: ${causes.length === 1 ? causes[0] : `[${causes.join(", ")}]`}`;
}

/** What one process wants of the CPU, and its weight. */
export interface Want {
  readonly millicores: number;
  readonly limitMillicores: number | null;
  readonly requestMillicores: number;
}

/** The shares in the order of the wants, in millicores. Their sum is never above `capacityMillicores`. */
export function shareCpu(wants: readonly Want[], capacityMillicores: number): readonly number[] {
  const caps = wants.map(({ millicores, limitMillicores }) =>
    Math.max(0, Math.min(millicores, limitMillicores ?? Infinity))
  );
  const total = caps.reduce((sum, cap) => sum + cap, 0);
  if (total <= capacityMillicores) return caps;
  const weights = wants.map(({ requestMillicores }) => Math.max(MIN_SHARES, requestMillicores));
  const shares = caps.map(() => 0);
  let open = caps.map((_, index) => index);
  let left = Math.max(0, capacityMillicores);
  // A process that wants less than its part leaves the rest to the others, so each round closes one at least.
  while (open.length > 0) {
    const weight = open.reduce((sum, index) => sum + (weights[index] ?? 0), 0);
    const part = (index: number) => left * (weights[index] ?? 0) / weight;
    const content = open.filter((index) => (caps[index] ?? 0) <= part(index));
    const served = content.length > 0 ? content : open;
    const amounts = served.map((index) => content.length > 0 ? caps[index] ?? 0 : part(index));
    for (const [at, index] of served.entries()) shares[index] = amounts[at] ?? 0;
    if (content.length === 0) break;
    left -= amounts.reduce((sum, amount) => sum + amount, 0);
    open = open.filter((index) => !content.includes(index));
  }
  return shares;
}

/** What a pod takes of its node. */
interface Needs {
  readonly cpu: number;
  readonly memory: number;
}

/** A sum over the containers of a pod. */
interface Total {
  readonly given: number;
  /** True when each container has this list, requests or limits. */
  readonly isWhole: boolean;
}

function toShortage(
  resource: Shortage["resource"],
  requested: number,
  { used, capacity }: { readonly used: number; readonly capacity: number },
): Shortage {
  const numbers = `requested: ${requested}, used: ${used}, capacity: ${capacity}`;
  return { resource, message: `Node didn't have enough resource: ${resource}, ${numbers}` };
}

function isLowered(from: number | null, to: number | null): to is number {
  return to !== null && to < (from ?? Infinity);
}

/** The least weight a cgroup has. */
const MIN_SHARES = 2;
