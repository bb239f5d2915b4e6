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
import { computeMedianSize } from "../../resources/pod_resource_autoscaler/sizes.ts";
import { isSameSize, type Resources } from "../../units/resources.ts";
import type { TrackedPod } from "../cluster/facts.ts";
import type { EvaluationSink } from "./controller.ts";

/** The pods of one revision that an autoscaler tracks. */
interface Revision {
  readonly pods: Map<string, PodFacts>;
  /** By container, the size that its pods start with. It is known once a pod was seen that was not resized. */
  readonly templates: Map<string, Resources>;
}

/** The median of more pods is not more accurate. */
const MAX_SIBLINGS = 100;

/** The most pods that are visited to find them, because most pods may be new. */
const MAX_LOOKUPS = 1000;

/**
 * A pod that was not resized counts after it has run for this long, ms. Until then its size is that of the template.
 */
const SETTLED_MS = 60_000;

/**
 * The pods of autoscalers with `newPods: inherit`, by revision. Pods without a controller have no siblings.
 * Clauses: L40.
 */
export class SiblingIndex {
  readonly #findPodState: (uid: string) => ReadableState | null;
  /** By autoscaler uid, then by revision. */
  readonly #revisions = new Map<string, Map<string, Revision>>();
  /** By pod uid, its revision and autoscalers. */
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

  /** Returns what the pod's containers would inherit at `now`, steady epoch ms; `null` if nothing is known. */
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

  /** Returns pods of the same revision first, then pods of other revisions with the same template. */
  #findSettled(autoscaler: string, wanted: SiblingQuery): readonly SettledPod[] {
    const found: SettledPod[] = [];
    const revisions = this.#revisions.get(autoscaler);
    let looks = 0;
    for (const name of new Set([wanted.revision, ...revisions?.keys() ?? []])) {
      const revision = revisions?.get(name);
      if (revision === undefined) continue;
      if (name !== wanted.revision && !hasTemplate(revision, wanted.container)) continue;
      for (const one of revision.pods.values()) {
        if (found.length >= MAX_SIBLINGS || looks++ >= MAX_LOOKUPS) return found;
        const size = one.uid === wanted.pod.uid ? null : findSettledSize(one, wanted);
        if (size !== null) found.push({ uid: one.uid, size });
      }
    }
    return found;
  }

  /** Returns the memory floor after an OOM kill, bytes; 0 = none. Clauses: L12. */
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

/** Returns the container's size in a pod that runs and is not new; `null` otherwise. */
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

/** Returns whether the template of the revision has this size. A new pod has the size of its template. */
function hasTemplate({ templates }: Revision, { name, spec }: ContainerFacts): boolean {
  const template = templates.get(name);
  return template !== undefined && isSameSize(template, spec);
}

/** Returns each uid once: an autoscaler of EVERY_CONTAINER has one entry per container. */
function listInheritingUids(contenders: readonly Autoscaler[]): readonly string[] {
  return [...new Set(contenders.flatMap(({ uid, newPods }) => newPods === "inherit" ? [uid] : []))];
}

function isSameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((one, index) => one === b[index]);
}

/** Bytes by container, as in the input of a decision. */
type FloorsByContainer = Readonly<Record<string, number>>;

/** One OOM kill at a container's limit. */
interface OomKill {
  readonly container: string;
  /** Steady epoch ms. */
  readonly at: number;
  readonly limitBytes: number;
}

interface RevisionKills {
  /**
   * The newest kill of each pod in the last day. The times come from the nodes, also for kills before podfit started.
   */
  readonly kills: Map<string, OomKill>;
  floorBytes: number;
  /** Epoch ms; 0 = no floor. */
  until: number;
}

/**
 * Remembers OOM kills and memory floors for a day. If two pods of a revision are killed within ten minutes, the others
 * are not scaled down to the limit of the killed ones. Pods without a controller have no siblings. Clauses: L14.
 */
export class OomFloors {
  /**
   * By namespace and revision, then by container. The namespace is part of the key, because the author of a pod can
   * write any revision.
   */
  readonly #entries = new Map<string, Map<string, RevisionKills>>();

  /** `now` and the time of the kill are steady epoch ms. */
  record(pod: PodOfRevision & Pick<PodFacts, "uid">, kill: OomKill, now: number): void {
    this.#prune(now);
    const key = toRevisionKey(pod);
    if (key === null || now - kill.at > KILL_FLOOR_MS) return;
    const entry = this.#find(key, kill.container);
    for (const [uid, other] of entry.kills) {
      if (uid === pod.uid || Math.abs(other.at - kill.at) > KILL_MS) continue;
      const bytes = Math.max(other.limitBytes, kill.limitBytes) * KILL_FACTOR;
      entry.floorBytes = Math.max(entry.until > now ? entry.floorBytes : 0, bytes);
      entry.until = Math.max(entry.until, Math.max(other.at, kill.at) + KILL_FLOOR_MS);
    }
    entry.kills.set(pod.uid, kill);
  }

  /** Returns the floors; undefined if there are none, as for nearly every pod. */
  find(pod: PodOfRevision, now: number): FloorsByContainer | undefined {
    const key = this.#entries.size === 0 ? null : toRevisionKey(pod);
    const entries = key === null ? undefined : this.#entries.get(key);
    if (entries === undefined) return undefined;
    let floors: Record<string, number> | undefined;
    for (const [container, { floorBytes, until }] of entries) {
      if (until > now) (floors ??= {})[container] = floorBytes;
    }
    return floors;
  }

  #find(key: string, container: string): RevisionKills {
    const entries = this.#entries.get(key) ?? new Map<string, RevisionKills>();
    this.#entries.set(key, entries);
    const entry = entries.get(container) ?? { kills: new Map<string, OomKill>(), floorBytes: 0, until: 0 };
    entries.set(container, entry);
    return entry;
  }

  /** Kills are rare, so visiting all entries costs little. */
  #prune(now: number): void {
    for (const [key, entries] of this.#entries) {
      for (const [container, { kills, until }] of entries) {
        for (const [pod, { at }] of kills) if (now - at > KILL_FLOOR_MS) kills.delete(pod);
        if (kills.size === 0 && until <= now) entries.delete(container);
      }
      if (entries.size === 0) this.#entries.delete(key);
    }
  }
}

type PodOfRevision = Pick<PodFacts, "namespace" | "revision">;

function toRevisionKey({ namespace, revision }: PodOfRevision): string | null {
  return revision === null ? null : `${namespace}/${revision}`;
}

/** Returns a sink that records each OOM kill at a limit once. */
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
