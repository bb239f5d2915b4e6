/**
 * What a container uses, as any source of usage gives it: a kubelet's summary today, metrics.k8s.io or a cgroup reader
 * with the same shape. Both the adapters that read usage and the core that judges it speak these types.
 */

/** CPU as the source has it: a counter that grows since the instance started, or a rate it computed itself. */
export type Cpu =
  | { readonly kind: "counter"; readonly counterNs: number }
  | { readonly kind: "rate"; readonly millicores: number; readonly windowMs: number };

/** One container's usage at one time. */
export interface Point {
  readonly container: string;
  /** Distinguishes the runs of one container: the text of the instance's start time. Only equality means something. */
  readonly instance: string;
  /** When the source measured, by the clock of the node. */
  readonly at: number;
  /** How coarse `at` is: 1000 for whole seconds. */
  readonly resolutionMs: number;
  readonly cpu: Cpu;
  readonly workingSetBytes: number;
  /** With page cache: what the kernel holds against the limit; `null` when the source does not say. */
  readonly usageBytes: number | null;
}

/** One pod's usage in one reading. */
export interface PodUsage {
  /** What the pod's whole cgroup holds; `null` when the source does not say, as in a pod's first seconds. */
  readonly usageBytes: number | null;
  readonly points: readonly Point[];
}

/** Why a node could not be read; a closed list, for it is a label of metrics. */
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

/** What one poll of a node gave. */
export type Reading =
  | {
    readonly kind: "usage";
    readonly node: string;
    readonly readAt: number;
    /** Node's clock minus ours, in steps of a second; 0 while they agree within two. */
    readonly clockOffsetMs: number;
    /** By pod UID; only tracked pods. */
    readonly pods: ReadonlyMap<string, PodUsage>;
    /** Pods and containers left out because their numbers could not be believed. */
    readonly skipped: number;
    readonly durationMs: number;
  }
  | {
    readonly kind: "failed";
    readonly node: string;
    readonly readAt: number;
    readonly reason: FailureReason;
    readonly message: string;
  };
