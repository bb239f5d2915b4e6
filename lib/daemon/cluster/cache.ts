/**
 * The cluster cache: autoscalers, workloads and pods as the watches show them, and which autoscalers match which pod.
 * It gets typed facts and calls its listener for each pod that changed. It makes no API requests.
 */
import type { Autoscaler, WorkloadKind } from "../../model/autoscaler.ts";
import { listContainers, MAX_POD_CONTAINERS, type PodFacts } from "../../model/pod.ts";
import type { Scale } from "../../model/replicas_decision.ts";
import type { RunQueued } from "../../runtime/event_loop.ts";
import type { Selector } from "../../units/selector.ts";
import type { Problem } from "../../units/untrusted.ts";
import type { AutoscalerFacts, Resolution, TrackedPod, WorkloadFacts } from "./facts.ts";
import {
  BestAutoscalers,
  ContainerAutoscalers,
  DEFAULT_MAX_AUTOSCALERS,
  isSameAutoscalers,
  isSameSpec,
  replaceAutoscalers,
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
  /** Runs what exceeds one slice of work. Without it, all of it runs at once. */
  readonly compute?: RunQueued;
  /** A tracked pod is new, changed, or has other autoscalers. */
  readonly onChanged: (tracked: TrackedPod) => void;
  /** A pod is no longer tracked. */
  readonly onDropped: (pod: PodFacts) => void;
  /** The autoscalers of a pod could not be found or reported; `null` = now they are. Must not throw. */
  readonly onFailed: (pod: PodFacts, error: unknown) => void;
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
  readonly #maxAutoscalers: number;
  readonly #autoscalers = new Table<AutoscalerEntry>();
  readonly #workloads = new Workloads();
  readonly #pods = new Table<PodFacts>();
  /** By uid, the resizes of podfit that no watch has shown yet. */
  readonly #expected = new Map<string, ExpectedResize>();
  readonly #trackedPods = new Map<string, TrackedPod>();
  readonly #groups = new Map<PodSet, AutoscalerGroup>();
  /** By namespace, how many autoscalers target each kind. */
  readonly #targetKinds = new Map<string, Map<WorkloadKind, number>>();
  /** By uid, the pods whose autoscalers have to be found again. */
  readonly #waiting = new Map<string, WaitingPod>();
  /** By uid, the pods whose last matching ended with an error. */
  readonly #failed = new Map<string, PodFacts>();
  #isQueued = false;

  constructor(options: ClusterCacheOptions) {
    this.#options = options;
    this.#maxAutoscalers = options.maxContenders ?? DEFAULT_MAX_AUTOSCALERS;
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

  /**
   * Returns the pod with the autoscalers that it has now, `null` if it is not tracked or an error hides what it has.
   * `trackedPods` may be behind while slices of work are left.
   */
  findTracked(uid: string): TrackedPod | null {
    const waiting = this.#waiting.get(uid);
    if (waiting !== undefined) this.#trySettle(uid, waiting);
    return this.#failed.has(uid) ? null : this.#trackedPods.get(uid) ?? null;
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
    this.#deleteAutoscaler(entry);
    this.#rematch([entry]);
  }

  setWorkload(facts: WorkloadFacts): void {
    if (this.#workloads.set(facts)) this.#rematchTargeting([facts]);
  }

  removeWorkload(facts: WorkloadFacts): void {
    if (this.#workloads.remove(facts)) this.#rematchTargeting([facts]);
  }

  /** `all`: every workload of the kind in the namespace, `null` = in all namespaces. Each step changes some of them. */
  *replaceWorkloads(scope: WorkloadScope, all: readonly WorkloadFacts[]): Generator<void> {
    for (const changed of this.#workloads.replace(scope, all)) yield this.#rematchTargeting(changed);
  }

  /** Returns the selector of a workload's pods; `null` if the workload does not exist or its selector is invalid. */
  findSelector(workload: Pick<WorkloadFacts, "kind" | "namespace" | "name">): Selector | null {
    return this.#workloads.find(workload)?.selector ?? null;
  }

  /** Returns `null` if the workload does not exist, or has no number of replicas. */
  findScale(workload: Pick<WorkloadFacts, "kind" | "namespace" | "name">): Scale | null {
    return this.#workloads.find(workload)?.scale ?? null;
  }

  setPod(pod: PodFacts): void {
    this.#placePod(pod);
    this.#work();
  }

  removePod({ uid, namespace }: Pick<PodFacts, "uid" | "namespace">): void {
    const before = this.#pods.find(namespace, uid);
    this.#options.onMoved?.(before, null);
    this.#pods.delete(namespace, uid);
    this.#expected.delete(uid);
    this.podSets.move(before, null);
    // It is in no set now, so it has no autoscalers.
    if (before !== null) this.#trySettle(uid, { pod: before, entries: null });
  }

  /**
   * A resize of this version of the pod was accepted. A later version, or a list that began after the answer, shows it.
   * If not, etcd was restored from a backup, and what is remembered of the pod is wrong. A late watch proves nothing.
   * Clauses: C16.
   */
  expectResize(
    { uid, namespace, resourceVersion }: PodFacts,
    { generation, atMs }: { readonly generation: number | null; readonly atMs: number },
  ): void {
    const known = this.#pods.find(namespace, uid);
    if (known === null || generation === null || (known.generation ?? 0) >= generation) return;
    this.#expected.set(uid, { resourceVersion, generation, atMs });
    // The watch may have gone on before the answer came.
    if (known.resourceVersion !== resourceVersion) this.setPod(known);
  }

  /**
   * `all`: every pod of the namespace, `null` = of all namespaces. Each step of the result changes one pod. Pods that
   * the cache has as they are do not change. `begunMs`: when the list was asked for, monotonic.
   */
  replacePods(namespace: string | null, all: readonly PodFacts[], begunMs: number): Iterable<unknown> {
    return replaceAllObjects({ known: this.#pods.listWithin(namespace), all }, {
      toKey: ({ uid }) => uid,
      set: (pod) => {
        const expected = this.#expected.get(pod.uid);
        const isLost = expected !== undefined && begunMs > expected.atMs && (pod.generation ?? 0) < expected.generation;
        if (isLost) this.removePod(pod);
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
    return new Set(this.#targetKinds.get(namespace)?.keys());
  }

  resolve({ uid, namespace, autoscaler }: AutoscalerFacts): Resolution {
    const selector = autoscaler === null ? null : this.#workloads.findSelector(autoscaler);
    const entry = this.#autoscalers.find(namespace, uid);
    return {
      selector,
      matched: entry?.group?.matched ?? 0,
      oversized: entry?.group?.oversized ?? 0,
      tracked: entry?.cohort?.pods ?? NO_PODS,
      countCrowdedOut: () => entry === null ? 0 : this.#countCrowdedOut(entry),
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
      this.#countTarget(facts, 1);
      return entry;
    }
    // A status write arrives as a change too, but only the spec decides which pods are tracked.
    const isSame = isSameSpec(before.facts, facts);
    this.#countTarget(before.facts, -1);
    before.facts = { ...facts, autoscaler: isSame ? before.facts.autoscaler : toChangedSpec(before.facts, facts) };
    this.#countTarget(before.facts, 1);
    return isSame ? null : before;
  }

  #deleteAutoscaler({ facts }: AutoscalerEntry): void {
    this.#autoscalers.delete(facts.namespace, facts.uid);
    this.#countTarget(facts, -1);
  }

  #countTarget({ namespace, autoscaler }: AutoscalerFacts, change: number): void {
    if (!autoscaler?.target || autoscaler.paused) return;
    const counts = this.#targetKinds.get(namespace) ?? new Map<WorkloadKind, number>();
    const count = (counts.get(autoscaler.target.kind) ?? 0) + change;
    if (count > 0) counts.set(autoscaler.target.kind, count);
    else counts.delete(autoscaler.target.kind);
    if (counts.size > 0) this.#targetKinds.set(namespace, counts);
    else this.#targetKinds.delete(namespace);
  }

  #placePod(pod: PodFacts): void {
    const { uid, namespace } = pod;
    if (this.#hasGoneBack(pod)) this.removePod(pod);
    const before = this.#pods.find(namespace, uid);
    if (this.#expected.get(uid)?.resourceVersion !== pod.resourceVersion) this.#expected.delete(uid);
    this.#options.onMoved?.(before, pod);
    this.#pods.set(namespace, uid, pod);
    this.podSets.move(before, pod);
    const isMatchedAsBefore = before !== null && this.#trackedPods.has(uid) && before.labels === pod.labels &&
      this.#isEligible(pod) && hasSameContainers(before, pod);
    this.#wait(pod, isMatchedAsBefore ? NO_ENTRIES : null);
  }

  /** A generation decreases only when etcd was restored from a backup. What is remembered of the pod is wrong then. */
  #hasGoneBack({ uid, namespace, resourceVersion, generation }: PodFacts): boolean {
    const shown = this.#pods.find(namespace, uid)?.generation ?? 0;
    const expected = this.#expected.get(uid);
    // The API server made the resize of exactly that version, so every other one that comes now is newer than the resize.
    const resized = expected === undefined || expected.resourceVersion === resourceVersion ? 0 : expected.generation;
    return Math.max(shown, resized) > (generation ?? 0);
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

  /** Finds the autoscalers again of the pods that matched the changed autoscalers before, or match them now. */
  #rematch(changed: readonly AutoscalerEntry[]): void {
    // A workload can have hundreds of autoscalers. Each of its pods is visited once for all of them.
    const touched = new Map<PodSet, { readonly pods: readonly PodFacts[]; readonly entries: AutoscalerEntry[] }>();
    const touch = (group: AutoscalerGroup | null, entry: AutoscalerEntry) => {
      if (group === null) return;
      const { set } = group.handle;
      const { pods, entries } = touched.get(set) ?? { pods: [...set.pods.values()], entries: [] };
      touched.set(set, { pods, entries });
      if (entries.at(-1) !== entry) entries.push(entry);
    };
    for (const entry of changed) {
      touch(entry.group, entry);
      this.#regroup(entry);
      touch(entry.group, entry);
    }
    for (const { pods, entries } of touched.values()) for (const pod of pods) this.#wait(pod, entries);
    this.#work();
  }

  /** `entries`: those that have changed for the pod; `null` = any may have changed. */
  #wait(pod: PodFacts, entries: readonly AutoscalerEntry[] | null): void {
    const known = this.#waiting.get(pod.uid)?.entries;
    const isAny = entries === null || known === null || entries.length > this.#maxAutoscalers;
    const all = isAny ? null : known === undefined ? entries : [...new Set([...known, ...entries])];
    this.#waiting.set(pod.uid, { pod, entries: all === null || all.length > this.#maxAutoscalers ? null : all });
  }

  /** Settles waiting pods until a slice of work is done, and the others in slices of the queue. */
  #work(): void {
    this.#retryOne();
    if (this.#isQueued) return;
    this.#settleSome();
    const { compute } = this.#options;
    if (this.#waiting.size === 0) return;
    if (compute !== undefined) return void this.#workInSlices(compute);
    while (this.#waiting.size > 0) this.#settleSome();
  }

  async #workInSlices(compute: RunQueued): Promise<void> {
    this.#isQueued = true;
    while (this.#waiting.size > 0) await compute(() => this.#settleSome());
    this.#isQueued = false;
  }

  #settleSome(): void {
    let visits = VISITS_PER_SLICE;
    for (const [uid, waiting] of this.#waiting) {
      if (visits <= 0) return;
      visits -= this.#trySettle(uid, waiting);
    }
  }

  /** An error of one pod concerns this pod alone: it is reported, and the pod is tried again with a later change. */
  #trySettle(uid: string, waiting: WaitingPod): number {
    try {
      const visits = this.#settle(uid, waiting);
      if (this.#failed.delete(uid)) this.#options.onFailed(waiting.pod, null);
      return visits;
    } catch (error) {
      this.#failed.set(uid, waiting.pod);
      this.#options.onFailed(waiting.pod, error);
      return VISITS_PER_SLICE;
    }
  }

  /** One pod with each change, so that errors that stay cost little. */
  #retryOne(): void {
    const [pod] = this.#failed.values();
    if (pod === undefined) return;
    // Behind the other ones, in case it fails again.
    this.#failed.delete(pod.uid);
    this.#failed.set(pod.uid, pod);
    this.#wait(this.#pods.find(pod.namespace, pod.uid) ?? pod, null);
  }

  /** Finds the autoscalers of a waiting pod. Returns how many autoscalers were visited, and at least 1. */
  #settle(uid: string, { pod, entries }: WaitingPod): number {
    this.#waiting.delete(uid);
    const before = this.#trackedPods.get(uid);
    const { autoscalers, visits } = this.#match(pod, before?.autoscalers ?? NO_MATCHES, entries);
    if (autoscalers.length === 0) this.#drop(uid);
    else if (this.#failed.has(uid) || before?.pod !== pod || !isSameAutoscalers(before.autoscalers, autoscalers)) {
      const tracked: TrackedPod = { pod, autoscalers };
      this.#trackedPods.set(uid, tracked);
      this.#options.onChanged(tracked);
    }
    return visits;
  }

  /** Moves the autoscaler to the group of the selector, and the cohort of the containers, that it has now. */
  #regroup(entry: AutoscalerEntry): void {
    const { facts: { uid, namespace, autoscaler }, group: before } = entry;
    const isActive = autoscaler !== null && !autoscaler.paused && this.#autoscalers.find(namespace, uid) === entry;
    const selector = isActive ? this.#workloads.findSelector(autoscaler) : null;
    const after = selector === null ? null : this.#openGroup(namespace, selector);
    const cohort = after === null || autoscaler === null ? null : this.#openCohort(after, autoscaler);
    if (cohort === entry.cohort) return;
    cohort?.entries.add(entry);
    if (before !== null && entry.cohort !== null) this.#leaveCohort(before, entry.cohort, entry);
    entry.group = after;
    entry.cohort = cohort;
  }

  #openGroup(namespace: string, selector: Selector): AutoscalerGroup {
    const handle = this.podSets.acquire(namespace, selector, null);
    const known = this.#groups.get(handle.set);
    if (known !== undefined) {
      handle[Symbol.dispose]();
      return known;
    }
    const group: AutoscalerGroup = { handle, cohorts: new Map(), matched: 0, oversized: 0 };
    for (const pod of handle.set.pods.values()) this.#countInGroup(group, pod, 1);
    this.#groups.set(handle.set, group);
    return group;
  }

  #openCohort({ handle, cohorts }: AutoscalerGroup, { containerName, excludeContainers }: Autoscaler): Cohort {
    const key = [containerName, ...excludeContainers].join("\n");
    const known = cohorts.get(key);
    if (known !== undefined) return known;
    const cohort: Cohort = { key, containerName, excludeContainers, pods: new Map(), entries: new Set() };
    for (const pod of handle.set.pods.values()) this.#moveInCohort(cohort, pod);
    cohorts.set(key, cohort);
    return cohort;
  }

  #leaveCohort(group: AutoscalerGroup, cohort: Cohort, entry: AutoscalerEntry): void {
    cohort.entries.delete(entry);
    if (cohort.entries.size > 0) return;
    group.cohorts.delete(cohort.key);
    if (group.cohorts.size > 0) return;
    this.#groups.delete(group.handle.set);
    group.handle[Symbol.dispose]();
  }

  #moveInGroup(set: PodSet, before: PodFacts | null, after: PodFacts | null): void {
    const group = this.#groups.get(set);
    if (group === undefined) return;
    if (before !== null) this.#countInGroup(group, before, -1);
    if (after !== null) this.#countInGroup(group, after, 1);
    for (const cohort of group.cohorts.values()) {
      if (after !== null) this.#moveInCohort(cohort, after);
      else if (before !== null) cohort.pods.delete(before.uid);
    }
  }

  #countInGroup(group: AutoscalerGroup, pod: PodFacts, change: 1 | -1): void {
    if (this.#isEligible(pod)) group.matched += change;
    else if (this.#isSuitable(pod)) group.oversized += change;
  }

  #moveInCohort(cohort: Cohort, pod: PodFacts): void {
    if (this.#isEligible(pod) && listContainers(cohort, pod).length > 0) cohort.pods.set(pod.uid, pod);
    else cohort.pods.delete(pod.uid);
  }

  /** Returns the autoscalers that count for the pod, sorted by name, and how many were visited to find them. */
  #match(pod: PodFacts, kept: readonly Autoscaler[], entries: readonly AutoscalerEntry[] | null): Matches {
    if (!this.#isEligible(pod)) return { autoscalers: NO_MATCHES, visits: 1 };
    const most = this.#maxAutoscalers;
    if (entries === null) return this.#matchAll(pod);
    if (entries.length === 0) return { autoscalers: kept, visits: 1 };
    const uids = new Set(entries.map(({ facts }) => facts.uid));
    const own = entries.flatMap((entry) => this.#listOwn(entry, pod));
    const next = replaceAutoscalers({ kept, most }, { uids, own });
    return next === null ? this.#matchAll(pod) : { autoscalers: next, visits: kept.length + own.length + 1 };
  }

  #listOwn({ facts: { autoscaler }, cohort, perContainer }: AutoscalerEntry, pod: PodFacts): readonly Autoscaler[] {
    return autoscaler === null || cohort?.pods.has(pod.uid) !== true ? NO_MATCHES : perContainer.list(autoscaler, pod);
  }

  /** Keeps only the best of each container while it visits all autoscalers of the pod: there can be hundreds. */
  #matchAll(pod: PodFacts): Matches {
    const best = new BestAutoscalers<AutoscalerEntry>(this.#maxAutoscalers);
    let visits = 1;
    for (const cohort of this.#listCohorts(pod)) {
      visits++;
      const names = cohort.pods.has(pod.uid) ? listContainers(cohort, pod) : [];
      for (const entry of names.length === 0 ? [] : cohort.entries) {
        visits += names.length;
        for (const name of names) if (entry.facts.autoscaler !== null) best.add(entry.facts.autoscaler, name, entry);
      }
    }
    // Pods of one autoscaler and container share its list.
    const only = best.findOnlyOwner();
    const own = only === null ? NO_MATCHES : this.#listOwn(only, pod);
    if (own.length === 1) return { autoscalers: own, visits };
    const autoscalers = best.list(({ facts: { autoscaler }, perContainer }, containerName) =>
      autoscaler === null ? null : perContainer.find(autoscaler, containerName)
    );
    return { autoscalers, visits };
  }

  *#listCohorts({ uid }: PodFacts): Generator<Cohort> {
    for (const set of this.podSets.setsOf(uid)) yield* this.#groups.get(set)?.cohorts.values() ?? [];
  }

  /** Returns for how many of its pods others of higher rank use up the limit of autoscalers. */
  #countCrowdedOut({ facts: { uid, namespace }, cohort }: AutoscalerEntry): number {
    if (cohort === null || this.#autoscalers.count(namespace) <= this.#maxAutoscalers) return 0;
    let count = 0;
    for (const pod of cohort.pods.keys()) {
      const kept = this.#trackedPods.get(pod)?.autoscalers;
      if (kept !== undefined && !kept.some((one) => one.uid === uid)) count++;
    }
    return count;
  }

  #drop(uid: string): void {
    this.#waiting.delete(uid);
    const tracked = this.#trackedPods.get(uid);
    if (tracked === undefined) return;
    this.#trackedPods.delete(uid);
    try {
      this.#options.onDropped(tracked.pod);
    } catch (error) {
      // Otherwise no later try would report it.
      this.#trackedPods.set(uid, tracked);
      throw error;
    }
  }

  /** The work for one pod is bounded: its containers times its autoscalers. Clauses: C11. */
  #isEligible(pod: PodFacts): boolean {
    return this.#isSuitable(pod) && pod.containers.length <= MAX_POD_CONTAINERS;
  }

  /** Is the pod eligible, however many containers it has? */
  #isSuitable(pod: PodFacts): boolean {
    if (pod.nodeName === null || pod.finished || pod.deleting || pod.mirror || pod.windows) return false;
    return pod.optedIn || !this.#options.requiresAnnotation;
  }
}

/** How many autoscalers are visited before the event loop gets its next turn: about half a millisecond. */
const VISITS_PER_SLICE = 2_000;

/** A resize that the API server has accepted. */
interface ExpectedResize {
  /** That the pod had before the resize. */
  readonly resourceVersion: string;
  /** That the pod has in the answer. */
  readonly generation: number;
  /** When the answer came, monotonic ms. */
  readonly atMs: number;
}

/** A pod whose autoscalers have to be found again. */
interface WaitingPod {
  readonly pod: PodFacts;
  /** The autoscalers that have changed for it; `null` = any. */
  readonly entries: readonly AutoscalerEntry[] | null;
}

interface Matches {
  readonly autoscalers: readonly Autoscaler[];
  readonly visits: number;
}

/** Shared, so that an unchanged resolution is the same object. */
const NO_PROBLEMS: readonly Problem[] = [];

const NO_MATCHES: readonly Autoscaler[] = [];

const NO_ENTRIES: readonly AutoscalerEntry[] = [];

const NO_PODS: ReadonlyMap<string, PodFacts> = new Map();

/** The generation is compared too: after etcd was restored from a backup, a resourceVersion can occur a second time. */
function isSameVersion(a: PodFacts, b: PodFacts): boolean {
  return a.resourceVersion !== "" && a.resourceVersion === b.resourceVersion && a.generation === b.generation;
}

function hasSameContainers({ containers: before }: PodFacts, { containers: after }: PodFacts): boolean {
  return before.length === after.length &&
    before.every(({ name, kind }, index) => name === after[index]?.name && kind === after[index]?.kind);
}

/** The autoscalers of one selector. */
interface AutoscalerGroup {
  readonly handle: PodSetHandle;
  readonly cohorts: Map<string, Cohort>;
  /** The number of eligible pods in the set. */
  matched: number;
  /** The number of pods that only their number of containers makes ineligible. */
  oversized: number;
}

/** The autoscalers of one selector for the same containers: they track the same pods. */
interface Cohort {
  readonly key: string;
  readonly containerName: string;
  readonly excludeContainers: readonly string[];
  /** By UID, the eligible pods of the group that have the container; kept up to date pod by pod. */
  readonly pods: Map<string, PodFacts>;
  readonly entries: Set<AutoscalerEntry>;
}

interface AutoscalerEntry {
  facts: AutoscalerFacts;
  /** `null` = it matches no pods: it is paused, invalid or deleted, or its target is missing. */
  group: AutoscalerGroup | null;
  cohort: Cohort | null;
  readonly perContainer: ContainerAutoscalers;
}

function newAutoscalerEntry(facts: AutoscalerFacts): AutoscalerEntry {
  return { facts, group: null, cohort: null, perContainer: new ContainerAutoscalers() };
}
