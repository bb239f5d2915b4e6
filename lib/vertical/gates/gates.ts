/**
 * Why does a resize that is wanted wait?
 *
 * `GATES` is the complete list, in the order in which they are asked. A gate holds the PATCH only, never the sampling.
 */
import { type FieldPolicy, SILENCE_MS } from "../../model/autoscaler.ts";
import {
  ENDINGS_MS,
  isKill,
  isProcessKill,
  KILL_MS,
  listRefusals,
  type Refusal,
} from "../../model/container_history.ts";
import type { ContainerCase, Direction } from "../../model/decision.ts";
import {
  computeMaxUnavailable,
  DEFAULT_MAX_UNAVAILABLE,
  type Disruption,
  formatMaxUnavailable,
  listRestartingFields,
} from "../../model/disruption.ts";
import { findReadyAt } from "../../model/ownership.ts";
import { getActualSize } from "../../model/pod.ts";
import { computeQosAfter, findLimitRangeViolation } from "../../model/pod_amounts.ts";
import type { BlockReason, HoldReason } from "../../model/reasons.ts";
import { describeChange } from "../../model/resize_request.ts";
import { isOwnResizeWaiting, listStuckFields, STUCK_REASONS, type StuckResize } from "../../model/resize_status.ts";
import type { AutoscalerView, ContainerState } from "../../model/state.ts";
import { counterpartOf, type ResourceField, resourceOf } from "../../units/resources.ts";
import { formatDuration } from "../../units/time.ts";
import { isAfterOom, isByUsage, type Proposal } from "../proposals.ts";
import type { ResizeCandidate, ShortReason, SizedField } from "../sizing/candidate.ts";
import { findWindowWait } from "../windows.ts";

/** Returns an objection to some fields of a candidate, or `null`. */
export type Gate = (candidate: ResizeCandidate) => Objection | null;

/**
 * All gates by name, in the order in which they are asked. `GATE_TEXTS` in lib/cli/explanation/explain_pod.ts says in a
 * few words what each one asks. `withRoom` is about bounds and target; headroom is `enoughLeft`.
 */
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
  restartBudget,
  notDryRun,
  siblingDone,
} as const satisfies Readonly<Record<string, Gate>>;

/** Why these fields do not move now. The others are asked about again without them. */
export type Objection = HoldObjection | BlockObjection;

/**
 * Returns whether the kubelet has had enough time. It also counts from the container's last resize: the condition may
 * concern an older resize, and a new one must not be taken back at once. Clauses: C47.
 */
export function isResizeTimedOut(
  { input: { now }, containerState: { resizedAt } }: ContainerCase,
  status: StuckResize,
): boolean {
  return now - Math.max(status.since, resizedAt ?? -Infinity) >= RESIZE_TIMEOUT_MS[status.kind];
}

/**
 * Usage that is too old resizes nothing. A container that does not run has none, and `running` reports that.
 * Clauses: C22.
 */
function fresh({ input: { now }, view, container, proposals }: ResizeCandidate): Objection | null {
  // A kill shows what was used, and a new pod uses its siblings' sizes.
  if (!isByUsage(proposals)) return null;
  const { sample } = view.sampling;
  if ((sample !== null && now - sample.seenAt < SILENCE_MS) || container.runningAt === null) return null;
  const message = `the newest usage was first seen ${sample === null ? "never" : "over 60s ago"}`;
  return { kind: "hold", reason: "MetricsUnavailable", message, sides: proposals.map(({ side }) => side) };
}

/**
 * A new leader has not seen the earlier samples: for a container that started before it led, it waits for two samples
 * in a row. Clauses: C55.
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

/**
 * Memory at its limit is killed before a cooldown ends or another sample is read. The request of a pair goes up with it.
 * Clauses: L11, L35.
 */
function isUrgent({ side, direction, isPaired }: Proposal, { streaks }: AutoscalerView): boolean {
  if (direction !== "up" || streaks["memory.limits"]?.isSaturated !== true) return false;
  return side === "memory.limits" || (side === "memory.requests" && isPaired === true);
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

/** A scale-down waits until usage has been low for the whole window and was observed for long enough. Clauses: L2. */
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

/** A memory limit below what is in use would fail, and block every other change of the pod. Clauses: C46. */
function memoryFree({ sized }: ResizeCandidate): Objection | null {
  for (const one of sized) {
    if (one.kind !== "holds" || one.reason !== "MemoryInUse") continue;
    return { kind: "blocked", reason: "MemoryInUse", message: one.message, sides: [one.key] };
  }
  return null;
}

/** A size that the spec already has needs no PATCH. A resize in progress is reported. */
function notCommanded(candidate: ResizeCandidate): Objection | null {
  const { changes, container, to, moving } = candidate;
  // What sizing leaves where it is has not been commanded.
  if (changes.length > 0 || moving.length === 0) return null;
  const message = `${describeChange(getActualSize(container), to, moving)} is commanded already`;
  return resizeIdle(candidate) ?? { kind: "hold", reason: "AtTarget", message, sides: moving };
}

/**
 * With no container running, the pod's cgroup would keep its old limit for ever (kubernetes issue 138760).
 * Clauses: C46.
 */
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
      // One of podfit may be overwritten by the next wanted size.
      if (isResizeTimedOut(candidate, status) && listStuckFields(pod, container).length > 0) return null;
      const message = `the kubelet cannot apply the pod's resize: ${status.message}`;
      return { kind: "blocked", reason: STUCK_REASONS.error, message, sides: moving };
    }
    case "deferred":
    case "infeasible": {
      // A scale-down only frees resources: it may replace a resize that waits for headroom.
      if (action === "scaleDown") return null;
      // A resize of podfit is taken back for what can be applied now. Only fields that would wait again are held.
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

/** Objects to the resource that is in the way; the other may go. Clauses: L31. */
function qosUnchanged(candidate: ResizeCandidate): Objection | null {
  const { input: { pod }, container, to } = candidate;
  const qosClass = computeQosAfter(pod, container, to);
  if (pod.qosClass === null || qosClass === pod.qosClass) return null;
  const sides = listInTheWay(candidate);
  const message = `the pod would turn from ${pod.qosClass} into ${qosClass}, which a resize may not do; ` +
    adviseQos(pod.qosClass, sides);
  return { kind: "blocked", reason: "QoSInvariantBlocked", message, sides };
}

/**
 * Returns the moves of resources that would change the class by themselves; where only all together would, of the last
 * one.
 */
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

/**
 * A restart waits for its turn: only some pods of a workload may be unavailable at one time, and PodDisruptionBudgets
 * may allow none. Clauses: L70, L71, L72.
 */
function restartBudget(candidate: ResizeCandidate): Objection | null {
  const { input: { disruption }, container, moving } = candidate;
  if (disruption === undefined) return null;
  const sides = listRestartingFields(container, moving);
  if (sides.length === 0 || isDownAnyway(candidate)) return null;
  const found = explainUnavailable(candidate, disruption) ?? explainDisruptionBudgets(disruption);
  if (found === null) return null;
  const message = `${sides.join(", ")} would restart container "${container.name}" (resizePolicy): ${found.why}`;
  return { kind: "blocked", reason: found.reason, message, sides };
}

/** So long after its start a killed container can be restarted once more without harm, ms. */
const JUST_STARTED_MS = 30_000;

/** An answer to a kill, or a size for a new pod, restarts a container that serves no request yet. Clauses: L72. */
function isDownAnyway({ proposals, container, containerState: { running }, input: { now, pod } }: ResizeCandidate) {
  if (isByUsage(proposals)) return false;
  if (!container.ready || pod.ready?.status !== "True") return true;
  return isAfterOom(proposals) && running !== null && now - running.since < JUST_STARTED_MS;
}

interface RestartWait {
  readonly reason: "MaxUnavailable" | "DisruptionBudget";
  readonly why: string;
}

function explainUnavailable(
  { autoscaler: { maxUnavailable = DEFAULT_MAX_UNAVAILABLE } }: ResizeCandidate,
  { pods, unavailable, example }: Disruption,
): RestartWait | null {
  if (maxUnavailable.kind === "percent" && maxUnavailable.percent >= 100) return null;
  const reason = "MaxUnavailable";
  if (pods === null) {
    const why = "podfit sees only a part of the workload's pods; use the mode central, or allow it with " +
      'policy.maxUnavailable "100%" and --ignore-disruption-budgets';
    return { reason, why };
  }
  const allowed = computeMaxUnavailable(maxUnavailable, pods);
  if (unavailable < allowed) return null;
  const named = `policy.maxUnavailable ${formatMaxUnavailable(maxUnavailable)}`;
  if (allowed === 0) return { reason, why: `${named} allows no restart` };
  const others = unavailable === 1 ? "1 other pod is" : `${unavailable} other pods are`;
  const such = example === null ? "" : `, such as "${example}"`;
  const why = `it waits, since ${others} not Ready or about to restart${such}; ${named} allows ${allowed} of ${pods}`;
  return { reason, why };
}

function explainDisruptionBudgets({ budgets }: Disruption): RestartWait | null {
  const reason = "DisruptionBudget";
  if (budgets === null) {
    const why = "podfit does not know the PodDisruptionBudgets of the namespace; grant it list and watch of " +
      "poddisruptionbudgets, or run it with --ignore-disruption-budgets";
    return { reason, why };
  }
  const used = budgets.find(({ allowed }) => allowed <= 0);
  return used === undefined ? null : { reason, why: `PodDisruptionBudget "${used.name}" allows no disruption now` };
}

function notDryRun({ input: { dryRun }, container, to, changes, moving }: ResizeCandidate): Objection | null {
  if (!dryRun) return null;
  const message = `would resize: ${describeChange(getActualSize(container), to, changes)}`;
  return { kind: "blocked", reason: "DryRun", message, sides: moving };
}

/** Only one resize of a pod is in flight. Clauses: C12. */
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
  /** When it ends on its own, epoch ms, where that is known. */
  readonly until?: number;
  readonly sides: readonly ResourceField[];
}

/** Objects to every field that waits, with the message of the refusal that ends first. */
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

/** Returns the refusal that blocks that amount of the field; the longest if there are several. */
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

/** Sizing found too little headroom for these. Clauses: L30, L32. */
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

/** Returns whether the field is held by its bound or its target. */
function isAtEnd(one: SizedField): one is HeldField {
  return one.kind === "holds" && (one.reason === "AtBound" || one.reason === "AtTarget");
}

/** Returns whether the field is held by the node or the namespace. */
function isShort(one: SizedField): one is ShortField {
  return one.kind === "holds" && one.reason !== "MemoryInUse" && !isAtEnd(one);
}

/** A limit range is asked about every container of the pod at each resize. Clauses: L32. */
function limitRangeKept({ input: { pod, limits }, container, to, moving }: ResizeCandidate): Objection | null {
  const violation = limits === null ? null : findLimitRangeViolation(limits, pod, { container, to });
  if (violation === null) return null;
  const { key, message } = violation;
  return { kind: "blocked", reason: "LimitRange", message, sides: listFieldsOf(key, moving) };
}

/** Returns the field itself, else the moving fields of its resource, else all. */
function listFieldsOf(key: ResourceField | null, moving: readonly ResourceField[]): readonly ResourceField[] {
  if (key === null) return moving;
  if (moving.includes(key)) return [key];
  const same = moving.filter((one) => resourceOf(one) === resourceOf(key));
  return same.length > 0 ? same : moving;
}

/** Before Kubernetes 1.34 a memory limit goes down with a restart only. Clauses: L33. */
function memoryLowered({ input, container, direction, moving }: ResizeCandidate): Objection | null {
  if (direction === "up" || input.lowersMemoryLimits || container.restartsOn.memory) return null;
  if (!moving.includes("memory.limits")) return null;
  const message = "memory.limits is not lowered: API server or kubelet are older than Kubernetes 1.34; give the " +
    "container the resizePolicy RestartContainer for memory, or no memory.limits policy";
  return { kind: "blocked", reason: "Unsupported", message, sides: ["memory.limits"] };
}

/**
 * Returns the moving fields that already wait for headroom and would wait again: the same size, or one that is not
 * known to fit.
 */
function listStillWaiting({ input: { pod, room }, container, to, moving }: ResizeCandidate): readonly ResourceField[] {
  const own = listStuckFields(pod, container);
  return moving.filter((key) => own.includes(key) && (room === null || (to[key] ?? 0) >= (container.spec[key] ?? 0)));
}

/** resizePolicy RestartContainer restarts for a smaller request, too. Clauses: C43. */
function restartAllowed(candidate: ResizeCandidate): Objection | null {
  const { autoscaler, container } = candidate;
  if (autoscaler.restartToShrink || !container.restartsOn.memory) return null;
  const sides = listShrinkingMemory(candidate);
  if (sides.length === 0) return null;
  const message = `less memory would restart container "${container.name}" (resizePolicy RestartContainer): set ` +
    "policy.memory.restartToShrink to allow it, or NotRequired in the pod template";
  return { kind: "blocked", reason: "RestartRequired", message, sides };
}

/** The container was killed or crashed recently, or restarted twice in a longer time. */
function crashFree(candidate: ResizeCandidate): Objection | null {
  const { containerState: { endings }, container, input: { now } } = candidate;
  if (endings.length === 0) return null;
  const bad = endings.findLast((one) => isKill(one) || one.kind === "crash");
  const calmAt = bad === undefined ? -Infinity : bad.at + KILL_MS;
  const ends = endings.filter((one) => !isProcessKill(one));
  const steadyAt = (ends.at(-2)?.at ?? -Infinity) + ENDINGS_MS;
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

/**
 * While replicas are about to be removed their pods keep their sizes: the remaining pods are about to get more.
 * Clauses: R86.
 */
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

/**
 * Returns when the cooldown of a field ends in that direction, epoch ms; -Infinity when it never began.
 * Clauses: C36, L3.
 */
export function computeFieldCooldownEnd(
  { resizedAt, raisedAt }: ContainerState,
  rule: FieldPolicy,
  direction: Direction,
): number {
  const at = direction === "up" && rule.hasOwnCooldowns ? raisedAt : resizedAt;
  return at === null ? -Infinity : at + rule[direction].cooldownMs;
}

/** Returns the text of whole seconds, rounded up, so that a reader does not come back too early. */
function formatWait(ms: number): string {
  return formatDuration(Math.ceil(ms / 1000) * 1000);
}
