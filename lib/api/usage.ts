/**
 * Usage of pods, in the form that every source returns: a kubelet's summary, the cgroups of a node, or metrics.k8s.io.
 * The sources write these types, and the decisions read them.
 */

/** CPU as the source has it: a counter since the instance started, or a rate over a window. */
export type Cpu =
  | { readonly kind: "counter"; readonly counterNs: number }
  | { readonly kind: "rate"; readonly millicores: number; readonly windowMs: number };

/**
 * A kubelet passes on the kernel's total in microseconds (cAdvisor), or that of the runtime in nanoseconds, and does
 * not say which: https://github.com/google/cadvisor/blob/v0.56.2/container/libcontainer/handler.go (setPSIData)
 */
export interface PsiHint {
  /** What the total was taken for. No difference spans a change of it. */
  readonly unit: "us" | "ns";
  /** The higher of the kernel's own means over the last 10 and 60 s, percent. It confirms the unit, or does not. */
  readonly percent: number;
}

/**
 * How long a container's CPU was throttled or waited, in total since its instance started; `null` = not measured.
 * Clauses: L20.
 */
export interface Pressure {
  /** PSI `cpu.full`: some thread of it wanted to run and none did, ns. */
  readonly fullNs: number | null;
  /** Added by a source that does not say in which unit it gives PSI; absent if the unit is known. */
  readonly fullHint?: PsiHint;
  /** Time for which its CPU limit throttled it, summed over CPUs, ns. */
  readonly throttledNs: number | null;
  /** Usage on the CPU that it used most, ns. */
  readonly largestCpuNs: number | null;
}

/** One container's usage at one time. */
export interface Point {
  readonly container: string;
  /** Identifies one run of the container: the text of its start time, or its id; to be compared for equality only. */
  readonly instance: string;
  /** When the source measured: epoch ms by the clock of the node. */
  readonly at: number;
  /** The resolution of `at`: 1000 for whole seconds. */
  readonly resolutionMs: number;
  readonly cpu: Cpu;
  readonly workingSetBytes: number;
  /** Memory with page cache, which the kernel compares with the limit; `null` when the source doesn't have it. */
  readonly usageBytes: number | null;
  /** `null` if the source measures none of it. */
  readonly pressure: Pressure | null;
  /**
   * Processes of the container that were killed for memory since the instance started; absent or `null` if the source
   * does not count them.
   */
  readonly oomKills?: number | null;
}

/** The counter of a pod's own cgroup, which is read apart from those of its containers. Clauses: L60. */
export interface PodCpu {
  /** Epoch ms by the clock of the node. */
  readonly at: number;
  readonly resolutionMs: number;
  readonly counterNs: number;
  readonly pressure: Pressure | null;
}

/** One pod's usage in one reading. */
export interface PodUsage {
  /** Absent when the source doesn't have it, as in a pod's first seconds. */
  readonly cpu?: PodCpu;
  /** Memory of the whole pod's cgroup; `null` when the source doesn't have it, as in a pod's first seconds. */
  readonly usageBytes: number | null;
  readonly points: readonly Point[];
}

/** Why a poll gave no usage. */
export type FailureReason =
  /** The node is not known, so neither is its address. */
  | "unlisted"
  | "unreachable"
  | "tls"
  | "unauthorized"
  | "forbidden"
  | "http"
  | "too_large"
  | "timeout"
  /** The answer is not a summary. */
  | "malformed";

/** Which of several sources a reading is of, where a node has several. */
export interface Served {
  readonly source: string;
  /** Why the better source is not used; `null` if it is. */
  readonly because: string | null;
}

/** What one poll of a node gave. `readAt` is epoch ms by podfit's clock. */
export type Reading =
  | {
    readonly kind: "usage";
    readonly node: string;
    readonly readAt: number;
    /** The node's clock minus podfit's, in whole seconds; 0 while they agree within two. */
    readonly clockOffsetMs: number;
    /** The tracked pods by UID; the caller may empty it. */
    readonly pods: Map<string, PodUsage>;
    /** How many pods and containers were left out because their numbers are implausible. */
    readonly skipped: number;
    /** How long the poll took. */
    readonly durationMs: number;
    readonly served?: Served;
  }
  | {
    readonly kind: "failed";
    readonly node: string;
    readonly readAt: number;
    readonly reason: FailureReason;
    readonly message: string;
    readonly served?: Served;
  };
