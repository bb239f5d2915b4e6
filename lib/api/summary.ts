/**
 * The slice of a kubelet's `/stats/summary` that podfit reads. Every field is optional on the wire, and times are whole
 * seconds: https://pkg.go.dev/k8s.io/kubelet/pkg/apis/stats/v1alpha1
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
  /** Of the pod's cgroup: older than the containers' numbers, and zeros in a pod's first seconds. */
  readonly cpu?: CpuStats;
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
  /** Covers a window that depends on who else polls; podfit doesn't read it. */
  readonly usageNanoCores?: number;
  /** Since the instance started. Passes 2^53 after 104 core-days and is then rounded to even ns: harmless for rates. */
  readonly usageCoreNanoSeconds?: number;
}

export interface MemoryStats {
  readonly time?: string;
  readonly availableBytes?: number;
  readonly usageBytes?: number;
  readonly workingSetBytes?: number;
  readonly rssBytes?: number;
}
