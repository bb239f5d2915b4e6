/**
 * Where does usage come from? This is the interface of every source: an endless series of readings for each node.
 *
 * A helper takes one reading per interval without overlap.
 */
import type { FailureReason, Reading } from "../api/usage.ts";
import { type Clock, Pause } from "../runtime/clock.ts";
import type { QosClass } from "../units/resources.ts";

/** The fields of a node that a source needs. */
export interface UsageNode {
  readonly name: string;
  /** Read again for each reading: a node that returns may have another address. */
  readonly getAddress: () => KubeletAddress;
}

/** The kubelet's address by the node's status. The node writes it, so it is not trusted. */
export interface KubeletAddress {
  /** `null` when the node is not known. */
  readonly addresses: readonly StatusAddress[] | null;
  readonly port: number;
  /** The maximum of pods; `null` if it does not say. */
  readonly maxPods: number | null;
}

/** An address by its type: https://kubernetes.io/docs/reference/node/node-status/#addresses */
export interface StatusAddress {
  readonly type: string;
  readonly address: string;
}

/** The fields of a pod that a source needs to find its containers. */
export interface UsagePod {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly qosClass: QosClass | null;
  /** The wanted containers. */
  readonly containers: readonly UsageContainer[];
}

/** A wanted container. */
export interface UsageContainer {
  readonly name: string;
  /** containerID of the present instance, such as `containerd://5f3c...`; `null` when it has none. */
  readonly instance: string | null;
  /** `null` while it is not running. */
  readonly runningAt: number | null;
}

/** The interval, the wanted pods, and the end of a watch. */
export interface WatchUsageOptions {
  /** Ms from reading to reading; asked again while waiting. */
  readonly interval: () => number;
  /** Receives a function that is called when the interval may have become shorter, so that it counts at once. */
  readonly onShorterInterval?: (call: () => void) => void;
  /** Whether usage of the pod with this uid is wanted; asked for each reading. */
  readonly isTracked: (uid: string) => boolean;
  /** The node's tracked pods at this moment, for a source that reads each pod separately. */
  readonly pods: () => Iterable<UsagePod>;
  /** Ends the iteration, without an error. */
  readonly signal: AbortSignal;
}

/** Yields the node's readings, failed ones included, until the signal aborts. The iteration does not reject. */
export type WatchUsage = (node: UsageNode, options: WatchUsageOptions) => AsyncIterable<Reading>;

/**
 * Yields the result of `read` once per interval until the signal aborts. Rejects only if `read` does. Readings never
 * overlap, and a missed one is not made up. A reading that is late by less than half an interval does not move the
 * phase: otherwise nodes that one busy moment has delayed would be read together from then on.
 */
export async function* readAtInterval<T>(read: () => Promise<T> | T, options: IntervalOptions): AsyncGenerator<T> {
  const { clock, signal, firstMs = clock.monotonic() } = options;
  using pause = new Pause(clock, signal);
  // Not before the first reading.
  let isWaiting = false;
  options.onShorterInterval?.(() => isWaiting && pause.end());
  await pause.until(firstMs);
  // Not the time at which it woke: nodes of a group share a timer as long as they are due at the same time.
  let dueMs = firstMs;
  while (!signal.aborted) {
    const reading = await read();
    if (signal.aborted) return;
    yield reading;
    while (!signal.aborted) {
      const nowMs = clock.monotonic();
      const nextMs = toNextDue(dueMs, options);
      if (nextMs <= nowMs) break;
      isWaiting = true;
      await pause.until(nextMs - nowMs > MAX_FINAL_WAIT_MS ? nowMs + RECHECK_MS : nextMs);
      isWaiting = false;
    }
    dueMs = toNextDue(dueMs, options);
    const lateMs = clock.monotonic() - dueMs;
    if (lateMs > toIntervalMs(options) / 2) dueMs += lateMs;
  }
}

/**
 * After this many failed reads of a node in a row there is a condition and an error, and another source is tried.
 * Clauses: C51, C54.
 */
export const MAX_FAILED_READS = 3;

/** These failures need an operator, who has to set an option or a right. */
export const LASTING_FAILURES: ReadonlySet<FailureReason> = new Set(["tls", "unauthorized", "forbidden"]);

/** When to read, and until when. */
interface IntervalOptions extends Pick<WatchUsageOptions, "interval" | "onShorterInterval"> {
  readonly clock: Clock;
  /** The time of the first reading, monotonic, to spread the nodes; now by default. */
  readonly firstMs?: number;
  /**
   * Returns the phase of all later readings, ms: they come at multiples of the interval plus the phase. By default that
   * of the first reading.
   */
  readonly toPhaseMs?: (intervalMs: number) => number;
  /** Ends the iteration, without an error. */
  readonly signal: AbortSignal;
}

/** A node is never read more often than this on average. */
const MIN_INTERVAL_MS = 1000;

/** Returns the interval at this moment, ms. */
function toIntervalMs({ interval }: Pick<IntervalOptions, "interval">): number {
  const intervalMs = interval();
  return intervalMs >= MIN_INTERVAL_MS ? intervalMs : MIN_INTERVAL_MS;
}

/** Returns the first time after `dueMs` that has the phase: one interval later, or sooner where the phase was another. */
function toNextDue(dueMs: number, options: Pick<IntervalOptions, "interval" | "toPhaseMs">): number {
  const intervalMs = toIntervalMs(options);
  if (options.toPhaseMs === undefined) return dueMs + intervalMs;
  const phaseMs = options.toPhaseMs(intervalMs);
  return Math.floor((dueMs - phaseMs) / intervalMs + 1 + ROUNDING) * intervalMs + phaseMs;
}

/** Times are doubles: a time that has the phase may seem to be a little before it. */
const ROUNDING = 1e-6;

/** How often a long wait checks the interval again; at the default of 15 s only the poll itself wakes. */
const RECHECK_MS = 5_000;

const MAX_FINAL_WAIT_MS = 15_000;
