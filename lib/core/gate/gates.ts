/**
 * Why a wanted resize waits (C24, C32, C35, C41 to C44, C46): small named checks of a candidate, in the order in which they are
 * asked. The list is the specification: nothing else holds a resize back. Gates hold back the PATCH only, never the
 * sampling (C23).
 */
import { partnerOf, resourceOf, type SideKey } from "../../units/resources.ts";
import { describeChange } from "../changes.ts";
import { SILENCE_MS } from "../observe/silence.ts";
import { readActual } from "../pod/pod_facts.ts";
import { isByUsage, type Proposal } from "../propose/proposal.ts";
import { readQosWith } from "../pod/qos.ts";
import { STUCK_REASONS } from "../pod/resize_status.ts";
import { isOwnWaiting, isPatienceOver, listStuck } from "../propose/revert.ts";
import type { Candidate } from "./candidate.ts";
import type { View } from "../state.ts";
import { formatWait } from "./format_wait.ts";
import { scaledInFirst } from "./replica_gates.ts";
import { crashFree, restartAllowed } from "./shrink_gates.ts";
import { readGateStart, readSideCooldownEnd } from "./eligibility.ts";
import { readWindowWait } from "./window.ts";
import type { Objection } from "./objection.ts";
import { refusalsOver } from "./refusals_over.ts";
import { enoughLeft, limitRangeKept, listWaitingOn, memoryLowered, withRoom } from "./room_gates.ts";

/** Objects to some sides of a candidate, or lets it pass: `null`. */
export type Gate = (candidate: Candidate) => Objection | null;

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

/** Nothing is resized by usage that is old (C22); of a container that does not run there is none, which `running` says. */
function fresh({ input: { now }, view, container, proposals }: Candidate): Objection | null {
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
function seenTwice({ input: { ledSince }, view, container, proposals }: Candidate): Objection | null {
  if (ledSince === undefined || !isByUsage(proposals)) return null;
  const { since, until } = view.evidence;
  if ((since !== null && until > since) || (container.runningAt ?? ledSince) >= ledSince) return null;
  const sides = proposals.filter((one) => !isUrgent(one, view)).map(({ side }) => side);
  if (sides.length === 0) return null;
  return { kind: "hold", reason: "Warmup", message: "waiting for a second sample by a podfit that leads anew", sides };
}

/** Memory at its limit does not live to see the end of a cooldown, or another sample (L11). */
function isUrgent({ side, direction }: Proposal, { streaks }: View): boolean {
  return side === "memory.limits" && direction === "up" && streaks[side]?.isSaturated === true;
}

function cooledDown(candidate: Candidate): Objection | null {
  const { input: { now }, autoscaler, containerState, view, proposals, direction } = candidate;
  if (!isByUsage(proposals)) return null;
  const sides: SideKey[] = [];
  let until = Infinity;
  for (const proposal of proposals) {
    const { side } = proposal;
    const rule = autoscaler.sides.find(({ key }) => key === side);
    const endsAt = rule === undefined ? now : readSideCooldownEnd(containerState, rule, direction);
    if (endsAt <= now || isUrgent(proposal, view)) continue;
    sides.push(side);
    until = Math.min(until, endsAt);
  }
  if (sides.length === 0) return null;
  const message = `${sides.join(", ")} would scale ${direction}; ${formatWait(until - now)} of the cooldown are left`;
  return { kind: "blocked", reason: "Cooldown", message, until, sides };
}

/** A scale-down waits until usage has been low for the whole window, and was watched for long enough to tell (L2). */
function lowForLong(candidate: Candidate): Objection | null {
  const { input: { now }, direction, proposals, autoscaler, container, containerState, view, state } = candidate;
  if (direction === "up" || !isByUsage(proposals)) return null;
  const sides: SideKey[] = [];
  let [until, why] = [-Infinity, ""];
  for (const { side } of proposals) {
    const rule = autoscaler.sides.find(({ key }) => key === side);
    const wait = rule === undefined ? null : readWindowWait(rule, { now, view, container, containerState, state });
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
function memoryFree({ sized }: Candidate): Objection | null {
  for (const one of sized) {
    if (one.kind !== "holds" || one.reason !== "MemoryInUse") continue;
    return { kind: "blocked", reason: "MemoryInUse", message: one.message, sides: [one.key] };
  }
  return null;
}

/** A size that the spec has already needs no PATCH; while the kubelet is at work on it, that is said. */
function notCommanded(candidate: Candidate): Objection | null {
  const { changes, container, to, moving } = candidate;
  if (changes.length > 0) return null;
  const message = `${describeChange(readActual(container), to, moving)} is commanded already`;
  return resizeIdle(candidate) ?? { kind: "hold", reason: "AtTarget", message, sides: moving };
}

/** With no container running, the pod's cgroup would keep its old limit for ever (C46; kubernetes issue 138760). */
function running({ container, moving }: Candidate): Objection | null {
  if (container.runningAt !== null) return null;
  const message = `container "${container.name}" is not running`;
  return { kind: "blocked", reason: "NotRunning", message, sides: moving };
}

function started({ autoscaler, container, containerState, moving, proposals }: Candidate): Objection | null {
  if (!isByUsage(proposals) || readGateStart(autoscaler, containerState) !== null) return null;
  const what = autoscaler.after === "podReady" ? "the pod" : `container "${container.name}"`;
  const message = `${what} is not ready (after: ${autoscaler.after})`;
  return { kind: "blocked", reason: "NotReady", message, sides: moving };
}

function delayed({ input: { now }, autoscaler, containerState, moving, proposals }: Candidate): Objection | null {
  if (!isByUsage(proposals)) return null;
  const until = (readGateStart(autoscaler, containerState) ?? now) + autoscaler.delayMs;
  if (now >= until) return null;
  const message = `${formatWait(until - now)} of the delay are left`;
  return { kind: "blocked", reason: "Delay", message, until, sides: moving };
}

function resizeIdle(candidate: Candidate): Objection | null {
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
      if (isPatienceOver(candidate, status) && listStuck(pod, container).length > 0) return null;
      const message = `the kubelet cannot apply the pod's resize: ${status.message}`;
      return { kind: "blocked", reason: STUCK_REASONS.error, message, sides: moving };
    }
    case "deferred":
    case "infeasible": {
      // A scale-down only frees resources: it may replace what is waiting for room.
      if (action === "scaleDown") return null;
      // One of ours is taken back for what can go now; only what would wait for room again is held (L31).
      const isReturned = status.kind === "deferred" && isOwnWaiting(pod, container);
      const sides = isReturned ? listWaitingOn(candidate) : moving;
      if (sides.length === 0) return null;
      const message = `a resize of the pod is ${status.kind}: ${status.message}`;
      return { kind: "blocked", reason: STUCK_REASONS[status.kind], message, sides };
    }
  }
}

function conflictSettled({ state, moving }: Candidate): Objection | null {
  if (state.conflict === null) return null;
  const message = "the pod has changed since; waiting for the newer one to arrive";
  return { kind: "blocked", reason: "RetryLater", message, sides: moving };
}

/** Objects to the resource that is in the way; the other may go (L31). */
function qosUnchanged(candidate: Candidate): Objection | null {
  const { input: { pod }, container, to } = candidate;
  const qosClass = readQosWith(pod, container, to);
  if (pod.qosClass === null || qosClass === pod.qosClass) return null;
  const sides = listInTheWay(candidate);
  const message = `the pod would turn from ${pod.qosClass} into ${qosClass}, which a resize may not do; ` +
    adviseQos(pod.qosClass, sides);
  return { kind: "blocked", reason: "QoSInvariantBlocked", message, sides };
}

/** The moves of resources that would change the class by themselves; where only all together would, of the last one. */
function listInTheWay({ input: { pod }, container, base, to, moving }: Candidate): readonly SideKey[] {
  const alone = moving.filter((key) => {
    const [request, limit] = [`${resourceOf(key)}.requests`, `${resourceOf(key)}.limits`] as const;
    return readQosWith(pod, container, { ...base, [request]: to[request], [limit]: to[limit] }) !== pod.qosClass;
  });
  const last = moving.at(-1);
  return alone.length > 0 || last === undefined ? alone : moving.filter((key) => resourceOf(key) === resourceOf(last));
}

function adviseQos(qosClass: string, sides: readonly SideKey[]): string {
  if (qosClass !== "Guaranteed") {
    const requests = new Set(sides.map((key) => `${resourceOf(key)}.requests`));
    return `keep ${[...requests].join(", ")} below the limit by bounds`;
  }
  const partners = sides.map(partnerOf).filter((key) => !sides.includes(key)).join(", ");
  return `${sides.join(", ")} would part from ${partners || "each other"}: manage ${partners || "both"} ` +
    "too, so that they move together, or give the pod a request below its limit";
}

function notDryRun({ input: { dryRun }, container, to, changes, moving }: Candidate): Objection | null {
  if (!dryRun) return null;
  const message = `would resize: ${describeChange(readActual(container), to, changes)}`;
  return { kind: "blocked", reason: "DryRun", message, sides: moving };
}

/** One resize in flight per pod (C12). */
function siblingDone({ ahead, moving }: Candidate): Objection | null {
  if (ahead === null) return null;
  const message = `container "${ahead}" of the same pod is resized first`;
  return { kind: "blocked", reason: "ResizeInProgress", message, sides: moving };
}
