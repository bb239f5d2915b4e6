/**
 * The pods of a ScaledObject's target: their usage, their first sizes and the state of their autoscalers. The cpu and
 * memory triggers read from here. `createCountPods` counts pods for kubernetes-workload triggers.
 */
import type { Reading } from "../../api/usage.ts";
import { needsTemplate, nextInitialResources, type ResourcesByContainer } from "../../horizontal/initial_requests.ts";
import { computePodReadings, type WorkloadPod } from "../../horizontal/joint/pod_readings.ts";
import { nextRates, type PodRates } from "../../horizontal/pod_metrics.ts";
import { countReadyPods } from "../../horizontal/replica_calculator.ts";
import type { Autoscaler } from "../../model/autoscaler.ts";
import type { NodeCapacity } from "../../model/decision.ts";
import type { PodFacts } from "../../model/pod.ts";
import type { TriggerReading } from "../../model/replicas_decision.ts";
import { listResourceTriggers, type ResourceTrigger, type ScaledObject } from "../../model/scaled_object.ts";
import type { ReadableState } from "../../model/state.ts";
import type { RunQueued } from "../../runtime/event_loop.ts";
import type { CountPods } from "../../triggers/value.ts";
import { formatSelector, type Selector } from "../../units/selector.ts";
import type { TrackedPod } from "../cluster/facts.ts";
import type { PodSet, PodSetHandle, SelectorIndex } from "../cluster/selector_index.ts";
import type { NodePoller } from "../pods/poller.ts";
import type { TargetPlace } from "./scale_client.ts";
import type { Templates } from "./templates.ts";

interface TargetPodsOptions {
  readonly index: Pick<SelectorIndex, "acquire">;
  readonly metered: Pick<MeteredPods, "acquire" | "setUrgent">;
  readonly uid: string;
}

/** The pods of one target: one pod set at a time, until it is disposed of. Clauses: R20. */
export class TargetPods implements Disposable {
  readonly #options: TargetPodsOptions;
  #held: PodSetHandle | null = null;
  #metering: Disposable | null = null;
  #isDisposed = false;

  constructor(options: TargetPodsOptions) {
    this.#options = options;
  }

  /** `null` before the first read of the scale. */
  get set(): PodSet | null {
    return this.#held?.set ?? null;
  }

  /**
   * Follows the pods of this selector, and drops the pods of another one. After disposal nothing is kept: the scale of
   * an object may be read while the object is deleted.
   */
  follow({ selector, object }: { readonly selector: Selector; readonly object: ScaledObject }): PodSet {
    const { index, metered, uid } = this.#options;
    const isSame = this.#held !== null && formatSelector(this.#held.set.selector) === formatSelector(selector);
    if (!isSame) this.#release();
    const held = this.#held ??= index.acquire(object.namespace, selector, uid);
    const isMetered = listResourceTriggers(object).length > 0;
    if (isMetered) this.#metering ??= metered.acquire(held.set, uid);
    else this.#endMetering();
    if (this.#isDisposed) this.#release();
    return held.set;
  }

  /**
   * `mayGrow`: the target may have more replicas than it has. `isGrowing`: its usage has grown since the last scaling
   * loop. Clauses: R20.
   */
  setPace({ mayGrow, isGrowing = false }: { readonly mayGrow: boolean; readonly isGrowing?: boolean }): void {
    const { metered, uid } = this.#options;
    if (this.#held === null || this.#metering === null) return;
    const { set } = this.#held;
    metered.setUrgent(set, uid, mayGrow && (isGrowing || isOnFewNodes(set)));
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#release();
  }

  #release(): void {
    this.#endMetering();
    this.#held?.[Symbol.dispose]();
    this.#held = null;
  }

  #endMetering(): void {
    this.#metering?.[Symbol.dispose]();
    this.#metering = null;
  }
}

/**
 * Nodes are read at different moments of their interval. From so many nodes on, some of a target's pods are read every few
 * seconds, although each of its nodes is read every 15 s only. Once these pods show that usage grows, all are read often.
 */
const MANY_NODES = 6;

function isOnFewNodes({ pods }: PodSet): boolean {
  const nodes = new Set<string>();
  for (const { nodeName, finished } of pods.values()) {
    if (nodeName !== null && !finished) nodes.add(nodeName);
    if (nodes.size >= MANY_NODES) return false;
  }
  return true;
}

/** `at` is the time of the evaluation, epoch ms. */
interface UsageRequest {
  readonly object: ScaledObject;
  /** The cpu and memory triggers of the object. Empty where pods are only counted. */
  readonly resources: readonly ResourceTrigger[];
  readonly pods: () => readonly PodFacts[];
  readonly at: number;
  readonly signal: AbortSignal;
}

/** What podfit has read of the pods so far. */
export interface WorkloadUsage {
  /** By the index of the trigger. */
  readonly triggers: ReadonlyMap<number, TriggerReading>;
  /** `null` = the selector lists no pod. */
  readonly readyPods: number | null;
  /** One trigger is coupled; `null` where no trigger was evaluated. Clauses: R80. */
  readonly isCoupled: boolean | null;
}

interface ComputeUsageOptions {
  readonly compute: RunQueued;
  readonly getWorkloadPod: GetWorkloadPod;
}

/** Computes the usage of the pods of one target. Rejects with the signal's reason only. */
export type ComputeUsage = (request: UsageRequest) => Promise<WorkloadUsage>;

export function createComputeUsage({ compute, getWorkloadPod }: ComputeUsageOptions): ComputeUsage {
  const read = ({ object, resources, pods, at, signal }: UsageRequest): WorkloadUsage => {
    signal.throwIfAborted();
    const now = pods();
    const readyPods = countReadyPods(now);
    const triggers = new Map<number, TriggerReading>();
    if (resources.length === 0) return { triggers, readyPods, isCoupled: null };
    const workload = now.map((pod) => getWorkloadPod(object, pod));
    let isCoupled = false;
    for (const trigger of resources) {
      const read = computePodReadings(trigger, workload, at);
      triggers.set(trigger.index, { kind: "pods", ...read });
      isCoupled ||= read.isCoupled;
    }
    return { triggers, readyPods, isCoupled };
  };
  return (request) => compute(() => read(request));
}

interface WorkloadPodsOptions {
  readonly metered: Pick<MeteredPods, "get">;
  readonly templates: Templates;
  readonly findTracked: (uid: string) => TrackedPod | null;
  readonly findPodState: (uid: string) => ReadableState | null;
}

/** Returns what is known of one pod of the target now. Clauses: R82, R88. */
type GetWorkloadPod = (place: TargetPlace, pod: PodFacts) => WorkloadPod;

export function createGetWorkloadPod(options: WorkloadPodsOptions): GetWorkloadPod {
  const { metered, templates } = options;
  return (place, pod) => {
    const { rates, recorded } = metered.get(pod.uid);
    const { revision, template } = needsTemplate(pod, recorded) ? templates.find(place, pod) : NO_TEMPLATE;
    return { pod, rates, initialResources: { recorded, revision, template }, vertical: findVertical(pod, options) };
  };
}

const NO_TEMPLATE = { revision: null, template: null };

/** Returns `null` where no autoscaler tracks the pod, or before its first evaluation. */
function findVertical(
  { uid }: PodFacts,
  { findTracked, findPodState }: WorkloadPodsOptions,
): { readonly state: ReadableState; readonly matching: readonly Autoscaler[] } | null {
  const matching = findTracked(uid)?.autoscalers;
  const state = matching === undefined ? null : findPodState(uid);
  return matching === undefined || state === null ? null : { state, matching };
}

interface MeteredPodsOptions {
  readonly nodes: Pick<NodePoller, "meter" | "unmeter">;
  readonly getCapacity: (node: string) => NodeCapacity;
  /** A pod of the ScaledObject with this uid has new rates. Must not throw. */
  readonly onFresh?: (user: string, before: PodRates | null, after: PodRates) => void;
}

/** The CPU and memory rates of a pod, and its recorded initial requests. */
interface MeteredUsage {
  readonly rates: PodRates | null;
  readonly recorded: ResourcesByContainer | null;
}

interface MeteredPod {
  pod: PodFacts;
  rates: PodRates | null;
  recorded: ResourcesByContainer;
  /** The sets that contain the pod and that a target uses. */
  sets: readonly PodSet[];
}

interface MeteredSet {
  /** UIDs of the ScaledObjects whose target has these pods. */
  readonly users: Set<string>;
  /** Those of them for which the pods are urgent. */
  readonly urgent: Set<string>;
  readonly alone: readonly PodSet[];
}

const NOT_METERED: Pick<MeteredPod, "sets"> = { sets: [] };

const NOBODY: ReadonlySet<string> = new Set();

const UNKNOWN_USAGE: MeteredUsage = { rates: null, recorded: null };

/**
 * Keeps the rates and the initial requests of pods while a target uses them. Readings of nodes and changes of pods are
 * the only input. Clauses: R20, R21, R82.
 */
export class MeteredPods {
  readonly #options: MeteredPodsOptions;
  readonly #entries = new Map<string, MeteredPod>();
  /** Which targets use each set, and a list with only this set. Nearly all pods of the set share that list. */
  readonly #wanted = new Map<PodSet, MeteredSet>();

  constructor(options: MeteredPodsOptions) {
    this.#options = options;
  }

  /**
   * Meters the pods of the set until the result is disposed of. `user`: the uid of the ScaledObject. Its pods are urgent
   * until `setUrgent` says otherwise.
   */
  acquire(set: PodSet, user: string): Disposable {
    const wanted = this.#wanted.get(set) ?? { users: new Set(), urgent: new Set(), alone: [set] };
    this.#wanted.set(set, wanted);
    const isFirst = wanted.users.size === 0;
    wanted.users.add(user);
    if (isFirst) {
      wanted.urgent.add(user);
      for (const pod of set.pods.values()) this.#put(wanted.alone, pod);
    } else this.setUrgent(set, user, true);
    return { [Symbol.dispose]: () => this.#release(set, user) };
  }

  /** Whether the pods of the set are read more often for this user; a pod is urgent if it is for any user. */
  setUrgent(set: PodSet, user: string, isUrgent: boolean): void {
    const wanted = this.#wanted.get(set);
    if (wanted?.users.has(user) !== true || wanted.urgent.has(user) === isUrgent) return;
    const before = wanted.urgent.size > 0;
    if (isUrgent) wanted.urgent.add(user);
    else wanted.urgent.delete(user);
    if (wanted.urgent.size > 0 !== before) this.#meterAgain(set);
  }

  /**
   * Returns the first result that is not `null`, of the UIDs of the ScaledObjects that meter the pod. No other selector of
   * the pod is visited: a tenant can have hundreds of autoscalers with different ones.
   */
  findUser<T>(uid: string, find: (user: string) => T | null): T | null {
    const { sets } = this.#entries.get(uid) ?? NOT_METERED;
    for (const set of sets) {
      for (const user of this.#wanted.get(set)?.users ?? NOBODY) {
        const found = find(user);
        if (found !== null) return found;
      }
    }
    return null;
  }

  /** A pod was added to the set or has changed; `null` = it left the set. */
  move(set: PodSet, before: PodFacts | null, after: PodFacts | null): void {
    const wanted = this.#wanted.get(set);
    if (wanted === undefined) return;
    if (after !== null) this.#put(wanted.alone, after);
    else if (before !== null) this.#remove(set, before.uid);
  }

  recordReading(reading: Reading): void {
    if (reading.kind === "failed") return;
    const { readAt, pods, rows } = reading;
    const capacity = this.#options.getCapacity(reading.node);
    for (const uid of pods.keys()) {
      const entry = this.#entries.get(uid);
      if (entry === undefined) continue;
      // A source that has rows builds no objects.
      const usage = rows === undefined ? pods.get(uid) : { rows, row: rows.findPod(uid) };
      if (usage === undefined) continue;
      const { rates: before } = entry;
      const rates = nextRates(before, usage, { pod: entry.pod, readAt, capacity });
      if (rates === before) continue;
      entry.rates = rates;
      for (const set of entry.sets) {
        for (const user of this.#wanted.get(set)?.users ?? NOBODY) this.#options.onFresh?.(user, before, rates);
      }
    }
  }

  get(uid: string): MeteredUsage {
    return this.#entries.get(uid) ?? UNKNOWN_USAGE;
  }

  /** `alone` is a list with only the set of the pod. */
  #put(alone: readonly PodSet[], pod: PodFacts): void {
    const entry = this.#entries.get(pod.uid);
    const before = entry?.pod;
    if (entry === undefined) {
      this.#entries.set(pod.uid, { pod, rates: null, recorded: nextInitialResources(null, pod), sets: alone });
    } else {
      if (!alone.every((set) => entry.sets.includes(set))) entry.sets = [...entry.sets, ...alone];
      if (before === pod) return this.#meter(entry);
      entry.pod = pod;
      entry.recorded = nextInitialResources(entry.recorded, pod);
    }
    if (before !== undefined && (before.nodeName !== pod.nodeName || pod.finished)) this.#options.nodes.unmeter(before);
    this.#meter(this.#entries.get(pod.uid));
  }

  #meter(entry: Pick<MeteredPod, "pod" | "sets"> | undefined): void {
    if (entry === undefined || entry.pod.finished) return;
    const isUrgent = entry.sets.some((set) => (this.#wanted.get(set)?.urgent.size ?? 0) > 0);
    this.#options.nodes.meter(entry.pod, { isUrgent });
  }

  #meterAgain(set: PodSet): void {
    for (const uid of set.pods.keys()) this.#meter(this.#entries.get(uid));
  }

  #remove(set: PodSet, uid: string): void {
    const entry = this.#entries.get(uid);
    if (entry?.sets.includes(set) !== true) return;
    entry.sets = entry.sets.filter((one) => one !== set);
    if (entry.sets.length > 0) return this.#meter(entry);
    this.#entries.delete(uid);
    this.#options.nodes.unmeter(entry.pod);
  }

  #release(set: PodSet, user: string): void {
    this.setUrgent(set, user, false);
    const users = this.#wanted.get(set)?.users;
    if (users?.delete(user) !== true || users.size > 0) return;
    this.#wanted.delete(set);
    for (const uid of [...set.pods.keys()]) this.#remove(set, uid);
  }
}

/** How many selectors are kept, the last used ones. */
const MAX_HELD_SETS = 2_000;

export function createCountPods(sets: Pick<SelectorIndex, "acquire">): CountPods {
  const held = new Map<string, PodSetHandle>();
  return ({ namespace, selector, isByNode }) => {
    const key = `${namespace}/${formatSelector(selector)}`;
    const one = held.get(key) ?? sets.acquire(namespace, selector, null);
    held.delete(key);
    held.set(key, one);
    const [oldest] = held;
    if (held.size > MAX_HELD_SETS && oldest !== undefined) {
      held.delete(oldest[0]);
      oldest[1][Symbol.dispose]();
    }
    const pods = [...one.set.pods.values()].filter(isCounted);
    if (!isByNode) return pods.length;
    return new Set(pods.flatMap(({ nodeName }) => nodeName ?? [])).size;
  };
}

function isCounted({ finished }: PodFacts): boolean {
  return !finished;
}
