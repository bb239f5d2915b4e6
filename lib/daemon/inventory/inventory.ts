/**
 * Who is tracked, where, and by whom: autoscalers, workloads and pods as the watches show them, and the matches that
 * follow (C10 to C15). Knows no API: it is given typed facts, and notifies its listener of the pods that changed.
 */
import type { PodFacts } from "../../core/pod/pod_facts.ts";
import type { Autoscaler, WorkloadKind } from "../../autoscaler/autoscaler.ts";
import type { Problem } from "../../units/problem.ts";
import { matches, type Selector } from "../../units/selector.ts";
import { MAX_CONTENDERS } from "../defaults.ts";
import { byName, isSameContenders, keepFirst } from "./contenders.ts";
import { deleteWithin } from "./delete_within.ts";
import { type Entry, forgetPod, newEntry } from "./entry.ts";
import type { AutoscalerFacts, WorkloadFacts } from "./facts.ts";
import { isSameSpec, toChanged } from "./same_spec.ts";
import type { Resolution, Tracked } from "./tracked.ts";
import { isTarget, Workloads, type WorkloadScope } from "./workloads.ts";

/** Shared, so that an unchanged resolution is the same object. */
const NO_PROBLEMS: readonly Problem[] = [];
const NO_CONTENDERS: readonly Autoscaler[] = [];

/** Which pods are eligible, and who hears of changes. */
export interface InventoryOptions {
  /** C11: only pods annotated pra.kedify.io/reconcile=enabled. */
  readonly requiresAnnotation: boolean;
  /** So many autoscalers contend for a container: each costs the same as another (16). */
  readonly maxContenders?: number;
  /** A tracked pod is new, changed, or has other contenders. */
  readonly onChanged: (tracked: Tracked) => void;
  /** A pod is no longer tracked: nothing is reverted, what was known of it is dropped. */
  readonly onDropped: (pod: PodFacts) => void;
  /** A pod came, changed or went, tracked or not; `null` = it was not there, or is not any more. */
  readonly onMoved?: (before: PodFacts | null, after: PodFacts | null) => void;
}

/** What is tracked, kept current by every change that it is given. */
export class Inventory {
  readonly #options: InventoryOptions;
  readonly #entries = new Map<string, Map<string, Entry>>();
  readonly #workloads = new Workloads();
  readonly #pods = new Map<string, Map<string, PodFacts>>();
  readonly #tracked = new Map<string, Tracked>();

  constructor(options: InventoryOptions) {
    this.#options = options;
  }

  get tracked(): ReadonlyMap<string, Tracked> {
    return this.#tracked;
  }

  *autoscalers(): Generator<AutoscalerFacts> {
    for (const inNamespace of this.#entries.values()) {
      for (const { facts } of inNamespace.values()) yield facts;
    }
  }

  findAutoscaler(uid: string, namespace: string): AutoscalerFacts | null {
    return this.#entries.get(namespace)?.get(uid)?.facts ?? null;
  }

  setAutoscaler(facts: AutoscalerFacts): void {
    const entry = this.#placeAutoscaler(facts);
    if (entry !== null) this.#rematch(entry);
  }

  removeAutoscaler({ uid, namespace }: Pick<AutoscalerFacts, "uid" | "namespace">): void {
    const entry = this.#entries.get(namespace)?.get(uid);
    if (entry === undefined) return;
    deleteWithin(this.#entries, namespace, uid);
    this.#rematch(entry);
  }

  /** All there are in the namespace, `null` = in all; gives those that are no more. Pods are matched once for all. */
  replaceAutoscalers(namespace: string | null, all: readonly AutoscalerFacts[]): readonly AutoscalerFacts[] {
    const known = new Set(all.map(({ uid }) => uid));
    const gone = [...this.autoscalers()].filter((one) =>
      (namespace === null || one.namespace === namespace) && !known.has(one.uid)
    );
    for (const one of gone) deleteWithin(this.#entries, one.namespace, one.uid);
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
    for (const entry of this.#entries.get(namespace)?.values() ?? []) forgetPod(entry, uid);
    this.#drop(uid);
  }

  /** All there are in the namespace, `null` = in all. */
  replacePods(namespace: string | null, all: readonly PodFacts[]): void {
    const known = new Set(all.map(({ uid }) => uid));
    for (const pod of [...this.pods(namespace)]) if (!known.has(pod.uid)) this.removePod(pod);
    for (const pod of all) this.setPod(pod);
  }

  *pods(namespace: string | null): Generator<PodFacts> {
    const all = namespace === null ? this.#pods.values() : [this.#pods.get(namespace) ?? new Map<string, PodFacts>()];
    for (const inNamespace of all) yield* inNamespace.values();
  }

  /** Kinds that autoscalers of the namespace name which would contend for its pods. */
  listTargetKinds(namespace: string): ReadonlySet<WorkloadKind> {
    const kinds = new Set<WorkloadKind>();
    for (const { facts: { autoscaler } } of this.#entries.get(namespace)?.values() ?? []) {
      if (autoscaler?.target && !autoscaler.paused) kinds.add(autoscaler.target.kind);
    }
    return kinds;
  }

  resolve({ uid, namespace, autoscaler }: AutoscalerFacts): Resolution {
    const selector = autoscaler === null ? null : this.#workloads.findSelector(autoscaler);
    const entry = this.#entries.get(namespace)?.get(uid);
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
  #placeAutoscaler(facts: AutoscalerFacts): Entry | null {
    const inNamespace = this.#entries.get(facts.namespace) ?? new Map<string, Entry>();
    this.#entries.set(facts.namespace, inNamespace);
    const before = inNamespace.get(facts.uid);
    if (before === undefined) {
      const entry = newEntry(facts);
      inNamespace.set(facts.uid, entry);
      return entry;
    }
    // A status write comes back as a change too; only the spec decides who is tracked.
    const isSame = isSameSpec(before.facts, facts);
    before.facts = { ...facts, autoscaler: isSame ? before.facts.autoscaler : toChanged(before.facts, facts) };
    return isSame ? null : before;
  }

  #rematchTargeting(workload: WorkloadFacts): void {
    for (const entry of this.#entries.get(workload.namespace)?.values() ?? []) {
      const { autoscaler } = entry.facts;
      if (autoscaler !== null && isTarget(workload, autoscaler)) this.#rematch(entry);
    }
  }

  /** Tracks anew after one autoscaler has changed: only pods that matched it, or do now, can be tracked otherwise. */
  #rematch(entry: Entry): void {
    this.#readSelector(entry);
    for (const pod of this.pods(entry.facts.namespace)) {
      if (entry.matched.has(pod.uid) || this.#isMatch(pod, entry.selector)) this.#retrack(pod);
    }
  }

  #retrackAll(changed: readonly { readonly namespace: string }[]): void {
    for (const namespace of new Set(changed.map((one) => one.namespace))) {
      for (const entry of this.#entries.get(namespace)?.values() ?? []) this.#readSelector(entry);
      for (const pod of this.pods(namespace)) this.#retrack(pod);
    }
  }

  #readSelector(entry: Entry): void {
    const { autoscaler } = entry.facts;
    entry.selector = autoscaler === null || autoscaler.paused ? null : this.#workloads.findSelector(autoscaler);
  }

  #isMatch(pod: PodFacts, selector: Selector | null): boolean {
    return selector !== null && this.#isEligible(pod) && matches(selector, pod.labels);
  }

  #retrack(pod: PodFacts): void {
    const contenders = this.#match(pod);
    if (contenders.length === 0) return this.#drop(pod.uid);
    const before = this.#tracked.get(pod.uid);
    if (before?.pod === pod && isSameContenders(before.contenders, contenders)) return;
    const tracked: Tracked = { pod, contenders };
    this.#tracked.set(pod.uid, tracked);
    this.#options.onChanged(tracked);
  }

  /** Notes which autoscalers the pod matches, and gives those that contend for it. */
  #match(pod: PodFacts): readonly Autoscaler[] {
    let contenders = NO_CONTENDERS;
    for (const entry of this.#entries.get(pod.namespace)?.values() ?? []) {
      const { facts: { autoscaler }, selector, matched, tracked, crowdedOut, perContainer } = entry;
      const isMatch = this.#isMatch(pod, selector);
      if (isMatch) matched.add(pod.uid);
      else matched.delete(pod.uid);
      const own = isMatch && autoscaler !== null ? perContainer.list(autoscaler, pod) : NO_CONTENDERS;
      if (own.length > 0) tracked.set(pod.uid, pod);
      else tracked.delete(pod.uid);
      if (crowdedOut.size > 0) crowdedOut.delete(pod.uid);
      if (own.length > 0) contenders = contenders.length === 0 ? own : [...contenders, ...own];
    }
    const kept = keepFirst(contenders, this.#options.maxContenders ?? MAX_CONTENDERS);
    if (kept.length < contenders.length) this.#noteCrowd(pod, new Set(kept.map(({ uid }) => uid)));
    return kept.length === 1 ? kept : kept.toSorted(byName);
  }

  #noteCrowd({ uid, namespace }: PodFacts, kept: ReadonlySet<string>): void {
    for (const { facts, tracked, crowdedOut } of this.#entries.get(namespace)?.values() ?? []) {
      if (tracked.has(uid) && !kept.has(facts.uid)) crowdedOut.add(uid);
    }
  }

  #drop(uid: string): void {
    const tracked = this.#tracked.get(uid);
    if (tracked !== undefined && this.#tracked.delete(uid)) this.#options.onDropped(tracked.pod);
  }

  #isEligible(pod: PodFacts): boolean {
    if (pod.nodeName === null || pod.finished || pod.deleting || pod.mirror || pod.windows) return false;
    return pod.optedIn || !this.#options.requiresAnnotation;
  }
}
