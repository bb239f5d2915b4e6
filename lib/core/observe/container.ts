/** What a container's facts make of its state: readiness, the size in force, restarts, the last resize (C24, C31, C42). */
import { readOwnedSides } from "../../units/managed_fields.ts";
import { isSameSize } from "../../units/resources.ts";
import { type ContainerFacts, type PodFacts, readActual } from "../pod/pod_facts.ts";
import { NO_REFUSALS } from "../settle/refusal.ts";
import type { ContainerState, Since } from "../state.ts";
import type { Ended } from "./endings.ts";

/** What the state of a container follows from. */
export interface ContainerContext {
  readonly pod: PodFacts;
  readonly container: ContainerFacts;
  /** The highest that a PATCH of ours was answered with. */
  readonly generation: number;
  /** When the pod was last evaluated, epoch ms; 0 = never. */
  readonly seenAt: number;
  readonly now: number;
  /** How the container's instances have ended. */
  readonly ended: Ended;
}

/** managedFields times are whole seconds, cut off: the resize happened up to this much later, ms. */
const ENTRY_RESOLUTION_MS = 999;

/** `before` is undefined for a container that is seen for the first time. */
export function nextContainer(before: ContainerState | undefined, context: ContainerContext): ContainerState {
  const { pod, container, seenAt, now, ended } = context;
  const entryAt = readEntryAt(pod, container.name);
  const actual = readActual(container);
  if (before === undefined) {
    const resizedAt = entryAt === null ? null : Math.min(entryAt + ENTRY_RESOLUTION_MS, now);
    return {
      instance: container.instance,
      running: nextSince(null, container.runningAt, { seenAt: 0, now }),
      podReady: nextSince(null, pod.readyAt, { seenAt: 0, now }),
      readySince: container.ready ? Math.min(pod.containersReadyAt ?? now, now) : null,
      actual,
      countsFrom: resizedAt ?? 0,
      resizedAt,
      raisedAt: resizedAt,
      entryAt,
      revertedAt: null,
      refusals: NO_REFUSALS,
      isInherited: false,
      endings: ended.endings,
      reflex: ended.reflex,
      killFloor: ended.killFloor,
    };
  }
  const isRestarted = hasRestarted(before, container);
  const resizedAt = nextResizedAt(before, entryAt, context);
  return {
    ...before,
    instance: container.instance ?? before.instance,
    running: nextSince(before.running, container.runningAt, { seenAt, now }),
    podReady: nextSince(before.podReady, pod.readyAt, { seenAt, now }),
    readySince: container.ready ? (isRestarted ? now : before.readySince ?? now) : null,
    actual,
    countsFrom: isSameSize(actual, before.actual) ? before.countsFrom : now,
    resizedAt,
    raisedAt: resizedAt === before.resizedAt ? before.raisedAt : resizedAt,
    entryAt,
    endings: ended.endings,
    reflex: ended.reflex,
    killFloor: ended.killFloor,
  };
}

/** What bounds a time of another clock, epoch ms of ours: when it was not yet so, 0 = unknown, and now. */
interface Window {
  readonly seenAt: number;
  readonly now: number;
}

/**
 * A node's clock may be ahead of ours, or behind it: what is seen now has begun by now, and not before the pod was last
 * seen without it.
 */
export function toOurClock(at: number, { seenAt, now }: Window): number {
  return Math.min(Math.max(at, seenAt), now);
}

function nextSince(before: Since | null, at: number | null, window: Window): Since | null {
  if (at === null) return null;
  return { at, since: before?.at === at ? before.since : toOurClock(at, window) };
}

/**
 * Another entry in a pod newer than our last PATCH shows a resize by somebody else since the last evaluation: it counts
 * from now, for the API server's clock may be far behind ours, or ahead of it.
 */
function nextResizedAt(
  { resizedAt, ...before }: ContainerState,
  entryAt: number | null,
  { pod, generation, now }: ContainerContext,
): number | null {
  const isNews = entryAt !== null && entryAt !== before.entryAt;
  if (isNews && pod.generation !== null && pod.generation > generation) return now;
  const isLater = isNews && pod.generation === null && (resizedAt === null || entryAt > resizedAt);
  return isLater ? Math.min(entryAt + ENTRY_RESOLUTION_MS, now) : resizedAt;
}

/**
 * The time of the newest entry of podfit for the container, or of anybody who has a field of it: a person may change one
 * field while podfit keeps the others. Where there is neither, because a third took every field over, of the newest
 * resize by anybody but podfit for another container (C42). Epoch ms; `null` without any.
 */
function readEntryAt(pod: PodFacts, container: string): number | null {
  let own: number | null = null;
  let others: number | null = null;
  for (const { manager, at, owned } of pod.resizes) {
    const isOfAnother = manager !== `podfit.${container}` && manager.startsWith("podfit.");
    if (isOfAnother) continue;
    if (manager === `podfit.${container}` || readOwnedSides(owned, container).length > 0) own = Math.max(own ?? at, at);
    else others = Math.max(others ?? at, at);
  }
  return own ?? others;
}

function hasRestarted(before: ContainerState, container: ContainerFacts): boolean {
  return before.instance !== null && container.instance !== null && before.instance !== container.instance;
}
