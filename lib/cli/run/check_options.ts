/**
 * Do the options of the daemon fit together?
 *
 * Which part of the cluster podfit works on, and where usage comes from. Each contradiction is a StartError that says
 * what to leave out.
 */
import { StartError } from "../command/process.ts";

// Do the options of usage go together? What contradicts the source, or is missing for it, is said before a start.

/** Where usage can be read. */
export const STATS_SOURCES = ["kubelet", "proxy", "cgroup", "metrics-api", "auto"] as const;

/** Where usage is read. */
export type StatsSource = typeof STATS_SOURCES[number];

/** The source, and what concerns some sources only. */
interface SourceOptions {
  readonly statsSource: StatsSource;
  readonly node: string | null;
  readonly cgroupRoot: string | null;
  readonly kubeletCa: string | null;
  readonly kubeletInsecureTls: boolean;
  readonly kubeletTokenFile: string | null;
}

/** Throws a StartError where they do not. */
export function checkSource(options: SourceOptions): void {
  checkKubelets(options);
  checkNodeLocal(options);
}

function checkKubelets({ statsSource, kubeletCa, kubeletInsecureTls, kubeletTokenFile }: SourceOptions): void {
  if (kubeletCa !== null && kubeletInsecureTls) {
    throw new StartError(
      "Cannot use --kubelet-ca with --kubelet-insecure-tls: the one checks kubelet certificates, the other accepts " +
        "any; leave one of them out (or its variable)",
    );
  }
  if (kubeletTokenFile !== null && statsSource !== "kubelet" && statsSource !== "auto") {
    throw new StartError(
      `Cannot use --kubelet-token-file with --stats-source ${statsSource}: no kubelet is asked, so none gets the token; ` +
        "leave it out (or its variable), or use --stats-source kubelet or auto",
    );
  }
}

/** The cgroup source reads files of one machine, so it has to know which node that is. */
function checkNodeLocal({ statsSource, node, cgroupRoot }: SourceOptions): void {
  if (statsSource === "cgroup" && node === null) {
    throw new StartError(
      "Cannot use --stats-source cgroup without --node: name the node whose cgroups these are (in a pod: PODFIT_NODE " +
        "from the field spec.nodeName)",
    );
  }
  if (statsSource === "cgroup" && cgroupRoot === null) {
    throw new StartError(
      "Cannot use --stats-source cgroup without --cgroup-root: mount the node's /sys/fs/cgroup read-only at another " +
        "path, and name that",
    );
  }
  if (statsSource !== "cgroup" && cgroupRoot !== null) {
    throw new StartError(
      `Cannot use --cgroup-root with --stats-source ${statsSource}: add --stats-source cgroup, or leave it out`,
    );
  }
}

// Which part of a cluster podfit looks after, and which sources of usage go with it: what contradicts itself is
// refused.

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
const NODE_SOURCES: readonly string[] = ["kubelet", "proxy", "auto"];

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
  if (pod === null || !NODE_SOURCES.includes(statsSource)) return;
  throw new StartError(
    `Cannot use --stats-source ${statsSource} with --pod: it needs rights to nodes, which a pod should not have; add ` +
      "--stats-source metrics-api, or --stats-source cgroup with --node and --cgroup-root",
  );
}
