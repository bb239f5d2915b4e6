/**
 * What an evaluation of the daemon adds to the story of the demo: resizes, changes of replicas, and what blocks them.
 */
import type { FailureReport } from "../../daemon/health.ts";
import { type Evaluation, findAutoscaler } from "../../daemon/pods/controller.ts";
import type { ReplicasEvaluation } from "../../daemon/replicas/reports.ts";
import { listAllRefusals, type Refusal } from "../../model/container_history.ts";
import type { ContainerDecision, ScaleAction } from "../../model/decision.ts";
import { BLOCK_NOTICE, type Notice, type NoticeName } from "../../model/reasons.ts";
import type { ReplicasReason } from "../../model/replicas_decision.ts";
import { describeChange, formatFieldAmount } from "../../model/resize_request.ts";
import { computeResizeStatus, isStuck, STUCK_REASONS } from "../../model/resize_status.ts";
import { findContainerState } from "../../model/state.ts";
import { requestOrLimitOf, resourceOf } from "../../units/resources.ts";
import { addEvent, type Change, type ReplicasStory, type Story, type Tone } from "./story.ts";

/** Returns the story with the notices, decisions, request and resize of one evaluation. */
export function withEvaluation(story: Story, evaluation: Evaluation): Story {
  const { notices, decisions, request, scaled } = evaluation.outcome;
  let next = story;
  for (const notice of notices) next = withNotice(next, notice, evaluation);
  for (const decision of decisions) next = withDecision(next, decision, evaluation);
  if (request !== null) {
    next = { ...next, why: { ...next.why, [evaluation.input.pod.name]: request.why } };
  }
  return scaled === null ? next : withResize(next, scaled, evaluation);
}

/** Returns the story with an invalid autoscaler, or with a failure of a part of podfit. */
export function withTrouble(
  story: Story,
  { at, trouble }: { readonly at: number; readonly trouble: FailureReport },
): Story {
  if (trouble.kind === "recovered") return story;
  const subject = trouble.autoscaler?.name ?? "";
  return trouble.kind === "status"
    ? addEvent(story, { at, tone: "blocked", subject, text: trouble.notice.message, why: "" })
    : addEvent(story, { at, tone: "trouble", subject, text: trouble.message, why: "" });
}

const RESIZED: ReadonlySet<NoticeName> = new Set(["ScaleUp", "ScaleDown", "Inherited"]);

const POD_SUFFIX = 5;

function withNotice(story: Story, notice: Notice, evaluation: Evaluation): Story {
  // A resize has its own line.
  if (RESIZED.has(notice.name)) return story;
  const { now: at, contenders } = evaluation.input;
  const subject = contenders.find(({ uid }) => uid === notice.autoscaler)?.name ?? "";
  return addEvent(story, { at, tone: "blocked", subject, ...explainNotice(notice, evaluation) });
}

function withDecision(story: Story, decided: ContainerDecision, evaluation: Evaluation): Story {
  const { decision, isNewSample } = decided;
  const subject = findAutoscaler(evaluation, decided)?.name ?? "";
  if (decision.kind === "resize" || decision.kind === "revert") {
    const { [subject]: _, ...standing } = story.standing;
    return { ...story, standing };
  }
  const { kind, reason } = decision;
  const before = story.standing[subject];
  const since = before?.reason === reason ? before.since : evaluation.input.now;
  const standing = { ...story.standing, [subject]: { kind, reason, since } };
  if (kind === "hold") return { ...story, standing };
  const count = (story.blocked[reason] ?? 0) + (isNewSample ? 1 : 0);
  return { ...story, standing, blocked: { ...story.blocked, [reason]: count } };
}

function withResize(story: Story, scaled: ScaleAction, evaluation: Evaluation): Story {
  const { now: at } = evaluation.input;
  const tone = scaled.action === "scaleUp" ? "up" : "down";
  const subject = findAutoscaler(evaluation, scaled)?.name ?? "";
  const { name } = evaluation.input.pod;
  // With several pods, the suffix that a ReplicaSet adds to their name shows which pod it is.
  const shown = story.scene === "both" ? name.slice(-POD_SUFFIX) : subject;
  return {
    ...addEvent(story, { at, tone, subject: shown, text: scaled.change, why: story.why[name] ?? "" }),
    resizes: { ...story.resizes, [tone]: story.resizes[tone] + 1 },
    changes: { ...story.changes, ...listChanges(scaled, { at, tone, subject }) },
  };
}

/** By `container.resource`: the old and the new size of each resource field. */
function listChanges(
  { deltas }: ScaleAction,
  { at, tone, subject }: { readonly at: number; readonly tone: Extract<Tone, "up" | "down">; readonly subject: string },
): Story["changes"] {
  const changes: Record<string, Change> = {};
  for (const { key, from, to } of deltas) {
    const name = `${subject}.${resourceOf(key)}`;
    const known = changes[name] ?? { at, tone, requests: null, limits: null };
    changes[name] = {
      ...known,
      [requestOrLimitOf(key)]: `${formatFieldAmount(key, from)} → ${formatFieldAmount(key, to)}`,
    };
  }
  return changes;
}

/** Returns the story with the decision of a scaling loop, an accepted change of replicas, and sizes that wait for one. */
export function withReplicas(story: Story, pass: ReplicasEvaluation): Story {
  const subject = pass.input.object.name;
  return withScaleInPending(withReplicasWrite(withScalingDecision(story, pass, subject), pass, subject), pass, subject);
}

function withScalingDecision(
  story: Story,
  { input: { now: at }, outcome: { report } }: ReplicasEvaluation,
  subject: string,
): Story {
  if (report === null || report.half !== "tick" || report.reason === null) return story;
  const { reason } = report;
  const { standing } = story.replicas;
  const proposal = report.triggers.find(({ proposal }) => proposal !== null)?.proposal ?? null;
  const since = standing?.reason === reason ? standing.since : at;
  const next = setReplicas(story, {
    asked: proposal && { lo: proposal.lo, hi: proposal.hi },
    standing: { reason, since },
  });
  const isNews = isBecauseOfSizes(reason) && standing?.reason !== reason;
  return isNews
    ? addEvent(next, { at, tone: "blocked", subject, text: reason, why: explainReplicas(next, reason) })
    : next;
}

function withReplicasWrite(story: Story, { input }: ReplicasEvaluation, subject: string): Story {
  const { now: at, observation } = input;
  if (observation.kind !== "answered" || observation.answer.kind !== "accepted") return story;
  const { write, answer: { replicas } } = observation;
  const before = write.from.replicas;
  const isOut = replicas > before;
  const tone = isOut ? "up" : "down";
  const text = `${before} -> ${replicas} ${replicas === 1 ? "pod" : "pods"}`;
  const why = [write.reason, explainReplicas(story, write.reason)].filter((one) => one !== "").join(": ");
  const { changes } = story.replicas;
  const counted = isOut ? { ...changes, out: changes.out + 1 } : { ...changes, in: changes.in + 1 };
  return setReplicas(addEvent(story, { at, tone, subject, text, why }), {
    changes: counted,
    last: { at, tone, text },
  });
}

function withScaleInPending(story: Story, { before, input, outcome }: ReplicasEvaluation, subject: string): Story {
  const { isScaleInPending } = outcome.state;
  if (isScaleInPending === before.isScaleInPending) return story;
  const { now: at } = input;
  if (!isScaleInPending) return setReplicas(story, { pendingSince: null });
  // What is written in the same reconcile has its own line.
  if (outcome.write !== null) return setReplicas(story, { pendingSince: at });
  const why = explainReplicas(story, "ScaleInPending");
  return setReplicas(addEvent(story, { at, tone: "blocked", subject, text: "ScaleInPending", why }), {
    pendingSince: at,
  });
}

function setReplicas(story: Story, change: Partial<ReplicasStory>): Story {
  return { ...story, replicas: { ...story.replicas, ...change } };
}

/** A block of replicas because sizes change is worth a line; windows and tolerances are not. */
function isBecauseOfSizes(reason: ReplicasReason): boolean {
  return reason === "VerticalFirst" || reason === "VerticalUp";
}

/** With the numbers of the last scaling loop. */
function explainReplicas({ replicas: { asked } }: Story, reason: ReplicasReason | "ScaleInPending"): string {
  if (asked === null) return "";
  const { lo, hi } = asked;
  switch (reason) {
    case "VerticalFirst":
      return `${isEnough(lo, "at full size")}, at initial size it takes ${hi}`;
    case "VerticalUp":
      return "pods at their limit grow first";
    case "ScaledOut":
      return `at full size it takes ${lo}, at initial size ${hi}`;
    case "ScaledIn":
      return isEnough(hi, "at initial size");
    case "ScaleInPending":
      return `${isEnough(hi, "at initial size")}: sizes wait for the number`;
    default:
      return "";
  }
}

function isEnough(count: number, size: string): string {
  return `${count} ${size} ${count === 1 ? "is" : "are"} enough`;
}

/** A notice in short. */
interface NoticeExplanation {
  /** A reason of the contract's list, or the whole message of a notice that has none. */
  readonly text: string;
  /** In words; empty where the text is enough. */
  readonly why: string;
}

/** Returns what each notice of `evaluation.outcome.notices` is about, without parsing its message. */
function explainNotice(notice: Notice, evaluation: Evaluation): NoticeExplanation {
  return explainRefusal(notice, evaluation) ?? explainStuck(notice, evaluation) ?? explainBlock(notice, evaluation) ??
    { text: notice.message, why: "" };
}

/** A request that the API server refused, or accepted without changing the pod: both make its size wait. */
function explainRefusal({ name }: Notice, { input: { observation }, outcome }: Evaluation): NoticeExplanation | null {
  if (observation.kind !== "answered" || name !== "ScaleFailed") return null;
  const { request } = observation;
  const refusals = listAllRefusals(findContainerState(outcome.state, request.container)?.refusals ?? {});
  const newest = refusals.reduce<Refusal | null>((a, b) => a === null || b.until > a.until ? b : a, null);
  return newest &&
    {
      text: newest.reason,
      why: `${newest.message}; wanted ${describeChange(request.from, request.to, request.changes)}`,
    };
}

function explainStuck({ name }: Notice, { input, outcome }: Evaluation): NoticeExplanation | null {
  if (input.observation.kind === "answered" || name !== "ResizePending") return null;
  const status = computeResizeStatus(input.pod, outcome.state, input.now);
  return isStuck(status) ? { text: STUCK_REASONS[status.kind], why: status.message } : null;
}

function explainBlock(notice: Notice, evaluation: Evaluation): NoticeExplanation | null {
  for (const decided of evaluation.outcome.decisions) {
    const { decision } = decided;
    if (decision.kind !== "blocked" || BLOCK_NOTICE[decision.reason] !== notice.name) continue;
    if (findAutoscaler(evaluation, decided)?.uid !== notice.autoscaler) continue;
    return { text: decision.reason, why: decision.message };
  }
  return null;
}
