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
  /** Since 1.34; zeros for ever on nodes whose kernel or cgroup version doesn't measure it. */
  readonly psi?: PsiStats;
}

/** Time that threads of the cgroup waited for the CPU: any of them, or all that wanted to run (KEP-4205). */
export interface PsiStats {
  readonly some?: PsiData;
  readonly full?: PsiData;
}

export interface PsiData {
  /** Documented as ns, which is what a runtime gives; cAdvisor's numbers are the kernel's microseconds. */
  readonly total?: number;
  /** Percent of the last 10, 60 and 300 s. */
  readonly avg10?: number;
  readonly avg60?: number;
  readonly avg300?: number;
}

export interface MemoryStats {
  readonly time?: string;
  readonly availableBytes?: number;
  readonly usageBytes?: number;
  readonly workingSetBytes?: number;
  readonly rssBytes?: number;
}
