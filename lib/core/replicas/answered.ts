/** What the API server made of a write (R44, R46, R52). */
import { toFailedUpdateScale } from "./condition_words.ts";
import type { Condition } from "./conditions.ts";
import type { ReplicasInput, ReplicasObservation, ReplicasOutcome, ScaleAnswer, ScaleWrite } from "./input.ts";
import { readTopic, setTopic } from "./notify/notified.ts";
import { toUnwritten, toWritten } from "./notify/words.ts";
import { restrainBehavior } from "./pause.ts";
import { toWholeSeconds } from "./poll/take_step.ts";
import type { ReplicasState } from "./state.ts";
import { toRescaled } from "./tick/conditions.ts";
import { type History, noteRescale } from "./tick/history.ts";

type Answered = Extract<ReplicasObservation, { readonly kind: "answered" }>;

/** What was refused is wanted again at the next tick or poll, or not. */
export function settle(before: ReplicasState, { write, answer }: Answered, input: ReplicasInput): ReplicasOutcome {
  switch (answer.kind) {
    case "accepted":
      return accept(before, { write, replicas: answer.replicas, input });
    case "dropped":
      return { state: before, write: null, notices: [], report: null };
    case "refused":
    case "unanswered":
      return complain(before, { write, cause: toCause(answer), input });
  }
}

const TOPIC = "write";

interface Accepted {
  readonly write: ScaleWrite;
  readonly replicas: number;
  readonly input: ReplicasInput;
}

function accept(before: ReplicasState, { write, replicas, input }: Accepted): ReplicasOutcome {
  const isIn = replicas < write.from.replicas;
  const isActivation = write.half === "poll" && write.reason === "Activated";
  const state: ReplicasState = {
    ...before,
    history: nextHistory(before.history, { write, replicas, input }),
    lastActiveAt: isActivation ? toWholeSeconds(write.at) : before.lastActiveAt,
    scaledInAt: isIn ? input.now : before.scaledInAt,
    isScaleInPending: before.isScaleInPending && !isIn,
    conditions: setAbleToScale(before, toRescaled(replicas)),
    notified: setTopic(before.notified, TOPIC, null),
  };
  return { state, write: null, notices: [toWritten(write)], report: null };
}

/** Only writes of the tick half are events of its rate policies; a pause in between has forgotten them all. */
function nextHistory(history: History | null, { write, replicas, input }: Accepted): History | null {
  const { scaledObject } = input.object;
  if (history === null || write.half !== "tick" || scaledObject === null) return history;
  const behavior = restrainBehavior(scaledObject);
  return noteRescale(history, { from: write.from.replicas, to: replicas, now: write.at, behavior });
}

function toCause(answer: Extract<ScaleAnswer, { readonly kind: "refused" | "unanswered" }>): string {
  return answer.kind === "refused" ? `${answer.message} (HTTP ${answer.code})` : answer.message;
}

interface Unwritten {
  readonly write: ScaleWrite;
  readonly cause: string;
  readonly input: ReplicasInput;
}

/** News when it begins, or the cause is another one: a write is tried again every 15 s. */
function complain(before: ReplicasState, { write, cause, input }: Unwritten): ReplicasOutcome {
  const isNews = readTopic(before.notified, TOPIC) !== cause;
  const state: ReplicasState = {
    ...before,
    conditions: setAbleToScale(before, toFailedUpdateScale(cause)),
    notified: setTopic(before.notified, TOPIC, cause),
  };
  return { state, write: null, notices: isNews ? [toUnwritten(write, cause, input.object)] : [], report: null };
}

function setAbleToScale({ conditions }: ReplicasState, AbleToScale: Condition): ReplicasState["conditions"] {
  return { ...conditions, AbleToScale };
}
