/**
 * Where does usage come from? This is the interface of every source: an endless series of readings for each node.
 *
 * A helper takes one reading per interval without overlap.
 */
import type { FailureReason, Reading } from "../api/usage.ts";
import type { Clock } from "../runtime/clock.ts";
import type { QosClass } from "../units/resources.ts";

/** A node as a source of usage needs to know it. */
export interface UsageNode {
  readonly name: string;
  /** Read anew for each reading: a node that comes back may have another address. */
  readonly getAddress: () => KubeletAddress;
}

/** What a node's status says of its kubelet. The node writes it, so nothing of it is believed. */
export interface KubeletAddress {
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

/** What `read` gives, until the signal aborts. Rejects only when `read` does. */
export async function* readAtInterval<T>(read: () => Promise<T> | T, options: IntervalOptions): AsyncGenerator<T> {
  const { clock, signal, initialDelayMs = 0 } = options;
  await sleepUntilAborted(initialDelayMs, options);
  let dueMs = clock.monotonic();
  while (!signal.aborted) {
    const reading = await read();
    if (signal.aborted) return;
    yield reading;
    for (let leftMs = 1; leftMs > 0 && !signal.aborted;) {
      leftMs = dueMs + toIntervalMs(options) - clock.monotonic();
      if (leftMs > 0) await sleepUntilAborted(leftMs > MAX_FINAL_WAIT_MS ? RECHECK_MS : leftMs, options);
    }
    dueMs += toIntervalMs(options);
    const lateMs = clock.monotonic() - dueMs;
    if (lateMs > toIntervalMs(options) / 2) dueMs += lateMs;
  }
}

/** So many failed reads of a node in a row make a condition and an error, and have another source tried. */
export const MAX_FAILED_READS = 3;

/** What does not heal by itself: somebody has to give an option or a right. */
export const LASTING_FAILURES: ReadonlySet<FailureReason> = new Set(["tls", "unauthorized", "forbidden"]);

/** When is read, and until when. */
interface IntervalOptions {
  /** Ms from reading to reading; asked again while waiting, so that a shorter one counts at once. */
  readonly interval: () => number;
  readonly clock: Clock;
  /** Before the first reading, to spread the nodes. */
  readonly initialDelayMs?: number;
  /** Ends the iteration, without an error. */
  readonly signal: AbortSignal;
}

/** Whatever is asked for, a node is read no more often than that, on average. */
const MIN_INTERVAL_MS = 1000;

/** How long a cycle is at this moment. */
function toIntervalMs({ interval }: Pick<IntervalOptions, "interval">): number {
  const intervalMs = interval();
  return intervalMs >= MIN_INTERVAL_MS ? intervalMs : MIN_INTERVAL_MS;
}

/** How often a long wait asks for the interval anew; at the default of 15 s nothing but the poll itself wakes. */
const RECHECK_MS = 5_000;

const MAX_FINAL_WAIT_MS = 15_000;

function sleepUntilAborted(ms: number, { clock, signal }: IntervalOptions): Promise<void> {
  // Rejects only when aborted, which every caller looks at next.
  return clock.sleep(ms, signal).catch(() => {});
}
