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
  /**
   * PSI `memory.full`: the share of the last 10 s in which all of its processes waited for memory, percent. Absent if it
   * is 0 or not measured. Clauses: L15.
   */
  readonly memoryStallPercent?: number;
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

/** One reading's usage by UID, in the order of the source. A Map is one. */
export interface PodUsages extends Iterable<[string, PodUsage]> {
  readonly size: number;
  get(uid: string): PodUsage | undefined;
  has(uid: string): boolean;
  keys(): Iterable<string>;
  values(): Iterable<PodUsage>;
  /** Empties it, and gives its memory back to the source. Its rows must not be used afterwards. */
  clear(): void;
}

/**
 * The same usage as numbers in rows, one row for each pod and one for each of its containers. A source that has rows
 * builds the objects of a pod only for who asks for them. NaN = the source doesn't have it.
 */
export interface UsageRows {
  /** Each row has ROW_LENGTH numbers: a field is at the start of its row plus `ROW.field`. Only rows found here count. */
  readonly numbers: Float64Array;
  /** Returns the start of the pod's own row; -1 without usage of the pod. */
  findPod(uid: string): number;
  /** Returns the start of the container's row, for the start of its pod's row; -1 without usage of the container. */
  findContainer(podRow: number, name: string): number;
  /** Returns `Point.instance` of the container whose row starts there. */
  getInstance(row: number): string;
}

/** Usage of a pod as numbers. `row`: the start of the pod's own row. */
export interface RowsOfPod {
  readonly rows: UsageRows;
  readonly row: number;
}

/**
 * The fields of a row. That of a pod has `usageBytes`, and where `at` is not NaN the fields of PodCpu. That of a
 * container has those of a Point with a counter.
 */
export const ROW = {
  at: 0,
  resolutionMs: 1,
  counterNs: 2,
  workingSetBytes: 3,
  usageBytes: 4,
  /** Pressure; `null` where this and the two of a limit are NaN. */
  fullNs: 5,
  /** The unit that PSI's total was taken for: 1 or 1000 ns; NaN where the source gives its unit. */
  fullUnitNs: 6,
  /** `PsiHint.percent`. */
  fullPercent: 7,
  throttledNs: 8,
  largestCpuNs: 9,
  oomKills: 10,
  memoryStallPercent: 11,
} as const;

export const ROW_LENGTH = 12;

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
    readonly pods: PodUsages;
    /** The same in numbers, until `pods` is emptied; absent if the source has objects only. */
    readonly rows?: UsageRows;
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
