/**
 * The types of the cluster cache: what it keeps of autoscalers, workloads, nodes and pods. The scope says which part
 * of a cluster this podfit covers: all of it, some namespaces, one node or one pod.
 */
import type { Autoscaler, WorkloadKind } from "../../model/autoscaler.ts";
import type { NodeCapacity } from "../../model/decision.ts";
import type { PodFacts } from "../../model/pod.ts";
import type { Selector } from "../../units/selector.ts";
import type { Problem } from "../../units/untrusted.ts";
import type { StatusAddress } from "../../usage/source.ts";

// What the daemon keeps of autoscalers, workloads and nodes; `read_*.ts` beside this file parse them.

/** A PodResourceAutoscaler, parsed. */
export interface AutoscalerFacts {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: string;
  readonly generation: number;
  /** `null` when the spec is invalid: then `problems` says why. */
  readonly autoscaler: Autoscaler | null;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  /** As the API server has it: of any shape. */
  readonly status: unknown;
}

/** A Deployment, StatefulSet or DaemonSet, as far as autoscalers need it. */
export interface WorkloadFacts {
  readonly kind: WorkloadKind;
  readonly namespace: string;
  readonly name: string;
  /** `null` when it cannot be read: then `problems` says why. */
  readonly selector: Selector | null;
  readonly problems: readonly Problem[];
}

/** A node, as far as its usage is concerned. */
export interface NodeFacts {
  readonly name: string;
  /** Where its kubelet is asked, by its own word. */
  readonly addresses: readonly StatusAddress[];
  readonly port: number;
  /** `null` when it does not say. */
  readonly maxPods: number | null;
  readonly capacity: NodeCapacity;
  /** What of it pods may ask for. */
  readonly allocatable: NodeCapacity;
  /** `v1.36.3`; `null` when it does not say. */
  readonly kubeletVersion: string | null;
  /** Its condition MemoryPressure is True. */
  readonly memoryPressure: boolean;
}

/** As kubectl and people name a namespaced object: `namespace/name`. */
export function formatName({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${namespace}/${name}`;
}

// What the inventory gives: a pod with the autoscalers that contend for it, and what an autoscaler's spec comes to.

/** A pod that some autoscaler contends for. Another object for each change. */
export interface TrackedPod {
  readonly pod: PodFacts;
  /** Sorted by name; never empty. */
  readonly autoscalers: readonly Autoscaler[];
}

/** What an autoscaler's spec comes to in the cluster as it is. */
export interface Resolution {
  /** `null` while the target is missing, or the spec is invalid. */
  readonly selector: Selector | null;
  readonly matched: number;
  /** Matching pods that have the container, by UID. */
  readonly tracked: ReadonlyMap<string, PodFacts>;
  /** How many of them have so many autoscalers of higher rank that this one is not asked. */
  readonly crowdedOut: number;
  readonly isTargetMissing: boolean;
  /** What is wrong with the selector of a target that is there. */
  readonly targetProblems: readonly Problem[];
}

// What part of a cluster one podfit looks after. Watches, rights and modes follow from it.

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
export function toMode({ node, pod }: Scope): Mode {
  return pod !== null ? "sidecar" : node !== null ? "node-local" : "central";
}

/** What the statuses of all autoscalers follow from of which podfits with this scope, but for its node or pod, have pods. */
export function toReporterScope({ namespaces, pod }: Scope): Scope {
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
export function toPodFieldSelector({ node, pod }: Scope): string | null {
  const terms = [
    ...(node === null ? [] : [`spec.nodeName=${node}`]),
    ...(pod === null ? [] : [`metadata.name=${pod.name}`]),
  ];
  return terms.length === 0 ? null : terms.join(",");
}
