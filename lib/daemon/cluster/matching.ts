/**
 * Which autoscalers match a pod, and in which order do they rank? An autoscaler for all containers becomes one entry
 * per container. It also says whether a changed autoscaler has another spec.
 */
import { type Autoscaler, EVERY_CONTAINER, toAutoscalerKey } from "../../model/autoscaler.ts";
import { listContainers, type PodFacts } from "../../model/pod.ts";
import { isDeepEqual } from "../../units/equality.ts";
import type { AutoscalerFacts } from "./facts.ts";

/** The most autoscalers that count for one container, unless --max-contenders is set. */
export const DEFAULT_MAX_AUTOSCALERS = 16;

/** Container names come from pods, so their number over time is not bounded. */
const MAX_CACHED_CONTAINERS = 1000;

/**
 * One autoscaler as one entry per container. An unchanged entry is the same object, because the cache compares entries
 * by identity. Clauses: L50.
 */
export class ContainerAutoscalers {
  #autoscaler: Autoscaler | null = null;
  /** A list with only the autoscaler; all of its pods share it. */
  #single: readonly Autoscaler[] = NO_AUTOSCALERS;
  readonly #byContainer = new Map<string, Autoscaler>();

  /** Returns the entries for the containers of a pod; empty if the pod has none of them. */
  list(autoscaler: Autoscaler, pod: PodFacts): readonly Autoscaler[] {
    const names = listContainers(autoscaler, pod);
    if (names.length === 0) return NO_AUTOSCALERS;
    if (autoscaler.containerName !== EVERY_CONTAINER) return this.#listSingle(autoscaler);
    return names.map((name) => this.find(autoscaler, name));
  }

  /** Returns the entry for one container. */
  find(autoscaler: Autoscaler, containerName: string): Autoscaler {
    if (autoscaler.containerName !== EVERY_CONTAINER) return autoscaler;
    if (this.#autoscaler !== autoscaler || this.#byContainer.size > MAX_CACHED_CONTAINERS) this.#byContainer.clear();
    this.#autoscaler = autoscaler;
    const known = this.#byContainer.get(containerName);
    if (known !== undefined) return known;
    const entry = { ...autoscaler, containerName, key: toAutoscalerKey(autoscaler.uid, containerName) };
    this.#byContainer.set(containerName, entry);
    return entry;
  }

  #listSingle(autoscaler: Autoscaler): readonly Autoscaler[] {
    if (this.#single[0] !== autoscaler) this.#single = [autoscaler];
    return this.#single;
  }
}

/** Compares by name, then by container: entries of one name belong to one autoscaler. */
export function compareNames(a: Autoscaler, b: Autoscaler): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1;
  return a.containerName < b.containerName ? -1 : 1;
}

/**
 * Returns the autoscalers of the highest rank, at most `most` per container. Rank: higher priority, then an exact
 * container name before EVERY_CONTAINER, then the smaller name. Returns the same list if none is left out.
 * Clauses: C12.
 */
export function limitAutoscalers(autoscalers: readonly Autoscaler[], most: number): readonly Autoscaler[] {
  if (autoscalers.length <= most) return autoscalers;
  const best = new BestAutoscalers<Autoscaler>(most);
  for (const one of autoscalers) best.add(one, one.containerName, one);
  const kept = best.list((one) => one);
  return kept.length === autoscalers.length ? autoscalers : kept;
}

/**
 * Returns the autoscalers of the highest rank after those with the given uids were replaced by `own`, sorted by name.
 * Returns `null` if one may take a free place that was left out before: all autoscalers of the pod have to be asked.
 * Clauses: C12.
 */
export function replaceAutoscalers(
  { kept, most }: { readonly kept: readonly Autoscaler[]; readonly most: number },
  { uids, own }: { readonly uids: ReadonlySet<string>; readonly own: readonly Autoscaler[] },
): readonly Autoscaler[] | null {
  const rest: Autoscaler[] = [];
  for (const one of kept) {
    if (!uids.has(one.uid)) rest.push(one);
    else if (isFull(kept, one.containerName, most) && !own.some((other) => isSameRank(other, one))) return null;
  }
  const next = limitAutoscalers(rest.length === 0 ? own : own.length === 0 ? rest : [...rest, ...own], most);
  return next.length < 2 ? next : next.toSorted(compareNames);
}

function isFull(autoscalers: readonly Autoscaler[], containerName: string, most: number): boolean {
  return autoscalers.length >= most && autoscalers.filter((one) => one.containerName === containerName).length >= most;
}

function isSameRank(a: Autoscaler, b: Autoscaler): boolean {
  return a.key === b.key && a.name === b.name && a.priority === b.priority && a.isWildcard === b.isWildcard;
}

/** The autoscalers of the highest rank for each container, at most `most`. Clauses: C12. */
export class BestAutoscalers<Owner> {
  readonly #most: number;
  readonly #byContainer = new Map<string, { readonly autoscaler: Autoscaler; readonly owner: Owner }[]>();

  constructor(most: number) {
    this.#most = most;
  }

  add(autoscaler: Autoscaler, containerName: string, owner: Owner): void {
    const best = this.#byContainer.get(containerName) ?? [];
    if (best.length === 0) this.#byContainer.set(containerName, best);
    const last = best.at(-1);
    if (best.length >= this.#most && last !== undefined && compareRanks(last.autoscaler, autoscaler) < 0) return;
    const at = best.findIndex((other) => compareRanks(autoscaler, other.autoscaler) < 0);
    best.splice(at < 0 ? best.length : at, 0, { autoscaler, owner });
    if (best.length > this.#most) best.pop();
  }

  /** Returns the owner of all, `null` if there are several or none. */
  findOnlyOwner(): Owner | null {
    const all = [...this.#byContainer.values()].flat();
    return all[0] !== undefined && all.every(({ owner }) => owner === all[0]?.owner) ? all[0].owner : null;
  }

  /** Returns what `resolve` gives for each owner and container, sorted by name. */
  list(resolve: (owner: Owner, containerName: string) => Autoscaler | null): readonly Autoscaler[] {
    return [...this.#byContainer]
      .flatMap(([containerName, best]) => best.flatMap(({ owner }) => resolve(owner, containerName) ?? []))
      .sort(compareNames);
  }
}

function compareRanks(a: Autoscaler, b: Autoscaler): number {
  if (a.priority !== b.priority) return b.priority - a.priority;
  return a.isWildcard === b.isWildcard ? compareNames(a, b) : a.isWildcard ? 1 : -1;
}

const NO_AUTOSCALERS: readonly Autoscaler[] = [];

/** Returns whether both lists have the same objects in the same order. */
export function isSameAutoscalers(a: readonly Autoscaler[], b: readonly Autoscaler[]): boolean {
  return a.length === b.length && a.every((autoscaler, index) => autoscaler === b[index]);
}

type Spec = Pick<AutoscalerFacts, "generation" | "autoscaler">;

/**
 * Returns whether both have the same generation and an equal spec. The generation alone is not enough: etcd restored
 * from a backup can reach the same generation with another spec.
 */
export function isSameSpec(before: Spec, after: Spec): boolean {
  if (before.generation !== after.generation) return false;
  if (before.autoscaler === null || after.autoscaler === null) return before.autoscaler === after.autoscaler;
  return isDeepEqual(before.autoscaler, { ...after.autoscaler, generation: before.autoscaler.generation });
}

/**
 * Returns the autoscaler of a changed spec. If the generation is equal to the one before, it becomes negative, so that
 * a remembered generation differs. Clauses: C16.
 */
export function toChangedSpec(before: Spec, { generation, autoscaler }: Spec): Autoscaler | null {
  return autoscaler !== null && before.autoscaler?.generation === generation
    ? { ...autoscaler, generation: -generation }
    : autoscaler;
}
