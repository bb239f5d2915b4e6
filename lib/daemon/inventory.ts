/**
 * Who is tracked, where, and by whom: autoscalers, workloads and pods as the watches show them, and the matches that
 * follow (C10 to C15). Knows no API: it is told typed facts and tells its listener which pods changed.
 */
import { findContainer, type PodFacts } from "../core/pod_facts.ts";
import type { Policy } from "../core/policy.ts";
import { formatSelector, matches, type Selector } from "../units/selector.ts";
import type { AutoscalerFacts } from "./facts.ts";

export interface Tracked {
  readonly pod: PodFacts;
  /** Sorted by name; never empty. */
  readonly contenders: readonly Policy[];
}

/** What an autoscaler's spec comes to in the cluster as it is. */
export interface Resolution {
  /** `null` while the target is missing, or the spec is invalid. */
  readonly selector: Selector | null;
  readonly matched: number;
  /** Matching pods that have the container. */
  readonly tracked: readonly PodFacts[];
  readonly isTargetMissing: boolean;
}

export interface InventoryOptions {
  /** C11: only pods annotated pra.kedify.io/reconcile=enabled. */
  readonly requiresAnnotation: boolean;
  /** A tracked pod is new, changed, or has other contenders. */
  readonly onChanged: (tracked: Tracked) => void;
  /** A pod is no longer tracked: nothing is reverted, what was known of it is dropped. */
  readonly onDropped: (pod: PodFacts) => void;
}

export class Inventory {
  readonly #options: InventoryOptions;
  readonly #autoscalers = new Map<string, Map<string, AutoscalerFacts>>();
  readonly #selectors = new Map<string, Selector>();
  readonly #pods = new Map<string, Map<string, PodFacts>>();
  readonly #tracked = new Map<string, Tracked>();

  constructor(options: InventoryOptions) {
    this.#options = options;
  }

  get tracked(): ReadonlyMap<string, Tracked> {
    return this.#tracked;
  }

  *autoscalers(): Generator<AutoscalerFacts> {
    for (const inNamespace of this.#autoscalers.values()) yield* inNamespace.values();
  }

  findAutoscaler(uid: string, namespace: string): AutoscalerFacts | null {
    return this.#autoscalers.get(namespace)?.get(uid) ?? null;
  }

  setAutoscaler(facts: AutoscalerFacts): void {
    const before = this.findAutoscaler(facts.uid, facts.namespace);
    // A status write comes back as a change too; only the spec, counted by generation, decides who is tracked.
    const isSameSpec = before !== null && before.generation === facts.generation && facts.generation > 0;
    place(this.#autoscalers, isSameSpec ? { ...facts, policy: before.policy } : facts);
    if (!isSameSpec) this.#retrackAll(facts.namespace);
  }

  removeAutoscaler(facts: Pick<AutoscalerFacts, "uid" | "namespace">): void {
    if (this.#autoscalers.get(facts.namespace)?.delete(facts.uid)) this.#retrackAll(facts.namespace);
  }

  /** `key` as `workloadKey` makes it; `null` = the workload is gone. */
  setWorkload(namespace: string, key: string, selector: Selector | null): void {
    const before = this.#selectors.get(key);
    // Workloads change with each step of their status; their selectors hardly ever do.
    if (before === undefined ? selector === null : selector !== null && isSameSelector(before, selector)) return;
    if (selector === null) this.#selectors.delete(key);
    else this.#selectors.set(key, selector);
    for (const { policy } of this.#autoscalers.get(namespace)?.values() ?? []) {
      if (policy?.target && workloadKey(policy.target.kind, namespace, policy.target.name) === key) {
        return this.#retrackAll(namespace);
      }
    }
  }

  listWorkloads(prefix: string): readonly string[] {
    return [...this.#selectors.keys()].filter((key) => key.startsWith(prefix));
  }

  setPod(pod: PodFacts): void {
    place(this.#pods, pod);
    this.#retrack(pod);
  }

  removePod(pod: Pick<PodFacts, "uid" | "namespace">): void {
    this.#pods.get(pod.namespace)?.delete(pod.uid);
    this.#drop(pod.uid);
  }

  *pods(namespace: string | null): Generator<PodFacts> {
    const all = namespace === null ? this.#pods.values() : [this.#pods.get(namespace) ?? new Map<string, PodFacts>()];
    for (const inNamespace of all) yield* inNamespace.values();
  }

  resolve({ namespace, policy }: AutoscalerFacts): Resolution {
    const selector = policy === null ? null : this.#resolveSelector(policy);
    const isTargetMissing = policy !== null && selector === null;
    if (policy === null || selector === null || policy.paused) {
      return { selector, matched: 0, tracked: [], isTargetMissing };
    }
    const matched = [...this.pods(namespace)].filter((pod) => this.#isEligible(pod) && matches(selector, pod.labels));
    const tracked = matched.filter((pod) => findContainer(pod, policy.containerName) !== null);
    return { selector, matched: matched.length, tracked, isTargetMissing };
  }

  #resolveSelector({ target, selector, namespace }: Policy): Selector | null {
    return target === null ? selector : this.#selectors.get(workloadKey(target.kind, namespace, target.name)) ?? null;
  }

  #retrackAll(namespace: string): void {
    for (const pod of this.pods(namespace)) this.#retrack(pod);
  }

  #retrack(pod: PodFacts): void {
    const contenders = this.#isEligible(pod) ? this.#listContenders(pod) : [];
    if (contenders.length === 0) return this.#drop(pod.uid);
    const before = this.#tracked.get(pod.uid);
    if (before?.pod === pod && isSame(before.contenders, contenders)) return;
    const tracked: Tracked = { pod, contenders };
    this.#tracked.set(pod.uid, tracked);
    this.#options.onChanged(tracked);
  }

  #drop(uid: string): void {
    const tracked = this.#tracked.get(uid);
    if (tracked === undefined) return;
    this.#tracked.delete(uid);
    this.#options.onDropped(tracked.pod);
  }

  #isEligible(pod: PodFacts): boolean {
    if (pod.nodeName === null || pod.finished || pod.deleting || pod.mirror || pod.windows) return false;
    return pod.optedIn || !this.#options.requiresAnnotation;
  }

  #listContenders(pod: PodFacts): readonly Policy[] {
    const contenders: Policy[] = [];
    for (const { policy } of this.#autoscalers.get(pod.namespace)?.values() ?? []) {
      if (policy === null || policy.paused || findContainer(pod, policy.containerName) === null) continue;
      const selector = this.#resolveSelector(policy);
      if (selector !== null && matches(selector, pod.labels)) contenders.push(policy);
    }
    return contenders.sort((a, b) => a.name < b.name ? -1 : 1);
  }
}

export function workloadKey(kind: string, namespace: string, name: string): string {
  return `${kind}/${namespace}/${name}`;
}

function place<T extends { readonly uid: string; readonly namespace: string }>(
  into: Map<string, Map<string, T>>,
  one: T,
): void {
  const inNamespace = into.get(one.namespace);
  if (inNamespace === undefined) into.set(one.namespace, new Map([[one.uid, one]]));
  else inNamespace.set(one.uid, one);
}

function isSameSelector(a: Selector, b: Selector): boolean {
  return formatSelector(a) === formatSelector(b);
}

function isSame(a: readonly Policy[], b: readonly Policy[]): boolean {
  return a.length === b.length && a.every((policy, index) => policy === b[index]);
}
