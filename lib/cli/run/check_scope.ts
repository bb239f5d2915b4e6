/** Which part of a cluster podfit looks after, and which sources of usage go with it: what contradicts itself is refused. */
import { StartError } from "./start_error.ts";

interface PodName {
  readonly namespace: string;
  readonly name: string;
}

/** Those that are given, or that of the pod, which has its own already; throws a StartError for another beside it. */
export function toNamespaces(given: readonly string[] | null, pod: PodName | null): readonly string[] | null {
  if (pod === null) return given;
  const other = given?.find((namespace) => namespace !== pod.namespace);
  if (other !== undefined) {
    throw new StartError(
      `Cannot use --namespace ${other} with --pod ${pod.namespace}/${pod.name}: podfit looks after that pod only; ` +
        "leave one of them out (or its variable)",
    );
  }
  return [pod.namespace];
}

/** Sources that need rights to nodes, which no Role gives. */
const OF_NODES: readonly string[] = ["kubelet", "proxy", "auto"];

/** Replicas belong to whole workloads, whose pods are on many nodes; throws a StartError for a part of them. */
export function checkReplicas(
  { scaledObjects, node, pod }: {
    readonly scaledObjects: boolean;
    readonly node: string | null;
    readonly pod: PodName | null;
  },
): void {
  if (!scaledObjects || (node === null && pod === null)) return;
  const part = pod === null ? `--node ${node}` : `--pod ${pod.namespace}/${pod.name}`;
  throw new StartError(
    `Cannot use --scaled-objects with ${part}: replicas need all pods of a workload; leave it out here (or ` +
      "PODFIT_SCALED_OBJECTS), and give it to a podfit without --node and --pod",
  );
}

/** Whoever can change a pod's account must not get rights to nodes by it; throws a StartError. */
export function checkSidecar(
  { statsSource, pod }: { readonly statsSource: string; readonly pod: PodName | null },
): void {
  if (pod === null || !OF_NODES.includes(statsSource)) return;
  throw new StartError(
    `Cannot use --stats-source ${statsSource} with --pod: it needs rights to nodes, which a pod should not have; add ` +
      "--stats-source metrics-api, or --stats-source cgroup with --node and --cgroup-root",
  );
}
