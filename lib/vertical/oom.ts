/**
 * How have instances of a container ended, and what does the last OOM kill ask for?
 *
 * Each kill is answered once. The memory limit that killed leaves a floor for one day.
 */
import {
  type Ending,
  ENDINGS_MS,
  isKill,
  isProcessKillOf,
  KILL_FACTOR,
  KILL_FLOOR_MS,
  KILL_MS,
  type KillFloor,
  NO_ENDINGS,
  type OomResponse,
  toProcessKillId,
} from "../model/container_history.ts";
import type { ContainerCase, SizeInput } from "../model/decision.ts";
import { type ContainerFacts, findContainer, getRealSize, type PodFacts, type Termination } from "../model/pod.ts";
import { computeCgroupShortfall } from "../model/pod_amounts.ts";
import { type ContainerState, findContainerState, type PodState } from "../model/state.ts";
import { listOwnedFields } from "../units/managed_fields.ts";
import { RESIZE_UNIT, resourceOf } from "../units/resources.ts";
import { findNearLimit } from "./pressure.ts";
import type { Sampled } from "./streaks.ts";

/** What is remembered of the ends of a container. */
export type EndingsState = Pick<ContainerState, "endings" | "reflex" | "killFloor">;

/** Never having ended. */
export const NOT_ENDED: EndingsState = Object.freeze({ endings: NO_ENDINGS, reflex: null, killFloor: null });

/**
 * Returns the endings after what the pod shows; the same object if it shows no new one. `before` is undefined for a new
 * container. Clauses: L7, L10, L12.
 */
export function nextEndings(before: ContainerState | undefined, context: EndingContext): EndingsState {
  const { container: { terminations }, now } = context;
  const remembered = before ?? NOT_ENDED;
  if (terminations.every(({ id }) => remembered.endings.some((one) => one.id === id))) return remembered;
  const known = nameCountedKills(remembered, context);
  const news = terminations.filter(({ id }) => !known.endings.some((one) => one.id === id));
  const added = news.map((one) => toEnding(one, before, context));
  const shown = new Set(terminations.map(({ id }) => id));
  // One that the pod still shows would else be news again.
  const kept = known.endings.filter(({ id, at }) => shown.has(id) || now - at < ENDINGS_MS);
  const endings = [...kept, ...added].slice(-MAX_ENDINGS);
  const reflex = before === undefined ? findEarlierOomResponse(added, context) : known.reflex;
  let { killFloor } = known;
  for (const one of added) killFloor = nextKillFloor(killFloor, one, { reflex, context });
  return { endings, reflex, killFloor };
}

/** Returns the state after new samples: kills that only the samples show, and floors that the usage renews. */
export function nextEndingsFromSamples(state: PodState, sampled: readonly Sampled[], input: SizeInput): PodState {
  let containers: Record<string, ContainerState> | null = null;
  for (const one of sampled) {
    if (!one.isNewSample) continue;
    const name = one.view.container;
    const before = findContainerState({ containers: containers ?? state.containers }, name);
    if (before === undefined) continue;
    const after = renewKillFloor(addKilledProcess(before, one, { input, lastAt: state.at }), one, input);
    if (after !== before) (containers ??= { ...state.containers })[name] = after;
  }
  return containers === null ? state : { ...state, containers };
}

/** Why a kill has no answer; `unreached`: the pod's cgroup does not get the size. */
export type UnansweredReason = "ignored" | "unmanaged" | "unlimited" | "atMax" | "node" | "unreached";

/**
 * Returns what to do about the newest kill; `null` if there was none in that time, or if it is answered.
 * Clauses: L10, L11, L13.
 */
export function findOomVerdict(it: ContainerCase, withinMs = KILL_MS): OomVerdict | null {
  const { endings } = it.containerState;
  if (endings === NO_ENDINGS || endings.length === 0) return null;
  const kill = endings.findLast(isKill);
  if (kill === undefined || it.input.now - kill.at > withinMs) return null;
  const unanswered = (why: UnansweredReason) => ({ kind: "unanswered", kill, why }) as const;
  const limit = it.container.spec["memory.limits"];
  if (limit === null || kill.limitBytes === null) return unanswered("unlimited");
  if (kill.kind === "node") return unanswered("node");
  if (it.autoscaler.oom === "ignore") return unanswered("ignored");
  const rule = it.autoscaler.sides.find(({ key }) => key === "memory.limits");
  if (rule === undefined) return unanswered("unmanaged");
  const { reflex } = it.containerState;
  const most = rule.bounds.max ?? Infinity;
  const isShort = it.status.kind === "idle" && computeCgroupShortfall(it.input.pod) > 0;
  const isAnswered = reflex?.kill === kill.id;
  if (isAnswered && (!isShort || reflex.instance === it.container.instance)) return null;
  if (isShort && it.input.now - (it.containerState.resizedAt ?? -Infinity) < RESEND_MS) return null;
  const resends = isShort ? (reflex?.resends ?? 0) + 1 : 0;
  const wanted = kill.limitBytes + computeGrowthBytes(kill, endings);
  // An equal size would not be a change.
  const to = isShort ? Math.max(wanted, limit + RESIZE_UNIT.memory) : wanted;
  const isVain = resends > MAX_RESENDS && !isLongRunning(it);
  if (isShort && (isVain || Math.min(to, most) <= limit)) return unanswered("unreached");
  // A kill at a limit that has been raised since: by a person, or by an answer that is on its way.
  if (to <= limit) return null;
  if (most <= limit) return unanswered("atMax");
  const answer: OomResponse = { kill: kill.id, instance: it.container.instance, resends };
  return { kind: "raise", kill, from: limit, to, most, reflex: answer };
}

/**
 * Returns the memory limit that must remain after OOM kills of the container or of its siblings, in bytes; 0 = none.
 * Clauses: L12, L14, C46.
 */
export function computeKillFloor(
  { containerState: { killFloor }, container, input: { now, killFloors } }: ContainerCase,
): number {
  const own = killFloor === null || killFloor.until <= now ? 0 : killFloor.bytes;
  const { name } = container;
  const siblings = killFloors !== undefined && Object.hasOwn(killFloors, name) ? killFloors[name] ?? 0 : 0;
  return Math.max(own, siblings);
}

/**
 * The kill that ends a container is also counted in its cgroup, and a sample may show it before the pod's status does.
 * Gives such a kill the id of the termination, so that it is one kill.
 */
function nameCountedKills(known: EndingsState, { container, wallAheadMs }: EndingContext): EndingsState {
  let { endings, reflex } = known;
  for (const { id, reason, finishedAt } of container.terminations) {
    if (reason !== "OOMKilled" || endings.some((one) => one.id === id)) continue;
    const counted = endings.findLast((one) => isProcessKillOf(one, id) && one.at >= finishedAt - wallAheadMs);
    if (counted === undefined) continue;
    endings = endings.map((one) => one === counted ? { ...one, id } : one);
    if (reflex?.kill === counted.id) reflex = { ...reflex, kill: id };
  }
  return { ...known, endings, reflex };
}

/** The facts that an ending is judged by. */
interface EndingContext {
  readonly pod: PodFacts;
  readonly container: ContainerFacts;
  readonly now: number;
  readonly wallAheadMs: number;
  /** The pod's last evaluation, epoch ms. */
  readonly lastAt: number;
  /** The newest working set that is known of the container, bytes; `null` = none. */
  readonly usageBytes: number | null;
  /** The node has condition MemoryPressure. */
  readonly memoryPressure: boolean;
}

/**
 * Returns the container after the processes that were killed while it ran on. Only a source that reads the container's
 * own cgroup counts them. Clauses: L13.
 */
function addKilledProcess(
  before: ContainerState,
  { view: { container: name, sampling: { anchor, sample } } }: Sampled,
  { input, lastAt }: { readonly input: SizeInput; readonly lastAt: number },
): ContainerState {
  if (!sample?.oomKills || anchor === null) return before;
  const { pod, now, wallAheadMs = 0, memoryPressure = false } = input;
  const container = findContainer(pod, name);
  const id = toProcessKillId(anchor.instance, anchor.oomKills ?? 0);
  // The kill that ends the container is counted in its cgroup, too.
  const isKnown = before.endings.some((one) => one.id === id || (one.id === anchor.instance && isKill(one)));
  if (container === null || isKnown) return before;
  const usageBytes = sample.workingSetBytes;
  const context = { pod, container, now, wallAheadMs, lastAt, usageBytes, memoryPressure };
  const limitBytes = computeLimitAtEnd(before, context);
  const kill: Ending = { id, at: now, kind: isKilledByNode(limitBytes, context) ? "node" : "oom", limitBytes };
  const endings = [...before.endings, kill].slice(-MAX_ENDINGS);
  return { ...before, endings, killFloor: nextKillFloor(before.killFloor, kill, { reflex: before.reflex, context }) };
}

/**
 * Renews the floor for a day if the container uses as much as killed it, so that a load that returns daily is not
 * killed again. Memory next to its limit also sets a floor. Clauses: L12.
 */
function renewKillFloor(
  container: ContainerState,
  { autoscaler, view: { container: name, sampling: { sample } } }: Sampled,
  { now, pod }: SizeInput,
): ContainerState {
  if (sample === null) return container;
  const { killFloor, actual } = container;
  const usage = sample.workingSetBytes;
  const floor = killFloor === null || killFloor.until <= now ? null : killFloor;
  const real = findContainer(pod, name)?.real ?? actual;
  const isLimited = autoscaler.oom === "raise" && autoscaler.sides.some(({ key }) => key === "memory.limits");
  const near = isLimited ? findNearLimit(sample, { actual, real }) : null;
  const bytes = Math.max(floor?.bytes ?? 0, (near ?? 0) * KILL_FACTOR);
  if (bytes === 0 || !(near !== null || usage >= bytes / KILL_FACTOR)) return container;
  const until = now + KILL_FLOOR_MS;
  // Written once an hour, not at each sample.
  return floor !== null && bytes === floor.bytes && until - floor.until < KILL_FLOOR_RENEW_MS
    ? container
    : { ...container, killFloor: { bytes, until } };
}

/** A floor in use is renewed this often, ms. */
const KILL_FLOOR_RENEW_MS = 60 * 60_000;

/** Back-off lets a container end six times in the first ten minutes, and twice as often with resizes that clear it. */
const MAX_ENDINGS = 12;

/** So long after a resize an end by an exit code is taken for the restart that the resize asked for, ms. */
const RESIZE_RESTART_MS = 60_000;

/** Below this share of its limit a container was probably not killed because of its limit. */
const NEAR_LIMIT_SHARE = 0.8;

function toEnding(
  { id, reason, exitCode, finishedAt }: Termination,
  before: ContainerState | undefined,
  context: EndingContext,
): Ending {
  const { now, lastAt, wallAheadMs } = context;
  const endedAt = finishedAt - wallAheadMs;
  // A node's clock may be behind podfit's or ahead: an end that the last evaluation did not show has happened since.
  const at = Math.min(before === undefined ? endedAt : Math.max(endedAt, lastAt), now);
  const limitBytes = computeLimitAtEnd(before, context);
  const isKilled = reason === "OOMKilled";
  if (isKilled) return { id, at, kind: isKilledByNode(limitBytes, context) ? "node" : "oom", limitBytes };
  const isAsked = exitCode === 0 || isResizeRestart(before?.resizedAt ?? null, at, context);
  return { id, at, kind: isAsked ? "exit" : "crash", limitBytes };
}

/**
 * Returns the smaller of the last and the present limit, in bytes: the pod that shows the end may already show a raised
 * limit.
 */
function computeLimitAtEnd(before: ContainerState | undefined, { container, pod }: EndingContext): number | null {
  const limit = getRealSize(container)["memory.limits"];
  // The size of before is a recommended one.
  if (limit === null || container.real !== undefined) return limit;
  return Math.max(0, Math.min(before?.actual["memory.limits"] ?? Infinity, limit - computeCgroupShortfall(pod)));
}

/**
 * Returns whether the node ran out of memory. Usage alone does not show it: a sample is up to 20 s old, and a process
 * takes a gigabyte in less. Without a sign from the node the limit is the cause.
 */
function isKilledByNode(limitBytes: number | null, { memoryPressure, usageBytes }: EndingContext): boolean {
  if (limitBytes === null) return true;
  return memoryPressure && usageBytes !== null && usageBytes < limitBytes * NEAR_LIMIT_SHARE;
}

function isResizeRestart(resizedAt: number | null, at: number, context: EndingContext): boolean {
  const { pod, container, now, wallAheadMs } = context;
  const own = pod.resizes.find(({ manager }) => manager === `podfit.${container.name}`);
  if (own === undefined) return false;
  const restarts = listOwnedFields(own.owned, container.name).some((side) => container.restartsOn[resourceOf(side)]);
  return restarts && Math.abs(at - (resizedAt ?? Math.min(own.at - wallAheadMs, now))) <= RESIZE_RESTART_MS;
}

/**
 * Returns the answer to a kill before podfit's start that a resize has followed; `null` if there is none. Clauses: L10.
 */
function findEarlierOomResponse(added: readonly Ending[], { pod, container }: EndingContext): OomResponse | null {
  const kill = added.findLast(({ kind }) => kind === "oom");
  if (kill === undefined) return null;
  const finishedAt = container.terminations.find(({ id }) => id === kill.id)?.finishedAt ?? kill.at;
  const isFollowed = (pod.realResizes ?? pod.resizes).some(({ manager, at }) =>
    at > finishedAt && (manager === `podfit.${container.name}` || !manager.startsWith("podfit."))
  );
  return isFollowed ? { kill: kill.id, instance: null, resends: 0 } : null;
}

function nextKillFloor(
  before: KillFloor | null,
  { id, kind, at, limitBytes }: Ending,
  { reflex, context: { now } }: { readonly reflex: OomResponse | null; readonly context: EndingContext },
): KillFloor | null {
  const until = at + KILL_FLOOR_MS;
  if (kind !== "oom" || limitBytes === null || until <= now) return before;
  // One that was answered before podfit's start: the limit in force is the answer.
  const bytes = reflex?.kill === id ? limitBytes : limitBytes * KILL_FACTOR;
  return before === null || before.until <= now
    ? { bytes, until }
    : { bytes: Math.max(before.bytes, bytes), until: Math.max(before.until, until) };
}

/** What is to be done about the newest kill of a container. */
type OomVerdict = RaiseVerdict | { readonly kind: "unanswered"; readonly kill: Ending; readonly why: UnansweredReason };

interface RaiseVerdict {
  readonly kind: "raise";
  readonly kill: Ending;
  /** The limit in the spec, the wanted limit, and the highest that bounds allow; bytes. */
  readonly from: number;
  readonly to: number;
  readonly most: number;
  /** What is remembered once it is accepted. */
  readonly reflex: OomResponse;
}

/** A limit grows by no less than this after a kill, bytes. */
const MIN_GROWTH_BYTES = 100 * 1024 * 1024;

/** So often a size that did not reach the pod's cgroup is sent again. */
const MAX_RESENDS = 3;

/**
 * A resize ends the back-off, and podfit sees the start that follows too late (docs/evidence/kubernetes-138760.md). The size is
 * sent again to a run of at least this length, or after the next back-off of at least 10 s; ms.
 */
const RESEND_MS = 5_000;

/**
 * A run of this length gets the size however often it was sent in vain: the cgroup of a running container follows a
 * resize; ms.
 */
const LONG_RUNNING_MS = 10_000;

function isLongRunning(
  { container: { runningAt }, containerState: { running }, input: { now } }: ContainerCase,
): boolean {
  return runningAt !== null && running !== null && now - running.since >= LONG_RUNNING_MS;
}

/**
 * Returns a fifth of the limit or 100Mi, doubled for each larger limit that killed in the ten minutes before; bytes. A
 * second kill at the same limit adds nothing.
 */
function computeGrowthBytes({ limitBytes, at }: Ending, endings: readonly Ending[]): number {
  const limit = limitBytes ?? 0;
  const before = new Set<number>();
  for (const one of endings) {
    if (one.kind !== "oom" || one.limitBytes === null || one.limitBytes >= limit) continue;
    if (at - one.at <= KILL_MS) before.add(one.limitBytes);
  }
  return Math.max(limit * (KILL_FACTOR - 1), MIN_GROWTH_BYTES) * 2 ** before.size;
}
