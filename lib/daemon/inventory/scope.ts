/** What part of a cluster one podfit looks after. Watches, rights and modes follow from it. */

/** The part of the cluster; each restriction stands for itself. */
export interface Scope {
  /** `null` = all. */
  readonly namespaces: readonly string[] | null;
  readonly node: string | null;
  readonly pod: { readonly namespace: string; readonly name: string } | null;
}

/** No restriction at all. */
export const WHOLE_CLUSTER: Scope = { namespaces: null, node: null, pod: null };

/**
 * How podfit runs: one for many nodes, one on each node, or one in each pod. It follows from the scope; a sidecar may know
 * its node beside its pod.
 */
export type Mode = "central" | "node-local" | "sidecar";

/** The mode of a podfit that looks after this part. */
export function readMode({ node, pod }: Scope): Mode {
  return pod !== null ? "sidecar" : node !== null ? "node-local" : "central";
}

/** What the statuses of all autoscalers follow from of which podfits with this scope, but for its node or pod, have pods. */
export function toStatusScope({ namespaces, pod }: Scope): Scope {
  return { namespaces: pod === null ? namespaces : [pod.namespace], node: null, pod: null };
}

/** Whether a workload may have pods that this podfit does not see. */
export function isPartial({ node, pod }: Scope): boolean {
  return node !== null || pod !== null;
}

/** Whether all pods of the nodes in the scope are seen, so that what they ask for can be added up (L30). */
export function seesWholeNodes({ namespaces, pod }: Scope): boolean {
  return namespaces === null && pod === null;
}

/** The path prefixes of namespaced lists: one for the whole cluster, or one per namespace. */
export function listPrefixes({ namespaces, pod }: Scope): readonly string[] {
  if (pod !== null) return [`/namespaces/${pod.namespace}`];
  return namespaces === null ? [""] : namespaces.map((namespace) => `/namespaces/${namespace}`);
}

/** The field selector of the pod watch; `null` = all pods. */
export function readPodFieldSelector({ node, pod }: Scope): string | null {
  const terms = [
    ...(node === null ? [] : [`spec.nodeName=${node}`]),
    ...(pod === null ? [] : [`metadata.name=${pod.name}`]),
  ];
  return terms.length === 0 ? null : terms.join(",");
}
