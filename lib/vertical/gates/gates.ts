/**
 * Why does a resize that is wanted wait?
 *
 * `GATES` is the complete list, in the order in which they are asked. A gate holds the PATCH only, never the sampling.
 */
import { type FieldPolicy, SILENCE_MS } from "../../model/autoscaler.ts";
import { ENDINGS_MS, isKill, KILL_MS, listRefusals, type Refusal } from "../../model/container_history.ts";
import type { ContainerCase, Direction } from "../../model/decision.ts";
import { findReadyAt } from "../../model/ownership.ts";
import { getActualSize } from "../../model/pod.ts";
import { computeQosAfter, findLimitRangeViolation } from "../../model/pod_amounts.ts";
import type { BlockReason, HoldReason } from "../../model/reasons.ts";
import { describeChange } from "../../model/resize_request.ts";
import { isOwnResizeWaiting, listStuckFields, STUCK_REASONS, type StuckResize } from "../../model/resize_status.ts";
import type { AutoscalerView, ContainerState } from "../../model/state.ts";
import { counterpartOf, type ResourceField, resourceOf } from "../../units/resources.ts";
import { formatDuration } from "../../units/time.ts";
import { isByUsage, type Proposal } from "../proposals.ts";
import type { ResizeCandidate, ShortReason, SizedField } from "../sizing/candidate.ts";
import { findWindowWait } from "../windows.ts";

// Why a wanted resize waits (C24, C32, C35, C41 to C44, C46): small named checks of a candidate, in the order in which
// they are asked. The list is the specification: nothing else holds a resize back. Gates hold back the PATCH only,
// never the sampling (C23).

/** Objects to some sides of a candidate, or lets it pass: `null`. */
export type Gate = (candidate: ResizeCandidate) => Objection | null;

/** All gates by name, in the order in which they are asked. */
export const GATES = {
  fresh,
  seenTwice,
  lowForLong,
  withRoom,
  cooledDown,
  scaledInFirst,
  memoryFree,
  restartAllowed,
  crashFree,
  refusalsOver,
  enoughLeft,
  memoryLowered,
  limitRangeKept,
  notCommanded,
  running,
  started,
  delayed,
  resizeIdle,
  conflictSettled,
  qosUnchanged,
  notDryRun,
  siblingDone,
} as const satisfies Readonly<Record<string, Gate>>;

// What a gate says of a candidate that it does not let pass.

/** Why these sides do not move now; the others are asked about again without them. */
export type Objection = HoldObjection | BlockObjection;

// Ways out of a stuck resize (C47): fields that podfit wrote and the kubelet cannot enact go back to what is in force,
// so that the node's scheduler and the pod's other resizes are not held up. At most once per cooldown.

/**
 * Whether the kubelet has had its time. It counts from the container's last resize too: the condition may be about an
 * older one, of a sibling perhaps, and what was just sent would be given up at once, again and again.
 */
export function isResizeTimedOut(
  { input: { now }, containerState: { resizedAt } }: ContainerCase,
  status: StuckResize,
): boolean {
  return now - Math.max(status.since, resizedAt ?? -Infinity) >= RESIZE_TIMEOUT_MS[status.kind];
}

/** Nothing is resized by usage that is old (C22); of a container that does not run there is none, which `running` says. */
function fresh({ input: { now }, view, container, proposals }: ResizeCandidate): Objection | null {
  // A kill says what was used, whatever was read (L10); a new pod goes by what others use (L40).
  if (!isByUsage(proposals)) return null;
  const { sample } = view.sampling;
  if ((sample !== null && now - sample.seenAt < SILENCE_MS) || container.runningAt === null) return null;
  const message = `the newest usage was first seen ${sample === null ? "never" : "over 60s ago"}`;
  return { kind: "hold", reason: "MetricsUnavailable", message, sides: proposals.map(({ side }) => side) };
}

/**
 * A new leader has not seen what the one before it saw: of a container that runs for longer than it leads it waits for two
 * samples in a row (C55).
 */
function seenTwice(
  { input: { ledSince, wallAheadMs = 0 }, view, container, proposals }: ResizeCandidate,
): Objection | null {
  if (ledSince === undefined || !isByUsage(proposals)) return null;
  const { since, until } = view.evidence;
  if ((since !== null && until > since) || (container.runningAt ?? Infinity) - wallAheadMs >= ledSince) return null;
  const sides = proposals.filter((one) => !isUrgent(one, view)).map(({ side }) => side);
  if (sides.length === 0) return null;
  return {
    kind: "hold",
    reason: "Warmup",
    message: "waiting for a second sample: podfit has just become the leader",
    sides,
  };
}

/** Memory at its limit does not live to see the end of a cooldown, or another sample (L11). */
function isUrgent({ side, direction }: Proposal, { streaks }: AutoscalerView): boolean {
  return side === "memory.limits" && direction === "up" && streaks[side]?.isSaturated === true;
}

function cooledDown(candidate: ResizeCandidate): Objection | null {
  const { input: { now }, autoscaler, containerState, view, proposals, direction } = candidate;
  if (!isByUsage(proposals)) return null;
  const sides: ResourceField[] = [];
  let until = Infinity;
  for (const proposal of proposals) {
    const { side } = proposal;
    const rule = autoscaler.sides.find(({ key }) => key === side);
    const endsAt = rule === undefined ? now : computeFieldCooldownEnd(containerState, rule, direction);
    if (endsAt <= now || isUrgent(proposal, view)) continue;
    sides.push(side);
    until = Math.min(until, endsAt);
  }
  if (sides.length === 0) return null;
  const message = `${sides.join(", ")} would scale ${direction}; ${formatWait(until - now)} of the cooldown are left`;
  return { kind: "blocked", reason: "Cooldown", message, until, sides };
}

/** A scale-down waits until usage has been low for the whole window, and was watched for long enough to tell (L2). */
function lowForLong(candidate: ResizeCandidate): Objection | null {
  const { input: { now }, direction, proposals, autoscaler, container, containerState, view, state } = candidate;
  if (direction === "up" || !isByUsage(proposals)) return null;
  const sides: ResourceField[] = [];
  let [until, why] = [-Infinity, ""];
  for (const { side } of proposals) {
    const rule = autoscaler.sides.find(({ key }) => key === side);
    const wait = rule === undefined ? null : findWindowWait(rule, { now, view, container, containerState, state });
    if (wait === null) continue;
    sides.push(side);
    if (wait.until >= until) ({ until, why } = wait);
  }
  if (sides.length === 0) return null;
  const message = `${sides.join(", ")} would scale down, but ${why}`;
  const known = Number.isFinite(until) ? { until } : {};
  return { kind: "blocked", reason: "ScaleDownWindow", message, ...known, sides };
}

/** A memory limit below what is in use would stay in error, and with it every other change of the pod (C46). */
function memoryFree({ sized }: ResizeCandidate): Objection | null {
  for (const one of sized) {
    if (one.kind !== "holds" || one.reason !== "MemoryInUse") continue;
    return { kind: "blocked", reason: "MemoryInUse", message: one.message, sides: [one.key] };
  }
  return null;
}

/** A size that the spec has already needs no PATCH; while the kubelet is at work on it, that is said. */
function notCommanded(candidate: ResizeCandidate): Objection | null {
  const { changes, container, to, moving } = candidate;
  // What sizing leaves where it is has not been commanded.
  if (changes.length > 0 || moving.length === 0) return null;
  const message = `${describeChange(getActualSize(container), to, moving)} is commanded already`;
  return resizeIdle(candidate) ?? { kind: "hold", reason: "AtTarget", message, sides: moving };
}

/** With no container running, the pod's cgroup would keep its old limit for ever (C46; kubernetes issue 138760). */
function running({ container, moving }: ResizeCandidate): Objection | null {
  if (container.runningAt !== null) return null;
  const message = `container "${container.name}" is not running`;
  return { kind: "blocked", reason: "NotRunning", message, sides: moving };
}

function started({ autoscaler, container, containerState, moving, proposals }: ResizeCandidate): Objection | null {
  if (!isByUsage(proposals) || findReadyAt(autoscaler, containerState) !== null) return null;
  const what = autoscaler.after === "podReady" ? "the pod" : `container "${container.name}"`;
  const message = `${what} is not ready (after: ${autoscaler.after})`;
  return { kind: "blocked", reason: "NotReady", message, sides: moving };
}

function delayed({ input: { now }, autoscaler, containerState, moving, proposals }: ResizeCandidate): Objection | null {
  if (!isByUsage(proposals)) return null;
  const until = (findReadyAt(autoscaler, containerState) ?? now) + autoscaler.delayMs;
  if (now >= until) return null;
  const message = `${formatWait(until - now)} of the delay are left`;
  return { kind: "blocked", reason: "Delay", message, until, sides: moving };
}

function resizeIdle(candidate: ResizeCandidate): Objection | null {
  const { status, action, input: { pod, inFlight }, container, moving } = candidate;
  if (inFlight) {
    const message = "a resize of the pod has been sent and not answered yet";
    return { kind: "blocked", reason: "ResizeInProgress", message, sides: moving };
  }
  switch (status.kind) {
    case "idle":
      return null;
    case "inProgress": {
      const message = `a resize of the pod is in progress: ${status.message}`;
      return { kind: "blocked", reason: "ResizeInProgress", message, sides: moving };
    }
    case "error": {
      // One of ours may be overwritten by the next wanted size (C47).
      if (isResizeTimedOut(candidate, status) && listStuckFields(pod, container).length > 0) return null;
      const message = `the kubelet cannot apply the pod's resize: ${status.message}`;
      return { kind: "blocked", reason: STUCK_REASONS.error, message, sides: moving };
    }
    case "deferred":
    case "infeasible": {
      // A scale-down only frees resources: it may replace what is waiting for room.
      if (action === "scaleDown") return null;
      // One of ours is taken back for what can go now; only what would wait for room again is held (L31).
      const isReturned = status.kind === "deferred" && isOwnResizeWaiting(pod, container);
      const sides = isReturned ? listStillWaiting(candidate) : moving;
      if (sides.length === 0) return null;
      const message = `a resize of the pod is ${status.kind}: ${status.message}`;
      return { kind: "blocked", reason: STUCK_REASONS[status.kind], message, sides };
    }
  }
}

function conflictSettled({ state, moving }: ResizeCandidate): Objection | null {
  if (state.conflict === null) return null;
  const message = "the pod has changed since; waiting for the newer one to arrive";
  return { kind: "blocked", reason: "RetryLater", message, sides: moving };
}

/** Objects to the resource that is in the way; the other may go (L31). */
function qosUnchanged(candidate: ResizeCandidate): Objection | null {
  const { input: { pod }, container, to } = candidate;
  const qosClass = computeQosAfter(pod, container, to);
  if (pod.qosClass === null || qosClass === pod.qosClass) return null;
  const sides = listInTheWay(candidate);
  const message = `the pod would turn from ${pod.qosClass} into ${qosClass}, which a resize may not do; ` +
    adviseQos(pod.qosClass, sides);
  return { kind: "blocked", reason: "QoSInvariantBlocked", message, sides };
}

/** The moves of resources that would change the class by themselves; where only all together would, of the last one. */
function listInTheWay({ input: { pod }, container, base, to, moving }: ResizeCandidate): readonly ResourceField[] {
  const alone = moving.filter((key) => {
    const [request, limit] = [`${resourceOf(key)}.requests`, `${resourceOf(key)}.limits`] as const;
    return computeQosAfter(pod, container, { ...base, [request]: to[request], [limit]: to[limit] }) !== pod.qosClass;
  });
  const last = moving.at(-1);
  return alone.length > 0 || last === undefined ? alone : moving.filter((key) => resourceOf(key) === resourceOf(last));
}

function adviseQos(qosClass: string, sides: readonly ResourceField[]): string {
  if (qosClass !== "Guaranteed") {
    const requests = new Set(sides.map((key) => `${resourceOf(key)}.requests`));
    return `keep ${[...requests].join(", ")} below the limit by bounds`;
  }
  const partners = sides.map(counterpartOf).filter((key) => !sides.includes(key)).join(", ");
  return `${sides.join(", ")} would part from ${partners || "each other"}: manage ${partners || "both"} ` +
    "too, so that they move together, or give the pod a request below its limit";
}

function notDryRun({ input: { dryRun }, container, to, changes, moving }: ResizeCandidate): Objection | null {
  if (!dryRun) return null;
  const message = `would resize: ${describeChange(getActualSize(container), to, changes)}`;
  return { kind: "blocked", reason: "DryRun", message, sides: moving };
}

/** One resize in flight per pod (C12). */
function siblingDone({ ahead, moving }: ResizeCandidate): Objection | null {
  if (ahead === null) return null;
  const message = `container "${ahead}" of the same pod is resized first`;
  return { kind: "blocked", reason: "ResizeInProgress", message, sides: moving };
}

interface HoldObjection {
  readonly kind: "hold";
  readonly reason: HoldReason;
  readonly message: string;
  readonly sides: readonly ResourceField[];
}

interface BlockObjection {
  readonly kind: "blocked";
  readonly reason: BlockReason;
  readonly message: string;
  /** When it ends by itself, epoch ms, where that is known. */
  readonly until?: number;
  readonly sides: readonly ResourceField[];
}

// The gate of sizes that wait (C44, C47): a refused size, or one that goes as far or further, waits; a smaller change,
// or a changed pod or autoscaler, may go at once. The other sides still move.

/** About every side that waits; with the words of the refusal that ends first. */
function refusalsOver(candidate: ResizeCandidate): Objection | null {
  const sides: ResourceField[] = [];
  let first: Refusal | null = null;
  for (const one of candidate.sized) {
    if (one.kind !== "moves") continue;
    const refusal = findRefusal(one.key, one.to, candidate);
    if (refusal === null) continue;
    sides.push(one.key);
    if (first === null || refusal.until < first.until) first = refusal;
  }
  if (first === null) return null;
  const { reason, message, until } = first;
  return { kind: "blocked", reason, message, until, sides };
}

/** What holds back that amount of the side, the longest if there are several. */
function findRefusal(key: ResourceField, to: number, candidate: ResizeCandidate): Refusal | null {
  let longest: Refusal | null = null;
  for (const refusal of listRefusals(candidate.containerState.refusals[key] ?? {})) {
    if (isRefusalInForce(refusal, to, candidate) && (longest === null || refusal.until > longest.until)) {
      longest = refusal;
    }
  }
  return longest;
}

function isRefusalInForce(
  refusal: Refusal,
  to: number,
  { input: { now, pod }, autoscaler, action }: ResizeCandidate,
): boolean {
  if (now >= refusal.until) return false;
  const isSame = refusal.podGeneration === pod.generation && refusal.autoscaler === autoscaler.uid &&
    refusal.autoscalerGeneration === autoscaler.generation;
  switch (refusal.kind) {
    case "everything":
      // A server that is busy is so whatever has changed.
      return isSame || refusal.reason === "RetryLater";
    case "size":
    case "givenUp":
      if (!isSame || refusal.action !== action) return false;
      return action === "scaleUp" ? to >= refusal.to : to <= refusal.to;
  }
}

// Gates about what node, namespace and Kubernetes version allow (L30 to L33): each holds the sides that it is about,
// so that the others go. They know before a PATCH is sent, so nothing is refused for them.

/** Sizing found no room for these, or hardly any (L30, L32). */
function enoughLeft({ sized }: ResizeCandidate): Objection | null {
  const short = sized.filter(isShort);
  const [first] = short;
  if (first === undefined) return null;
  const held = short.filter(({ reason }) => reason === first.reason);
  const message = held.map((one) => one.message).join("; ");
  return { kind: "blocked", reason: first.reason, message, sides: held.map(({ key }) => key) };
}

/** Sizing leaves these where they are: at their bound, or at their target. */
function withRoom({ sized }: ResizeCandidate): Objection | null {
  const sides: ResourceField[] = [];
  let [isAtBound, message] = [false, ""];
  for (const one of sized) {
    if (!isAtEnd(one)) continue;
    sides.push(one.key);
    isAtBound ||= one.reason === "AtBound";
    message += message === "" ? one.message : `; ${one.message}`;
  }
  return sides.length === 0 ? null : { kind: "hold", reason: isAtBound ? "AtBound" : "AtTarget", message, sides };
}

type HeldField = Extract<SizedField, { kind: "holds" }>;

type ShortField = HeldField & { readonly reason: ShortReason };

/** Whether its bound or its target holds the side. */
function isAtEnd(one: SizedField): one is HeldField {
  return one.kind === "holds" && (one.reason === "AtBound" || one.reason === "AtTarget");
}

/** Whether node or namespace hold the side. */
function isShort(one: SizedField): one is ShortField {
  return one.kind === "holds" && one.reason !== "MemoryInUse" && !isAtEnd(one);
}

/** A limit range is asked about every container of the pod at each resize (L32). */
function limitRangeKept({ input: { pod, limits }, container, to, moving }: ResizeCandidate): Objection | null {
  const violation = limits === null ? null : findLimitRangeViolation(limits, pod, { container, to });
  if (violation === null) return null;
  const { key, message } = violation;
  return { kind: "blocked", reason: "LimitRange", message, sides: listFieldsOf(key, moving) };
}

/** The side itself, or what moves of its resource, or else everything. */
function listFieldsOf(key: ResourceField | null, moving: readonly ResourceField[]): readonly ResourceField[] {
  if (key === null) return moving;
  if (moving.includes(key)) return [key];
  const same = moving.filter((one) => resourceOf(one) === resourceOf(key));
  return same.length > 0 ? same : moving;
}

/** Before Kubernetes 1.34 a memory limit goes down with a restart only (L33). */
function memoryLowered({ input, container, direction, moving }: ResizeCandidate): Objection | null {
  if (direction === "up" || input.lowersMemoryLimits || container.restartsOn.memory) return null;
  if (!moving.includes("memory.limits")) return null;
  const message = "memory.limits is not lowered: API server or kubelet are older than Kubernetes 1.34; give the " +
    "container the resizePolicy RestartContainer for memory, or no memory.limits policy";
  return { kind: "blocked", reason: "Unsupported", message, sides: ["memory.limits"] };
}

/** Of the sides that move, those that wait for room already and would wait on: the same size, or one not known to fit. */
function listStillWaiting({ input: { pod, room }, container, to, moving }: ResizeCandidate): readonly ResourceField[] {
  const own = listStuckFields(pod, container);
  return moving.filter((key) => own.includes(key) && (room === null || (to[key] ?? 0) >= (container.spec[key] ?? 0)));
}

// The gates of memory on its way down (L6, L7): not where that restarts the container, unless it is allowed to, and
// not while the container ends again and again. A limit that comes down under a container that is in trouble makes it
// worse.

/** resizePolicy RestartContainer restarts for a smaller request, too (C43). */
function restartAllowed(candidate: ResizeCandidate): Objection | null {
  const { autoscaler, container } = candidate;
  if (autoscaler.restartToShrink || !container.restartsOn.memory) return null;
  const sides = listShrinkingMemory(candidate);
  if (sides.length === 0) return null;
  const message = `less memory would restart container "${container.name}" (resizePolicy RestartContainer): set ` +
    "policy.memory.restartToShrink to allow it, or NotRequired in the pod template";
  return { kind: "blocked", reason: "RestartRequired", message, sides };
}

/** Killed or crashed a short while ago, or restarted twice in a longer one. */
function crashFree(candidate: ResizeCandidate): Objection | null {
  const { containerState: { endings }, container, input: { now } } = candidate;
  if (endings.length === 0) return null;
  const bad = endings.findLast((one) => isKill(one) || one.kind === "crash");
  const calmAt = bad === undefined ? -Infinity : bad.at + KILL_MS;
  const steadyAt = (endings.at(-2)?.at ?? -Infinity) + ENDINGS_MS;
  const until = Math.max(calmAt, steadyAt);
  if (until <= now) return null;
  const sides = listShrinkingMemory(candidate);
  if (sides.length === 0) return null;
  const left = formatWait(until - now);
  const what = calmAt > now ? bad !== undefined && isKill(bad) ? "was OOM-killed" : "crashed" : "was restarted twice";
  const message = `container "${container.name}" ${what} a short while ago: its memory stays for ${left}`;
  return { kind: "blocked", reason: "CrashLoop", message, until, sides };
}

function listShrinkingMemory({ direction, moving }: ResizeCandidate): readonly ResourceField[] {
  return direction === "up" ? NO_FIELDS : moving.filter((key) => resourceOf(key) === "memory");
}

const NO_FIELDS: readonly ResourceField[] = [];

// The gate of what the pod's ScaledObject is about to do (R86).

/** While replicas are about to fall their pods keep what they have: those that stay are about to get more (R86). */
function scaledInFirst(
  { input: { scaleInPending = {} }, container, direction, proposals }: ResizeCandidate,
): Objection | null {
  if (direction === "up" || !Object.hasOwn(scaleInPending, container.name)) return null;
  const held = scaleInPending[container.name] ?? [];
  const sides = proposals.map(({ side }) => side).filter((side) => held.includes(side));
  if (sides.length === 0) return null;
  const message = `${sides.join(", ")} would scale down, but the number of replicas is about to fall first`;
  return { kind: "blocked", reason: "ScaleInPending", message, sides };
}

/** How long a resize may stay in each state before it is given up, ms. */
const RESIZE_TIMEOUT_MS: Readonly<Record<StuckResize["kind"], number>> = {
  error: 30_000,
  deferred: 5 * 60_000,
  infeasible: 0,
};

// When a container may be resized at the earliest: its readiness and the cooldown of its last resize (C24, C36, C42).

/** When the cooldown of a side ends in that direction, epoch ms; -Infinity when it never began (C36, L3). */
function computeFieldCooldownEnd(
  { resizedAt, raisedAt }: ContainerState,
  rule: FieldPolicy,
  direction: Direction,
): number {
  const at = direction === "up" && rule.hasOwnCooldowns ? raisedAt : resizedAt;
  return at === null ? -Infinity : at + rule[direction].cooldownMs;
}

// How gates tell people what is left of a wait.

/** Whole seconds, rounded up, so that nobody comes back too early. */
function formatWait(ms: number): string {
  return formatDuration(Math.ceil(ms / 1000) * 1000);
}
