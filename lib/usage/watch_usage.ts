/**
 * The port through which usage enters the daemon: one endless series of readings per node. The kubelets' summaries are
 * one source of them (`watch_kubelets.ts`); metrics.k8s.io or a reader of cgroups can be another.
 */
import type { Reading } from "../api/usage.ts";

/** A node as a source of usage needs to know it. */
export interface UsageNode {
  readonly name: string;
  /** Read anew for each reading: a node that comes back may have another address. */
  readonly readAddress: () => Address;
}

/** Where a node's kubelet answers. */
export interface Address {
  /** IP address or host name, IPv6 without brackets; empty when the node has none, `null` when it is not known. */
  readonly host: string | null;
  readonly port: number;
}

/** How often a node is read, for which pods, and until when. */
export interface WatchUsageOptions {
  /** Ms from reading to reading; asked again while waiting, so that a shorter one counts at once. */
  readonly interval: () => number;
  /** Whether usage of the pod with this uid is wanted; asked for each reading. */
  readonly isTracked: (uid: string) => boolean;
  /** Ends the iteration, without an error. */
  readonly signal: AbortSignal;
}

/** The node's readings, failed ones among them, until the signal aborts. The iteration does not reject. */
export type WatchUsage = (node: UsageNode, options: WatchUsageOptions) => AsyncIterable<Reading>;
