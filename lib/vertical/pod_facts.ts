/**
 * Updates the state to what the pod shows now, before anything is decided.
 *
 * Autoscalers came or went, an instance restarted, another size is in force, a conflict is over.
 */
import type { Autoscaler } from "../model/autoscaler.ts";
import { NO_REFUSALS } from "../model/container_history.ts";
import type { SizeInput } from "../model/decision.ts";
import {
  type ContainerFacts,
  findContainer,
  getActualSize,
  type PodFacts,
  type ResizeCondition,
} from "../model/pod.ts";
import { hasBareDifference, listStuckFields } from "../model/resize_status.ts";
import {
  type AutoscalerView,
  type ConditionSince,
  type ContainerState,
  findContainerState,
  type PodState,
  type Since,
  STATE_VERSION,
} from "../model/state.ts";
import { listOwnedFields } from "../units/managed_fields.ts";
import { isSameSize, RESOURCE_FIELDS, type Resources } from "../units/resources.ts";
import { type EndingsState, nextEndings, NOT_ENDED } from "./oom.ts";
import { nextView } from "./streaks.ts";

/**
 * Returns the state after the pod's facts; the same object if nothing changed, and for the answer to a request.
 * Clauses: C11, C13, C16, C31.
 */
export function nextAfterPodChange(state: PodState, input: SizeInput): PodState {
  const { pod, contenders, now, wallAheadMs = 0 } = input;
  if (input.observation.kind === "answered" || isUnchanged(state, pod, contenders)) return state;
  const containers: Record<string, ContainerState> = {};
  const bounds: TimeBounds = { seenAt: state.at, now, wallAheadMs };
  for (const name of listTrackedContainers(pod, contenders)) {
    const container = findContainer(pod, name);
    if (container === null || Object.hasOwn(containers, name)) continue;
    const { generation } = state;
    const before = findContainerState(state, name);
    const ended = computeEndings(state, container, input);
    containers[name] = nextContainer(before, { ...bounds, pod, container, generation, ended });
  }
  const views: Record<string, AutoscalerView> = {};
  for (const autoscaler of contenders) {
    const container = findContainerState({ containers }, autoscaler.containerName);
    if (container === undefined) continue;
    const before = findContainerState(state, autoscaler.containerName);
    const isOwn = state.command?.container === autoscaler.containerName;
    views[autoscaler.key] = nextView(state.views[autoscaler.key], autoscaler, { before, container, isOwn, now });
  }
  return {
    version: STATE_VERSION,
    resourceVersion: pod.resourceVersion,
    at: now,
    containers,
    views,
    generation: state.generation,
    pendingSince: nextCondition(state.pendingSince, pod.pending, bounds),
    inProgressSince: nextCondition(state.inProgressSince, pod.inProgress, bounds),
    differingSince: hasBareDifference(pod, state, now) ? state.differingSince ?? now : null,
    conflict: isConflictOpen(state.conflict, pod, now) ? state.conflict : null,
    command: state.command,
    unconfirmed: state.unconfirmed,
    shadow: state.shadow,
    scaledIn: state.scaledIn,
  };
}

/**
 * Returns the state of a container that `state` does not have yet, with the ends that another state of the pod knows.
 * Clauses: L12, L54.
 */
export function adoptContainer(
  state: PodState,
  container: ContainerFacts,
  { input, past }: { readonly input: SizeInput; readonly past: EndingsState },
): ContainerState {
  const { pod, now, wallAheadMs = 0 } = input;
  const ended = computeEndings(state, container, input);
  const bounds: TimeBounds = { seenAt: state.at, now, wallAheadMs };
  const { endings, killFloor } = past;
  return nextContainer(undefined, {
    ...bounds,
    pod,
    container,
    generation: state.generation,
    ended: { endings, reflex: past.reflex ?? ended.reflex, killFloor },
  });
}

/** A conflict ends when a newer pod arrives, or after this time, in ms, since the watch may have missed it. */
const CONFLICT_MS = 30_000;

/**
 * Returns whether pod and autoscalers are the same as at the last evaluation and nothing in the state depends on time
 * alone. Most evaluations end here.
 */
function isUnchanged(state: PodState, pod: PodFacts, contenders: readonly Autoscaler[]): boolean {
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

/** Returns containers that are targeted, and those with a stuck resize of podfit. Clauses: C47. */
function listTrackedContainers(pod: PodFacts, contenders: readonly Autoscaler[]): readonly string[] {
  const names = contenders.map(({ containerName }) => containerName);
  if (pod.pending === null && pod.inProgress === null) return names;
  const stuck = pod.containers.filter((one) => listStuckFields(pod, one).length > 0);
  return [...names, ...stuck.map(({ name }) => name)];
}

/** Returns since when the condition holds. Another reason starts it again, whatever its time is. */
function nextCondition(
  before: ConditionSince | null,
  condition: ResizeCondition | null,
  bounds: TimeBounds,
): ConditionSince | null {
  if (condition === null) return null;
  const { reason, since: at } = condition;
  if (before !== null && before.reason === reason && before.at === at) return before;
  return { reason, at, since: at === null ? bounds.now : toLocalTime(at, bounds) };
}

/** Returns the container's endings. Most containers never end. */
function computeEndings(
  state: PodState,
  container: ContainerFacts,
  { pod, now, wallAheadMs = 0, memoryPressure = false }: SizeInput,
): EndingsState {
  const before = findContainerState(state, container.name);
  if (container.terminations.length === 0) return before ?? NOT_ENDED;
  let usageBytes: number | null = null;
  for (const { container: name, sampling: { sample } } of Object.values(state.views)) {
    if (name === container.name && sample !== null) usageBytes = Math.max(usageBytes ?? 0, sample.workingSetBytes);
  }
  return nextEndings(before, { pod, container, now, wallAheadMs, lastAt: state.at, usageBytes, memoryPressure });
}

function isConflictOpen(conflict: PodState["conflict"], pod: PodFacts, now: number): boolean {
  if (conflict === null || conflict.resourceVersion !== pod.resourceVersion) return false;
  return now - conflict.at < CONFLICT_MS;
}

/** What the state of a container follows from. */
interface NextContainerContext extends TimeBounds {
  readonly pod: PodFacts;
  readonly container: ContainerFacts;
  /** The highest that a PATCH of podfit was answered with. */
  readonly generation: number;
  /** How the container's instances have ended. */
  readonly ended: EndingsState;
}

/** managedFields times are whole seconds, cut off: the resize happened up to this much later, ms. */
const ENTRY_RESOLUTION_MS = 999;

/** Returns the container's next state; `before` is undefined for a new container. */
function nextContainer(before: ContainerState | undefined, context: NextContainerContext): ContainerState {
  const { pod, container, now, wallAheadMs, ended } = context;
  const entryAt = findResizeEntryAt(pod, container.name);
  const actual = getActualSize(container);
  if (before === undefined) {
    const firstSeen = { seenAt: 0, now, wallAheadMs };
    const resizedAt = entryAt === null ? null : toLocalTime(entryAt + ENTRY_RESOLUTION_MS, firstSeen);
    return {
      instance: container.instance,
      running: nextSince(null, container.runningAt, firstSeen),
      podReady: nextSince(null, pod.readyAt, firstSeen),
      readySince: container.ready ? toLocalTime(pod.containersReadyAt ?? Infinity, firstSeen) : null,
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
  // A resize of others counts as a scale-up, whatever its direction. podfit's own answer may never arrive.
  const isRaised = resizedAt !== before.resizedAt &&
    (isAnyLarger(container.spec, before.actual) || !isOwnEntry(pod, container.name, entryAt));
  return {
    ...before,
    instance: container.instance ?? before.instance,
    running: nextSince(before.running, container.runningAt, context),
    podReady: nextSince(before.podReady, pod.readyAt, context),
    readySince: container.ready ? (isRestarted ? now : before.readySince ?? now) : null,
    actual,
    countsFrom: isSameSize(actual, before.actual) ? before.countsFrom : now,
    resizedAt,
    raisedAt: isRaised ? resizedAt : before.raisedAt,
    entryAt,
    endings: ended.endings,
    reflex: ended.reflex,
    killFloor: ended.killFloor,
  };
}

/** What bounds a time of another clock, epoch ms of podfit: when it was not yet so, 0 = unknown, and now. */
interface TimeBounds {
  /** When the pod was last evaluated, steady epoch ms; 0 = never. */
  readonly seenAt: number;
  readonly now: number;
  readonly wallAheadMs: number;
}

/**
 * Returns podfit's time for a node's time. The node's clock may be ahead or behind: what is seen now began by now, and
 * not before the pod was last seen without it.
 */
function toLocalTime(at: number, { seenAt, now, wallAheadMs }: TimeBounds): number {
  return Math.min(Math.max(at - wallAheadMs, seenAt), now);
}

function nextSince(before: Since | null, at: number | null, window: TimeBounds): Since | null {
  if (at === null) return null;
  return { at, since: before?.at === at ? before.since : toLocalTime(at, window) };
}

/**
 * Returns when the container was last resized. A new managedFields entry in a pod newer than podfit's last PATCH is a
 * resize by another client. It counts from now, since the API server's clock may differ.
 */
function nextResizedAt(
  { resizedAt, ...before }: ContainerState,
  entryAt: number | null,
  { pod, generation, now, wallAheadMs }: NextContainerContext,
): number | null {
  const isNews = entryAt !== null && entryAt !== before.entryAt;
  if (isNews && pod.generation !== null && pod.generation > generation) return now;
  if (!isNews || pod.generation !== null) return resizedAt;
  const at = entryAt - wallAheadMs;
  return resizedAt === null || at > resizedAt ? Math.min(at + ENTRY_RESOLUTION_MS, now) : resizedAt;
}

/**
 * Returns the time of the newest managedFields entry of podfit, or of another manager that has a field of the
 * container; else of the newest resize by another client. Epoch ms; `null` without any. Clauses: C42.
 */
function findResizeEntryAt(pod: PodFacts, container: string): number | null {
  let own: number | null = null;
  let others: number | null = null;
  for (const { manager, at, owned } of pod.resizes) {
    const isOfAnother = manager !== `podfit.${container}` && manager.startsWith("podfit.");
    if (isOfAnother) continue;
    if (manager === `podfit.${container}` || listOwnedFields(owned, container).length > 0) {
      own = Math.max(own ?? at, at);
    } else others = Math.max(others ?? at, at);
  }
  return own ?? others;
}

function isOwnEntry({ resizes }: PodFacts, container: string, entryAt: number | null): boolean {
  return resizes.some(({ manager, at }) => at === entryAt && manager === `podfit.${container}`);
}

function isAnyLarger(size: Resources, before: Resources): boolean {
  return RESOURCE_FIELDS.some((key) => (size[key] ?? 0) > (before[key] ?? Infinity));
}

function hasRestarted(before: ContainerState, container: ContainerFacts): boolean {
  return before.instance !== null && container.instance !== null && before.instance !== container.instance;
}
