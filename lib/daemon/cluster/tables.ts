/**
 * Tables of objects by namespace and key. An empty namespace takes no memory. `Workloads` is the table of Deployments,
 * StatefulSets and DaemonSets with their selectors.
 */
import type { Autoscaler, WorkloadKind } from "../../model/autoscaler.ts";
import { formatSelector, type Selector } from "../../units/selector.ts";
import type { WorkloadFacts } from "./facts.ts";

/** Rows by place, for example their namespace, and by key. A place without rows takes no memory. */
export class Table<T> {
  readonly #rows = new Map<string, Map<string, T>>();

  *all(): Generator<T> {
    for (const inPlace of this.#rows.values()) yield* inPlace.values();
  }

  list(place: string): Iterable<T> {
    return this.#rows.get(place)?.values() ?? [];
  }

  /** Returns the rows of one place, `null` = all. It is a copy, so the caller may change the table during iteration. */
  listWithin(place: string | null): readonly T[] {
    return [...(place === null ? this.all() : this.list(place))];
  }

  find(place: string, key: string): T | null {
    return this.#rows.get(place)?.get(key) ?? null;
  }

  count(place: string): number {
    return this.#rows.get(place)?.size ?? 0;
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

interface ObjectTable<T> {
  readonly toKey: (one: T) => string;
  readonly set: (one: T) => void;
  readonly remove: (one: T) => void;
}

/**
 * Updates a cache from a complete list: removes the known objects that are not in `all`, then sets all of it. Yields
 * after each object, so that the event loop may turn.
 */
export function* replaceAllObjects<T>(
  { known, all }: { readonly known: readonly T[]; readonly all: readonly T[] },
  { toKey, set, remove }: ObjectTable<T>,
): Generator<void> {
  const keys = new Set(all.map(toKey));
  for (const one of known) if (!keys.has(toKey(one))) yield remove(one);
  for (const one of all) yield set(one);
}

/** The plural names in API paths. */
export const WORKLOAD_PLURALS: Readonly<Record<WorkloadKind, string>> = {
  deployment: "deployments",
  statefulset: "statefulsets",
  daemonset: "daemonsets",
};

/** The kinds that a target may have. */
export const WORKLOAD_KINDS = Object.keys(WORKLOAD_PLURALS) as readonly WorkloadKind[];

/** Their autoscalers are searched once for all of them. */
const WORKLOADS_PER_STEP = 100;

/** The part that one list covers; namespace `null` = all. */
export interface WorkloadScope {
  readonly kind: WorkloadKind;
  readonly namespace: string | null;
}

/**
 * The known workloads. Only a changed selector counts as a change, because statuses change often and selectors rarely.
 * Clauses: C10.
 */
export class Workloads {
  readonly #all = new Map<string, WorkloadFacts>();

  /** Returns whether its selector has changed. */
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

  /** Takes WORKLOADS_PER_STEP at a time, and yields those of them that were removed, added or changed. */
  *replace({ kind, namespace }: WorkloadScope, all: readonly WorkloadFacts[]): Generator<readonly WorkloadFacts[]> {
    const listed = new Set(all.map(toWorkloadKey));
    const gone = [...this.#all.values()].filter((one) =>
      one.kind === kind && (namespace === null || one.namespace === namespace) && !listed.has(toWorkloadKey(one))
    );
    const each = [...gone, ...all];
    for (let at = 0; at < each.length; at += WORKLOADS_PER_STEP) {
      yield each.slice(at, at + WORKLOADS_PER_STEP).filter((one) =>
        listed.has(toWorkloadKey(one)) ? this.set(one) : this.remove(one)
      );
    }
  }

  /** Returns `null` if there is none of that name. */
  find(workload: Pick<WorkloadFacts, "kind" | "namespace" | "name">): WorkloadFacts | null {
    return this.#all.get(toWorkloadKey(workload)) ?? null;
  }

  /** Returns `null` if there is none of that name, or if the autoscaler has no target. */
  findTarget({ target, namespace }: Autoscaler): WorkloadFacts | null {
    return target === null ? null : this.#all.get(toWorkloadKey({ ...target, namespace })) ?? null;
  }

  /** Returns the selector of the autoscaler's pods; `null` while its target is missing or has an invalid selector. */
  findSelector(autoscaler: Autoscaler): Selector | null {
    return autoscaler.target === null ? autoscaler.selector : this.findTarget(autoscaler)?.selector ?? null;
  }
}

export function toWorkloadKey({ kind, namespace, name }: Pick<WorkloadFacts, "kind" | "namespace" | "name">): string {
  return `${kind}/${namespace}/${name}`;
}
