/**
 * How have instances of a container ended, and what does the last OOM kill ask for?
 *
 * Each kill is answered once. The memory limit that killed leaves a floor for one day.
 */
import {
  type Ending,
  ENDINGS_MS,
  isKill,
  KILL_FACTOR,
  KILL_FLOOR_MS,
  KILL_MS,
  type KillFloor,
  NO_ENDINGS,
  type OomResponse,
} from "../model/container_history.ts";
import type { ContainerCase, SizeInput } from "../model/decision.ts";
import { type ContainerFacts, findContainer, getActualSize, type PodFacts, type Termination } from "../model/pod.ts";
import { computeCgroupShortfall } from "../model/pod_amounts.ts";
import { type ContainerState, findContainerState, type PodState } from "../model/state.ts";
import { listOwnedFields } from "../units/managed_fields.ts";
import { RESIZE_UNIT, resourceOf } from "../units/resources.ts";
import { isNearLimit } from "./pressure.ts";
import type { Sampled } from "./streaks.ts";

// The terminations that a pod shows, as endings of the container (L7, L10, L12): when each was, why, and at which
// limit. What is new since the last evaluation has happened since; what podfit finds at its start is as old as the
// node says.

/** What is remembered of the ends of a container. */
export type EndingsState = Pick<ContainerState, "endings" | "reflex" | "killFloor">;

/** Never having ended. */
export const NOT_ENDED: EndingsState = Object.freeze({ endings: NO_ENDINGS, reflex: null, killFloor: null });

/** The same object when the pod shows no new end; `before` is undefined for a container that is seen for the first time. */
export function nextEndings(before: ContainerState | undefined, context: EndingContext): EndingsState {
  const { container: { terminations }, now } = context;
  const known = before ?? NOT_ENDED;
  if (terminations.every(({ id }) => known.endings.some((one) => one.id === id))) return known;
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

/** The state after new samples: kills that only the samples show, and floors that the usage renews. */
export function nextEndingsFromSamples(state: PodState, sampled: readonly Sampled[], input: SizeInput): PodState {
  let containers: Record<string, ContainerState> | null = null;
  for (const one of sampled) {
    if (!one.isNewSample) continue;
    const name = one.view.container;
    const before = findContainerState({ containers: containers ?? state.containers }, name);
    if (before === undefined) continue;
    const after = renewKillFloor(addKilledProcess(before, one, { input, lastAt: state.at }), one, input.now);
    if (after !== before) (containers ??= { ...state.containers })[name] = after;
  }
  return containers === null ? state : { ...state, containers };
}

// The answer to an OOM kill (L10, L11, L13): the limit goes up at once, however little usage was ever read. Each kill
// is answered once, by its containerID; one that cannot be answered has a word for why, which people are notified of.

/** Why a kill has no answer (L13); `unreached`: the pod's cgroup does not get the size. */
export type UnansweredReason = "ignored" | "unmanaged" | "unlimited" | "atMax" | "node" | "unreached";

/** `null` where there was no kill for so long, or nothing is left to do about it. */
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
  // An equal size would be no change, and write nothing.
  const to = isShort ? Math.max(wanted, limit + RESIZE_UNIT.memory) : wanted;
  const isVain = resends > MAX_RESENDS && !isLongRunning(it);
  if (isShort && (isVain || Math.min(to, most) <= limit)) return unanswered("unreached");
  // A kill at a limit that has been raised since: by a person, or by an answer that is on its way.
  if (to <= limit) return null;
  if (most <= limit) return unanswered("atMax");
  const answer: OomResponse = { kill: kill.id, instance: it.container.instance, resends };
  return { kind: "raise", kill, from: limit, to, most, reflex: answer };
}

// Below which memory limit the kernel, and so the kubelet, would refuse a container (C46): what is in use now or was
// during the streak, page cache included.

/** What a memory limit keeps after OOM kills of the container, or of its siblings (L12, L14), bytes; 0 = none. */
export function computeKillFloor(
  { containerState: { killFloor }, container, input: { now, killFloors } }: ContainerCase,
): number {
  const own = killFloor === null || killFloor.until <= now ? 0 : killFloor.bytes;
  const { name } = container;
  const siblings = killFloors !== undefined && Object.hasOwn(killFloors, name) ? killFloors[name] ?? 0 : 0;
  return Math.max(own, siblings);
}

/** What endings are read with. */
interface EndingContext {
  readonly pod: PodFacts;
  readonly container: ContainerFacts;
  readonly now: number;
  readonly wallAheadMs: number;
  /** The pod's last evaluation, epoch ms. */
  readonly lastAt: number;
  /** The newest working set that is known of the container, bytes; `null` = none. */
  readonly usageBytes: number | null;
  /** The node says that it runs out of memory. */
  readonly memoryPressure: boolean;
}

/**
 * A process that was killed for memory and was not the container's first is a kill like any other, though the container
 * runs on (L13). Only a source that reads the container's own cgroup counts them.
 */
function addKilledProcess(
  before: ContainerState,
  { view: { container: name, sampling: { anchor, sample } } }: Sampled,
  { input, lastAt }: { readonly input: SizeInput; readonly lastAt: number },
): ContainerState {
  if (!sample?.oomKills || anchor === null) return before;
  const { pod, now, wallAheadMs = 0, memoryPressure = false } = input;
  const container = findContainer(pod, name);
  const id = `${anchor.instance}#${anchor.oomKills}`;
  if (container === null || before.endings.some((one) => one.id === id)) return before;
  const usageBytes = sample.workingSetBytes;
  const context = { pod, container, now, wallAheadMs, lastAt, usageBytes, memoryPressure };
  const limitBytes = computeLimitAtEnd(before, context);
  const kill: Ending = { id, at: now, kind: isKilledByNode(limitBytes, context) ? "node" : "oom", limitBytes };
  const endings = [...before.endings, kill].slice(-MAX_ENDINGS);
  return { ...before, endings, killFloor: nextKillFloor(before.killFloor, kill, { reflex: before.reflex, context }) };
}

/**
 * A floor lasts for a day from the last time that the container used as much as killed it, so that a load which comes
 * back once a day or once an hour is not killed again when the kill itself is a day ago; and memory next to its limit
 * leaves a floor as a kill does (L12).
 */
function renewKillFloor(
  container: ContainerState,
  { autoscaler, view: { sampling: { sample } } }: Sampled,
  now: number,
): ContainerState {
  if (sample === null) return container;
  const { killFloor, actual } = container;
  const usage = sample.workingSetBytes;
  const floor = killFloor === null || killFloor.until <= now ? null : killFloor;
  const limit = actual["memory.limits"];
  const isNear = autoscaler.oom === "raise" && limit !== null && isNearLimit(usage, limit) &&
    autoscaler.sides.some(({ key }) => key === "memory.limits");
  const bytes = Math.max(floor?.bytes ?? 0, isNear ? limit * KILL_FACTOR : 0);
  if (bytes === 0 || !(isNear || usage >= bytes / KILL_FACTOR)) return container;
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

/** So long after a resize an end by an exit code is taken for the restart that the resize asked for (L7), ms. */
const RESIZE_RESTART_MS = 60_000;

/** Below this share of its limit a container is no likely victim of its own limit (L13). */
const NEAR_LIMIT_SHARE = 0.8;

function toEnding(
  { id, reason, exitCode, finishedAt }: Termination,
  before: ContainerState | undefined,
  context: EndingContext,
): Ending {
  const { now, lastAt, wallAheadMs } = context;
  const endedAt = finishedAt - wallAheadMs;
  // A node's clock may be behind ours or ahead: what the last evaluation did not show has happened since.
  const at = Math.min(before === undefined ? endedAt : Math.max(endedAt, lastAt), now);
  const limitBytes = computeLimitAtEnd(before, context);
  const isKilled = reason === "OOMKilled";
  if (isKilled) return { id, at, kind: isKilledByNode(limitBytes, context) ? "node" : "oom", limitBytes };
  const isAsked = exitCode === 0 || isResizeRestart(before?.resizedAt ?? null, at, context);
  return { id, at, kind: isAsked ? "exit" : "crash", limitBytes };
}

/** The smaller of the last seen and the present one: the change that shows the end may show a raised limit, too. */
function computeLimitAtEnd(before: ContainerState | undefined, { container, pod }: EndingContext): number | null {
  const limit = getActualSize(container)["memory.limits"];
  if (limit === null) return null;
  return Math.max(0, Math.min(before?.actual["memory.limits"] ?? Infinity, limit - computeCgroupShortfall(pod)));
}

/**
 * Usage alone cannot tell: a sample is up to 20 s old, and a process takes a gigabyte in less. Where the node says nothing,
 * the limit is to blame.
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

/** A kill that podfit finds at its start and that some resize has followed needs no answer (L10). */
function findEarlierOomResponse(added: readonly Ending[], { pod, container }: EndingContext): OomResponse | null {
  const kill = added.findLast(({ kind }) => kind === "oom");
  if (kill === undefined) return null;
  const finishedAt = container.terminations.find(({ id }) => id === kill.id)?.finishedAt ?? kill.at;
  const isFollowed = pod.resizes.some(({ manager, at }) =>
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
  /** The limit as it stands in the spec, the wanted one, and what bounds let it become, bytes. */
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
 * A resize ends the back-off, and of the start that follows at once podfit hears too late (docs/kubernetes-138760.md): it is sent again
 * to a run that lives for this long, or to the one after the next back-off, of 10 s at least; ms.
 */
const RESEND_MS = 5_000;

/** A run that lives for this long gets it however often it was sent in vain: a resize reaches the cgroup of one that lives, ms. */
const LONG_RUNNING_MS = 10_000;

function isLongRunning(
  { container: { runningAt }, containerState: { running }, input: { now } }: ContainerCase,
): boolean {
  return runningAt !== null && running !== null && now - running.since >= LONG_RUNNING_MS;
}

/**
 * A fifth of the limit or 100Mi, twice as much for each larger limit that has killed within ten minutes before; bytes. A
 * second kill at the same limit says nothing new.
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
