/**
 * Which autoscalers match a pod, and in which order do they rank? An autoscaler for all containers becomes one entry
 * per container. It also says whether a changed autoscaler has another spec.
 */
import { type Autoscaler, EVERY_CONTAINER, toAutoscalerKey } from "../../model/autoscaler.ts";
import { listContainers, type PodFacts } from "../../model/pod.ts";
import type { AutoscalerFacts } from "./facts.ts";

// What holds where an operator has set nothing else: the command line's --help says it, and a daemon without one goes
// by it.

/** So many autoscalers contend for one container: more than anybody means to have. */
export const DEFAULT_MAX_AUTOSCALERS = 16;

// What an autoscaler contends as: itself where it names a container, or with EVERY_CONTAINER one contender per
// container (L50). An unchanged contender is the same object, for the inventory compares them so.

/** Names of containers come from pods, and there may be any number in the life of an autoscaler. */
const MAX_CACHED_CONTAINERS = 1000;

/** The contenders of one autoscaler. */
export class ContainerAutoscalers {
  #autoscaler: Autoscaler | null = null;
  /** The autoscaler in a list, which all of its pods share. */
  #single: readonly Autoscaler[] = NO_AUTOSCALERS;
  readonly #byContainer = new Map<string, Autoscaler>();

  /** Gives those for the containers of a pod; empty where it has none of them. */
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
    const contender = { ...autoscaler, containerName, key: toAutoscalerKey(autoscaler.uid, containerName) };
    this.#byContainer.set(containerName, contender);
    return contender;
  }
}

/** Sorts by name; those of one name are one autoscaler's. */
export function compareNames(a: Autoscaler, b: Autoscaler): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1;
  return a.containerName < b.containerName ? -1 : 1;
}

/**
 * Those of the contenders that go first, so many for each container (C12): highest priority, then an exact name before
 * EVERY_CONTAINER, then the smaller name. The same list where none is left out.
 */
export function limitAutoscalers(contenders: readonly Autoscaler[], most: number): readonly Autoscaler[] {
  if (contenders.length <= most) return contenders;
  const kept: Autoscaler[] = [];
  for (const ofContainer of Map.groupBy(contenders, ({ containerName }) => containerName).values()) {
    kept.push(...(ofContainer.length <= most ? ofContainer : selectTop(ofContainer, most)));
  }
  return kept.length === contenders.length ? contenders : kept;
}

/** Without sorting them all: there may be thousands, asked about again with each that comes. */
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

/** Whether the same contenders, each the same object, stand in the same order. */
export function isSameAutoscalers(a: readonly Autoscaler[], b: readonly Autoscaler[]): boolean {
  return a.length === b.length && a.every((autoscaler, index) => autoscaler === b[index]);
}

// Has the spec of an autoscaler changed? Its generation alone does not tell: an etcd that was restored from a backup
// counts on from there, and comes to the same generation with another spec.

type Spec = Pick<AutoscalerFacts, "generation" | "autoscaler">;

/** Whether both are of one generation and come to the same. */
export function isSameSpec(before: Spec, after: Spec): boolean {
  if (before.generation !== after.generation) return false;
  if (before.autoscaler === null || after.autoscaler === null) return before.autoscaler === after.autoscaler;
  return isDeepEqual(before.autoscaler, { ...after.autoscaler, generation: before.autoscaler.generation });
}

/**
 * What a changed spec came to. Where the generation is that of the spec before, its negative stands for it: whoever
 * remembers a generation sees that the spec is another (C16).
 */
export function toChangedSpec(before: Spec, { generation, autoscaler }: Spec): Autoscaler | null {
  return autoscaler !== null && before.autoscaler?.generation === generation
    ? { ...autoscaler, generation: -generation }
    : autoscaler;
}

/** Of plain values: the same keys, each with the same value. */
function isDeepEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  const [one, other] = [a, b] as [Record<string, unknown>, Record<string, unknown>];
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isDeepEqual(one[key], other[key]));
}
