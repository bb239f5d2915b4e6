/** How much of its node a pod may still ask for (L30), and how much a resize would take. */
import type { Amounts, Resources, SideKey } from "../../units/resources.ts";
import type { PodFacts } from "./pod_facts.ts";
import { sumPod } from "./pod_sum.ts";

/**
 * What requests leave of the node's allocatable: for a pod on it, beyond what it counts for itself. Negative where more
 * is asked for than there is: then some resize waits.
 */
export type Room = Amounts;

/** The room of the side's resource; only requests take any. */
export function readRoom(room: Room, key: SideKey): number {
  if (key === "cpu.requests") return room.cpuMillicores;
  return key === "memory.requests" ? room.memoryBytes : Infinity;
}

/** What the pod would count for beyond what it does now, with that container at that size; never below 0. */
export function readGrowth(pod: PodFacts, name: string, to: Resources): Amounts {
  const containers = pod.containers.map((one) => one.name === name ? { ...one, spec: to } : one);
  const grow = (key: SideKey) => Math.max(0, sumPod({ ...pod, containers }, key) - sumPod(pod, key));
  return { cpuMillicores: grow("cpu.requests"), memoryBytes: grow("memory.requests") };
}
