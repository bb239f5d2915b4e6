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
import { type HoldReason, LIMIT_REASONS, type LimitReason, type ResizeReason } from "../model/reasons.ts";
import { listChangedFields, type ResizeRequest } from "../model/resize_request.ts";
import { isStuck, listStuckFields, STUCK_REASONS, type StuckResize, toReverted } from "../model/resize_status.ts";
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

// From what passed the gates to one request for the pod, and to a decision for each container that was asked about.

/** A case that was due, what is proposed for it, and how its choices fared. */
export interface CaseResult extends ChoicesResult {
  readonly it: ContainerCase;
  readonly proposals: readonly Proposal[];
}

/** What a pod's cases come to. */
interface PodOutcome extends Pick<SizeOutcome, "decisions" | "request"> {
  readonly views: PodState["views"];
}

/** One request at most, a decision for each container that was asked about, and the next view of each autoscaler. */
export function toOutcome({ input, sampled, cases, results }: OutcomeContext): PodOutcome {
  const first = chooseLongestWanted(results);
  const request = first === null ? proposeRevert(cases, listWaitingForDeferred(results)) : toResizeRequest(first);
  const decisions = results.map((result) => {
    const { it, asked } = result;
    const isBehind = first !== null && asked?.kind === "passed" && asked.candidate !== first;
    return toContainerDecision(it, isBehind ? toWaiting(asked, first.container.name) : asked, findVetoedSince(result));
  });
  if (first === null && request !== null) decisions.push(toRevertDecision(request));
  decisions.push(...listNotOwnerDecisions(sampled, { cases, input }));
  return { request, decisions, views: nextViews(sampled, results) };
}

interface OutcomeContext {
  readonly input: SizeInput;
  readonly sampled: readonly Sampled[];
  readonly cases: readonly ContainerCase[];
  /** Of the cases that were due. */
  readonly results: readonly CaseResult[];
}

/** The views after the samples, and after how the cases of their autoscalers fared. */
function nextViews(sampled: readonly Sampled[], results: readonly CaseResult[]): PodState["views"] {
  const views: Record<string, AutoscalerView> = {};
  for (const { autoscaler, view, isNewSample } of sampled) {
    const result = results.find(({ it }) => it.autoscaler === autoscaler);
    const next = isNewSample ? nextLimitedView(view, autoscaler, result?.up ?? null) : view;
    const vetoedSince = result === undefined ? view.vetoedSince : findVetoedSince(result);
    views[autoscaler.key] = vetoedSince === next.vetoedSince ? next : { ...next, vetoedSince };
  }
  return views;
}

/** One resize in flight per pod: the proposals that have stood longest go first (C12). `null` when nothing passed. */
function chooseLongestWanted(weighed: readonly CaseResult[]): ResizeCandidate | null {
  let first: ResizeCandidate | null = null;
  for (const { asked } of weighed) {
    if (asked?.kind !== "passed") continue;
    if (first === null || getWantedSince(asked.candidate) < getWantedSince(first)) first = asked.candidate;
  }
  return first;
}

/** Containers whose proposals nothing holds up but a resize of the pod that waits for room (L31). */
function listWaitingForDeferred(weighed: readonly CaseResult[]): readonly string[] {
  let names = NO_NAMES;
  for (const { it, asked } of weighed) {
    if (asked?.kind !== "stopped" || asked.decision.kind !== "blocked") continue;
    if (asked.decision.reason === "ResizeDeferred") names = [...names, it.container.name];
  }
  return names;
}

/** The PATCH for a candidate that passed every gate. */
function toResizeRequest(candidate: ResizeCandidate): ResizeRequest {
  const { action, base, to, changes, proposals, container: { spec }, input: { room } } = candidate;
  const reason = findResizeReason(candidate);
  const reflex = proposals[0]?.reflex ?? null;
  // Where room is known, it decides when what was taken back is asked for again (L31).
  const givesUp = action === "scaleUp" && base !== spec && room === null ? spec : null;
  const why = explainMoves(candidate);
  const resize = { action, from: base, to, changes, stuck: null, givesUp, reason, why, reflex };
  return newResizeRequest(candidate, resize);
}

/** What is said of a case that was asked about. */
export function toContainerDecision(
  it: ContainerCase,
  asked: GateResult | null,
  vetoedSince: number | null,
): ContainerDecision {
  const { autoscaler: { uid: autoscaler }, container: { name: container }, isNewSample } = it;
  if (asked === null) return { autoscaler, container, decision: explainHold(it), candidates: [], isNewSample };
  if (asked.kind === "stopped") {
    const decision = addVetoText(asked.decision, it.input.now, vetoedSince);
    return { autoscaler, container, decision, candidates: asked.candidates, isNewSample };
  }
  const { action, base, to, moving, proposals } = asked.candidate;
  const reason = findResizeReason(asked.candidate);
  const decision = { kind: "resize", action, ...(reason !== null && { reason }), from: base, to } as const;
  // A kill is a sample of its own (L10): it is counted where it is acted on (C52).
  const isNew = isNewSample || isAfterOom(proposals);
  return { autoscaler, container, decision, candidates: moving, isNewSample: isNew };
}

/** A revert stands beside what else was decided about its container. */
function toRevertDecision({ autoscaler, container, from, to, stuck }: ResizeRequest): ContainerDecision {
  const decision = { kind: "revert", reason: stuck ?? "ResizeError", from, to } as const;
  return { autoscaler, container, decision, candidates: [], isNewSample: false };
}

/** The decisions for contenders that do not own their container. */
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

// A veto (C32): a side that wants up and is at its bound holds every scale-down of its container, for as long as it
// lasts. After a while the words of the decision say so, and what an autoscaler may say against it (L34).

/** Since when a side at its bound has held the scale-downs of another resource, epoch ms; `null` = none does. */
function findVetoedSince(
  { it: { autoscaler, view, input: { now } }, proposals, asked }: CaseResult,
): number | null {
  if (asked?.kind !== "stopped" || asked.decision.kind !== "hold" || asked.decision.reason !== "AtBound") return null;
  if (autoscaler.veto !== "all" || proposals.every(({ direction }) => direction === "down")) return null;
  return listVetoedScaleDowns(proposals).length === 0 ? null : view.vetoedSince ?? now;
}

// For how many samples in a row has a scale-up been held by what does not pass by itself (L53)? What passes in
// between, such as a cooldown or the next try of a refused size, neither counts nor ends it: it ends with the wish, or
// with an accepted resize.

/** So many samples in a row make a pod count as limited. */
export const MIN_LIMITED_SAMPLES = 2;

/** The view after a new sample; `up`: how the wanted scale-up fared, `null` where none is, or another owns the container. */
function nextLimitedView(view: AutoscalerView, autoscaler: Autoscaler, up: GateResult | null): AutoscalerView {
  const limited = up === null ? null : nextLimited(view.limited, up);
  const held = up === null
    ? clearHeldCounts(view.shortage)
    : nextHeldCounts(view, autoscaler, (key) => toScaleUpAnswer(up, key));
  if (limited === view.limited && held === view.shortage) return view;
  return { ...view, limited, shortage: held };
}

/** What holds the scale-ups of a contender, once it has for long enough; `null` while they are free, or none is wanted. */
export function findScaleUpLimit(
  { limited, wantedSince }: Pick<AutoscalerView, "limited" | "wantedSince">,
): LimitReason | null {
  return limited !== null && wantedSince !== null && limited.samples >= MIN_LIMITED_SAMPLES ? limited.reason : null;
}

// Ways out of a stuck resize (C47): fields that podfit wrote and the kubelet cannot enact go back to what is in force,
// so that the node's scheduler and the pod's other resizes are not held up. At most once per cooldown.

/**
 * The request to revert, for the first container that can; `null` when there is nothing to give up. What waits for room
 * goes back at once where it holds up one of `heldBack`, other containers of the pod (L31).
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

/** A kill waits for nobody (L11). */
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
  // Sides that answer one kill have one reason.
  return [...new Set(whys)].join("; ");
}

// Why nothing is wanted of a container, in few words: the numbers are in the state, for those who ask.

/** The first that applies; every case without a proposal has one. */
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

/** So long a veto is no passing thing, ms. */
const LONG_VETO_MS = 10 * 60_000;

/** The decision, with the veto in its words once that has stood for 10 minutes. */
function addVetoText(decision: Decision, now: number, vetoedSince: number | null): Decision {
  if (decision.kind !== "hold" || vetoedSince === null || now - vetoedSince < LONG_VETO_MS) return decision;
  const forLong = formatDuration(Math.floor((now - vetoedSince) / 60_000) * 60_000);
  const message = `${decision.message}; it has held the scale-down of another resource for ${forLong}: with ` +
    "policy.veto: resource it would hold its own only";
  return { ...decision, message };
}

function nextLimited(before: LimitedScaleUp | null, up: GateResult): LimitedScaleUp | null {
  const reason = findHeldReason(up);
  return isLimitReason(reason) ? { reason, samples: (before?.samples ?? 0) + 1 } : before;
}

/** Of one side of the scale-up. */
function toScaleUpAnswer({ objections }: GateResult, key: ResourceField): ScaleUpAnswer {
  const { reason = null } = objections.find(({ sides }) => sides.includes(key)) ?? {};
  return isLimitReason(reason) ? "limit" : reason === "Cooldown" ? "cooldown" : "other";
}

function findHeldReason(asked: GateResult): string | null {
  if (asked.kind !== "stopped") return null;
  const { decision } = asked;
  return decision.kind === "hold" || decision.kind === "blocked" ? decision.reason : null;
}

function isLimitReason(reason: string | null): reason is LimitReason {
  return LIMIT_REASONS.some((one) => one === reason);
}

/**
 * Containers that podfit resized for an autoscaler that is gone, and whose resize is stuck: it holds up the whole pod, so
 * the first contender that is left gives it up.
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
  const { input: { now, inFlight }, state, container, containerState, autoscaler } = it;
  if (container.runningAt === null || state.conflict !== null || inFlight) return false;
  const { revertedAt, refusals } = containerState;
  if (listAllRefusals(refusals).some((refusal) => isHoldingRevert(refusal, now))) return false;
  if (revertedAt !== null && now - revertedAt < autoscaler.cooldownMs) return false;
  if (status.kind === "deferred" && heldBack.some((name) => name !== container.name)) return true;
  return isResizeTimedOut(it, status);
}

/** A refused revert waits like any refused size; a refused scale does not hold it up, unless everything is refused. */
function isHoldingRevert({ kind, action, until }: Refusal, now: number): boolean {
  return now < until && (kind === "everything" || action === "revert");
}

function hasRequestAboveLimit(to: Resources): boolean {
  return (["cpu", "memory"] as const).some((resource) => {
    const [request, limit] = [to[`${resource}.requests`], to[`${resource}.limits`]];
    return request !== null && limit !== null && request > limit;
  });
}
