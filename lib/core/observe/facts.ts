/**
 * How the facts of a pod move its state on, before anything is decided: contenders that came or went, conflicts that
 * are over, streaks that a restart or another size ends (C11, C13, C16, C31).
 */
import type { Autoscaler } from "../../autoscaler/autoscaler.ts";
import { isSameSize } from "../../units/resources.ts";
import type { Input } from "../decision.ts";
import { NOTHING_NOTIFIED } from "../notify/edge.ts";
import { type ContainerFacts, findContainer, type PodFacts, type ResizeCondition } from "../pod/pod_facts.ts";
import { hasBareDifference } from "../pod/resize_status.ts";
import { listStuck } from "../propose/revert.ts";
import {
  type ConditionSince,
  type ContainerState,
  findContainerState,
  NO_STREAKS,
  type PodState,
  STATE_VERSION,
  type View,
} from "../state.ts";
import { nextContainer, toOurClock } from "./container.ts";
import { addPeak, NO_EVIDENCE } from "./evidence.ts";
import { NOTHING_WANTED } from "./count_shortage.ts";
import { keepInForce } from "./kept_streaks.ts";
import { type Ended, nextEnded, NOT_ENDED } from "./endings.ts";
import { newSampling } from "./sampling.ts";
import { NO_SHORTAGE } from "./shortage.ts";

/** A conflict is over when a newer pod arrives, or after this, in ms: the watch may have missed it. */
const CONFLICT_MS = 30_000;

/** The same object when nothing has changed since the last evaluation. */
export function nextFacts(state: PodState, input: Input): PodState {
  const { pod, contenders, now } = input;
  if (isSeen(state, pod, contenders)) return state;
  const containers: Record<string, ContainerState> = {};
  const seenAt = state.at;
  for (const name of listNames(pod, contenders)) {
    const container = findContainer(pod, name);
    if (container === null || Object.hasOwn(containers, name)) continue;
    const { generation } = state;
    const before = findContainerState(state, name);
    const ended = readEnded(state, container, input);
    containers[name] = nextContainer(before, { pod, container, generation, seenAt, now, ended });
  }
  const views: Record<string, View> = {};
  for (const autoscaler of contenders) {
    const container = findContainerState({ containers }, autoscaler.containerName);
    if (container === undefined) continue;
    const before = findContainerState(state, autoscaler.containerName);
    const killed = listNewKills(before, container);
    const view = addKills(nextView(state.views[autoscaler.key], autoscaler, now), autoscaler, { killed, now });
    const isOwn = state.command?.container === autoscaler.containerName;
    views[autoscaler.key] = before === undefined ? view : nextViewOfContainer(view, { before, container, isOwn, now });
  }
  return {
    version: STATE_VERSION,
    resourceVersion: pod.resourceVersion,
    at: now,
    containers,
    views,
    generation: state.generation,
    pendingSince: nextCondition(state.pendingSince, pod.pending, { seenAt, now }),
    inProgressSince: nextCondition(state.inProgressSince, pod.inProgress, { seenAt, now }),
    differingSince: hasBareDifference(pod, state, now) ? state.differingSince ?? now : null,
    conflict: isOpen(state.conflict, pod, now) ? state.conflict : null,
    command: state.command,
    unconfirmed: state.unconfirmed,
    shadow: state.shadow,
    scaledIn: state.scaledIn,
  };
}

/**
 * The same pod and contenders as at the last evaluation, and nothing in the state that time alone moves on. Most
 * evaluations of most pods are so.
 */
function isSeen(state: PodState, pod: PodFacts, contenders: readonly Autoscaler[]): boolean {
  const { views } = state;
  if (state.resourceVersion !== pod.resourceVersion) return false;
  if (state.differingSince !== null || state.conflict !== null) return false;
  let known = 0;
  for (const key in views) if (views[key] !== undefined) known++;
  if (known !== contenders.length) return false;
  for (const { key, generation, containerName } of contenders) {
    const view = views[key];
    if (view === undefined || view.generation !== generation || view.container !== containerName) return false;
  }
  return true;
}

/** Containers that are contended for, and those in which a resize of podfit's is stuck for nobody any more (C47). */
function listNames(pod: PodFacts, contenders: readonly Autoscaler[]): readonly string[] {
  const names = contenders.map(({ containerName }) => containerName);
  if (pod.pending === null && pod.inProgress === null) return names;
  const stuck = pod.containers.filter((one) => listStuck(pod, one).length > 0);
  return [...names, ...stuck.map(({ name }) => name)];
}

/** A condition begins anew with another reason, whatever its time says. */
function nextCondition(
  before: ConditionSince | null,
  condition: ResizeCondition | null,
  { seenAt, now }: { readonly seenAt: number; readonly now: number },
): ConditionSince | null {
  if (condition === null) return null;
  const { reason, since: at } = condition;
  if (before !== null && before.reason === reason && before.at === at) return before;
  return { reason, at, since: at === null ? now : toOurClock(at, { seenAt, now }) };
}

/** Shared, as most evaluations show no kill. */
const NO_KILLS: readonly number[] = [];

/** The memory limits at which the container was killed since the last evaluation, bytes. */
function listNewKills(before: ContainerState | undefined, { endings }: ContainerState): readonly number[] {
  if (endings.length === 0 || endings === before?.endings) return NO_KILLS;
  const known = new Set(before?.endings.map(({ id }) => id));
  return endings.flatMap(({ id, kind, limitBytes }) =>
    kind === "oom" && limitBytes !== null && !known.has(id) ? [limitBytes] : []
  );
}

/** A kill says that so much memory was used, though no poll has brought a sample of it (L10). */
function addKills(
  view: View,
  { sides }: Autoscaler,
  { killed, now }: { readonly killed: readonly number[]; readonly now: number },
): View {
  if (killed.length === 0) return view;
  return { ...view, evidence: addPeak(view.evidence, sides, { at: now, bytes: Math.max(...killed) }) };
}

/** Most containers never end. */
function readEnded(state: PodState, container: ContainerFacts, { pod, now, memoryPressure = false }: Input): Ended {
  const before = findContainerState(state, container.name);
  if (container.terminations.length === 0) return before ?? NOT_ENDED;
  let usageBytes: number | null = null;
  for (const { container: name, sampling: { sample } } of Object.values(state.views)) {
    if (name === container.name && sample !== null) usageBytes = Math.max(usageBytes ?? 0, sample.workingSetBytes);
  }
  return nextEnded(before, { pod, container, now, lastAt: state.at, usageBytes, memoryPressure });
}

function isOpen(conflict: PodState["conflict"], pod: PodFacts, now: number): boolean {
  if (conflict === null || conflict.resourceVersion !== pod.resourceVersion) return false;
  return now - conflict.at < CONFLICT_MS;
}

function nextView(before: View | undefined, autoscaler: Autoscaler, now: number): View {
  if (before === undefined || before.container !== autoscaler.containerName) {
    return {
      generation: autoscaler.generation,
      container: autoscaler.containerName,
      dueAt: now,
      sampling: newSampling(now),
      streaks: NO_STREAKS,
      evidence: NO_EVIDENCE,
      wantedSince: null,
      shortage: NO_SHORTAGE,
      limited: null,
      vetoedSince: null,
      silentSince: null,
      notified: NOTHING_NOTIFIED,
    };
  }
  if (before.generation === autoscaler.generation) return before;
  return { ...before, generation: autoscaler.generation, dueAt: now, streaks: NO_STREAKS, wantedSince: null };
}

function nextViewOfContainer(
  view: View,
  { before, container, isOwn, now }: {
    readonly before: ContainerState;
    readonly container: ContainerState;
    readonly isOwn: boolean;
    readonly now: number;
  },
): View {
  const isRestarted = before.instance !== null && before.instance !== container.instance;
  if (isRestarted) return { ...view, ...NOTHING_WANTED, sampling: newSampling(now, true) };
  if (isSameSize(before.actual, container.actual)) return view;
  const streaks = keepInForce(view.streaks, { before: before.actual, after: container.actual, isOwn });
  return { ...view, ...NOTHING_WANTED, streaks };
}
