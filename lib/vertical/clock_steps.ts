/**
 * The state after the wall clock was set forward or back, so that no cooldown, window or wait becomes longer or
 * shorter.
 *
 * Steady time will replace this file.
 */
import { KILL_FLOOR_MS, type Refusal, type Refusals, type SideRefusals } from "../model/container_history.ts";
import type { SizeInput } from "../model/decision.ts";
import {
  type AutoscalerView,
  type ContainerState,
  type Evidence,
  type Histogram,
  NO_EVIDENCE,
  type Peaks,
  type PodState,
} from "../model/state.ts";
import { RESOURCE_FIELDS, type ResourceField } from "../units/resources.ts";
import type { EndingsState } from "./oom.ts";
import { toWindowBucket } from "./windows.ts";

// The state after the wall clock was set: every time of ours in it moves with the clock, so that a silence, a
// cooldown, a wait or a window has lasted as long as before. Times of other clocks stay: of the node, the API server,
// the source. The shell knows of a step; `rebase` is for steps back of which nobody told.

/** The same state by a clock that was set forward by so much, ms; back where that is negative. */
export function stepClock(state: PodState, byMs: number): PodState {
  const { conflict, command, pendingSince, inProgressSince, shadow, scaledIn } = state;
  const { at, differingSince } = moveTimes(state, ["at", "differingSince"], byMs);
  return {
    ...state,
    at,
    differingSince,
    containers: mapValues(state.containers, (one) => stepContainer(one, byMs)),
    views: mapValues(state.views, (one) => stepView(one, byMs)),
    pendingSince: pendingSince && moveTimes(pendingSince, ["since"], byMs),
    inProgressSince: inProgressSince && moveTimes(inProgressSince, ["since"], byMs),
    conflict: conflict && moveTimes(conflict, ["at"], byMs),
    command: command && moveTimes(command, ["at"], byMs),
    unconfirmed: state.unconfirmed.map((one) => moveTimes(one, ["at"], byMs)),
    scaledIn: scaledIn && moveTimes(scaledIn, ["at", "since"], byMs),
    shadow: shadow && { ...shadow, state: stepClock(shadow.state, byMs) },
  };
}

// The state after a wall clock stepped back: no time in it lies ahead of now, so that no cooldown, delay, refusal or
// silence lasts longer than itself. This is the one place that knows of such steps; the steps after it only ever see
// time pass.

/** The same object while time has passed as it should. */
export function rebase(state: PodState, { now, contenders }: Pick<SizeInput, "now" | "contenders">): PodState {
  if (now >= state.at) return state;
  const containers: Record<string, ContainerState> = {};
  for (const [name, one] of Object.entries(state.containers)) containers[name] = rebaseContainer(one, now);
  const views: Record<string, AutoscalerView> = {};
  for (const [key, view] of Object.entries(state.views)) {
    const intervalMs = contenders.find((one) => one.key === key)?.pollIntervalMs ?? null;
    views[key] = rebaseView(view, { now, intervalMs });
  }
  const { conflict, command, differingSince, pendingSince, inProgressSince } = state;
  return {
    ...state,
    at: now,
    containers,
    views,
    pendingSince: rebaseSince(pendingSince, now),
    inProgressSince: rebaseSince(inProgressSince, now),
    differingSince: noLater(differingSince, now),
    scaledIn: rebaseSince(state.scaledIn, now),
    conflict: conflict !== null && conflict.at > now ? null : conflict,
    command: command === null ? null : { ...command, at: Math.min(command.at, now) },
    unconfirmed: state.unconfirmed.map((one) => ({ ...one, at: Math.min(one.at, now) })),
  };
}

// The peak of usage within a window (L2), as one peak per thirtieth of it: whatever the window's length, a bounded
// list of numbers. An empty thirtieth is no gap, and the effective window is up to a thirtieth longer.

/** The peaks after a wall clock stepped back to `now`: what lies ahead counts as seen now. */
export function rebasePeaks(peaks: Peaks, now: number): Peaks {
  const bucket = toWindowBucket(now, peaks.windowMs);
  const last = peaks.pairs.at(-2);
  if (last === undefined || last <= bucket) return peaks;
  const pairs: number[] = [];
  for (let index = 0; index < peaks.pairs.length; index += 2) {
    const seen = Math.min(peaks.pairs[index] ?? 0, bucket);
    if (pairs.at(-2) !== seen) pairs.push(seen, peaks.pairs[index + 1] ?? 0);
  }
  return { ...peaks, pairs };
}

// A percentile of CPU usage of which old samples weigh less and less (L4), in a state of bounded size: buckets 10 %
// apart below the largest sample that still weighs anything. The field's recommenders keep histograms likewise:
// https://github.com/kubernetes/autoscaler/blob/master/vertical-pod-autoscaler/pkg/recommender/util/decaying_histogram.go

/** After a wall clock stepped back to `now` no sample lies ahead. */
export function rebaseHistogram(histogram: Histogram, now: number): Histogram {
  return histogram.at <= now ? histogram : { ...histogram, at: now };
}

/** `entryAt` is a time of the API server. */
function stepContainer(container: ContainerState, byMs: number): ContainerState {
  const { running, podReady, refusals, endings, killFloor } = container;
  return {
    ...moveTimes(container, ["readySince", "countsFrom", "resizedAt", "raisedAt", "revertedAt"], byMs),
    running: running && moveTimes(running, ["since"], byMs),
    podReady: podReady && moveTimes(podReady, ["since"], byMs),
    refusals: stepRefusals(refusals, byMs),
    endings: endings.length === 0 ? endings : endings.map((one) => moveTimes(one, ["at"], byMs)),
    killFloor: killFloor && moveTimes(killFloor, ["until"], byMs),
  };
}

function stepRefusals(refusals: Refusals, byMs: number): Refusals {
  const stepOne = <T extends Refusal>(refusal: T): T => moveTimes(refusal, ["until"], byMs);
  return mapValues(refusals, ({ everything, size, givenUp }): SideRefusals => ({
    ...(everything !== undefined && { everything: stepOne(everything) }),
    ...(size !== undefined && { size: stepOne(size) }),
    ...(givenUp !== undefined && { givenUp: stepOne(givenUp) }),
  }));
}

/** Of a sample only `seenAt` is ours. */
function stepView(view: AutoscalerView, byMs: number): AutoscalerView {
  const { sampling } = view;
  const { sample } = sampling;
  return {
    ...moveTimes(view, ["dueAt", "wantedSince", "vetoedSince", "silentSince"], byMs),
    evidence: stepEvidence(view.evidence, byMs),
    sampling: { ...moveTimes(sampling, ["newAt"], byMs), sample: sample && moveTimes(sample, ["seenAt"], byMs) },
  };
}

function stepEvidence(evidence: Evidence, byMs: number): Evidence {
  if (evidence.since === null) return evidence;
  return {
    ...moveTimes(evidence, ["since", "until"], byMs),
    sides: mapValues(
      evidence.sides,
      (side) => side.kind === "peaks" ? movePeaks(side, byMs) : moveTimes(side, ["at"], byMs),
    ),
  };
}

/** The object with these of its times moved; `null` = none stays so. */
function moveTimes<Key extends string, T extends { readonly [K in Key]: number | null }>(
  object: T,
  keys: readonly Key[],
  byMs: number,
): T {
  const moved: Record<string, unknown> = { ...object };
  for (const key of keys) {
    const at = object[key];
    if (at !== null) moved[key] = at + byMs;
  }
  return moved as T;
}

type Value<R> = Exclude<R[keyof R], undefined>;

/** The same object when it is empty: an empty one may be shared. */
function mapValues<R extends object>(all: R, map: (value: Value<R>) => Value<R>): R {
  const entries = Object.entries<Value<R> | undefined>(all as Record<string, Value<R>>);
  if (entries.length === 0) return all;
  return Object.fromEntries(entries.map(([key, value]) => [key, value === undefined ? value : map(value)])) as R;
}

function rebaseContainer(container: ContainerState, now: number): ContainerState {
  return {
    ...container,
    running: rebaseSince(container.running, now),
    podReady: rebaseSince(container.podReady, now),
    readySince: noLater(container.readySince, now),
    countsFrom: Math.min(container.countsFrom, now),
    resizedAt: noLater(container.resizedAt, now),
    raisedAt: noLater(container.raisedAt, now),
    revertedAt: noLater(container.revertedAt, now),
    refusals: rebaseRefusals(container.refusals, now),
    ...rebaseEndings(container, now),
  };
}

function rebaseSince<T extends { readonly since: number }>(since: T | null, now: number): T | null {
  return since === null ? null : { ...since, since: Math.min(since.since, now) };
}

function rebaseView(
  view: AutoscalerView,
  { now, intervalMs }: { now: number; intervalMs: number | null },
): AutoscalerView {
  const { sampling, dueAt } = view;
  const sample = sampling.sample;
  return {
    ...view,
    // Whole intervals back: the phase stays.
    dueAt: intervalMs === null ? dueAt : dueAt - Math.max(0, Math.ceil((dueAt - now) / intervalMs)) * intervalMs,
    evidence: rebaseEvidence(view.evidence, now),
    vetoedSince: noLater(view.vetoedSince, now),
    silentSince: noLater(view.silentSince, now),
    sampling: {
      ...sampling,
      newAt: Math.min(sampling.newAt, now),
      sample: sample === null ? null : { ...sample, seenAt: Math.min(sample.seenAt, now) },
    },
  };
}

function noLater(at: number | null, now: number): number | null {
  return at === null ? null : Math.min(at, now);
}

// What a scale-down rests on beside its streak (L1, L2, L4): for how long usage has been watched without a gap, and
// per side the peak of its window or a percentile of what was seen. It belongs to the container, not to an instance of
// it: a restart, another size and a changed spec leave it as it is.

/** The evidence after a wall clock stepped back to `now`. */
function rebaseEvidence(evidence: Evidence, now: number): Evidence {
  if (evidence === NO_EVIDENCE) return evidence;
  const sides: Partial<Record<ResourceField, Peaks | Histogram>> = {};
  for (const [key, side] of Object.entries(evidence.sides)) {
    sides[key as ResourceField] = side.kind === "peaks" ? rebasePeaks(side, now) : rebaseHistogram(side, now);
  }
  const { since, until } = evidence;
  return { since: since === null ? null : Math.min(since, now), until: Math.min(until, now), sides };
}

/** The peaks by a clock that was set forward by so much, ms: each as long ago as before, to a thirtieth of the window. */
function movePeaks({ windowMs, pairs, ...peaks }: Peaks, byMs: number): Peaks {
  const by = toWindowBucket(byMs, windowMs);
  return { ...peaks, windowMs, pairs: pairs.map((one, index) => index % 2 === 0 ? one + by : one) };
}

// The terminations that a pod shows, as endings of the container (L7, L10, L12): when each was, why, and at which
// limit. What is new since the last evaluation has happened since; what podfit finds at its start is as old as the
// node says.

/** No time in them lies ahead of now. */
function rebaseEndings({ endings, reflex, killFloor }: EndingsState, now: number): EndingsState {
  return {
    endings: endings.length === 0 ? endings : endings.map((one) => ({ ...one, at: Math.min(one.at, now) })),
    reflex,
    killFloor: killFloor === null ? null : { ...killFloor, until: Math.min(killFloor.until, now + KILL_FLOOR_MS) },
  };
}

// What waits after an answer (C44, C47): sizes that the API server refused, or that were given up because the kubelet
// could not enact them. Each further time the wait doubles, as long as pod and autoscaler are the same but for
// podfit's own resizes.

/** What was refused before a wall clock stepped back to `now` holds nothing up any more. */
function rebaseRefusals(refusals: Refusals, now: number): Refusals {
  const move = <T extends Refusal>(refusal: T): T =>
    refusal.until - refusal.waitMs > now ? { ...refusal, until: now } : refusal;
  const next: Partial<Record<ResourceField, SideRefusals>> = {};
  for (const key of RESOURCE_FIELDS) {
    const side = refusals[key];
    if (side === undefined) continue;
    const { everything, size, givenUp } = side;
    next[key] = {
      ...(everything !== undefined && { everything: move(everything) }),
      ...(size !== undefined && { size: move(size) }),
      ...(givenUp !== undefined && { givenUp: move(givenUp) }),
    };
  }
  return next;
}
