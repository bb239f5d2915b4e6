/**
 * The pods of each revision of a workload, by autoscaler, so that a new pod can be given the size that its siblings have come to
 * (L40). Kept pod by pod: a look at one pod's siblings ends after some of them, however many there are.
 */
import { readMedian } from "../../autoscaler/recommendation.ts";
import type { Autoscaler } from "../../autoscaler/autoscaler.ts";
import { type ContainerFacts, findContainer, type PodFacts, readActual } from "../../core/pod/pod_facts.ts";
import { isResized, type Siblings, type SiblingSize } from "../../core/pod/siblings.ts";
import type { Standing } from "../../core/standing.ts";
import { findContainerState } from "../../core/state.ts";
import { isSameSize, type Resources } from "../../units/resources.ts";
import type { Tracked } from "./tracked.ts";

/** The pods of one revision that some autoscaler tracks. */
interface Revision {
  readonly pods: Map<string, PodFacts>;
  /** By container: what its pods start with, once one was seen that nobody had resized. */
  readonly templates: Map<string, Resources>;
}

/** The median of more says no more. */
const MOST_SIBLINGS = 100;
/** So many are looked at to find them: most pods may be new. */
const MOST_LOOKS = 1000;
/** A pod of which nobody has changed the size counts once it has run for so long, ms: until then its size is its template's. */
const SETTLED_MS = 60_000;

/** Holds the pods of autoscalers with `newPods: inherit`; pods without a controller have no siblings. */
export class SiblingIndex {
  readonly #readStanding: (uid: string) => Standing | null;
  /** By autoscaler uid, then by revision. */
  readonly #revisions = new Map<string, Map<string, Revision>>();
  /** By pod uid: where it stands. */
  readonly #places = new Map<string, { readonly revision: string; readonly autoscalers: readonly string[] }>();

  constructor(options: { readonly readStanding: (uid: string) => Standing | null }) {
    this.#readStanding = options.readStanding;
  }

  put({ pod, contenders }: Tracked): void {
    const { revision } = pod;
    const autoscalers = revision === null ? [] : listInheriting(contenders);
    const before = this.#places.get(pod.uid);
    if (before === undefined && autoscalers.length === 0) return;
    const isMoved = before?.revision !== revision || !isSame(before.autoscalers, autoscalers);
    if (before !== undefined && isMoved) this.remove(pod.uid);
    if (revision === null || autoscalers.length === 0) return;
    this.#places.set(pod.uid, { revision, autoscalers });
    for (const uid of autoscalers) {
      const one = this.#find(uid, revision);
      one.pods.set(pod.uid, pod);
      learnTemplates(one, pod);
    }
  }

  remove(uid: string): void {
    const place = this.#places.get(uid);
    if (place === undefined) return;
    this.#places.delete(uid);
    for (const autoscaler of place.autoscalers) {
      const revisions = this.#revisions.get(autoscaler);
      const one = revisions?.get(place.revision);
      one?.pods.delete(uid);
      if (one?.pods.size === 0) revisions?.delete(place.revision);
      if (revisions?.size === 0) this.#revisions.delete(autoscaler);
    }
  }

  /** What the pod's containers would inherit at `now`, epoch ms; `null` where nothing is known. */
  read({ pod, contenders }: Tracked, now: number): Siblings | null {
    let siblings: Record<string, SiblingSize> | null = null;
    for (const { uid, containerName, newPods } of contenders) {
      const container = newPods === "inherit" ? findContainer(pod, containerName) : null;
      if (container === null || pod.revision === null) continue;
      const found = this.#findSettled(uid, { pod, container, revision: pod.revision, now });
      if (found.length === 0) continue;
      (siblings ??= {})[container.name] = {
        pods: found.length,
        median: readMedian(found.map(({ size }) => size)),
        floorBytes: Math.max(...found.map(({ uid }) => this.#readFloor(uid, container.name, now))),
      };
    }
    return siblings;
  }

  /** Those of its own revision first, then those of others that had the same template. */
  #findSettled(autoscaler: string, wanted: Wanted): readonly Settled[] {
    const found: Settled[] = [];
    const revisions = this.#revisions.get(autoscaler);
    let looks = 0;
    for (const [name, revision] of [...revisions ?? []].sort(([a]) => a === wanted.revision ? -1 : 0)) {
      if (name !== wanted.revision && !hasTemplate(revision, wanted.container)) continue;
      for (const one of revision.pods.values()) {
        if (found.length >= MOST_SIBLINGS || looks++ >= MOST_LOOKS) return found;
        const size = one.uid === wanted.pod.uid ? null : readSettled(one, wanted);
        if (size !== null) found.push({ uid: one.uid, size });
      }
    }
    return found;
  }

  /** What an OOM kill has left of the memory limit, bytes (L12). */
  #readFloor(uid: string, container: string, now: number): number {
    const state = this.#readStanding(uid);
    const floor = state === null ? null : findContainerState(state, container)?.killFloor ?? null;
    return floor === null || floor.until <= now ? 0 : floor.bytes;
  }

  #find(autoscaler: string, name: string): Revision {
    const revisions = this.#revisions.get(autoscaler) ?? new Map<string, Revision>();
    this.#revisions.set(autoscaler, revisions);
    const revision = revisions.get(name) ?? { pods: new Map(), templates: new Map() };
    revisions.set(name, revision);
    return revision;
  }
}

interface Settled {
  readonly uid: string;
  readonly size: Resources;
}

interface Wanted {
  readonly pod: PodFacts;
  readonly container: ContainerFacts;
  readonly revision: string;
  readonly now: number;
}

/** The container's size in a pod that runs and is not new itself. */
function readSettled(pod: PodFacts, { container: { name }, now }: Wanted): Resources | null {
  const container = findContainer(pod, name);
  if (container === null || container.runningAt === null) return null;
  return isResized(pod, name) || now - container.runningAt >= SETTLED_MS ? readActual(container) : null;
}

function learnTemplates({ templates }: Revision, pod: PodFacts): void {
  for (const { name, spec } of pod.containers) {
    if (!templates.has(name) && !isResized(pod, name)) templates.set(name, spec);
  }
}

/** A new pod's own size is its template's. */
function hasTemplate({ templates }: Revision, { name, spec }: ContainerFacts): boolean {
  const template = templates.get(name);
  return template !== undefined && isSameSize(template, spec);
}

/** Each once: an autoscaler of every container contends once for each. */
function listInheriting(contenders: readonly Autoscaler[]): readonly string[] {
  return [...new Set(contenders.flatMap(({ uid, newPods }) => newPods === "inherit" ? [uid] : []))];
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((one, index) => one === b[index]);
}
