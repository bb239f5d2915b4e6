/**
 * The part of a kubelet's `/stats/summary` that podfit reads. Every field is optional there, and times are RFC 3339 in
 * whole seconds: https://pkg.go.dev/k8s.io/kubelet/pkg/apis/stats/v1alpha1
 */

export interface Summary {
  readonly node?: NodeStats;
  readonly pods?: readonly PodStats[];
}

export interface NodeStats {
  readonly nodeName?: string;
  readonly cpu?: CpuStats;
  readonly memory?: MemoryStats;
}

export interface PodStats {
  readonly podRef?: { readonly name?: string; readonly namespace?: string; readonly uid?: string };
  readonly startTime?: string;
  readonly containers?: readonly ContainerStats[];
  /** CPU of the pod's cgroup, older than the containers' numbers. */
  readonly cpu?: CpuStats;
  /** Memory of the pod's cgroup, with zeros in a pod's first seconds. */
  readonly memory?: MemoryStats;
}

export interface ContainerStats {
  readonly name?: string;
  readonly startTime?: string;
  readonly cpu?: CpuStats;
  readonly memory?: MemoryStats;
}

export interface CpuStats {
  readonly time?: string;
  /** A rate over a window that depends on who else polls, which is why podfit doesn't read it. */
  readonly usageNanoCores?: number;
  /**
   * A counter since the instance started. Beyond 2^53, after 104 core-days, it is rounded to 2 ns, harmless for rates.
   */
  readonly usageCoreNanoSeconds?: number;
}

export interface MemoryStats {
  readonly time?: string;
  readonly availableBytes?: number;
  readonly usageBytes?: number;
  readonly workingSetBytes?: number;
  readonly rssBytes?: number;
}
