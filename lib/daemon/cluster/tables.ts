/**
 * Tables of objects by namespace and key. An empty namespace takes no memory. `Workloads` is the table of Deployments,
 * StatefulSets and DaemonSets with their selectors.
 */
import type { Autoscaler, WorkloadKind } from "../../model/autoscaler.ts";
import { formatSelector, type Selector } from "../../units/selector.ts";
import type { WorkloadFacts } from "./facts.ts";

// Objects by the place they are looked for in, such as their namespace, and by a key of their own.

/** Of a place that has none any more nothing stays. */
export class Table<T> {
  readonly #rows = new Map<string, Map<string, T>>();

  *all(): Generator<T> {
    for (const inPlace of this.#rows.values()) yield* inPlace.values();
  }

  list(place: string): Iterable<T> {
    return this.#rows.get(place)?.values() ?? [];
  }

  /** Those of one place; `null` = all. A list of its own: what is done with one of them may change the table. */
  listWithin(place: string | null): readonly T[] {
    return [...(place === null ? this.all() : this.list(place))];
  }

  find(place: string, key: string): T | null {
    return this.#rows.get(place)?.get(key) ?? null;
  }

  set(place: string, key: string, row: T): void {
    const inPlace = this.#rows.get(place) ?? new Map<string, T>();
    this.#rows.set(place, inPlace.set(key, row));
  }

  delete(place: string, key: string): void {
    const inPlace = this.#rows.get(place);
    inPlace?.delete(key);
    if (inPlace?.size === 0) this.#rows.delete(place);
  }
}

/** Brings what is known to what there is now: who is not among `all` is gone. */
export function replaceAllObjects<T extends { readonly uid: string }>(
  { known, all }: { readonly known: readonly T[]; readonly all: readonly T[] },
  { set, remove }: { readonly set: (one: T) => void; readonly remove: (one: T) => void },
): void {
  const uids = new Set(all.map(({ uid }) => uid));
  for (const one of known) if (!uids.has(one.uid)) remove(one);
  for (const one of all) set(one);
}

// The workloads as the watches show them, and what an autoscaler's target comes to (C10).

/** As the API's paths have them. */
export const WORKLOAD_PLURALS: Readonly<Record<WorkloadKind, string>> = {
  deployment: "deployments",
  statefulset: "statefulsets",
  daemonset: "daemonsets",
};

/** All that a target may name. */
export const WORKLOAD_KINDS = Object.keys(WORKLOAD_PLURALS) as readonly WorkloadKind[];

/** What one list covers; namespace `null` = all. */
export interface WorkloadScope {
  readonly kind: WorkloadKind;
  readonly namespace: string | null;
}

/** Workloads change with each step of their status, their selectors hardly ever: only those count as a change. */
export class Workloads {
  readonly #all = new Map<string, WorkloadFacts>();

  /** Whether its selector has changed. */
  set(facts: WorkloadFacts): boolean {
    const before = this.#all.get(toWorkloadKey(facts))?.selector ?? null;
    this.#all.set(toWorkloadKey(facts), facts);
    const { selector } = facts;
    if (before === null || selector === null) return before !== selector;
    return formatSelector(before) !== formatSelector(selector);
  }

  remove(facts: WorkloadFacts): boolean {
    return this.#all.delete(toWorkloadKey(facts));
  }

  /** Gives those that are gone, new or changed. */
  replace({ kind, namespace }: WorkloadScope, all: readonly WorkloadFacts[]): readonly WorkloadFacts[] {
    const known = new Set(all.map(toWorkloadKey));
    const gone = [...this.#all.values()].filter((one) =>
      one.kind === kind && (namespace === null || one.namespace === namespace) && !known.has(toWorkloadKey(one))
    );
    for (const one of gone) this.remove(one);
    return [...gone, ...all.filter((one) => this.set(one))];
  }

  /** `null` when there is none of that name. */
  find(workload: Pick<WorkloadFacts, "kind" | "namespace" | "name">): WorkloadFacts | null {
    return this.#all.get(toWorkloadKey(workload)) ?? null;
  }

  /** `null` when there is none of that name, or the autoscaler has no target. */
  findTarget({ target, namespace }: Autoscaler): WorkloadFacts | null {
    return target === null ? null : this.#all.get(toWorkloadKey({ ...target, namespace })) ?? null;
  }

  /** What pods of the autoscaler have to meet; `null` while its target is missing or has no selector to use. */
  findSelector(autoscaler: Autoscaler): Selector | null {
    return autoscaler.target === null ? autoscaler.selector : this.findTarget(autoscaler)?.selector ?? null;
  }
}

export function toWorkloadKey({ kind, namespace, name }: Pick<WorkloadFacts, "kind" | "namespace" | "name">): string {
  return `${kind}/${namespace}/${name}`;
}
