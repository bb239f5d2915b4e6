/**
 * May memory limits be lowered to what was admitted? The kubelet refuses below what is used, page cache included, with a
 * message that names the pod's usage for the container's (measured), which is 0 until the pod was first measured.
 */
import type { BoundPod } from "./bound_pod.ts";
import { toCgroup } from "./requests.ts";
import type { PodLife } from "./state.ts";

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

function isLowered(from: number | null, to: number | null): to is number {
  return to !== null && to < (from ?? Infinity);
}
