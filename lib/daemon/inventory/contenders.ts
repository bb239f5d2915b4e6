/**
 * What an autoscaler contends as: itself where it names a container, or with EVERY_CONTAINER one contender per container
 * (L50). An unchanged contender is the same object, for the inventory compares them so.
 */
import { type Autoscaler, EVERY_CONTAINER, toContenderKey } from "../../autoscaler/autoscaler.ts";
import { listContainers } from "../../core/pod/resizable.ts";
import type { PodFacts } from "../../core/pod/pod_facts.ts";

/** Names of containers come from pods, and there may be any number in the life of an autoscaler. */
const MOST = 1000;

/** The contenders of one autoscaler. */
export class Contenders {
  #of: Autoscaler | null = null;
  /** The autoscaler in a list, which all of its pods share. */
  #alone: readonly Autoscaler[] = NONE;
  readonly #byContainer = new Map<string, Autoscaler>();

  /** Gives those for the containers of a pod; empty where it has none of them. */
  list(autoscaler: Autoscaler, pod: PodFacts): readonly Autoscaler[] {
    const names = listContainers(autoscaler, pod);
    if (names.length === 0) return NONE;
    if (autoscaler.containerName !== EVERY_CONTAINER) {
      if (this.#alone[0] !== autoscaler) this.#alone = [autoscaler];
      return this.#alone;
    }
    if (this.#of !== autoscaler || this.#byContainer.size > MOST) this.#byContainer.clear();
    this.#of = autoscaler;
    return names.map((name) => this.#find(autoscaler, name));
  }

  #find(autoscaler: Autoscaler, containerName: string): Autoscaler {
    const known = this.#byContainer.get(containerName);
    if (known !== undefined) return known;
    const contender = { ...autoscaler, containerName, key: toContenderKey(autoscaler.uid, containerName) };
    this.#byContainer.set(containerName, contender);
    return contender;
  }
}

/** Sorts by name; those of one name are one autoscaler's. */
export function byName(a: Autoscaler, b: Autoscaler): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1;
  return a.containerName < b.containerName ? -1 : 1;
}

/**
 * Those of the contenders that go first, so many for each container (C12): highest priority, then an exact name before
 * EVERY_CONTAINER, then the smaller name. The same list where none is left out.
 */
export function keepFirst(contenders: readonly Autoscaler[], most: number): readonly Autoscaler[] {
  if (contenders.length <= most) return contenders;
  const kept: Autoscaler[] = [];
  for (const ofContainer of Map.groupBy(contenders, ({ containerName }) => containerName).values()) {
    kept.push(...(ofContainer.length <= most ? ofContainer : selectFirst(ofContainer, most)));
  }
  return kept.length === contenders.length ? contenders : kept;
}

/** Without sorting them all: there may be thousands, asked about again with each that comes. */
function selectFirst(all: readonly Autoscaler[], most: number): readonly Autoscaler[] {
  const first: Autoscaler[] = [];
  for (const one of all) {
    const last = first.at(-1);
    if (first.length === most && last !== undefined && byRank(last, one) < 0) continue;
    const at = first.findIndex((other) => byRank(one, other) < 0);
    first.splice(at < 0 ? first.length : at, 0, one);
    if (first.length > most) first.pop();
  }
  return first;
}

function byRank(a: Autoscaler, b: Autoscaler): number {
  if (a.priority !== b.priority) return b.priority - a.priority;
  return a.isWildcard === b.isWildcard ? byName(a, b) : a.isWildcard ? 1 : -1;
}

const NONE: readonly Autoscaler[] = [];

/** Whether the same contenders, each the same object, stand in the same order. */
export function isSameContenders(a: readonly Autoscaler[], b: readonly Autoscaler[]): boolean {
  return a.length === b.length && a.every((autoscaler, index) => autoscaler === b[index]);
}
