/** Which part of a cluster podfit looks after, and which sources of usage go with it: what contradicts itself is refused. */
import { StartError } from "./start_error.ts";

interface PodName {
  readonly namespace: string;
  readonly name: string;
}

/** Where usage is read, and of what part. */
interface Source {
  readonly statsSource: string;
  readonly node: string | null;
  readonly pod: PodName | null;
  readonly cgroupRoot: string | null;
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

/** Whoever can change a pod's account must not get rights to nodes by it; throws a StartError. */
export function checkSidecar({ statsSource, pod }: Source): void {
  if (pod === null || !OF_NODES.includes(statsSource)) return;
  throw new StartError(
    `Cannot use --stats-source ${statsSource} with --pod: it needs rights to nodes, which a pod should not have; add ` +
      "--stats-source metrics-api, or --stats-source cgroup with --node and --cgroup-root",
  );
}

/** The cgroup source reads files of one machine, so it has to know which node that is; throws a StartError. */
export function checkNodeLocal({ statsSource, node, cgroupRoot }: Source): void {
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
