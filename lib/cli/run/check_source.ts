/** Do the options of usage go together? What contradicts the source, or is missing for it, is said before a start. */
import { StartError } from "./start_error.ts";

/** Where usage can be read. */
export const STATS_SOURCES = ["kubelet", "proxy", "cgroup", "metrics-api", "auto"] as const;

/** Where usage is read. */
export type StatsSource = typeof STATS_SOURCES[number];

/** The source, and what concerns some sources only. */
export interface SourceOptions {
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
