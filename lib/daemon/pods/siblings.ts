/**
 * What the pods of one revision share: the size that a new pod may inherit, and a memory floor after OOM kills. Both
 * are kept per revision of a workload.
 */
import type { Autoscaler } from "../../model/autoscaler.ts";
import type { SizeInput } from "../../model/decision.ts";
import { KILL_FACTOR, KILL_FLOOR_MS, KILL_MS } from "../../model/container_history.ts";
import {
  type ContainerFacts,
  findContainer,
  getActualSize,
  isResized,
  type PodFacts,
  type Siblings,
  type SiblingSize,
} from "../../model/pod.ts";
import { findContainerState, type ReadableState } from "../../model/state.ts";
import { computeMedianSize } from "../../resources/pod_resource_autoscaler/status.ts";
import { isSameSize, type Resources } from "../../units/resources.ts";
import type { TrackedPod } from "../cluster/facts.ts";
import type { EvaluationSink } from "./controller.ts";

// The pods of each revision of a workload, by autoscaler, so that a new pod can be given the size that its siblings
// have come to (L40). Kept pod by pod: a look at one pod's siblings ends after some of them, however many there are.

/** The pods of one revision that some autoscaler tracks. */
interface Revision {
  readonly pods: Map<string, PodFacts>;
  /** By container: what its pods start with, once one was seen that nobody had resized. */
  readonly templates: Map<string, Resources>;
}

/** The median of more says no more. */
const MAX_SIBLINGS = 100;

/** So many are looked at to find them: most pods may be new. */
const MAX_LOOKUPS = 1000;

/** A pod of which nobody has changed the size counts once it has run for so long, ms: until then its size is its template's. */
const SETTLED_MS = 60_000;

/** Holds the pods of autoscalers with `newPods: inherit`; pods without a controller have no siblings. */
export class SiblingIndex {
  readonly #findPodState: (uid: string) => ReadableState | null;
  /** By autoscaler uid, then by revision. */
  readonly #revisions = new Map<string, Map<string, Revision>>();
  /** By pod uid: where it stands. */
  readonly #places = new Map<string, { readonly revision: string; readonly autoscalers: readonly string[] }>();

  constructor(options: { readonly readStanding: (uid: string) => ReadableState | null }) {
    this.#findPodState = options.readStanding;
  }

  put({ pod, autoscalers: contenders }: TrackedPod): void {
    const { revision } = pod;
    const autoscalers = revision === null ? [] : listInheritingUids(contenders);
    const before = this.#places.get(pod.uid);
    if (before === undefined && autoscalers.length === 0) return;
    const isMoved = before?.revision !== revision || !isSameList(before.autoscalers, autoscalers);
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

  /** What the pod's containers would inherit now; `null` where nothing is known. */
  find(
    { pod, autoscalers }: TrackedPod,
    { now, wallAheadMs = 0 }: Pick<SizeInput, "now" | "wallAheadMs">,
  ): Siblings | null {
    let siblings: Record<string, SiblingSize> | null = null;
    for (const { uid, containerName, newPods } of autoscalers) {
      const container = newPods === "inherit" ? findContainer(pod, containerName) : null;
      if (container === null || pod.revision === null) continue;
      const found = this.#findSettled(uid, { pod, container, revision: pod.revision, wallNow: now + wallAheadMs });
      if (found.length === 0) continue;
      (siblings ??= {})[container.name] = {
        pods: found.length,
        median: computeMedianSize(found.map(({ size }) => size)),
        floorBytes: Math.max(...found.map(({ uid }) => this.#getFloorBytes(uid, container.name, now))),
      };
    }
    return siblings;
  }

  /** Those of its own revision first, then those of others that had the same template. */
  #findSettled(autoscaler: string, wanted: SiblingQuery): readonly SettledPod[] {
    const found: SettledPod[] = [];
    const revisions = this.#revisions.get(autoscaler);
    let looks = 0;
    for (const [name, revision] of [...revisions ?? []].sort(([a]) => a === wanted.revision ? -1 : 0)) {
      if (name !== wanted.revision && !hasTemplate(revision, wanted.container)) continue;
      for (const one of revision.pods.values()) {
        if (found.length >= MAX_SIBLINGS || looks++ >= MAX_LOOKUPS) return found;
        const size = one.uid === wanted.pod.uid ? null : findSettledSize(one, wanted);
        if (size !== null) found.push({ uid: one.uid, size });
      }
    }
    return found;
  }

  /** What an OOM kill has left of the memory limit, bytes (L12). */
  #getFloorBytes(uid: string, container: string, now: number): number {
    const state = this.#findPodState(uid);
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

interface SettledPod {
  readonly uid: string;
  readonly size: Resources;
}

interface SiblingQuery {
  readonly pod: PodFacts;
  readonly container: ContainerFacts;
  readonly revision: string;
  /** Epoch ms; containers start at a wall time. */
  readonly wallNow: number;
}

/** The container's size in a pod that runs and is not new itself. */
function findSettledSize(pod: PodFacts, { container: { name }, wallNow }: SiblingQuery): Resources | null {
  const container = findContainer(pod, name);
  if (container === null || container.runningAt === null) return null;
  return isResized(pod, name) || wallNow - container.runningAt >= SETTLED_MS ? getActualSize(container) : null;
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
function listInheritingUids(contenders: readonly Autoscaler[]): readonly string[] {
  return [...new Set(contenders.flatMap(({ uid, newPods }) => newPods === "inherit" ? [uid] : []))];
}

function isSameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((one, index) => one === b[index]);
}

// OOM kills of the pods of one revision, told to each other (L14): two pods killed within ten minutes are no accident
// of one of them, so none of the others is scaled down to the limit that killed.

/** By container: bytes. As the input of a decision has it. */
type FloorsByContainer = Readonly<Record<string, number>>;

/** One kill at a container's limit. */
interface OomKill {
  readonly container: string;
  /** Epoch ms. */
  readonly at: number;
  readonly limitBytes: number;
}

interface RevisionKills {
  /** The newest kill of each pod, of the last day: what podfit finds at its start is as old as the node says. */
  readonly kills: Map<string, OomKill>;
  floorBytes: number;
  /** Epoch ms; 0 while there is no floor. */
  until: number;
}

/** Remembers kills and floors for a day; pods without a controller have no siblings. */
export class OomFloors {
  /** By revision, then by container. */
  readonly #entries = new Map<string, Map<string, RevisionKills>>();

  record({ revision, uid }: Pick<PodFacts, "revision" | "uid">, kill: OomKill, now: number): void {
    this.#prune(now);
    if (revision === null || now - kill.at > KILL_FLOOR_MS) return;
    const entry = this.#find(revision, kill.container);
    for (const [pod, other] of entry.kills) {
      if (pod === uid || Math.abs(other.at - kill.at) > KILL_MS) continue;
      const bytes = Math.max(other.limitBytes, kill.limitBytes) * KILL_FACTOR;
      entry.floorBytes = Math.max(entry.until > now ? entry.floorBytes : 0, bytes);
      entry.until = Math.max(entry.until, Math.max(other.at, kill.at) + KILL_FLOOR_MS);
    }
    entry.kills.set(uid, kill);
  }

  /** Undefined where there are none, which is so of nearly every pod. */
  find(revision: string | null, now: number): FloorsByContainer | undefined {
    const entries = revision === null ? undefined : this.#entries.get(revision);
    if (entries === undefined) return undefined;
    let floors: Record<string, number> | undefined;
    for (const [container, { floorBytes, until }] of entries) {
      if (until > now) (floors ??= {})[container] = floorBytes;
    }
    return floors;
  }

  #find(revision: string, container: string): RevisionKills {
    const entries = this.#entries.get(revision) ?? new Map<string, RevisionKills>();
    this.#entries.set(revision, entries);
    const entry = entries.get(container) ?? { kills: new Map<string, OomKill>(), floorBytes: 0, until: 0 };
    entries.set(container, entry);
    return entry;
  }

  /** Kills are rare: looking at all that is remembered costs little. */
  #prune(now: number): void {
    for (const [revision, entries] of this.#entries) {
      for (const [container, { kills, until }] of entries) {
        for (const [pod, { at }] of kills) if (now - at > KILL_FLOOR_MS) kills.delete(pod);
        if (kills.size === 0 && until <= now) entries.delete(container);
      }
      if (entries.size === 0) this.#entries.delete(revision);
    }
  }
}

/** The sink that notes each kill at a limit, once. */
export function createOomFloorSink(floors: OomFloors): EvaluationSink {
  return ({ before, input: { pod, now }, outcome: { state } }) => {
    for (const container in state.containers) {
      const after = state.containers[container]?.endings ?? [];
      if (after.length === 0) continue;
      const known = Object.hasOwn(before.containers, container) ? before.containers[container]?.endings ?? [] : [];
      if (after === known) continue;
      for (const { id, at, kind, limitBytes } of after) {
        if (kind !== "oom" || limitBytes === null || known.some((one) => one.id === id)) continue;
        floors.record(pod, { container, at, limitBytes }, now);
      }
    }
  };
}
