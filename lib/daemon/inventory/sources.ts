/** What is watched in a scope: the address of each list, what is read of its objects, and what that keeps current. */
import type { PodResourceAutoscaler } from "../../api/autoscaler.ts";
import type { Deployment, Node, Pod } from "../../api/kubernetes.ts";
import type { WorkloadKind } from "../../autoscaler/autoscaler.ts";
import type { OperatorLimits } from "../../autoscaler/operator_limits.ts";
import type { AutoscalerFacts, NodeFacts, WorkloadFacts } from "./facts.ts";
import type { Inventory } from "./inventory.ts";
import type { NamespaceRule, Namespaces } from "./namespaces.ts";
import { readAutoscaler } from "./read_autoscaler.ts";
import { type LimitRange, readLimitRange, readQuota, type ResourceQuota } from "./read_limits.ts";
import { readNode } from "./read_node.ts";
import { readPod } from "./read_pod.ts";
import { readWorkload } from "./read_workload.ts";
import type { Objects } from "../replicas/objects.ts";
import { listReplicaSources } from "../replicas/sources.ts";
import type { Rooms } from "./rooms.ts";
import { listPrefixes, readPodFieldSelector, type Scope } from "./scope.ts";
import { readNamespace, type Source } from "./source.ts";
import { PLURALS, WORKLOAD_KINDS } from "./workloads.ts";

/** What is looked after, and what is kept current of it. */
export interface SourceTargets {
  readonly scope: Scope;
  /** Nothing is decided about pods: neither nodes nor limits are watched. */
  readonly isForStatus?: boolean;
  readonly limits: OperatorLimits;
  readonly inventory: Inventory;
  readonly nodes: Map<string, NodeFacts>;
  readonly rooms: Pick<Rooms, "moveNode">;
  readonly namespaces: Namespaces;
  /** Absent where no replicas are set. */
  readonly scaledObjects?: Objects;
  readonly onAutoscalerGone: (facts: AutoscalerFacts) => void;
}

/** In the order in which they are begun. */
export function listSources(options: SourceTargets): readonly Source<unknown>[] {
  const { scope, isForStatus = false } = options;
  const prefixes = listPrefixes(scope);
  // The rights of a sidecar are those of a Role, which gives none to nodes.
  const isOfNodes = !isForStatus && scope.pod === null;
  // An autoscaler means nothing without its target's selector, so workloads come before autoscalers, and pods last.
  return [
    ...(isOfNodes ? [nodeSource(options)] : []),
    ...prefixes.flatMap((prefix) => WORKLOAD_KINDS.map((kind) => workloadSource(options, { prefix, kind }))),
    ...prefixes.map((prefix) => autoscalerSource(options, prefix)),
    ...(isForStatus ? [] : prefixes.flatMap((prefix) => limitSources(options, prefix))),
    ...(options.scaledObjects === undefined
      ? []
      : listReplicaSources(options.scaledObjects, { prefixes, limits: options.limits })),
    ...prefixes.map((prefix) => podSource(options, prefix)),
  ] as readonly Source<unknown>[];
}

function nodeSource({ nodes, rooms, scope }: SourceTargets): Source<NodeFacts> {
  return {
    resource: "nodes",
    namespace: null,
    path: "/api/v1/nodes",
    fieldSelector: scope.node === null ? null : `metadata.name=${scope.node}`,
    project: (object) => readNode(object as Node),
    replaceAll(all) {
      const before = new Map(nodes);
      nodes.clear();
      for (const node of all) nodes.set(node.name, node);
      for (const name of new Set([...before.keys(), ...nodes.keys()])) rooms.moveNode(name, before.get(name));
    },
    set(node) {
      const before = nodes.get(node.name);
      nodes.set(node.name, node);
      rooms.moveNode(node.name, before);
    },
    remove(node) {
      const before = nodes.get(node.name);
      nodes.delete(node.name);
      rooms.moveNode(node.name, before);
    },
  };
}

function workloadSource(
  { inventory }: SourceTargets,
  { prefix, kind }: { prefix: string; kind: WorkloadKind },
): Source<WorkloadFacts> {
  const namespace = readNamespace(prefix);
  return {
    resource: PLURALS[kind],
    namespace,
    path: `/apis/apps/v1${prefix}/${PLURALS[kind]}`,
    fieldSelector: null,
    project: (object) => readWorkload(object as Deployment, kind),
    replaceAll: (all) => inventory.replaceWorkloads({ kind, namespace }, all),
    set: (one) => inventory.setWorkload(one),
    remove: (one) => inventory.removeWorkload(one),
  };
}

function autoscalerSource(
  { inventory, limits, onAutoscalerGone }: SourceTargets,
  prefix: string,
): Source<AutoscalerFacts> {
  const namespace = readNamespace(prefix);
  return {
    resource: "podresourceautoscalers",
    namespace,
    path: `/apis/keda.kedify.io/v1alpha1${prefix}/podresourceautoscalers`,
    fieldSelector: null,
    project: (object) => readAutoscaler(object as PodResourceAutoscaler, limits),
    replaceAll(all) {
      for (const gone of inventory.replaceAutoscalers(namespace, all)) onAutoscalerGone(gone);
    },
    set: (one) => inventory.setAutoscaler(one),
    remove(one) {
      inventory.removeAutoscaler(one);
      onAutoscalerGone(one);
    },
  };
}

/** Limit ranges and quotas: known ones are kept to, others are found out by being refused (L32). */
function limitSources({ namespaces }: SourceTargets, prefix: string): readonly Source<NamespaceRule>[] {
  const namespace = readNamespace(prefix);
  const toSource = (
    resource: string,
    kind: NamespaceRule["kind"],
    project: (object: unknown) => NamespaceRule,
  ): Source<NamespaceRule> => ({
    resource,
    namespace,
    path: `/api/v1${prefix}/${resource}`,
    fieldSelector: null,
    project,
    replaceAll: (all) => namespaces.replace({ kind, namespace }, all),
    set: (one) => namespaces.set(one),
    remove: (one) => namespaces.remove(one),
    isOptional: true,
  });
  return [
    toSource("limitranges", "limitRange", (object) => readLimitRange(object as LimitRange)),
    toSource("resourcequotas", "quota", (object) => readQuota(object as ResourceQuota)),
  ];
}

function podSource({ inventory, scope }: SourceTargets, prefix: string): Source<ReturnType<typeof readPod>> {
  const namespace = readNamespace(prefix);
  return {
    resource: "pods",
    namespace,
    path: `/api/v1${prefix}/pods`,
    fieldSelector: readPodFieldSelector(scope),
    project: (object) => readPod(object as Pod),
    replaceAll: (all) => inventory.replacePods(namespace, all),
    set: (pod) => inventory.setPod(pod),
    remove: (pod) => inventory.removePod(pod),
  };
}
