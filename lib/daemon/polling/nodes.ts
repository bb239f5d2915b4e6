/**
 * Which nodes are polled: those with tracked pods, each by one loop whose interval is the smallest pollInterval of its
 * pods. Keeps the pods by node and starts and ends the loops as pods come and go (C20). Metered pods are read as well, for
 * who scales their workload, and not evaluated (R20).
 */
import type { Reading } from "../../api/usage.ts";
import type { Address, UsageNode, WatchUsage } from "../../usage/watch_usage.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { Log } from "../../runtime/log.ts";
import { computeOn } from "../../runtime/compute.ts";
import { TaskSet } from "../../runtime/tasks.ts";
import type { Evaluator } from "../evaluator.ts";
import type { NodeFacts } from "../inventory/facts.ts";
import type { PodFacts } from "../../core/pod/pod_facts.ts";
import type { Tracked } from "../inventory/tracked.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { OnTrouble } from "../report/trouble.ts";
import { Changes, runNodeLoop } from "./node_loop.ts";
import { NodePace } from "./node_pace.ts";
import { FAILED_READS, FOR_A_PERSON } from "../../usage/failed_reads.ts";
import type { UsageHealth } from "./usage_health.ts";
import { listUsagePods } from "./usage_pods.ts";
import { UsageSources } from "./usage_sources.ts";

/** Where usage comes from, who evaluates it, and what is known of nodes. */
export interface NodesOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly onTrouble: OnTrouble;
  readonly watchUsage: WatchUsage;
  readonly evaluator: Pick<Evaluator, "evaluate">;
  readonly facts: ReadonlyMap<string, NodeFacts>;
  /** False until `facts` has all nodes there are. */
  readonly areListed: () => boolean;
  readonly health: UsageHealth;
  /** No node is read more often for metered pods, ms. */
  readonly minPollIntervalMs?: number | null;
  /** Hears of each reading before its pods are evaluated. */
  readonly onReading?: (reading: Reading) => void;
}

interface Entry {
  readonly pods: Map<string, Tracked>;
  readonly metered: Map<string, PodFacts>;
  readonly changes: Changes;
  readonly pace: NodePace;
  evaluatedAt: number;
  failures: number;
}

/** A loop that evaluates nothing for this long beyond its interval is stuck: all calls it makes have shorter timeouts. */
const STUCK_MS = 60_000;

const WHAT = "Cannot read usage of nodes";

/** The nodes with tracked pods, each with its loop. Disposal ends all loops and waits for them. */
export class Nodes implements AsyncDisposable {
  readonly #options: NodesOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #loops: TaskSet;
  readonly #sources: UsageSources;

  constructor(options: NodesOptions) {
    const { clock, random, metrics, onTrouble } = options;
    this.#options = options;
    this.#sources = new UsageSources({ metrics, onTrouble });
    this.#loops = new TaskSet({
      clock,
      random,
      onError: (node, error) => {
        metrics.failed("", "NodeLoop");
        const message = "Node loop failed, starting it again";
        onTrouble({ kind: "failure", level: "error", message, autoscaler: null, fields: { node, error } });
      },
    });
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Names of nodes whose loop is stuck. */
  listStuck(): readonly string[] {
    const now = this.#options.clock.monotonic();
    return [...this.#entries].filter(([, entry]) => now - entry.evaluatedAt > entry.pace.intervalMs + STUCK_MS)
      .map(([node]) => node);
  }

  put(tracked: Tracked): void {
    const node = tracked.pod.nodeName;
    if (node === null) return;
    const entry = this.#entries.get(node) ?? this.#add(node);
    entry.pods.set(tracked.pod.uid, tracked);
    entry.pace.noteTracked();
    entry.changes.add(tracked.pod.uid);
  }

  /** Has those of the pods that are on the node evaluated now, rather than at the next reading (L30). */
  wake(node: string, uids: ReadonlySet<string>): void {
    const entry = this.#entries.get(node);
    if (entry === undefined) return;
    for (const uid of uids) if (entry.pods.has(uid)) entry.changes.add(uid);
  }

  remove(uid: string, node: string | null): void {
    const entry = this.#entries.get(node ?? "");
    if (entry === undefined || node === null) return;
    entry.pods.delete(uid);
    entry.changes.remove(uid);
    entry.pace.noteTracked();
    this.#endIfEmpty(node, entry);
  }

  /** Has the pod's usage read every 5 s, or as often as its node is read for others. */
  meter(pod: PodFacts): void {
    if (pod.nodeName === null) return;
    const entry = this.#entries.get(pod.nodeName) ?? this.#add(pod.nodeName);
    entry.metered.set(pod.uid, pod);
  }

  unmeter({ uid, nodeName }: Pick<PodFacts, "uid" | "nodeName">): void {
    const entry = this.#entries.get(nodeName ?? "");
    if (entry === undefined || nodeName === null) return;
    entry.metered.delete(uid);
    this.#endIfEmpty(nodeName, entry);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#loops[Symbol.asyncDispose]();
  }

  #endIfEmpty(node: string, entry: Entry): void {
    if (entry.pods.size > 0 || entry.metered.size > 0) return;
    this.#entries.delete(node);
    if (entry.failures > 0) this.#options.onTrouble({ kind: "recovered", what: WHAT, subject: node });
    this.#options.health.forgetNode(node);
    this.#sources.forget(node);
    this.#loops.stop(node);
  }

  #add(node: string): Entry {
    const { clock, minPollIntervalMs = null } = this.#options;
    const [pods, metered] = [new Map<string, Tracked>(), new Map<string, PodFacts>()];
    const pace = new NodePace({ clock, tracked: pods, metered, minPollIntervalMs });
    const entry: Entry = { pods, metered, pace, changes: new Changes(), evaluatedAt: clock.monotonic(), failures: 0 };
    this.#entries.set(node, entry);
    this.#loops.start(node, (signal) => this.#run(node, entry, signal));
    return entry;
  }

  async #run(node: string, entry: Entry, signal: AbortSignal): Promise<void> {
    const { clock, watchUsage, evaluator, facts } = this.#options;
    // Aborted when the loop fails, too: the loop that is started after it watches anew.
    const ending = new AbortController();
    const readings = watchUsage(toUsageNode(node, facts), {
      interval: () => entry.pace.intervalMs,
      isTracked: (uid) => entry.pods.has(uid) || entry.metered.has(uid),
      pods: () => listUsagePods(entry),
      signal: AbortSignal.any([signal, ending.signal]),
    });
    try {
      await runNodeLoop({
        node,
        evaluator,
        tracked: () => entry.pods,
        capacity: () => facts.get(node)?.capacity ?? { cpuMillicores: null, memoryBytes: null },
        readings: readings[Symbol.asyncIterator](),
        changes: entry.changes,
        signal,
        compute: computeOn(clock),
        beginRound: () => entry.pace.beginRound(),
        onReading: (reading) => this.#note(reading, entry),
        onEvaluated: () => entry.evaluatedAt = clock.monotonic(),
      });
    } finally {
      ending.abort();
    }
  }

  #note(reading: Reading, entry: Entry): void {
    const { metrics, log, health, facts, areListed, onTrouble } = this.#options;
    this.#sources.note(reading);
    this.#options.onReading?.(reading);
    if (reading.kind === "usage") {
      health.note(reading);
      metrics.kubeletRead("ok", reading.durationMs / 1000);
      if (reading.skipped > 0) metrics.usageSkipped("malformed", reading.skipped);
      if (entry.failures > 0) {
        onTrouble({ kind: "recovered", what: WHAT, subject: reading.node, message: "Usage of node is read again" });
      }
      entry.failures = 0;
      return;
    }
    // The node is not at fault: the watch of nodes says why they are not listed, and it may have listed this one meanwhile.
    const isCounted = reading.reason !== "unlisted" || (areListed() && !facts.has(reading.node));
    health.note(reading, { isCounted });
    if (!isCounted) return log.debug(reading.message);
    metrics.kubeletRead(reading.reason, null);
    entry.failures++;
    if (entry.failures === FAILED_READS) {
      for (const namespace of listNamespaces(entry)) metrics.failed(namespace, "MetricsUnavailable");
    }
    onTrouble({
      kind: "failure",
      level: FOR_A_PERSON.has(reading.reason) ? "error" : "warn",
      message: reading.message,
      autoscaler: null,
      fields: { node: reading.node, reason: reading.reason, failures: entry.failures },
      topic: { what: WHAT, reason: reading.reason, subject: reading.node },
    });
  }
}

const UNKNOWN: Address = { addresses: null, port: 0, maxPods: null };

function toUsageNode(name: string, facts: ReadonlyMap<string, NodeFacts>): UsageNode {
  return {
    name,
    readAddress() {
      const { addresses, port, maxPods } = facts.get(name) ?? UNKNOWN;
      return { addresses, port, maxPods };
    },
  };
}

function listNamespaces({ pods }: Entry): ReadonlySet<string> {
  return new Set([...pods.values()].map(({ pod }) => pod.namespace));
}
