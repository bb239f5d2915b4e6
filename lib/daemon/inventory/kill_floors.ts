/**
 * OOM kills of the pods of one revision, told to each other (L14): two pods killed within ten minutes are no accident of one of
 * them, so none of the others is scaled down to the limit that killed.
 */
import { FLOOR_MS, KILL_FACTOR, KILL_MS } from "../../core/observe/ending.ts";
import type { PodFacts } from "../../core/pod/pod_facts.ts";
import type { Sink } from "../report/sink.ts";

/** By container: bytes. As the input of a decision has it. */
export type Floors = Readonly<Record<string, number>>;

/** One kill at a container's limit. */
export interface Kill {
  readonly container: string;
  /** Epoch ms. */
  readonly at: number;
  readonly limitBytes: number;
}

interface Entry {
  /** The newest kill of each pod, of the last day: what podfit finds at its start is as old as the node says. */
  readonly kills: Map<string, Kill>;
  floorBytes: number;
  /** Epoch ms; 0 while there is no floor. */
  until: number;
}

/** Remembers kills and floors for a day; pods without a controller have no siblings. */
export class KillFloors {
  /** By revision, then by container. */
  readonly #entries = new Map<string, Map<string, Entry>>();

  note({ revision, uid }: Pick<PodFacts, "revision" | "uid">, kill: Kill, now: number): void {
    this.#prune(now);
    if (revision === null || now - kill.at > FLOOR_MS) return;
    const entry = this.#find(revision, kill.container);
    for (const [pod, other] of entry.kills) {
      if (pod === uid || Math.abs(other.at - kill.at) > KILL_MS) continue;
      const bytes = Math.max(other.limitBytes, kill.limitBytes) * KILL_FACTOR;
      entry.floorBytes = Math.max(entry.until > now ? entry.floorBytes : 0, bytes);
      entry.until = Math.max(entry.until, Math.max(other.at, kill.at) + FLOOR_MS);
    }
    entry.kills.set(uid, kill);
  }

  /** Undefined where there are none, which is so of nearly every pod. */
  read(revision: string | null, now: number): Floors | undefined {
    const entries = revision === null ? undefined : this.#entries.get(revision);
    if (entries === undefined) return undefined;
    let floors: Record<string, number> | undefined;
    for (const [container, { floorBytes, until }] of entries) {
      if (until > now) (floors ??= {})[container] = floorBytes;
    }
    return floors;
  }

  #find(revision: string, container: string): Entry {
    const entries = this.#entries.get(revision) ?? new Map<string, Entry>();
    this.#entries.set(revision, entries);
    const entry = entries.get(container) ?? { kills: new Map<string, Kill>(), floorBytes: 0, until: 0 };
    entries.set(container, entry);
    return entry;
  }

  /** Kills are rare: looking at all that is remembered costs little. */
  #prune(now: number): void {
    for (const [revision, entries] of this.#entries) {
      for (const [container, { kills, until }] of entries) {
        for (const [pod, { at }] of kills) if (now - at > FLOOR_MS) kills.delete(pod);
        if (kills.size === 0 && until <= now) entries.delete(container);
      }
      if (entries.size === 0) this.#entries.delete(revision);
    }
  }
}

/** The sink that notes each kill at a limit, once. */
export function createKillSink(floors: KillFloors): Sink {
  return ({ before, input: { pod, now }, outcome: { state } }) => {
    for (const container in state.containers) {
      const after = state.containers[container]?.endings ?? [];
      if (after.length === 0) continue;
      const known = Object.hasOwn(before.containers, container) ? before.containers[container]?.endings ?? [] : [];
      if (after === known) continue;
      for (const { id, at, kind, limitBytes } of after) {
        if (kind !== "oom" || limitBytes === null || known.some((one) => one.id === id)) continue;
        floors.note(pod, { container, at, limitBytes }, now);
      }
    }
  };
}
