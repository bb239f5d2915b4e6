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
