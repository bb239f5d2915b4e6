/**
 * How far the cluster lets a side of a container go (L30, L32): the room of the node, the quotas and the limit ranges of the
 * namespace. Only what is known counts; the rest is left to the API server's refusal.
 */
import { resourceOf, type SideKey } from "../../units/resources.ts";
import type { Input } from "../decision.ts";
import type { ContainerFacts } from "../pod/pod_facts.ts";
import { readMost, sumPod } from "../pod/pod_sum.ts";
import { readRoom } from "../pod/room.ts";

/** Who allows no more. */
export type AllowedBy = "node" | "Quota" | "LimitRange";

/** The amounts that a side may have. */
export interface Allowance {
  /** Infinity = nothing known is in the way; `by` whom. May lie below what the side has. */
  readonly most: number;
  readonly by: AllowedBy | null;
  /** The least that a limit range allows. */
  readonly least: number;
}

/** Nothing known is in the way. */
export const ALLOWS_ALL: Allowance = { most: Infinity, by: null, least: 0 };

type Surroundings = Pick<Input, "pod" | "room" | "limits">;

/** For one side of a container of the pod. */
export function readAllowance({ pod, room, limits }: Surroundings, container: ContainerFacts, key: SideKey): Allowance {
  let allowance = ALLOWS_ALL;
  if (room === null && limits === null) return allowance;
  const cap = (by: AllowedBy, most: number) => {
    if (most < allowance.most) allowance = { ...allowance, most, by };
  };
  const capPod = (by: AllowedBy, limit: number) => cap(by, readMost(pod, container, { key, limit }));
  if (room !== null) capPod("node", sumPod(pod, key) + readRoom(room, key));
  if (limits === null) return allowance;
  const left = limits.quota[key];
  if (left !== null) capPod("Quota", sumPod(pod, key) + left);
  const resource = resourceOf(key);
  for (const { type, min, max } of limits.ranges) {
    const [least, most] = [min[resource] ?? 0, max[resource] ?? Infinity];
    if (type === "Pod") capPod("LimitRange", most);
    else {
      cap("LimitRange", most);
      if (least > allowance.least) allowance = { ...allowance, least };
    }
  }
  return allowance;
}
