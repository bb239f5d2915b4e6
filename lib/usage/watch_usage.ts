/**
 * The port through which usage enters the daemon: one endless series of readings per node. The kubelets' summaries are
 * one source of them (`watch_kubelets.ts`), the node's own cgroups another (`cgroup/watch_cgroups.ts`), metrics.k8s.io a third
 * (`metrics_api/watch_metrics_api.ts`); two of them become one by `auto/fall_back.ts`.
 */
import type { Reading } from "../api/usage.ts";
import type { QosClass } from "../units/qos.ts";

/** A node as a source of usage needs to know it. */
export interface UsageNode {
  readonly name: string;
  /** Read anew for each reading: a node that comes back may have another address. */
  readonly readAddress: () => Address;
}

/** What a node's status says of its kubelet. The node writes it, so nothing of it is believed. */
export interface Address {
  /** `null` when the node is not known. */
  readonly addresses: readonly StatusAddress[] | null;
  readonly port: number;
  /** How many pods it may have; `null` when it does not say. */
  readonly maxPods: number | null;
}

/** An address by its type: https://kubernetes.io/docs/reference/node/node-status/#addresses */
export interface StatusAddress {
  readonly type: string;
  readonly address: string;
}

/** A pod as a source that looks for its containers needs to know it. */
export interface UsagePod {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly qosClass: QosClass | null;
  /** Those whose usage is wanted. */
  readonly containers: readonly UsageContainer[];
}

/** A container whose usage is wanted. */
export interface UsageContainer {
  readonly name: string;
  /** containerID of the present instance, such as `containerd://5f3c...`; `null` when it has none. */
  readonly instance: string | null;
  /** `null` while it is not running. */
  readonly runningAt: number | null;
}

/** How often a node is read, for which pods, and until when. */
export interface WatchUsageOptions {
  /** Ms from reading to reading; asked again while waiting, so that a shorter one counts at once. */
  readonly interval: () => number;
  /** Whether usage of the pod with this uid is wanted; asked for each reading. */
  readonly isTracked: (uid: string) => boolean;
  /** The node's tracked pods at this moment, for a source that reads each by itself. */
  readonly pods: () => Iterable<UsagePod>;
  /** Ends the iteration, without an error. */
  readonly signal: AbortSignal;
}

/** The node's readings, failed ones among them, until the signal aborts. The iteration does not reject. */
export type WatchUsage = (node: UsageNode, options: WatchUsageOptions) => AsyncIterable<Reading>;
