/**
 * Is enough known to judge? A list that has not come, or may not be read, silences what depends on it and nothing else.
 * Nodes are waited for by none: without their capacity only implausible usage goes unseen.
 */
import type { AutoscalerFacts } from "./facts.ts";
import type { Inventory } from "./inventory.ts";
import { PLURALS } from "./workloads.ts";

/** Whether all objects of the resource (`pods`) that are in the namespace are known. */
export type IsListed = (resource: string, namespace: string) => boolean;

/** A target that was not listed would look missing, and pods that were not would look gone. */
export function canReportStatus({ namespace, autoscaler }: AutoscalerFacts, isListed: IsListed): boolean {
  if (!isListed("podresourceautoscalers", namespace) || !isListed("pods", namespace)) return false;
  return !autoscaler?.target || isListed(PLURALS[autoscaler.target.kind], namespace);
}

/** Whoever is not known could be the owner of a container: until then nobody acts in the namespace (C12). */
export function canDecide(
  namespace: string,
  { inventory, isListed }: { readonly inventory: Pick<Inventory, "listTargetKinds">; readonly isListed: IsListed },
): boolean {
  if (!isListed("podresourceautoscalers", namespace) || !isListed("pods", namespace)) return false;
  for (const kind of inventory.listTargetKinds(namespace)) if (!isListed(PLURALS[kind], namespace)) return false;
  return true;
}
