/**
 * The types of the cluster cache: what it keeps of autoscalers, workloads, nodes and pods. The scope says which part of
 * a cluster this podfit covers: all of it, some namespaces, one node or one pod.
 */
import type { Autoscaler, WorkloadKind } from "../../model/autoscaler.ts";
import type { NodeCapacity } from "../../model/decision.ts";
import type { PodFacts } from "../../model/pod.ts";
import type { Scale } from "../../model/replicas_decision.ts";
import type { Selector } from "../../units/selector.ts";
import type { Problem } from "../../units/untrusted.ts";
import type { StatusAddress } from "../../usage/source.ts";

/** A parsed PodResourceAutoscaler. */
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
  /** As the API server stores it; it can have any shape. */
  readonly status: unknown;
}

/** The parts of a Deployment, StatefulSet or DaemonSet that autoscalers need. */
export interface WorkloadFacts {
  readonly kind: WorkloadKind;
  readonly namespace: string;
  readonly name: string;
  /** `null` when it cannot be read: then `problems` says why. */
  readonly selector: Selector | null;
  readonly problems: readonly Problem[];
  /** Absent for a DaemonSet, and for an object without a number of replicas. */
  readonly scale?: Scale;
}

/** The parts of a node that reading its usage and fitting pods need. */
export interface NodeFacts {
  readonly name: string;
  /** The addresses that it reports; its kubelet is read there. */
  readonly addresses: readonly StatusAddress[];
  readonly port: number;
  /** `null` when the node does not report it. */
  readonly maxPods: number | null;
  readonly capacity: NodeCapacity;
  /** The amounts that pods may request. */
  readonly allocatable: NodeCapacity;
  /** `v1.36.3`; `null` when the node does not report it. */
  readonly kubeletVersion: string | null;
  /** Its condition MemoryPressure is True. */
  readonly memoryPressure: boolean;
}

/** Returns the name of a namespaced object as kubectl writes it: `namespace/name`. */
export function formatName({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${namespace}/${name}`;
}

/** A pod that an autoscaler matches. Each change makes a new object. */
export interface TrackedPod {
  readonly pod: PodFacts;
  /** Sorted by name; never empty. */
  readonly autoscalers: readonly Autoscaler[];
}

/** What the cache knows about an autoscaler's target and pods. */
export interface Resolution {
  /** `null` while the target is missing, or the spec is invalid. */
  readonly selector: Selector | null;
  readonly matched: number;
  /** How many pods are left out only because they have more than `MAX_POD_CONTAINERS` containers. */
  readonly oversized: number;
  /** Matching pods that have the container, by UID. */
  readonly tracked: ReadonlyMap<string, PodFacts>;
  /** Returns how many of them already have the maximum number of autoscalers of higher rank. It visits each of them. */
  readonly countCrowdedOut: () => number;
  readonly isTargetMissing: boolean;
  /** The problems of the target's selector, if the target exists. */
  readonly targetProblems: readonly Problem[];
}

/** The part of the cluster that this podfit covers. The restrictions are independent of each other. */
export interface Scope {
  /** `null` = all. */
  readonly namespaces: readonly string[] | null;
  readonly node: string | null;
  readonly pod: { readonly namespace: string; readonly name: string } | null;
}

/** No restriction. */
export const WHOLE_CLUSTER: Scope = { namespaces: null, node: null, pod: null };

/**
 * How podfit runs: one for many nodes, one on each node, or one in each pod. The scope determines it. A sidecar may
 * also know its node.
 */
export type Mode = "central" | "node-local" | "sidecar";

/** Returns the mode of a podfit with this scope. */
export function toMode({ node, pod }: Scope): Mode {
  return pod !== null ? "sidecar" : node !== null ? "node-local" : "central";
}

/** Returns the scope of the status reporter: the same scope without its node or pod. */
export function toReporterScope({ namespaces, pod }: Scope): Scope {
  return { namespaces: pod === null ? namespaces : [pod.namespace], node: null, pod: null };
}

/** Returns whether a workload may have pods outside the scope. */
export function isPartial({ node, pod }: Scope): boolean {
  return node !== null || pod !== null;
}

/**
 * Returns whether all pods of the nodes in the scope are watched, so that their requests can be summed up.
 * Clauses: L30.
 */
export function seesWholeNodes({ namespaces, pod }: Scope): boolean {
  return namespaces === null && pod === null;
}

/** Returns the path prefixes of namespaced lists: one for the whole cluster, or one per namespace. */
export function listPrefixes({ namespaces, pod }: Scope): readonly string[] {
  if (pod !== null) return [`/namespaces/${pod.namespace}`];
  return namespaces === null ? [""] : namespaces.map((namespace) => `/namespaces/${namespace}`);
}

/** Returns the field selector of the pod watch; `null` = all pods. */
export function toPodFieldSelector({ node, pod }: Scope): string | null {
  const terms = [
    ...(node === null ? [] : [`spec.nodeName=${node}`]),
    ...(pod === null ? [] : [`metadata.name=${pod.name}`]),
  ];
  return terms.length === 0 ? null : terms.join(",");
}
