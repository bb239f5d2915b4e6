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
    if (autoscaler.containerName !== EVERY_CONTAINER) {
      if (this.#single[0] !== autoscaler) this.#single = [autoscaler];
      return this.#single;
    }
    if (this.#autoscaler !== autoscaler || this.#byContainer.size > MAX_CACHED_CONTAINERS) this.#byContainer.clear();
    this.#autoscaler = autoscaler;
    return names.map((name) => this.#find(autoscaler, name));
  }

  #find(autoscaler: Autoscaler, containerName: string): Autoscaler {
    const known = this.#byContainer.get(containerName);
    if (known !== undefined) return known;
    const entry = { ...autoscaler, containerName, key: toAutoscalerKey(autoscaler.uid, containerName) };
    this.#byContainer.set(containerName, entry);
    return entry;
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
  const kept: Autoscaler[] = [];
  for (const ofContainer of Map.groupBy(autoscalers, ({ containerName }) => containerName).values()) {
    kept.push(...(ofContainer.length <= most ? ofContainer : selectTop(ofContainer, most)));
  }
  return kept.length === autoscalers.length ? autoscalers : kept;
}

/** It does not sort the whole list: there can be thousands, and each new one asks again. */
function selectTop(all: readonly Autoscaler[], most: number): readonly Autoscaler[] {
  const first: Autoscaler[] = [];
  for (const one of all) {
    const last = first.at(-1);
    if (first.length === most && last !== undefined && compareRanks(last, one) < 0) continue;
    const at = first.findIndex((other) => compareRanks(one, other) < 0);
    first.splice(at < 0 ? first.length : at, 0, one);
    if (first.length > most) first.pop();
  }
  return first;
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
