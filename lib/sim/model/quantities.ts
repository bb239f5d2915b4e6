/**
 * Amounts as a kubelet writes them into a pod's status: canonical quantities, limits before requests.
 */
import type { ResourceRequirements } from "../../api/kubernetes.ts";
import { formatAmount } from "../../units/quantity.ts";
import { resourceOf, type Resources, type Side, SIDE_KEYS, sideOf } from "../../units/resources.ts";

/** Sizes as the requests and limits of a container. */
export function toRequirements(size: Resources): ResourceRequirements {
  const [limits, requests] = [toList(size, "limits"), toList(size, "requests")];
  return { ...(limits === null ? {} : { limits }), ...(requests === null ? {} : { requests }) };
}

/** `null` when the side is empty. */
export function toList(size: Resources, side: Side): Record<string, string> | null {
  const list: Record<string, string> = {};
  for (const key of SIDE_KEYS) {
    const amount = size[key];
    if (sideOf(key) === side && amount !== null) list[resourceOf(key)] = formatAmount(amount, resourceOf(key));
  }
  return Object.keys(list).length > 0 ? list : null;
}
