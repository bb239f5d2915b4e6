/**
 * How the facts of a pod move its state on, before anything is decided: readiness, the size in force, the last resize,
 * restarts, contenders that came or went (C11, C13, C16, C24, C31, C42, C45).
 */
import { isSameSize, SIDE_KEYS } from "../../units/resources.ts";
import type { Input, Outcome } from "../decision.ts";
import { type ContainerFacts, findContainer, type PodFacts, readActual } from "../pod/pod_facts.ts";
import type { Autoscaler } from "../../autoscaler/autoscaler.ts";
import { hasBareDifference, isEnacted } from "../pod/resize_status.ts";
import { newSampling } from "./sampling.ts";
import {
  type Command,
  type ContainerState,
  NO_STREAKS,
  NOTHING_TOLD,
  type PodState,
  type Since,
  type View,
} from "../state.ts";

/** managedFields times are whole seconds, cut off: the resize happened up to this much later. */
const ENTRY_RESOLUTION_MS = 999;
/** A conflict is over when a newer pod arrives, or after this: the watch may have lost it. */
const CONFLICT_MS = 30_000;

export function nextFacts(state: PodState, { pod, contenders, now }: Input): PodState {
  if (isSeen(state, { pod, contenders, now })) return state;
  const containers: Record<string, ContainerState> = {};
  for (const { containerName } of contenders) {
    const container = findContainer(pod, containerName);
    if (container === null || containerName in containers) continue;
    const { generation } = state;
    containers[containerName] = nextContainer(state.containers[containerName], { pod, container, generation, now });
  }
  const views: Record<string, View> = {};
  for (const policy of contenders) {
    const container = containers[policy.containerName];
    if (container === undefined) continue;
    const view = nextView(state.views[policy.uid], policy, now);
    const before = state.containers[policy.containerName];
    views[policy.uid] = before === undefined ? view : nextViewOfContainer(view, { before, container, now });
  }
  return {
    version: 1,
    resourceVersion: pod.resourceVersion,
    at: now,
    containers,
    views,
    generation: state.generation,
    differingSince: hasBareDifference(pod, state, now) ? Math.min(state.differingSince ?? now, now) : null,
    conflict: isOpen(state.conflict, pod, now) ? state.conflict : null,
    command: state.command,
    // After a wall clock stepped back nothing was lost in the future: it would be waited for as long.
    unconfirmed: state.unconfirmed.map((one) => ({ ...one, at: Math.min(one.at, now) })),
  };
}

/**
 * The same pod and contenders as at the last turn, and nothing in the state that time alone moves on. Most turns of
 * most pods are so.
 */
function isSeen(state: PodState, { pod, contenders, now }: Pick<Input, "pod" | "contenders" | "now">): boolean {
  const { views } = state;
  if (state.resourceVersion !== pod.resourceVersion || now < state.at) return false;
  if (state.differingSince !== null || state.conflict !== null) return false;
  let known = 0;
  for (const uid in views) if (views[uid] !== undefined) known++;
  if (known !== contenders.length) return false;
  for (const { uid, generation, containerName } of contenders) {
    const view = views[uid];
    if (view === undefined || view.generation !== generation || view.container !== containerName) return false;
  }
  return true;
}

function isOpen(conflict: PodState["conflict"], pod: PodFacts, now: number): boolean {
  if (conflict === null || conflict.resourceVersion !== pod.resourceVersion) return false;
  return now >= conflict.at && now - conflict.at < CONFLICT_MS;
}

/** An accepted PATCH is enacted, or will never be: replaced, reverted, or its autoscaler gone (C45). */
export function nextCommand(
  state: PodState,
  { pod, contenders, now }: Input,
): { state: PodState; enacted: Outcome["enacted"] } {
  const { command } = state;
  if (command === null || (pod.generation !== null && pod.generation < command.generation)) {
    return { state, enacted: null };
  }
  const container = findContainer(pod, command.container);
  if (container === null || !isCommanded(command, container)) {
    return { state: { ...state, command: null }, enacted: null };
  }
  if (!isEnacted(pod, container, command.generation)) return { state, enacted: null };
  const policy = contenders.find(({ uid }) => uid === command.autoscaler);
  const enacted = policy === undefined
    ? null
    : { policy, action: command.action, tookMs: Math.max(0, now - command.at) };
  return { state: { ...state, command: null }, enacted };
}

function isCommanded({ to }: Command, { spec }: ContainerFacts): boolean {
  return SIDE_KEYS.every((key) => spec[key] === to[key]);
}

interface ContainerContext {
  readonly pod: PodFacts;
  readonly container: ContainerFacts;
  /** The highest that a PATCH of ours was answered with. */
  readonly generation: number;
  readonly now: number;
}

function nextContainer(before: ContainerState | undefined, context: ContainerContext): ContainerState {
  const { pod, container, now } = context;
  const entryAt = readEntryAt(pod, container.name);
  const actual = readActual(container);
  if (before === undefined) {
    const resizedAt = entryAt === null ? null : Math.min(entryAt + ENTRY_RESOLUTION_MS, now);
    return {
      instance: container.instance,
      running: nextSince(null, container.runningAt, now),
      podReady: nextSince(null, pod.readyAt, now),
      readySince: container.ready ? Math.min(pod.containersReadyAt ?? now, now) : null,
      actual,
      countsFrom: resizedAt ?? 0,
      resizedAt,
      entryAt,
      revertedAt: null,
      refusals: {},
    };
  }
  const isRestarted = hasRestarted(before, container);
  return {
    ...before,
    instance: container.instance ?? before.instance,
    running: nextSince(before.running, container.runningAt, now),
    podReady: nextSince(before.podReady, pod.readyAt, now),
    readySince: container.ready ? (isRestarted ? now : Math.min(before.readySince ?? now, now)) : null,
    actual,
    countsFrom: isSameSize(actual, before.actual) ? Math.min(before.countsFrom, now) : now,
    resizedAt: nextResizedAt(before, entryAt, context),
    entryAt,
    revertedAt: before.revertedAt === null ? null : Math.min(before.revertedAt, now),
  };
}

/** A node's clock may be ahead of ours: what is seen now has begun by now. */
function nextSince(before: Since | null, at: number | null, now: number): Since | null {
  if (at === null) return null;
  return { at, since: Math.min(before?.at === at ? before.since : at, now) };
}

/**
 * Another entry in a pod newer than our last PATCH tells of a resize by somebody else, since the last look: it counts
 * from now, for the API server's clock may be far behind ours. A wall clock that stepped back must not make a cooldown
 * last longer than itself: hence never later than now.
 */
function nextResizedAt(
  { resizedAt, ...before }: ContainerState,
  entryAt: number | null,
  { pod, generation, now }: ContainerContext,
): number | null {
  const isNews = entryAt !== null && entryAt !== before.entryAt;
  if (isNews && pod.generation !== null && pod.generation > generation) return now;
  const isLater = isNews && pod.generation === null && (resizedAt === null || entryAt > resizedAt);
  const at = isLater ? entryAt + ENTRY_RESOLUTION_MS : resizedAt;
  return at === null ? null : Math.min(at, now);
}

/**
 * The container's own entry; if it is gone (another manager took every field over), the newest resize of anybody but
 * podfit's for another container (C42).
 */
function readEntryAt(pod: PodFacts, container: string): number | null {
  let [own, others]: [number | null, number | null] = [null, null];
  for (const { manager, at } of pod.resizes) {
    if (manager === `podfit.${container}`) own = Math.max(own ?? at, at);
    else if (!manager.startsWith("podfit.")) others = Math.max(others ?? at, at);
  }
  return own ?? others;
}

function hasRestarted(before: ContainerState, container: ContainerFacts): boolean {
  return before.instance !== null && container.instance !== null && before.instance !== container.instance;
}

function nextView(before: View | undefined, policy: Autoscaler, now: number): View {
  if (before === undefined || before.container !== policy.containerName) {
    return {
      generation: policy.generation,
      container: policy.containerName,
      dueAt: now,
      sampling: newSampling(now),
      streaks: NO_STREAKS,
      wantedSince: null,
      told: NOTHING_TOLD,
    };
  }
  const view = nextViewOfClock(before, now);
  if (view.generation === policy.generation) return view;
  return { ...view, generation: policy.generation, dueAt: now, streaks: NO_STREAKS, wantedSince: null };
}

/** After a wall clock stepped back nothing was seen in the future: an old sample must not stay new for as long. */
function nextViewOfClock(view: View, now: number): View {
  const { sampling } = view;
  if (sampling.newAt <= now) return view;
  const sample = sampling.sample === null
    ? null
    : { ...sampling.sample, seenAt: Math.min(sampling.sample.seenAt, now) };
  return { ...view, sampling: { ...sampling, newAt: now, sample } };
}

function nextViewOfContainer(
  view: View,
  { before, container, now }: { before: ContainerState; container: ContainerState; now: number },
): View {
  const isRestarted = before.instance !== null && before.instance !== container.instance;
  if (isRestarted) return { ...view, streaks: NO_STREAKS, wantedSince: null, sampling: newSampling(now, true) };
  return isSameSize(before.actual, container.actual) ? view : { ...view, streaks: NO_STREAKS, wantedSince: null };
}
