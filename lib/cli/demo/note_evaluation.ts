/** What a story becomes with one evaluation of the daemon, and with what goes wrong beside evaluations. */
import type { ContainerDecision, Scaled } from "../../core/decision.ts";
import { formatSide } from "../../core/changes.ts";
import type { Notice, NoticeName } from "../../core/reasons.ts";
import { type Evaluation, findOwner } from "../../daemon/report/sink.ts";
import type { Trouble } from "../../daemon/report/trouble.ts";
import { resourceOf, sideOf } from "../../units/resources.ts";
import { explainNotice } from "./explain_notice.ts";
import { addEvent, type Change, type Story, type Tone } from "./story.ts";

/** The story with the notices, decisions, request and resize of one evaluation. */
export function noteEvaluation(story: Story, evaluation: Evaluation): Story {
  const { notices, decisions, request, scaled } = evaluation.outcome;
  let next = story;
  for (const notice of notices) next = noteNotice(next, notice, evaluation);
  for (const decision of decisions) next = noteDecision(next, decision, evaluation);
  if (request !== null) {
    next = { ...next, why: { ...next.why, [evaluation.input.pod.name]: request.why } };
  }
  return scaled === null ? next : noteScaled(next, scaled, evaluation);
}

/** The story with an autoscaler that cannot work as it is written, or a failure of one of podfit's parts. */
export function noteTrouble(story: Story, { at, trouble }: { readonly at: number; readonly trouble: Trouble }): Story {
  if (trouble.kind === "recovered") return story;
  const subject = trouble.autoscaler?.name ?? "";
  return trouble.kind === "status"
    ? addEvent(story, { at, tone: "blocked", subject, text: trouble.notice.message, why: "" })
    : addEvent(story, { at, tone: "trouble", subject, text: trouble.message, why: "" });
}

const RESIZED: ReadonlySet<NoticeName> = new Set(["ScaleUp", "ScaleDown", "Inherited"]);
const POD_SUFFIX = 5;

function noteNotice(story: Story, notice: Notice, evaluation: Evaluation): Story {
  // A resize has a line of its own.
  if (RESIZED.has(notice.name)) return story;
  const { now: at, contenders } = evaluation.input;
  const subject = contenders.find(({ uid }) => uid === notice.autoscaler)?.name ?? "";
  return addEvent(story, { at, tone: "blocked", subject, ...explainNotice(notice, evaluation) });
}

function noteDecision(story: Story, decided: ContainerDecision, evaluation: Evaluation): Story {
  const { decision, isNewSample } = decided;
  const subject = findOwner(evaluation, decided)?.name ?? "";
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

function noteScaled(story: Story, scaled: Scaled, evaluation: Evaluation): Story {
  const { now: at } = evaluation.input;
  const tone = scaled.action === "scaleUp" ? "up" : "down";
  const subject = findOwner(evaluation, scaled)?.name ?? "";
  const { name } = evaluation.input.pod;
  // Where there are several pods it is told which, by what a ReplicaSet adds to their name.
  const shown = story.scene === "both" ? name.slice(-POD_SUFFIX) : subject;
  return {
    ...addEvent(story, { at, tone, subject: shown, text: scaled.change, why: story.why[name] ?? "" }),
    resizes: { ...story.resizes, [tone]: story.resizes[tone] + 1 },
    changes: { ...story.changes, ...listChanges(scaled, { at, tone, subject }) },
  };
}

/** By `container.resource`: what each side of it went from and to. */
function listChanges(
  { deltas }: Scaled,
  { at, tone, subject }: { readonly at: number; readonly tone: Extract<Tone, "up" | "down">; readonly subject: string },
): Story["changes"] {
  const changes: Record<string, Change> = {};
  for (const { key, from, to } of deltas) {
    const name = `${subject}.${resourceOf(key)}`;
    const known = changes[name] ?? { at, tone, requests: null, limits: null };
    changes[name] = { ...known, [sideOf(key)]: `${formatSide(key, from)} → ${formatSide(key, to)}` };
  }
  return changes;
}
