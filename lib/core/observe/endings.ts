/**
 * The terminations that a pod shows, as endings of the container (L7, L10, L12): when each was, why, and at which limit. What is
 * new since the last evaluation has happened since; what podfit finds at its start is as old as the node says.
 */
import type { Autoscaler } from "../../autoscaler/autoscaler.ts";
import { readOwnedSides } from "../../units/managed_fields.ts";
import { resourceOf } from "../../units/resources.ts";
import { readShortfall } from "../pod/pod_cgroup.ts";
import { type ContainerFacts, findContainer, type PodFacts, readActual, type Termination } from "../pod/pod_facts.ts";
import type { Input } from "../decision.ts";
import { type ContainerState, findContainerState, type PodState } from "../state.ts";
import type { Sampled } from "./sample.ts";
import { isNearLimit } from "./streaks.ts";
import { type Ending, ENDINGS_MS, FLOOR_MS, KILL_FACTOR, type KillFloor, NO_ENDINGS, type Reflex } from "./ending.ts";

/** What is remembered of the ends of a container. */
export type Ended = Pick<ContainerState, "endings" | "reflex" | "killFloor">;

/** What endings are read with. */
export interface EndingContext {
  readonly pod: PodFacts;
  readonly container: ContainerFacts;
  readonly now: number;
  /** The pod's last evaluation, epoch ms. */
  readonly lastAt: number;
  /** The newest working set that is known of the container, bytes; `null` = none. */
  readonly usageBytes: number | null;
  /** The node says that it runs out of memory. */
  readonly memoryPressure: boolean;
}

/** Never having ended. */
export const NOT_ENDED: Ended = Object.freeze({ endings: NO_ENDINGS, reflex: null, killFloor: null });

/** The same object when the pod shows no new end; `before` is undefined for a container that is seen for the first time. */
export function nextEnded(before: ContainerState | undefined, context: EndingContext): Ended {
  const { container: { terminations }, now } = context;
  const known = before ?? NOT_ENDED;
  if (terminations.every(({ id }) => known.endings.some((one) => one.id === id))) return known;
  const news = terminations.filter(({ id }) => !known.endings.some((one) => one.id === id));
  const added = news.map((one) => toEnding(one, before, context));
  const shown = new Set(terminations.map(({ id }) => id));
  // One that the pod still shows would else be news again.
  const kept = known.endings.filter(({ id, at }) => shown.has(id) || now - at < ENDINGS_MS);
  const endings = [...kept, ...added].slice(-MAX_ENDINGS);
  const reflex = before === undefined ? readEarlierReflex(added, context) : known.reflex;
  let { killFloor } = known;
  for (const one of added) killFloor = nextFloor(killFloor, one, { reflex, context });
  return { endings, reflex, killFloor };
}

/**
 * The state after new samples: a process that was killed for memory and was not the container's first is a kill like any
 * other, though the container runs on (L13). Only a source that reads the container's own cgroup counts them.
 */
export function noteKilledProcesses(
  state: PodState,
  sampled: readonly Sampled[],
  { pod, now, memoryPressure = false }: Pick<Input, "pod" | "now" | "memoryPressure">,
): PodState {
  return changeSampled(state, sampled, (before, { view: { container: name, sampling: { anchor, sample } } }) => {
    if (!sample?.oomKills || anchor === null) return before;
    const container = findContainer(pod, name);
    const id = `${anchor.instance}#${anchor.oomKills}`;
    if (container === null || before.endings.some((one) => one.id === id)) return before;
    const context = { pod, container, now, lastAt: state.at, usageBytes: sample.workingSetBytes, memoryPressure };
    const limitBytes = readLimitAtEnd(before, context);
    const kill: Ending = { id, at: now, kind: isByNode(limitBytes, context) ? "node" : "oom", limitBytes };
    const endings = [...before.endings, kill].slice(-MAX_ENDINGS);
    return { ...before, endings, killFloor: nextFloor(before.killFloor, kill, { reflex: before.reflex, context }) };
  });
}

/**
 * The state after new samples: a floor lasts for a day from the last time that the container used as much as killed it,
 * so that a load which comes back once a day or once an hour is not killed again when the kill itself is a day ago; and
 * memory next to its limit leaves a floor as a kill does (L12).
 */
export function renewFloors(state: PodState, sampled: readonly Sampled[], now: number): PodState {
  return changeSampled(state, sampled, (before, { autoscaler, view: { sampling: { sample } } }) => {
    if (sample === null) return before;
    const killFloor = renewFloor(before, { usage: sample.workingSetBytes, autoscaler, now });
    return killFloor === before.killFloor ? before : { ...before, killFloor };
  });
}

/** The state with each container that has a new sample changed; the same object when none is. */
function changeSampled(
  state: PodState,
  sampled: readonly Sampled[],
  change: (before: ContainerState, one: Sampled) => ContainerState,
): PodState {
  let containers: Record<string, ContainerState> | null = null;
  for (const one of sampled) {
    const name = one.view.container;
    const before = one.isNewSample
      ? findContainerState({ containers: containers ?? state.containers }, name)
      : undefined;
    const after = before && change(before, one);
    if (after === undefined || after === before) continue;
    containers ??= { ...state.containers };
    containers[name] = after;
  }
  return containers === null ? state : { ...state, containers };
}

interface FloorUse {
  readonly usage: number;
  readonly autoscaler: Autoscaler;
  readonly now: number;
}

function renewFloor({ killFloor, actual }: ContainerState, { usage, autoscaler, now }: FloorUse): KillFloor | null {
  const floor = killFloor === null || killFloor.until <= now ? null : killFloor;
  const limit = actual["memory.limits"];
  const isNear = autoscaler.oom === "raise" && limit !== null && isNearLimit(usage, limit) &&
    autoscaler.sides.some(({ key }) => key === "memory.limits");
  const bytes = Math.max(floor?.bytes ?? 0, isNear ? (limit ?? 0) * KILL_FACTOR : 0);
  if (bytes === 0 || !(isNear || usage >= bytes / KILL_FACTOR)) return killFloor;
  const until = now + FLOOR_MS;
  // Written once an hour, not at each sample.
  return floor !== null && bytes === floor.bytes && until - floor.until < RENEW_MS ? killFloor : { bytes, until };
}

/** No time in them lies ahead of now. */
export function rebaseEnded({ endings, reflex, killFloor }: Ended, now: number): Ended {
  return {
    endings: endings.length === 0 ? endings : endings.map((one) => ({ ...one, at: Math.min(one.at, now) })),
    reflex,
    killFloor: killFloor === null ? null : { ...killFloor, until: Math.min(killFloor.until, now + FLOOR_MS) },
  };
}

/** A floor in use is renewed this often, ms. */
const RENEW_MS = 60 * 60_000;
/** Back-off lets a container end six times in the first ten minutes, and twice as often with resizes that clear it. */
const MAX_ENDINGS = 12;
/** So long after a resize an end by an exit code is taken for the restart that the resize asked for (L7), ms. */
const RESTART_MS = 60_000;
/** Below this share of its limit a container is no likely victim of its own limit (L13). */
const NEAR_LIMIT = 0.8;

function toEnding(
  { id, reason, exitCode, finishedAt }: Termination,
  before: ContainerState | undefined,
  context: EndingContext,
): Ending {
  const { now, lastAt } = context;
  // A node's clock may be behind ours or ahead: what the last evaluation did not show has happened since.
  const at = Math.min(before === undefined ? finishedAt : Math.max(finishedAt, lastAt), now);
  const limitBytes = readLimitAtEnd(before, context);
  const isKilled = reason === "OOMKilled";
  if (isKilled) return { id, at, kind: isByNode(limitBytes, context) ? "node" : "oom", limitBytes };
  const isAsked = exitCode === 0 || isResizeRestart(before?.resizedAt ?? null, at, context);
  return { id, at, kind: isAsked ? "exit" : "crash", limitBytes };
}

/** The smaller of the last seen and the present one: the change that shows the end may show a raised limit, too. */
function readLimitAtEnd(before: ContainerState | undefined, { container, pod }: EndingContext): number | null {
  const limit = readActual(container)["memory.limits"];
  if (limit === null) return null;
  return Math.max(0, Math.min(before?.actual["memory.limits"] ?? Infinity, limit - readShortfall(pod)));
}

/**
 * Usage alone cannot tell: a sample is up to 20 s old, and a process takes a gigabyte in less. Where the node says nothing,
 * the limit is to blame.
 */
function isByNode(limitBytes: number | null, { memoryPressure, usageBytes }: EndingContext): boolean {
  if (limitBytes === null) return true;
  return memoryPressure && usageBytes !== null && usageBytes < limitBytes * NEAR_LIMIT;
}

function isResizeRestart(resizedAt: number | null, at: number, { pod, container, now }: EndingContext): boolean {
  const own = pod.resizes.find(({ manager }) => manager === `podfit.${container.name}`);
  if (own === undefined) return false;
  const restarts = readOwnedSides(own.owned, container.name).some((side) => container.restartsOn[resourceOf(side)]);
  return restarts && Math.abs(at - (resizedAt ?? Math.min(own.at, now))) <= RESTART_MS;
}

/** A kill that podfit finds at its start and that some resize has followed needs no answer (L10). */
function readEarlierReflex(added: readonly Ending[], { pod, container }: EndingContext): Reflex | null {
  const kill = added.findLast(({ kind }) => kind === "oom");
  if (kill === undefined) return null;
  const finishedAt = container.terminations.find(({ id }) => id === kill.id)?.finishedAt ?? kill.at;
  const isFollowed = pod.resizes.some(({ manager, at }) =>
    at > finishedAt && (manager === `podfit.${container.name}` || !manager.startsWith("podfit."))
  );
  return isFollowed ? { kill: kill.id, instance: null, resends: 0 } : null;
}

function nextFloor(
  before: KillFloor | null,
  { id, kind, at, limitBytes }: Ending,
  { reflex, context: { now } }: { readonly reflex: Reflex | null; readonly context: EndingContext },
): KillFloor | null {
  const until = at + FLOOR_MS;
  if (kind !== "oom" || limitBytes === null || until <= now) return before;
  // One that was answered before podfit's start: the limit in force is the answer.
  const bytes = reflex?.kill === id ? limitBytes : limitBytes * KILL_FACTOR;
  return before === null || before.until <= now
    ? { bytes, until }
    : { bytes: Math.max(before.bytes, bytes), until: Math.max(before.until, until) };
}
