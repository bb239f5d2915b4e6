/**
 * What the tick half remembers of an object: its needs and its own writes, as the HPA controller keeps them (R31, R44, R45). Nothing is changed
 * in place: each function gives the next history.
 * https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/controller/podautoscaler/horizontal.go (storeScaleEvent, markScaleEventsOutdated)
 */
import type { Behavior, ScalingRules } from "../../../scaled_object/behavior.ts";

/** Lists keep their slots: an old entry is overwritten in place, as the controller does (R44). Plain JSON. */
export interface History {
  readonly needs: readonly Need[];
  readonly ups: readonly ScaleEvent[];
  readonly downs: readonly ScaleEvent[];
}

/** A need before any limit, at the tick that found it. */
export interface Need {
  readonly replicas: number;
  readonly at: number;
}

/** An accepted write of the tick half. */
export interface ScaleEvent {
  /** Positive. */
  readonly change: number;
  readonly at: number;
  /** Marked for good as older than the longest period of its direction. */
  readonly isOutdated: boolean;
}

/** A write of the tick half that the API server took; `now` is the due time of its tick. */
export interface Rescale {
  readonly from: number;
  readonly to: number;
  readonly now: number;
  readonly behavior: Behavior | null;
}

/** At first sight what is there counts as needed: no scale-in for one window (R31). */
export function startHistory(replicas: number, now: number): History {
  return { needs: [{ replicas, at: now }], ups: [], downs: [] };
}

/** Without behavior nothing is kept, as no rate is asked for. */
export function noteRescale(history: History, { from, to, now, behavior }: Rescale): History {
  if (behavior === null) return history;
  const event = { change: Math.abs(to - from), at: now, isOutdated: false };
  if (to > from) return { ...history, ups: storeEvent(history.ups, event, behavior.scaleUp) };
  return { ...history, downs: storeEvent(history.downs, event, behavior.scaleDown) };
}

/** Overwrites the last of those that no window sees any more, else adds one. */
export function recordNeed(history: History, need: Need, isOld: (need: Need) => boolean): History {
  const slot = history.needs.findLastIndex(isOld);
  return { ...history, needs: put(history.needs, need, slot) };
}

/** The longest period of the direction alone decides: it may be shorter than one of the other direction that still asks (R44). */
function storeEvent(
  events: readonly ScaleEvent[],
  event: ScaleEvent,
  { policies }: ScalingRules,
): readonly ScaleEvent[] {
  const cutoff = event.at - Math.max(0, ...policies.map(({ periodMs }) => periodMs));
  const marked = events.map((one) => one.at < cutoff ? { ...one, isOutdated: true } : one);
  return put(marked, event, marked.findLastIndex(({ isOutdated }) => isOutdated));
}

/** -1 = at the end. */
function put<T>(list: readonly T[], item: T, slot: number): readonly T[] {
  return slot < 0 ? [...list, item] : list.with(slot, item);
}
