/** What a story becomes with one pass of a ScaledObject through the daemon. */
import type { ReplicasReason } from "../../core/replicas/reasons.ts";
import type { ReplicasPass } from "../../daemon/replicas/sink.ts";
import { addEvent, type ReplicasStory, type Story } from "./story.ts";

/** The story with what a tick decided, a change of replicas that was accepted, and sizes that wait for one. */
export function noteReplicas(story: Story, pass: ReplicasPass): Story {
  const subject = pass.input.object.name;
  return notePending(noteWritten(noteTick(story, pass, subject), pass, subject), pass, subject);
}

function noteTick(story: Story, { input: { now: at }, outcome: { report } }: ReplicasPass, subject: string): Story {
  if (report === null || report.half !== "tick" || report.reason === null) return story;
  const { reason } = report;
  const { standing } = story.replicas;
  const proposal = report.triggers.find(({ proposal }) => proposal !== null)?.proposal ?? null;
  const since = standing?.reason === reason ? standing.since : at;
  const next = setReplicas(story, {
    asked: proposal && { lo: proposal.lo, hi: proposal.hi },
    standing: { reason, since },
  });
  const isNews = isOfSizes(reason) && standing?.reason !== reason;
  return isNews ? addEvent(next, { at, tone: "blocked", subject, text: reason, why: explain(next, reason) }) : next;
}

function noteWritten(story: Story, { input }: ReplicasPass, subject: string): Story {
  const { now: at, observation } = input;
  if (observation.kind !== "answered" || observation.answer.kind !== "accepted") return story;
  const { write, answer: { replicas } } = observation;
  const before = write.from.replicas;
  const isOut = replicas > before;
  const tone = isOut ? "up" : "down";
  const text = `${before} -> ${replicas} ${replicas === 1 ? "pod" : "pods"}`;
  const why = [write.reason, explain(story, write.reason)].filter((one) => one !== "").join(": ");
  const { changes } = story.replicas;
  const counted = isOut ? { ...changes, out: changes.out + 1 } : { ...changes, in: changes.in + 1 };
  return setReplicas(addEvent(story, { at, tone, subject, text, why }), {
    changes: counted,
    last: { at, tone, text },
  });
}

function notePending(story: Story, { before, input, outcome }: ReplicasPass, subject: string): Story {
  const { isScaleInPending } = outcome.state;
  if (isScaleInPending === before.isScaleInPending) return story;
  const { now: at } = input;
  if (!isScaleInPending) return setReplicas(story, { pendingSince: null });
  // What is written in the same pass has a line of its own.
  if (outcome.write !== null) return setReplicas(story, { pendingSince: at });
  const why = explain(story, "ScaleInPending");
  return setReplicas(addEvent(story, { at, tone: "blocked", subject, text: "ScaleInPending", why }), {
    pendingSince: at,
  });
}

function setReplicas(story: Story, change: Partial<ReplicasStory>): Story {
  return { ...story, replicas: { ...story.replicas, ...change } };
}

/** What holds replicas because sizes move is worth a line; windows and tolerances are not. */
function isOfSizes(reason: ReplicasReason): boolean {
  return reason === "VerticalFirst" || reason === "VerticalUp";
}

/** In the numbers of the last tick. */
function explain({ replicas: { asked } }: Story, reason: ReplicasReason | "ScaleInPending"): string {
  if (asked === null) return "";
  const { lo, hi } = asked;
  switch (reason) {
    case "VerticalFirst":
      return `${isEnough(lo, "full-grown")}, as born it takes ${hi}`;
    case "VerticalUp":
      return "pods at their limit grow first";
    case "ScaledOut":
      return `full-grown it takes ${lo}, as born ${hi}`;
    case "ScaledIn":
      return isEnough(hi, "as born");
    case "ScaleInPending":
      return `${isEnough(hi, "as born")}: sizes wait for the number`;
    default:
      return "";
  }
}

function isEnough(count: number, size: string): string {
  return `${count} ${size} ${count === 1 ? "is" : "are"} enough`;
}
