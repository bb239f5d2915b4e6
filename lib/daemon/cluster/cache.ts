/**
 * The cluster cache: autoscalers, workloads and pods as the watches show them, and which autoscalers match which pod.
 * It gets typed facts and calls its listener for each pod that changed. It makes no API requests.
 */
import type { Autoscaler, WorkloadKind } from "../../model/autoscaler.ts";
import type { PodFacts } from "../../model/pod.ts";
import type { Selector } from "../../units/selector.ts";
import type { Problem } from "../../units/untrusted.ts";
import type { AutoscalerFacts, Resolution, TrackedPod, WorkloadFacts } from "./facts.ts";
import {
  compareNames,
  ContainerAutoscalers,
  DEFAULT_MAX_AUTOSCALERS,
  isSameAutoscalers,
  isSameSpec,
  limitAutoscalers,
  toChangedSpec,
} from "./matching.ts";
import { type OnMovedInSet, type PodSet, type PodSetHandle, SelectorIndex } from "./selector_index.ts";
import { replaceAllObjects, Table, toWorkloadKey, Workloads, type WorkloadScope } from "./tables.ts";

/** Which pods are eligible, and who is notified of changes. */
interface ClusterCacheOptions {
  /** Only pods with the annotation `pra.kedify.io/reconcile: enabled` are eligible. */
  readonly requiresAnnotation: boolean;
  /** The most autoscalers for one container; 16 by default. */
  readonly maxContenders?: number;
  /** A tracked pod is new, changed, or has other autoscalers. */
  readonly onChanged: (tracked: TrackedPod) => void;
  /** A pod is no longer tracked. */
  readonly onDropped: (pod: PodFacts) => void;
  /** A pod was added, changed or removed, tracked or not; `null` = it did not exist before, or does not now. */
  readonly onMoved?: (before: PodFacts | null, after: PodFacts | null) => void;
  /** The same for each set of `podSets` that the pod is in. */
  readonly onMovedInSet?: OnMovedInSet;
}

/** What the watches have reported, and the matches between autoscalers and pods. */
export class ClusterCache {
  /** The pods of every selector in use: those of autoscalers, and those that others acquire. */
  readonly podSets: SelectorIndex;
  readonly #options: ClusterCacheOptions;
  readonly #autoscalers = new Table<AutoscalerEntry>();
  readonly #workloads = new Workloads();
  readonly #pods = new Table<PodFacts>();
  readonly #trackedPods = new Map<string, TrackedPod>();
  readonly #groups = new Map<PodSet, AutoscalerGroup>();

  constructor(options: ClusterCacheOptions) {
    this.#options = options;
    this.podSets = new SelectorIndex({
      listPods: (namespace) => this.#pods.list(namespace),
      onMoved: (set, before, after) => {
        this.#moveInGroup(set, before, after);
        options.onMovedInSet?.(set, before, after);
      },
    });
  }

  get trackedPods(): ReadonlyMap<string, TrackedPod> {
    return this.#trackedPods;
  }

  *listAutoscalers(): Generator<AutoscalerFacts> {
    for (const { facts } of this.#autoscalers.all()) yield facts;
  }

  findAutoscaler(uid: string, namespace: string): AutoscalerFacts | null {
    return this.#autoscalers.find(namespace, uid)?.facts ?? null;
  }

  setAutoscaler(facts: AutoscalerFacts): void {
    const entry = this.#placeAutoscaler(facts);
    if (entry !== null) this.#rematch([entry]);
  }

  removeAutoscaler({ uid, namespace }: Pick<AutoscalerFacts, "uid" | "namespace">): void {
    const entry = this.#autoscalers.find(namespace, uid);
    if (entry === null) return;
    this.#autoscalers.delete(namespace, uid);
    this.#rematch([entry]);
  }

  /** `all`: every autoscaler of the namespace, `null` = of all namespaces. Returns those that no longer exist. */
  replaceAutoscalers(namespace: string | null, all: readonly AutoscalerFacts[]): readonly AutoscalerFacts[] {
    const known = new Set(all.map(({ uid }) => uid));
    const gone = this.#autoscalers.listWithin(namespace).filter(({ facts }) => !known.has(facts.uid));
    for (const { facts } of gone) this.#autoscalers.delete(facts.namespace, facts.uid);
    this.#rematch([...gone, ...all.flatMap((one) => this.#placeAutoscaler(one) ?? [])]);
    return gone.map(({ facts }) => facts);
  }

  setWorkload(facts: WorkloadFacts): void {
    if (this.#workloads.set(facts)) this.#rematchTargeting([facts]);
  }

  removeWorkload(facts: WorkloadFacts): void {
    if (this.#workloads.remove(facts)) this.#rematchTargeting([facts]);
  }

  /** `all`: every workload of the kind in the namespace, `null` = in all namespaces. */
  replaceWorkloads(scope: WorkloadScope, all: readonly WorkloadFacts[]): void {
    this.#rematchTargeting(this.#workloads.replace(scope, all));
  }

  /** Returns the selector of a workload's pods; `null` if the workload does not exist or its selector is invalid. */
  findSelector(workload: Pick<WorkloadFacts, "kind" | "namespace" | "name">): Selector | null {
    return this.#workloads.find(workload)?.selector ?? null;
  }

  setPod(pod: PodFacts): void {
    const before = this.#pods.find(pod.namespace, pod.uid);
    // A generation decreases only when etcd was restored from a backup. What is remembered of the pod is wrong then.
    if ((before?.generation ?? 0) > (pod.generation ?? 0)) this.#drop(pod.uid);
    this.#options.onMoved?.(before, pod);
    this.#pods.set(pod.namespace, pod.uid, pod);
    this.podSets.move(before, pod);
    this.#retrack(pod);
  }

  removePod({ uid, namespace }: Pick<PodFacts, "uid" | "namespace">): void {
    const before = this.#pods.find(namespace, uid);
    this.#options.onMoved?.(before, null);
    this.#pods.delete(namespace, uid);
    this.podSets.move(before, null);
    this.#drop(uid);
  }

  /**
   * `all`: every pod of the namespace, `null` = of all namespaces. Pods that the cache has as they are do not change.
   */
  replacePods(namespace: string | null, all: readonly PodFacts[]): void {
    replaceAllObjects({ known: this.#pods.listWithin(namespace), all }, {
      set: (pod) => {
        const before = this.#pods.find(pod.namespace, pod.uid);
        if (before === null || !isSameVersion(before, pod)) this.setPod(pod);
      },
      remove: (pod) => this.removePod(pod),
    });
  }

  listPods(namespace: string | null): Iterable<PodFacts> {
    return namespace === null ? this.#pods.all() : this.#pods.list(namespace);
  }

  /** Returns the kinds of the targets of the namespace's autoscalers that are valid and not paused. */
  listTargetKinds(namespace: string): ReadonlySet<WorkloadKind> {
    const kinds = new Set<WorkloadKind>();
    for (const { facts: { autoscaler } } of this.#autoscalers.list(namespace)) {
      if (autoscaler?.target && !autoscaler.paused) kinds.add(autoscaler.target.kind);
    }
    return kinds;
  }

  resolve({ uid, namespace, autoscaler }: AutoscalerFacts): Resolution {
    const selector = autoscaler === null ? null : this.#workloads.findSelector(autoscaler);
    const entry = this.#autoscalers.find(namespace, uid);
    return {
      selector,
      matched: entry?.group?.matched ?? 0,
      tracked: entry?.tracked ?? new Map(),
      crowdedOut: entry?.crowdedOut.size ?? 0,
      isTargetMissing: autoscaler !== null && selector === null,
      targetProblems: (autoscaler === null ? null : this.#workloads.findTarget(autoscaler)?.problems) ?? NO_PROBLEMS,
    };
  }

  /** Returns `null` if nothing has changed that decides which pods are tracked. */
  #placeAutoscaler(facts: AutoscalerFacts): AutoscalerEntry | null {
    const before = this.#autoscalers.find(facts.namespace, facts.uid);
    if (before === null) {
      const entry = newAutoscalerEntry(facts);
      this.#autoscalers.set(facts.namespace, facts.uid, entry);
      return entry;
    }
    // A status write arrives as a change too, but only the spec decides which pods are tracked.
    const isSame = isSameSpec(before.facts, facts);
    before.facts = { ...facts, autoscaler: isSame ? before.facts.autoscaler : toChangedSpec(before.facts, facts) };
    return isSame ? null : before;
  }

  #rematchTargeting(workloads: readonly WorkloadFacts[]): void {
    const targets = new Set(workloads.map(toWorkloadKey));
    const namespaces = new Set(workloads.map(({ namespace }) => namespace));
    const entries = [...namespaces].flatMap((namespace) => [...this.#autoscalers.list(namespace)]);
    this.#rematch(
      entries.filter(({ facts: { namespace, autoscaler } }) =>
        autoscaler?.target && targets.has(toWorkloadKey({ ...autoscaler.target, namespace }))
      ),
    );
  }

  /** Tracks the pods again that matched the changed autoscalers before, or match them now: each pod once. */
  #rematch(changed: readonly AutoscalerEntry[]): void {
    const pods = new Set<PodFacts>();
    for (const entry of changed) {
      for (const pod of entry.group?.handle.set.pods.values() ?? []) pods.add(pod);
      this.#regroup(entry);
      for (const pod of entry.group?.handle.set.pods.values() ?? []) pods.add(pod);
    }
    for (const pod of pods) this.#retrack(pod);
  }

  /** Moves the autoscaler to the group of the selector that it has now. */
  #regroup(entry: AutoscalerEntry): void {
    const { facts: { uid, namespace, autoscaler }, group: before } = entry;
    const isActive = autoscaler !== null && !autoscaler.paused && this.#autoscalers.find(namespace, uid) === entry;
    const selector = isActive ? this.#workloads.findSelector(autoscaler) : null;
    const after = selector === null ? null : this.#openGroup(namespace, selector);
    if (after === before) return;
    entry.tracked.clear();
    entry.crowdedOut.clear();
    entry.group = after;
    after?.entries.add(entry);
    before?.entries.delete(entry);
    if (before?.entries.size !== 0) return;
    this.#groups.delete(before.handle.set);
    before.handle[Symbol.dispose]();
  }

  #openGroup(namespace: string, selector: Selector): AutoscalerGroup {
    const handle = this.podSets.acquire(namespace, selector, null);
    const known = this.#groups.get(handle.set);
    if (known !== undefined) {
      handle[Symbol.dispose]();
      return known;
    }
    const group: AutoscalerGroup = { handle, entries: new Set(), matched: 0 };
    for (const pod of handle.set.pods.values()) if (this.#isEligible(pod)) group.matched++;
    this.#groups.set(handle.set, group);
    return group;
  }

  #moveInGroup(set: PodSet, before: PodFacts | null, after: PodFacts | null): void {
    const group = this.#groups.get(set);
    if (group === undefined) return;
    if (before !== null && this.#isEligible(before)) group.matched--;
    if (after !== null && this.#isEligible(after)) group.matched++;
    if (before === null || after !== null) return;
    for (const { tracked, crowdedOut } of group.entries) {
      tracked.delete(before.uid);
      crowdedOut.delete(before.uid);
    }
  }

  #retrack(pod: PodFacts): void {
    const autoscalers = this.#match(pod);
    if (autoscalers.length === 0) return this.#drop(pod.uid);
    const before = this.#trackedPods.get(pod.uid);
    if (before?.pod === pod && isSameAutoscalers(before.autoscalers, autoscalers)) return;
    const tracked: TrackedPod = { pod, autoscalers };
    this.#trackedPods.set(pod.uid, tracked);
    this.#options.onChanged(tracked);
  }

  /** Updates which autoscalers track the pod, and returns those that count for it. */
  #match(pod: PodFacts): readonly Autoscaler[] {
    const isEligible = this.#isEligible(pod);
    let all = NO_MATCHES;
    for (const { facts: { autoscaler }, tracked, crowdedOut, perContainer } of this.#listMatching(pod)) {
      const own = isEligible && autoscaler !== null ? perContainer.list(autoscaler, pod) : NO_MATCHES;
      if (own.length > 0) tracked.set(pod.uid, pod);
      else tracked.delete(pod.uid);
      crowdedOut.delete(pod.uid);
      if (own.length > 0) all = all.length === 0 ? own : [...all, ...own];
    }
    const kept = limitAutoscalers(all, this.#options.maxContenders ?? DEFAULT_MAX_AUTOSCALERS);
    if (kept.length < all.length) this.#markCrowdedOut(pod, new Set(kept.map(({ uid }) => uid)));
    return kept.length === 1 ? kept : kept.toSorted(compareNames);
  }

  #markCrowdedOut(pod: PodFacts, kept: ReadonlySet<string>): void {
    for (const { facts, tracked, crowdedOut } of this.#listMatching(pod)) {
      if (tracked.has(pod.uid) && !kept.has(facts.uid)) crowdedOut.add(pod.uid);
    }
  }

  *#listMatching({ uid }: PodFacts): Generator<AutoscalerEntry> {
    for (const set of this.podSets.setsOf(uid)) yield* this.#groups.get(set)?.entries ?? [];
  }

  #drop(uid: string): void {
    const tracked = this.#trackedPods.get(uid);
    if (tracked !== undefined && this.#trackedPods.delete(uid)) this.#options.onDropped(tracked.pod);
  }

  #isEligible(pod: PodFacts): boolean {
    if (pod.nodeName === null || pod.finished || pod.deleting || pod.mirror || pod.windows) return false;
    return pod.optedIn || !this.#options.requiresAnnotation;
  }
}

/** Shared, so that an unchanged resolution is the same object. */
const NO_PROBLEMS: readonly Problem[] = [];

const NO_MATCHES: readonly Autoscaler[] = [];

/** The generation is compared too: after etcd was restored from a backup, a resourceVersion can occur a second time. */
function isSameVersion(a: PodFacts, b: PodFacts): boolean {
  return a.resourceVersion !== "" && a.resourceVersion === b.resourceVersion && a.generation === b.generation;
}

/** The autoscalers of one selector. */
interface AutoscalerGroup {
  readonly handle: PodSetHandle;
  readonly entries: Set<AutoscalerEntry>;
  /** The number of eligible pods in the set. */
  matched: number;
}

/** Kept up to date pod by pod: with many autoscalers and pods, computing it on demand would take seconds. */
interface AutoscalerEntry {
  facts: AutoscalerFacts;
  /** `null` = it matches no pods: it is paused, invalid or deleted, or its target is missing. */
  group: AutoscalerGroup | null;
  /** By UID, the eligible pods of the group that have the autoscaler's container. */
  readonly tracked: Map<string, PodFacts>;
  /** UIDs of those for which the limit of autoscalers is used up by others of higher rank. */
  readonly crowdedOut: Set<string>;
  readonly perContainer: ContainerAutoscalers;
}

function newAutoscalerEntry(facts: AutoscalerFacts): AutoscalerEntry {
  return {
    facts,
    group: null,
    tracked: new Map(),
    crowdedOut: new Set(),
    perContainer: new ContainerAutoscalers(),
  };
}
