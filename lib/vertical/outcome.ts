/**
 * From gate results to at most one request for the pod, and to a decision for each container.
 *
 * If nothing passes, a stuck resize may be reverted.
 */
import { type Autoscaler, findBaseline } from "../model/autoscaler.ts";
import { listAllRefusals, type Refusal } from "../model/container_history.ts";
import {
  type ContainerCase,
  type ContainerDecision,
  type Decision,
  newResizeRequest,
  type SizeInput,
  type SizeOutcome,
} from "../model/decision.ts";
import { findContainer, getActualSize } from "../model/pod.ts";
import { explainOtherPodfit } from "../model/ownership.ts";
import { computeQosAfter } from "../model/pod_amounts.ts";
import {
  type HoldReason,
  LIMIT_REASONS,
  type LimitReason,
  type ResizeReason,
  RESTART_WAITS,
} from "../model/reasons.ts";
import { listChangedFields, type ResizeRequest } from "../model/resize_request.ts";
import {
  isEachWaitingOwn,
  isStuck,
  listStuckFields,
  STUCK_REASONS,
  type StuckResize,
  toReverted,
} from "../model/resize_status.ts";
import {
  type AutoscalerView,
  findContainerState,
  type LimitedScaleUp,
  NO_STREAKS,
  type PodState,
} from "../model/state.ts";
import { isSameSize, type ResourceField, type Resources } from "../units/resources.ts";
import { formatDuration } from "../units/time.ts";
import { type ChoicesResult, type GateResult, toWaiting } from "./gates/ask.ts";
import { isResizeTimedOut } from "./gates/gates.ts";
import { clearHeldCounts, nextHeldCounts, type ScaleUpAnswer } from "./pressure.ts";
import { explainPair, formatHeldBack, isAfterOom, listVetoedScaleDowns, type Proposal } from "./proposals.ts";
import type { ResizeCandidate } from "./sizing/candidate.ts";
import { isSampleCounted, type Sampled } from "./streaks.ts";

/** A case that was due, its proposals, and the gates' answers. */
export interface CaseResult extends ChoicesResult {
  readonly it: ContainerCase;
  readonly proposals: readonly Proposal[];
}

/** The outcome of all cases of a pod. */
interface PodOutcome extends Pick<SizeOutcome, "decisions" | "request"> {
  readonly views: PodState["views"];
}

/**
 * Returns at most one request, a decision for each container that was asked about, and the next view of each
 * autoscaler.
 */
export function toOutcome({ input, sampled, cases, results }: OutcomeContext): PodOutcome {
  const first = chooseLongestWanted(results);
  const request = first === null ? proposeRevert(cases, listWaitingForDeferred(results)) : toResizeRequest(first);
  const decisions = results.map((result) => {
    const { it, asked } = result;
    // A recommended resize is in force at once, so that the next one does not wait for it.
    const isTurnTaken = first !== null && it.autoscaler.mode === "apply";
    const isBehind = isTurnTaken && asked?.kind === "passed" && asked.candidate !== first;
    return toContainerDecision(it, isBehind ? toWaiting(asked, first.container.name) : asked, findVetoedSince(result));
  });
  if (first === null && request !== null) decisions.push(toRevertDecision(request));
  decisions.push(...listNotOwnerDecisions(sampled, { cases, input }));
  return { request, decisions, views: nextViews(sampled, results, input.now) };
}

interface OutcomeContext {
  readonly input: SizeInput;
  readonly sampled: readonly Sampled[];
  readonly cases: readonly ContainerCase[];
  /** The results of the cases that were due. */
  readonly results: readonly CaseResult[];
}

/** Returns the views after the samples and the gates' answers. */
function nextViews(sampled: readonly Sampled[], results: readonly CaseResult[], now: number): PodState["views"] {
  const views: Record<string, AutoscalerView> = {};
  for (const { autoscaler, view, isNewSample } of sampled) {
    const result = results.find(({ it }) => it.autoscaler === autoscaler);
    const next = isNewSample ? nextLimitedView(view, autoscaler, { up: result?.up ?? null, now }) : view;
    const vetoedSince = result === undefined ? view.vetoedSince : findVetoedSince(result);
    views[autoscaler.key] = vetoedSince === next.vetoedSince ? next : { ...next, vetoedSince };
  }
  return views;
}

/**
 * Returns the candidate whose proposals are oldest, since only one resize is in flight per pod; `null` if none passed.
 * Clauses: C12.
 */
function chooseLongestWanted(results: readonly CaseResult[]): ResizeCandidate | null {
  let first: ResizeCandidate | null = null;
  for (const { asked } of results) {
    if (asked?.kind !== "passed") continue;
    if (first === null || getWantedSince(asked.candidate) < getWantedSince(first)) first = asked.candidate;
  }
  return first;
}

/** Returns the containers that only a resize of the pod that waits for headroom blocks. Clauses: L31. */
function listWaitingForDeferred(results: readonly CaseResult[]): readonly string[] {
  let names = NO_NAMES;
  for (const { it, asked } of results) {
    if (asked?.kind !== "stopped" || asked.decision.kind !== "blocked") continue;
    if (asked.decision.reason === "ResizeDeferred") names = [...names, it.container.name];
  }
  return names;
}

/** Returns the PATCH for a candidate that passed every gate. */
function toResizeRequest(candidate: ResizeCandidate): ResizeRequest {
  const { action, base, to, changes, proposals, container: { spec }, input: { room } } = candidate;
  const reason = findResizeReason(candidate);
  const reflex = proposals[0]?.reflex ?? null;
  // If headroom is known, it decides when a field that was taken back is asked for again.
  const givesUp = action === "scaleUp" && base !== spec && room === null ? spec : null;
  const why = explainMoves(candidate);
  const resize = { action, from: base, to, changes, stuck: null, givesUp, reason, why, reflex };
  return newResizeRequest(candidate, resize);
}

/** Returns the decision about a case that was asked about. */
export function toContainerDecision(
  it: ContainerCase,
  asked: GateResult | null,
  vetoedSince: number | null,
): ContainerDecision {
  const { autoscaler: { uid: autoscaler }, container: { name: container }, isNewSample } = it;
  if (asked === null) return { autoscaler, container, decision: explainHold(it), candidates: [], isNewSample };
  if (asked.kind === "stopped") {
    const decision = addVetoText(asked.decision, it.input.now, vetoedSince);
    return { autoscaler, container, decision, candidates: asked.candidates, isNewSample, wanted: asked.wanted };
  }
  const { action, base, to, moving, proposals } = asked.candidate;
  const reason = findResizeReason(asked.candidate);
  const decision = { kind: "resize", action, ...(reason !== null && { reason }), from: base, to } as const;
  // A kill counts as a new sample when podfit acts on it.
  const isNew = isNewSample || isAfterOom(proposals);
  return { autoscaler, container, decision, candidates: moving, isNewSample: isNew };
}

/** Returns the decision of a revert, in addition to the container's own decision. */
function toRevertDecision({ autoscaler, container, from, to, stuck }: ResizeRequest): ContainerDecision {
  const decision = { kind: "revert", reason: stuck ?? "ResizeError", from, to } as const;
  return { autoscaler, container, decision, candidates: [], isNewSample: false };
}

/** Returns the decisions for autoscalers that do not own their container. */
function listNotOwnerDecisions(
  sampled: readonly Sampled[],
  { cases, input }: { readonly cases: readonly ContainerCase[]; readonly input: SizeInput },
): readonly ContainerDecision[] {
  if (cases.length === sampled.length) return [];
  const foreign = explainOtherPodfit(input);
  const others = sampled.filter(({ autoscaler, isDue }) => isDue && !cases.some((it) => it.autoscaler === autoscaler));
  return others.map(({ autoscaler: { uid, containerName }, isNewSample }) => {
    const owner = cases.find((it) => it.container.name === containerName)?.autoscaler.name;
    const message = foreign ?? `autoscaler "${owner}" goes first for this container`;
    return {
      autoscaler: uid,
      container: containerName,
      decision: { kind: "hold", reason: "NotOwner", message },
      candidates: [],
      isNewSample,
    };
  });
}

/**
 * Returns since when a field at its bound has held the scale-downs of another resource, epoch ms; `null` = none does.
 */
function findVetoedSince(
  { it: { autoscaler, view, input: { now } }, proposals, asked }: CaseResult,
): number | null {
  if (asked?.kind !== "stopped" || asked.decision.kind !== "hold" || asked.decision.reason !== "AtBound") return null;
  if (autoscaler.veto !== "all" || proposals.every(({ direction }) => direction === "down")) return null;
  return listVetoedScaleDowns(proposals).length === 0 ? null : view.vetoedSince ?? now;
}

/** This many samples in a row make a pod limited. */
export const MIN_LIMITED_SAMPLES = 2;

/**
 * Returns the view after a new sample; `up`: the gates' answer to the scale-up, `null` without one. Cooldowns, retries
 * of a refused size and restarts that wait for their turn neither count nor end the count.
 */
function nextLimitedView(
  view: AutoscalerView,
  autoscaler: Autoscaler,
  { up, now }: { readonly up: GateResult | null; readonly now: number },
): AutoscalerView {
  const isLasting = view.wantedSince !== null && now - view.wantedSince >= LONG_RESTART_WAIT_MS;
  const limited = up === null ? null : nextLimited(view.limited, up, isLasting);
  const held = up === null
    ? clearHeldCounts(view.shortage)
    : nextHeldCounts(view, autoscaler, (key) => toScaleUpAnswer(up, key, isLasting));
  if (limited === view.limited && held === view.shortage) return view;
  return { ...view, limited, shortage: held };
}

/**
 * Returns what holds the scale-ups of an autoscaler, once it lasts; `null` if they are free, or none is wanted.
 * Clauses: L53.
 */
export function findScaleUpLimit(
  view: Pick<AutoscalerView, "limited" | "wantedSince"> | undefined,
): LimitReason | null {
  if (view === undefined) return null;
  const { limited, wantedSince } = view;
  return limited !== null && wantedSince !== null && limited.samples >= MIN_LIMITED_SAMPLES ? limited.reason : null;
}

/**
 * Returns the request that takes back a stuck resize, for the first container that can; `null` if there is none. A
 * resize that waits for headroom is taken back at once if it blocks one of `heldBack`, other containers of the pod.
 * Clauses: L31.
 */
function proposeRevert(cases: readonly ContainerCase[], heldBack: readonly string[] = []): ResizeRequest | null {
  const [sponsor] = cases;
  if (sponsor === undefined || !isStuck(sponsor.status)) return null;
  for (const it of [...cases, ...listOrphans(cases, sponsor)]) {
    const { status, container, input: { pod, dryRun } } = it;
    if (dryRun || !isStuck(status) || !isRevertDue(it, status, heldBack)) continue;
    const from = container.spec;
    const to = toReverted(container, listStuckFields(pod, container));
    if (isSameSize(to, from) || hasRequestAboveLimit(to) || computeQosAfter(pod, container, to) !== pod.qosClass) {
      continue;
    }
    const changes = listChangedFields(from, to);
    return newResizeRequest(it, {
      action: "revert",
      from,
      to,
      changes,
      stuck: STUCK_REASONS[status.kind],
      reason: null,
      givesUp: null,
      why: status.message,
      reflex: null,
    });
  }
  return null;
}

/** Shared, as most evaluations have none. */
const NO_NAMES: readonly string[] = [];

/** Returns since when the candidate is wanted; an OOM kill is first. Clauses: L11. */
function getWantedSince({ view, proposals }: ResizeCandidate): number {
  return isAfterOom(proposals) ? -Infinity : view.wantedSince ?? Infinity;
}

function findResizeReason({ proposals }: ResizeCandidate): ResizeReason | null {
  return proposals[0]?.cause === "newPod" ? "Inherited" : null;
}

function explainMoves({ sized, proposals }: ResizeCandidate): string {
  const whys = sized.flatMap((one) => {
    if (one.kind !== "moves") return [];
    const why = proposals.find(({ side }) => side === one.key)?.why ?? one.key;
    return [one.cappedBy === null ? why : `${why}, capped by ${one.cappedBy}`];
  });
  // Fields that answer one kill have one reason.
  return [...new Set(whys)].join("; ");
}

/** Returns why no change is wanted: the first cause that applies. */
function explainHold(it: ContainerCase): Decision {
  const { input, view, container, containerState, autoscaler } = it;
  const { sample } = view.sampling;
  if (container.runningAt === null) return NOT_RUNNING;
  if (view.silentSince !== null) return NO_USAGE;
  if (sample === null) return WARMUP;
  const offsetMs = input.observation.kind === "usage" ? input.observation.clockOffsetMs : 0;
  if (!isSampleCounted(sample, containerState.countsFrom + offsetMs)) return NEW_SIZE;
  const actual = getActualSize(container);
  if (autoscaler.sides.every((rule) => findBaseline(rule, actual) === null)) return NO_BASELINE;
  const isInBand = view.streaks === NO_STREAKS || Object.keys(view.streaks).length === 0;
  const paired = view.wantedSince === null ? null : explainPair(it);
  const held = isInBand ? IN_BAND : paired ?? STREAK_SHORT;
  const words = formatHeldBack("cpu", sample);
  return words === ""
    ? held
    : toHold(held.reason, `${held.message}; cpu at ${Math.round(sample.cpuMillicores)}m${words}`);
}

const NOT_RUNNING = toHold("NotRunning", "the container is not running");

const NO_USAGE = toHold("MetricsUnavailable", "no new usage is read");

const WARMUP = toHold("Warmup", "waiting for the first samples");

const NEW_SIZE = toHold("Warmup", "waiting for a sample of the new size");

const NO_BASELINE = toHold(
  "BaselineUnavailable",
  "no configured resource field has a request or limit to compare usage with",
);

const STREAK_SHORT = toHold("StreakShort", "outside the thresholds, but not for enough samples yet");

const IN_BAND = toHold("InBand", "inside the thresholds");

function toHold(reason: HoldReason, message: string): Extract<Decision, { kind: "hold" }> {
  return { kind: "hold", reason, message };
}

/** After this time the message mentions a veto, in ms. */
const LONG_VETO_MS = 10 * 60_000;

/** Returns the decision; its message mentions a veto that has lasted for 10 minutes. */
function addVetoText(decision: Decision, now: number, vetoedSince: number | null): Decision {
  if (decision.kind !== "hold" || vetoedSince === null || now - vetoedSince < LONG_VETO_MS) return decision;
  const forLong = formatDuration(Math.floor((now - vetoedSince) / 60_000) * 60_000);
  const message = `${decision.message}; it has held the scale-down of another resource for ${forLong}: with ` +
    "policy.veto: resource it would hold its own only";
  return { ...decision, message };
}

function nextLimited(before: LimitedScaleUp | null, up: GateResult, isLasting: boolean): LimitedScaleUp | null {
  const reason = findHeldReason(up);
  return isLimitReason(reason, isLasting) ? { reason, samples: (before?.samples ?? 0) + 1 } : before;
}

/** Returns the answer for one field of the scale-up. */
function toScaleUpAnswer({ objections }: GateResult, key: ResourceField, isLasting: boolean): ScaleUpAnswer {
  const { reason = null } = objections.find(({ sides }) => sides.includes(key)) ?? {};
  return isLimitReason(reason, isLasting) ? "limit" : reason === "Cooldown" ? "cooldown" : "other";
}

function findHeldReason(asked: GateResult): string | null {
  if (asked.kind !== "stopped") return null;
  const { decision } = asked;
  return decision.kind === "hold" || decision.kind === "blocked" ? decision.reason : null;
}

/** After this time a restart that waits for its turn is a limit, ms. Until then the wait usually ends alone. */
const LONG_RESTART_WAIT_MS = 10 * 60_000;

/** `isLasting`: the scale-up has been wanted for long. */
function isLimitReason(reason: string | null, isLasting: boolean): reason is LimitReason {
  return LIMIT_REASONS.some((one) => one === reason) && (isLasting || !RESTART_WAITS.has(reason ?? ""));
}

/**
 * Returns containers with a stuck resize whose autoscaler is gone. It blocks the whole pod, so the first remaining
 * autoscaler takes it back.
 */
function listOrphans(cases: readonly ContainerCase[], sponsor: ContainerCase): readonly ContainerCase[] {
  const orphans: ContainerCase[] = [];
  for (const name in sponsor.state.containers) {
    if (cases.some(({ container }) => container.name === name)) continue;
    const container = findContainer(sponsor.input.pod, name);
    const containerState = findContainerState(sponsor.state, name);
    if (container !== null && containerState !== undefined) orphans.push({ ...sponsor, container, containerState });
  }
  return orphans;
}

function isRevertDue(it: ContainerCase, status: StuckResize, heldBack: readonly string[]): boolean {
  const { input: { now, inFlight, pod }, state, container, containerState, autoscaler } = it;
  if (container.runningAt === null || state.conflict !== null || inFlight) return false;
  const { revertedAt, refusals } = containerState;
  if (listAllRefusals(refusals).some((refusal) => isHoldingRevert(refusal, now))) return false;
  if (revertedAt !== null && now - revertedAt < autoscaler.cooldownMs) return false;
  // With a resize of another client, the pod would be blocked as before.
  const isFreed = heldBack.some((name) => name !== container.name) && isEachWaitingOwn(pod);
  if (status.kind === "deferred" && isFreed) return true;
  return isResizeTimedOut(it, status);
}

/**
 * A refused revert waits like a refused size. A refused scale action does not block it, unless everything is refused.
 */
function isHoldingRevert({ kind, action, until }: Refusal, now: number): boolean {
  return now < until && (kind === "everything" || action === "revert");
}

function hasRequestAboveLimit(to: Resources): boolean {
  return (["cpu", "memory"] as const).some((resource) => {
    const [request, limit] = [to[`${resource}.requests`], to[`${resource}.limits`]];
    return request !== null && limit !== null && request > limit;
  });
}
