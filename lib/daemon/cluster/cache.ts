/**
 * The cluster cache: autoscalers, workloads and pods as the watches show them, and which autoscalers match which pod.
 * It gets typed facts and calls its listener for each pod that changed. It makes no API requests.
 */
import type { Autoscaler, WorkloadKind } from "../../model/autoscaler.ts";
import type { PodFacts } from "../../model/pod.ts";
import { matches, type Selector } from "../../units/selector.ts";
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
import { deleteWithin, isTargetOf, Workloads, type WorkloadScope } from "./tables.ts";

// Who is tracked, where, and by whom: autoscalers, workloads and pods as the watches show them, and the matches that
// follow (C10 to C15). Knows no API: it is given typed facts, and notifies its listener of the pods that changed.

/** Which pods are eligible, and who hears of changes. */
interface ClusterCacheOptions {
  /** C11: only pods annotated pra.kedify.io/reconcile=enabled. */
  readonly requiresAnnotation: boolean;
  /** So many autoscalers contend for a container: each costs the same as another (16). */
  readonly maxContenders?: number;
  /** A tracked pod is new, changed, or has other contenders. */
  readonly onChanged: (tracked: TrackedPod) => void;
  /** A pod is no longer tracked: nothing is reverted, what was known of it is dropped. */
  readonly onDropped: (pod: PodFacts) => void;
  /** A pod came, changed or went, tracked or not; `null` = it was not there, or is not any more. */
  readonly onMoved?: (before: PodFacts | null, after: PodFacts | null) => void;
}

/** What is tracked, kept current by every change that it is given. */
export class ClusterCache {
  readonly #options: ClusterCacheOptions;
  readonly #autoscalers = new Map<string, Map<string, AutoscalerEntry>>();
  readonly #workloads = new Workloads();
  readonly #pods = new Map<string, Map<string, PodFacts>>();
  readonly #trackedPods = new Map<string, TrackedPod>();

  constructor(options: ClusterCacheOptions) {
    this.#options = options;
  }

  get trackedPods(): ReadonlyMap<string, TrackedPod> {
    return this.#trackedPods;
  }

  *listAutoscalers(): Generator<AutoscalerFacts> {
    for (const inNamespace of this.#autoscalers.values()) {
      for (const { facts } of inNamespace.values()) yield facts;
    }
  }

  findAutoscaler(uid: string, namespace: string): AutoscalerFacts | null {
    return this.#autoscalers.get(namespace)?.get(uid)?.facts ?? null;
  }

  setAutoscaler(facts: AutoscalerFacts): void {
    const entry = this.#placeAutoscaler(facts);
    if (entry !== null) this.#rematch(entry);
  }

  removeAutoscaler({ uid, namespace }: Pick<AutoscalerFacts, "uid" | "namespace">): void {
    const entry = this.#autoscalers.get(namespace)?.get(uid);
    if (entry === undefined) return;
    deleteWithin(this.#autoscalers, namespace, uid);
    this.#rematch(entry);
  }

  /** All there are in the namespace, `null` = in all; gives those that are no more. Pods are matched once for all. */
  replaceAutoscalers(namespace: string | null, all: readonly AutoscalerFacts[]): readonly AutoscalerFacts[] {
    const known = new Set(all.map(({ uid }) => uid));
    const gone = [...this.listAutoscalers()].filter((one) =>
      (namespace === null || one.namespace === namespace) && !known.has(one.uid)
    );
    for (const one of gone) deleteWithin(this.#autoscalers, one.namespace, one.uid);
    const changed = all.filter((one) => this.#placeAutoscaler(one) !== null);
    this.#retrackAll([...gone, ...changed]);
    return gone;
  }

  setWorkload(facts: WorkloadFacts): void {
    if (this.#workloads.set(facts)) this.#rematchTargeting(facts);
  }

  removeWorkload(facts: WorkloadFacts): void {
    if (this.#workloads.remove(facts)) this.#rematchTargeting(facts);
  }

  /** All there are of the kind in the namespace, `null` = in all. */
  replaceWorkloads(scope: WorkloadScope, all: readonly WorkloadFacts[]): void {
    this.#retrackAll(this.#workloads.replace(scope, all));
  }

  /** Which pods are a workload's; `null` when it is not there, or has no selector to use. */
  findSelector(workload: Pick<WorkloadFacts, "kind" | "namespace" | "name">): Selector | null {
    return this.#workloads.find(workload)?.selector ?? null;
  }

  setPod(pod: PodFacts): void {
    const inNamespace = this.#pods.get(pod.namespace) ?? new Map<string, PodFacts>();
    const before = inNamespace.get(pod.uid) ?? null;
    // A generation never goes back but with all of etcd: what was done since is undone, and nothing is remembered of it.
    if ((before?.generation ?? 0) > (pod.generation ?? 0)) this.#drop(pod.uid);
    this.#options.onMoved?.(before, pod);
    this.#pods.set(pod.namespace, inNamespace.set(pod.uid, pod));
    this.#retrack(pod);
  }

  removePod({ uid, namespace }: Pick<PodFacts, "uid" | "namespace">): void {
    this.#options.onMoved?.(this.#pods.get(namespace)?.get(uid) ?? null, null);
    deleteWithin(this.#pods, namespace, uid);
    for (const entry of this.#autoscalers.get(namespace)?.values() ?? []) removePodFromEntry(entry, uid);
    this.#drop(uid);
  }

  /** All there are in the namespace, `null` = in all. */
  replacePods(namespace: string | null, all: readonly PodFacts[]): void {
    const known = new Set(all.map(({ uid }) => uid));
    for (const pod of [...this.listPods(namespace)]) if (!known.has(pod.uid)) this.removePod(pod);
    for (const pod of all) this.setPod(pod);
  }

  *listPods(namespace: string | null): Generator<PodFacts> {
    const all = namespace === null ? this.#pods.values() : [this.#pods.get(namespace) ?? new Map<string, PodFacts>()];
    for (const inNamespace of all) yield* inNamespace.values();
  }

  /** Kinds that autoscalers of the namespace name which would contend for its pods. */
  listTargetKinds(namespace: string): ReadonlySet<WorkloadKind> {
    const kinds = new Set<WorkloadKind>();
    for (const { facts: { autoscaler } } of this.#autoscalers.get(namespace)?.values() ?? []) {
      if (autoscaler?.target && !autoscaler.paused) kinds.add(autoscaler.target.kind);
    }
    return kinds;
  }

  resolve({ uid, namespace, autoscaler }: AutoscalerFacts): Resolution {
    const selector = autoscaler === null ? null : this.#workloads.findSelector(autoscaler);
    const entry = this.#autoscalers.get(namespace)?.get(uid);
    return {
      selector,
      matched: entry?.matched.size ?? 0,
      tracked: entry?.tracked ?? new Map(),
      crowdedOut: entry?.crowdedOut.size ?? 0,
      isTargetMissing: autoscaler !== null && selector === null,
      targetProblems: (autoscaler === null ? null : this.#workloads.findTarget(autoscaler)?.problems) ?? NO_PROBLEMS,
    };
  }

  /** `null` when nothing has changed that decides who is tracked. */
  #placeAutoscaler(facts: AutoscalerFacts): AutoscalerEntry | null {
    const inNamespace = this.#autoscalers.get(facts.namespace) ?? new Map<string, AutoscalerEntry>();
    this.#autoscalers.set(facts.namespace, inNamespace);
    const before = inNamespace.get(facts.uid);
    if (before === undefined) {
      const entry = newAutoscalerEntry(facts);
      inNamespace.set(facts.uid, entry);
      return entry;
    }
    // A status write comes back as a change too; only the spec decides who is tracked.
    const isSame = isSameSpec(before.facts, facts);
    before.facts = { ...facts, autoscaler: isSame ? before.facts.autoscaler : toChangedSpec(before.facts, facts) };
    return isSame ? null : before;
  }

  #rematchTargeting(workload: WorkloadFacts): void {
    for (const entry of this.#autoscalers.get(workload.namespace)?.values() ?? []) {
      const { autoscaler } = entry.facts;
      if (autoscaler !== null && isTargetOf(workload, autoscaler)) this.#rematch(entry);
    }
  }

  /** Tracks anew after one autoscaler has changed: only pods that matched it, or do now, can be tracked otherwise. */
  #rematch(entry: AutoscalerEntry): void {
    this.#updateSelector(entry);
    for (const pod of this.listPods(entry.facts.namespace)) {
      if (entry.matched.has(pod.uid) || this.#isMatch(pod, entry.selector)) this.#retrack(pod);
    }
  }

  #retrackAll(changed: readonly { readonly namespace: string }[]): void {
    for (const namespace of new Set(changed.map((one) => one.namespace))) {
      for (const entry of this.#autoscalers.get(namespace)?.values() ?? []) this.#updateSelector(entry);
      for (const pod of this.listPods(namespace)) this.#retrack(pod);
    }
  }

  #updateSelector(entry: AutoscalerEntry): void {
    const { autoscaler } = entry.facts;
    entry.selector = autoscaler === null || autoscaler.paused ? null : this.#workloads.findSelector(autoscaler);
  }

  #isMatch(pod: PodFacts, selector: Selector | null): boolean {
    return selector !== null && this.#isEligible(pod) && matches(selector, pod.labels);
  }

  #retrack(pod: PodFacts): void {
    const contenders = this.#match(pod);
    if (contenders.length === 0) return this.#drop(pod.uid);
    const before = this.#trackedPods.get(pod.uid);
    if (before?.pod === pod && isSameAutoscalers(before.autoscalers, contenders)) return;
    const tracked: TrackedPod = { pod, autoscalers: contenders };
    this.#trackedPods.set(pod.uid, tracked);
    this.#options.onChanged(tracked);
  }

  /** Notes which autoscalers the pod matches, and gives those that contend for it. */
  #match(pod: PodFacts): readonly Autoscaler[] {
    let contenders = NO_MATCHES;
    for (const entry of this.#autoscalers.get(pod.namespace)?.values() ?? []) {
      const { facts: { autoscaler }, selector, matched, tracked, crowdedOut, perContainer } = entry;
      const isMatch = this.#isMatch(pod, selector);
      if (isMatch) matched.add(pod.uid);
      else matched.delete(pod.uid);
      const own = isMatch && autoscaler !== null ? perContainer.list(autoscaler, pod) : NO_MATCHES;
      if (own.length > 0) tracked.set(pod.uid, pod);
      else tracked.delete(pod.uid);
      if (crowdedOut.size > 0) crowdedOut.delete(pod.uid);
      if (own.length > 0) contenders = contenders.length === 0 ? own : [...contenders, ...own];
    }
    const kept = limitAutoscalers(contenders, this.#options.maxContenders ?? DEFAULT_MAX_AUTOSCALERS);
    if (kept.length < contenders.length) this.#markCrowdedOut(pod, new Set(kept.map(({ uid }) => uid)));
    return kept.length === 1 ? kept : kept.toSorted(compareNames);
  }

  #markCrowdedOut({ uid, namespace }: PodFacts, kept: ReadonlySet<string>): void {
    for (const { facts, tracked, crowdedOut } of this.#autoscalers.get(namespace)?.values() ?? []) {
      if (tracked.has(uid) && !kept.has(facts.uid)) crowdedOut.add(uid);
    }
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

// What the inventory keeps of one autoscaler.

/** Kept current pod by pod: asking every pod for every autoscaler would take seconds where there are many of both. */
interface AutoscalerEntry {
  facts: AutoscalerFacts;
  /** What its pods have to meet; `null` when it contends for none: paused, invalid, or its target is missing. */
  selector: Selector | null;
  /** UIDs of eligible pods. */
  readonly matched: Set<string>;
  /** Those of them that have the container, or one of those that EVERY_CONTAINER stands for. */
  readonly tracked: Map<string, PodFacts>;
  /** UIDs of those for which too many others go first. */
  readonly crowdedOut: Set<string>;
  readonly perContainer: ContainerAutoscalers;
}

function newAutoscalerEntry(facts: AutoscalerFacts): AutoscalerEntry {
  return {
    facts,
    selector: null,
    matched: new Set(),
    tracked: new Map(),
    crowdedOut: new Set(),
    perContainer: new ContainerAutoscalers(),
  };
}

function removePodFromEntry({ matched, tracked, crowdedOut }: AutoscalerEntry, uid: string): void {
  matched.delete(uid);
  tracked.delete(uid);
  crowdedOut.delete(uid);
}
