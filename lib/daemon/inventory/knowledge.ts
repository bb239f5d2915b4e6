/**
 * Is enough known to judge? A list that has not come, may not be read, or was not heard of for too long silences what
 * depends on it and nothing else.
 * Nodes are waited for by none: without their capacity only implausible usage goes unseen.
 */
import type { AutoscalerFacts } from "./facts.ts";
import type { Inventory } from "./inventory.ts";
import { PLURALS, WORKLOAD_KINDS } from "./workloads.ts";

/** Says something of a list: of all objects of the resource (`pods`) that are in the namespace. */
export type OfList = (resource: string, namespace: string) => boolean;

/** What decisions in a namespace depend on, as far as it is known. */
export interface Knowledge {
  readonly inventory: Pick<Inventory, "listTargetKinds">;
  /** Listed once, and known by now. */
  readonly isKnown: OfList;
}

/** A target that was not listed would look missing, and pods that were not would look gone. */
export function canReportStatus({ namespace, autoscaler }: AutoscalerFacts, isListed: OfList): boolean {
  if (!isListed("podresourceautoscalers", namespace) || !isListed("pods", namespace)) return false;
  return !autoscaler?.target || isListed(PLURALS[autoscaler.target.kind], namespace);
}

/** Whoever is not known could be the owner of a container: until then nobody acts in the namespace (C12). */
export function canDecide(namespace: string, { inventory, isKnown }: Knowledge): boolean {
  if (!isKnown("podresourceautoscalers", namespace) || !isKnown("pods", namespace)) return false;
  for (const kind of inventory.listTargetKinds(namespace)) if (!isKnown(PLURALS[kind], namespace)) return false;
  return true;
}

/** The first resource for which nobody acts in the namespace because it was listed and is too old by now; `null` = none. */
export function findStale(
  namespace: string,
  { inventory, isKnown, isListed }: Knowledge & { readonly isListed: OfList },
): string | null {
  const isStale = (resource: string) => isListed(resource, namespace) && !isKnown(resource, namespace);
  const all = ["podresourceautoscalers", "pods"].find(isStale);
  if (all !== undefined) return all;
  // Asked for every autoscaler, each second: the kinds that are named cost a look at all autoscalers of the namespace.
  const kind = WORKLOAD_KINDS.find((kind) => isStale(PLURALS[kind]) && inventory.listTargetKinds(namespace).has(kind));
  return kind === undefined ? null : PLURALS[kind];
}
