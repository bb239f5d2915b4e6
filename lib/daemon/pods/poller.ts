/**
 * Reads the usage of each node with tracked pods and passes it to the pod controller, one loop per node. The interval
 * is the smallest one that the node's autoscalers ask for. Changed pods are evaluated at once, and after changes of
 * their autoscalers alone at a bounded pace.
 */
import type { Reading } from "../../api/usage.ts";
import type { NodeCapacity, Observation } from "../../model/decision.ts";
import { findContainer, type PodFacts } from "../../model/pod.ts";
import type { Clock } from "../../runtime/clock.ts";
import { getComputeQueue, type RunQueued } from "../../runtime/event_loop.ts";
import type { Log } from "../../runtime/log.ts";
import { abortable, TaskSet } from "../../runtime/tasks.ts";
import {
  type KubeletAddress,
  LASTING_FAILURES,
  MAX_FAILED_READS,
  type UsageContainer,
  type UsageNode,
  type UsagePod,
  type WatchUsage,
} from "../../usage/source.ts";
import type { NodeFacts, TrackedPod } from "../cluster/facts.ts";
import type { OnFailure } from "../health.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { PodController, ReadingNumbers } from "./controller.ts";
import { type UsageHealth, UsageSources } from "./usage_health.ts";

export interface NodePollerOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly onTrouble: OnFailure;
  readonly watchUsage: WatchUsage;
  readonly controller: Pick<PodController, "evaluate">;
  readonly facts: ReadonlyMap<string, NodeFacts>;
  /** False until `facts` has all nodes. */
  readonly areListed: () => boolean;
  readonly health: UsageHealth;
  /** Nodes are not read more often than this for metered pods, ms. */
  readonly minPollIntervalMs?: number | null;
  /** Receives each reading before its pods are evaluated. */
  readonly onReading?: (reading: Reading) => void;
}

/** `isUrgent`: its usage is read every 5 s, and not only every 15 s. */
interface MeteredPod {
  readonly pod: PodFacts;
  readonly isUrgent: boolean;
}

interface PolledNode {
  readonly pods: Map<string, TrackedPod>;
  readonly metered: Map<string, MeteredPod>;
  readonly changes: ChangedPods;
  readonly schedule: PollSchedule;
  evaluatedAt: number;
  /** When its loop was last given up because it was stuck. */
  givenUpAt: number;
  /** Ends the loop, although a call that it made has not ended. */
  giveUp: () => void;
  /** The interval may have become shorter. */
  readSooner: () => void;
  failures: number;
}

/**
 * A loop that evaluates nothing for its interval plus this time is stuck. All calls that it makes have shorter
 * timeouts.
 */
const STUCK_MS = 60_000;

function isOld({ schedule }: PolledNode, atMs: number, nowMs: number): boolean {
  return nowMs - atMs > schedule.intervalMs + STUCK_MS;
}

const WHAT = "Cannot read usage of nodes";

/**
 * Runs one loop for each node with tracked or metered pods. Metered pods are read, but not evaluated here. Disposal
 * ends all loops and waits for them. Clauses: C20, R20.
 */
export class NodePoller implements AsyncDisposable {
  readonly #options: NodePollerOptions;
  readonly #entries = new Map<string, PolledNode>();
  readonly #loops: TaskSet;
  readonly #sources: UsageSources;
  readonly #edits: EditPace;

  constructor(options: NodePollerOptions) {
    const { clock, random, metrics, onTrouble } = options;
    this.#options = options;
    this.#edits = new EditPace(clock, ({ uid, nodeName }) => this.#entries.get(nodeName ?? "")?.changes.add(uid));
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
    const stuck: string[] = [];
    const nowMs = this.#options.clock.monotonic();
    for (const [node, entry] of this.#entries) if (isOld(entry, entry.evaluatedAt, nowMs)) stuck.push(node);
    return stuck;
  }

  /**
   * Starts stuck loops again if other loops turn: one node must not end the process, in which all pods have their state.
   */
  restartStuck(): void {
    const stuck = this.listStuck();
    if (stuck.length === this.size) return;
    const nowMs = this.#options.clock.monotonic();
    for (const node of stuck) {
      const entry = this.#entries.get(node);
      if (entry === undefined || !isOld(entry, entry.givenUpAt, nowMs)) continue;
      entry.givenUpAt = nowMs;
      entry.giveUp();
    }
  }

  put(tracked: TrackedPod): void {
    const node = tracked.pod.nodeName;
    if (node === null) return;
    const entry = this.#entries.get(node) ?? this.#add(node);
    const isEdit = entry.pods.get(tracked.pod.uid)?.pod === tracked.pod;
    entry.pods.set(tracked.pod.uid, tracked);
    entry.schedule.onTrackedChanged();
    if (isEdit) this.#edits.put(tracked.pod);
    else entry.changes.add(tracked.pod.uid);
  }

  /** Evaluates those of the pods that are on the node now, and not only at the next reading. Clauses: L30. */
  evaluateNow(node: string, uids: ReadonlySet<string>): void {
    const entry = this.#entries.get(node);
    if (entry === undefined) return;
    // There may be thousands of uids, for those of all nodes are among them.
    for (const uid of entry.pods.keys()) if (uids.has(uid)) entry.changes.add(uid);
  }

  remove(uid: string, node: string | null): void {
    const entry = this.#entries.get(node ?? "");
    if (entry === undefined || node === null) return;
    entry.pods.delete(uid);
    entry.changes.remove(uid);
    this.#edits.remove(uid);
    entry.schedule.onTrackedChanged();
    this.#endIfEmpty(node, entry);
  }

  /** Reads the pod's usage every 15 s, or every 5 s if it is urgent, or more often if its node is read more often. */
  meter(pod: PodFacts, { isUrgent }: Pick<MeteredPod, "isUrgent">): void {
    if (pod.nodeName === null) return;
    const entry = this.#entries.get(pod.nodeName) ?? this.#add(pod.nodeName);
    const isSooner = isUrgent && entry.metered.get(pod.uid)?.isUrgent !== true;
    entry.metered.set(pod.uid, { pod, isUrgent });
    entry.schedule.onMeteredChanged();
    if (isSooner) entry.readSooner();
  }

  unmeter({ uid, nodeName }: Pick<PodFacts, "uid" | "nodeName">): void {
    const entry = this.#entries.get(nodeName ?? "");
    if (entry === undefined || nodeName === null) return;
    entry.metered.delete(uid);
    entry.schedule.onMeteredChanged();
    this.#endIfEmpty(nodeName, entry);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#edits[Symbol.dispose]();
    return this.#loops[Symbol.asyncDispose]();
  }

  #endIfEmpty(node: string, entry: PolledNode): void {
    if (entry.pods.size > 0 || entry.metered.size > 0) return;
    this.#entries.delete(node);
    if (entry.failures > 0) this.#options.onTrouble({ kind: "recovered", what: WHAT, subject: node });
    this.#options.health.forgetNode(node);
    this.#sources.forget(node);
    this.#loops.stop(node);
  }

  #add(node: string): PolledNode {
    const { clock, minPollIntervalMs = null } = this.#options;
    const [pods, metered] = [new Map<string, TrackedPod>(), new Map<string, MeteredPod>()];
    const schedule = new PollSchedule({ clock, tracked: pods, metered, minPollIntervalMs });
    const entry: PolledNode = {
      pods,
      metered,
      schedule,
      changes: new ChangedPods(),
      evaluatedAt: clock.monotonic(),
      givenUpAt: -Infinity,
      giveUp() {},
      readSooner() {},
      failures: 0,
    };
    this.#entries.set(node, entry);
    this.#loops.start(node, (signal) => this.#run(node, entry, signal));
    return entry;
  }

  async #run(node: string, entry: PolledNode, signal: AbortSignal): Promise<void> {
    const { clock, watchUsage, controller, facts } = this.#options;
    // Also aborted when the loop fails. The next loop opens a new watch.
    const ending = new AbortController();
    const ended = AbortSignal.any([signal, ending.signal]);
    entry.giveUp = () => ending.abort(new Error("it was stuck"));
    const usage = watchUsage(toUsageNode(node, facts), {
      interval: () => entry.schedule.intervalMs,
      onShorterInterval: (call) => entry.readSooner = call,
      isTracked: (uid) => entry.pods.has(uid) || entry.metered.has(uid),
      pods: () => listUsagePods(entry),
      signal: ended,
    });
    const readings = usage[Symbol.asyncIterator]();
    try {
      const loop = runNodeLoop({
        node,
        controller,
        tracked: () => entry.pods,
        capacity: () => facts.get(node)?.capacity ?? { cpuMillicores: null, memoryBytes: null },
        readings,
        changes: entry.changes,
        signal: ended,
        compute: getComputeQueue(clock),
        beginRound: () => entry.schedule.beginRound(),
        onReading: (reading) => this.#recordReading(reading, entry),
        onEvaluated: () => entry.evaluatedAt = clock.monotonic(),
      });
      await abortable(loop, ending.signal);
    } finally {
      ending.abort();
      // After an error the loop takes no further reading, and the source may hold something for this node.
      void readings.return?.();
    }
  }

  #recordReading(reading: Reading, entry: PolledNode): void {
    const { metrics, log, health, facts, areListed, onTrouble } = this.#options;
    this.#sources.recordReading(reading);
    this.#options.onReading?.(reading);
    if (reading.kind === "usage") {
      health.recordReading(reading);
      metrics.kubeletRead("ok", reading.durationMs / 1000);
      if (reading.skipped > 0) metrics.usageSkipped("malformed", reading.skipped);
      if (entry.failures > 0) {
        onTrouble({ kind: "recovered", what: WHAT, subject: reading.node, message: "Usage of node is read again" });
      }
      entry.failures = 0;
      return;
    }
    // If nodes are not listed, the node itself did not fail. The watch of nodes reports why, and may have listed this
    // node meanwhile.
    const isCounted = reading.reason !== "unlisted" || (areListed() && !facts.has(reading.node));
    health.recordReading(reading, { isCounted });
    if (!isCounted) return log.debug(reading.message);
    metrics.kubeletRead(reading.reason, null);
    entry.failures++;
    if (entry.failures === MAX_FAILED_READS) {
      for (const namespace of listNamespaces(entry)) metrics.failed(namespace, "MetricsUnavailable");
    }
    onTrouble({
      kind: "failure",
      level: LASTING_FAILURES.has(reading.reason) ? "error" : "warn",
      message: reading.message,
      autoscaler: null,
      fields: { node: reading.node, reason: reading.reason, failures: entry.failures },
      topic: { what: WHAT, reason: reading.reason, subject: reading.node },
    });
  }
}

const UNKNOWN_ADDRESS: KubeletAddress = { addresses: null, port: 0, maxPods: null };

function toUsageNode(name: string, facts: ReadonlyMap<string, NodeFacts>): UsageNode {
  return {
    name,
    getAddress() {
      const { addresses, port, maxPods } = facts.get(name) ?? UNKNOWN_ADDRESS;
      return { addresses, port, maxPods };
    },
  };
}

function listNamespaces({ pods }: PolledNode): ReadonlySet<string> {
  return new Set([...pods.values()].map(({ pod }) => pod.namespace));
}

interface NodeLoopOptions {
  readonly node: string;
  readonly controller: Pick<PodController, "evaluate">;
  /** The node's tracked pods at this moment. */
  readonly tracked: () => ReadonlyMap<string, TrackedPod>;
  readonly capacity: () => NodeCapacity;
  /** Each reading is emptied after its pods were evaluated. */
  readonly readings: AsyncIterator<Reading>;
  /** Nothing is evaluated after it aborts. */
  readonly signal: AbortSignal;
  readonly changes: ChangedPods;
  /** The queue that all nodes' evaluations share. */
  readonly compute: RunQueued;
  /** Returns whether the tracked pods are evaluated with this reading. */
  readonly beginRound: () => boolean;
  readonly onReading: (reading: Reading) => void;
  readonly onEvaluated: () => void;
}

/**
 * Evaluates the pods of one node with each reading, and changed pods at once; one round at a time. Resolves when the
 * readings end, which they do when the signal aborts. Rejects if an evaluation or `onReading` throws.
 * Clauses: C20, C23.
 */
export async function runNodeLoop(options: NodeLoopOptions): Promise<void> {
  const { readings, changes, signal } = options;
  let reading = readings.next();
  for (;;) {
    const next = await Promise.race([reading, changes.wait()]);
    // The changes are for the next loop.
    if (signal.aborted) return;
    if (next === CHANGED) {
      await evaluateInTurns(() => changes.take(), () => ({ kind: "changed" }), { ...options, numbers: null });
    } else {
      if (next.done === true) return;
      const { value } = next;
      const capacity = options.capacity();
      const numbers = toNumbers(value, capacity);
      await evaluateInTurns(() => beginReading(value, options), toObserver(value, capacity), { ...options, numbers });
      // V8 keeps the value of a long-awaited promise until the next collection of the whole heap.
      if (value.kind === "usage") value.pods.clear();
      reading = readings.next();
    }
    if (!signal.aborted) options.onEvaluated();
  }
}

/** Returns the pods to evaluate with the reading. */
function beginReading(reading: Reading, { onReading, beginRound, tracked }: NodeLoopOptions): Iterable<string> {
  onReading(reading);
  return beginRound() ? tracked().keys() : [];
}

/** Pods that are evaluated without a pause. A node may have hundreds, and other work has to run in between. */
const PODS_PER_TURN = 10;

interface TurnOptions extends Pick<NodeLoopOptions, "signal" | "tracked" | "controller" | "compute"> {
  readonly numbers: ReadingNumbers | null;
}

/** Returns `null` for a source that has objects only. */
function toNumbers(reading: Reading, capacity: NodeCapacity): ReadingNumbers | null {
  if (reading.kind !== "usage" || reading.rows === undefined) return null;
  return { rows: reading.rows, clockOffsetMs: reading.clockOffsetMs, capacity };
}

/** Evaluates the pods in small groups. The list, and whether a pod is still tracked, are read when a group starts. */
async function evaluateInTurns(
  list: () => Iterable<string>,
  observe: (tracked: TrackedPod) => Observation,
  { signal, tracked, controller, compute, numbers }: TurnOptions,
): Promise<void> {
  let waiting: string[] | null = null;
  do {
    waiting = await compute(() => {
      if (signal.aborted) return [];
      const uids = waiting ?? [...list()];
      const pods = uids.splice(0, PODS_PER_TURN).flatMap((uid) => tracked().get(uid) ?? []);
      controller.evaluate(pods, observe, numbers);
      return uids;
    });
  } while (waiting.length > 0);
}

function toObserver(reading: Reading, capacity: NodeCapacity): (tracked: TrackedPod) => Observation {
  if (reading.kind === "failed") return () => ({ kind: "tick" });
  const { clockOffsetMs, pods } = reading;
  return ({ pod }) => {
    const usage = pods.get(pod.uid);
    return usage === undefined ? { kind: "tick" } : { kind: "usage", usage, clockOffsetMs, capacity };
  };
}

const CHANGED = Symbol("changed");

/** The pods of a node that have changed since the last `take`, and a way to wait for the first. */
export class ChangedPods {
  #uids = new Set<string>();
  #wake: (() => void) | null = null;

  add(uid: string): void {
    this.#uids.add(uid);
    this.#wake?.();
  }

  remove(uid: string): void {
    this.#uids.delete(uid);
  }

  take(): ReadonlySet<string> {
    const taken = this.#uids;
    this.#uids = new Set();
    this.#wake = null;
    return taken;
  }

  /**
   * For one waiter at a time. Each gets a new promise, because a long-lived promise keeps a reaction for every race.
   */
  wait(): Promise<typeof CHANGED> {
    if (this.#uids.size > 0) return Promise.resolve(CHANGED);
    return new Promise((resolve) => this.#wake = () => resolve(CHANGED));
  }
}

/** How often a pod is evaluated because its autoscalers were edited, ms. */
const EDITS_MS = 5_000;

/**
 * Passes on pods whose autoscalers were edited: the first time at once, and then at most twice in 5 s. The latest edit is
 * always passed on. Otherwise hundreds of autoscalers of the same pods, with an edit each second, would keep podfit busy.
 */
export class EditPace implements Disposable {
  readonly #clock: Pick<Clock, "monotonic" | "sleep">;
  readonly #pass: (pod: PodFacts) => void;
  /** By uid, when a pod was passed on last, the oldest first; monotonic ms. */
  readonly #passedAt = new Map<string, number>();
  /** By uid, the pods that were edited again since. */
  readonly #waiting = new Map<string, PodFacts>();
  #isSleeping = false;
  readonly #closing = new AbortController();

  constructor(clock: Pick<Clock, "monotonic" | "sleep">, pass: (pod: PodFacts) => void) {
    this.#clock = clock;
    this.#pass = pass;
  }

  put(pod: PodFacts): void {
    const now = this.#clock.monotonic();
    for (const [uid, at] of this.#passedAt) {
      if (now - at < EDITS_MS) break;
      this.#passedAt.delete(uid);
    }
    if (!this.#passedAt.has(pod.uid) && !this.#waiting.has(pod.uid)) {
      this.#passedAt.set(pod.uid, now);
      return this.#pass(pod);
    }
    this.#waiting.set(pod.uid, pod);
    if (!this.#isSleeping) void this.#passLater();
  }

  remove(uid: string): void {
    this.#waiting.delete(uid);
  }

  [Symbol.dispose](): void {
    this.#closing.abort();
  }

  async #passLater(): Promise<void> {
    this.#isSleeping = true;
    await this.#clock.sleep(EDITS_MS, this.#closing.signal).catch(() => this.#waiting.clear());
    this.#isSleeping = false;
    const pods = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const pod of pods) {
      this.#passedAt.delete(pod.uid);
      this.#passedAt.set(pod.uid, this.#clock.monotonic());
      this.#pass(pod);
    }
  }
}

interface PollScheduleOptions {
  readonly clock: Pick<Clock, "monotonic">;
  readonly tracked: ReadonlyMap<string, TrackedPod>;
  readonly metered: ReadonlyMap<string, Pick<MeteredPod, "isUrgent">>;
  /** The operator's limit for metered pods; `null` = none. */
  readonly minPollIntervalMs: number | null;
}

/** How often usage of metered pods is read, ms: the period of the scaling loop. */
const METERED_INTERVAL_MS = 15_000;

/**
 * The same for urgent ones. A kubelet has a new sample of each container every 10 to 19 s, each at another moment.
 * Frequent reads show growing load early.
 */
const URGENT_INTERVAL_MS = 5_000;

export class PollSchedule {
  readonly #options: PollScheduleOptions;
  /** The interval of the metered pods; `null` after a change. */
  #meteredMs: number | null = null;
  /**
   * The smallest interval of the tracked pods; `null` after a change. It is computed once a poll, because pods can
   * change 100,000 times in a burst.
   */
  #ownMs: number | null = null;
  #roundAt = -Infinity;

  constructor(options: PollScheduleOptions) {
    this.#options = options;
  }

  /** The time between two readings, ms; Infinity for a node without pods. */
  get intervalMs(): number {
    return Math.min(this.#getOwnMs(), this.#getMeteredMs());
  }

  onMeteredChanged(): void {
    this.#meteredMs = null;
  }

  onTrackedChanged(): void {
    this.#ownMs = null;
  }

  /**
   * Returns whether the tracked pods are evaluated with the current reading. The interval is kept to within half a
   * reading.
   */
  beginRound(): boolean {
    const now = this.#options.clock.monotonic();
    if (now - this.#roundAt + this.intervalMs / 2 < this.#getOwnMs()) return false;
    this.#roundAt = now;
    return true;
  }

  /** Infinity without metered pods. */
  #getMeteredMs(): number {
    if (this.#meteredMs !== null) return this.#meteredMs;
    const { metered, minPollIntervalMs } = this.#options;
    const least = minPollIntervalMs ?? 0;
    if (metered.size === 0) return this.#meteredMs = Infinity;
    const isUrgent = metered.values().some((pod) => pod.isUrgent);
    return this.#meteredMs = Math.max(isUrgent ? URGENT_INTERVAL_MS : METERED_INTERVAL_MS, least);
  }

  #getOwnMs(): number {
    if (this.#ownMs !== null) return this.#ownMs;
    let intervalMs = Infinity;
    for (const { autoscalers } of this.#options.tracked.values()) {
      for (const { pollIntervalMs } of autoscalers) intervalMs = Math.min(intervalMs, pollIntervalMs);
    }
    return this.#ownMs = intervalMs;
  }
}

/**
 * Yields each pod with the containers that its autoscalers name, then the metered pods with all their containers.
 * Sources that read containers one by one need this list.
 */
export function* listUsagePods(
  { pods, metered }: {
    readonly pods: ReadonlyMap<string, TrackedPod>;
    readonly metered: ReadonlyMap<string, Pick<MeteredPod, "pod">>;
  },
): Generator<UsagePod> {
  for (const { pod, autoscalers } of pods.values()) {
    if (metered.has(pod.uid)) continue;
    const containers: UsageContainer[] = [];
    for (const { containerName } of autoscalers) {
      const container = findContainer(pod, containerName);
      if (container !== null && !containers.includes(container)) containers.push(container);
    }
    yield toUsagePod(pod, containers);
  }
  for (const { pod } of metered.values()) yield toUsagePod(pod, pod.containers.filter(({ kind }) => kind !== "init"));
}

function toUsagePod({ uid, namespace, name, qosClass }: PodFacts, containers: readonly UsageContainer[]): UsagePod {
  return { uid, namespace, name, qosClass, containers };
}
