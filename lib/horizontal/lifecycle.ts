/**
 * What happens to a ScaledObject outside of its two loops?
 *
 * It appears or changes, is paused, is blocked by something, gets the answer to a write, or is deleted.
 */
import { formatProblems } from "../model/reasons.ts";
import type {
  Blocker,
  ReplicasInput,
  ReplicasNotice,
  ReplicasObservation,
  ReplicasOutcome,
  ReplicasReason,
  Scale,
  ScaleAnswer,
  ScaleWrite,
} from "../model/replicas_decision.ts";
import type { Condition, Conditions, ReplicasState, ScalingHistory } from "../model/replicas_state.ts";
import type { ScaledObject, ScaledObjectFacts } from "../model/scaled_object.ts";
import { toWholeSeconds } from "./activation.ts";
import { disablePausedDirections, recordRescale } from "./behavior.ts";
import {
  mirrorHpaActive,
  PAUSED,
  PAUSED_MESSAGE,
  READY_MESSAGE,
  toCheckFailed,
  toFailedGetScale,
  toFailedUpdateScale,
  toFallback,
  toNoReplicas,
  toReady,
  toRescaled,
  UNKNOWN_STATE,
  UNPAUSED,
} from "./conditions.ts";
import {
  dropRemovedTriggers,
  findTopic,
  reportScalersStarted,
  reportScalersStopped,
  setTopic,
  toFailedWriteNotice,
  toWrittenNotice,
} from "./events.ts";
import { hasTriggerInFallback, keepCurrentFailures } from "./fallback.ts";
import { guessResource } from "./status.ts";

/** Returns an outcome that writes nothing and reports nothing. */
export function leaveReplicas(state: ReplicasState, notices: readonly ReplicasNotice[] = []): ReplicasOutcome {
  return { state, write: null, notices, report: null };
}

/**
 * Unless it is paused, both halves run from now on.
 * Clauses: R6, R55, R57.
 */
export function applyChange(
  before: ReplicasState,
  scale: Scale,
  { input, object }: { readonly input: ReplicasInput; readonly object: ScaledObject },
): ReplicasOutcome {
  const state = recordTarget(before, scale, object);
  if (input.object.isPaused) return applyPause(state, scale, input);
  const started = reportScalersStarted(state.notified);
  const { Ready } = state.conditions;
  const conditions = {
    ...state.conditions,
    Ready: isSetByActivationLoop(Ready) ? Ready : toReady(READY_MESSAGE, input.warnings),
  };
  return leaveReplicas({ ...state, pausedReplicas: null, conditions, notified: started.notified }, started.notices);
}

/** What the status holds of the target from first sight on, and of the triggers only those that there are. */
function recordTarget(before: ReplicasState, { replicas, resource }: Scale, object: ScaledObject): ReplicasState {
  const failures = keepCurrentFailures(before.failures, object);
  return {
    ...before,
    failures,
    originalReplicas: before.originalReplicas ?? replicas,
    targetResource: resource ?? guessResource(object.target),
    conditions: { ...before.conditions, Fallback: toFallback(hasTriggerInFallback(failures, object)) },
    notified: dropRemovedTriggers(before.notified, object),
  };
}

/** The next poll is due at once, and says whether its triggers work. */
function isSetByActivationLoop(ready: Condition | undefined): ready is Condition {
  return ready?.reason === "TriggerError" || ready?.reason === "PartialTriggerError";
}

/**
 * Nothing runs any more. `scale` is `null` where no count may be written: it is, once, when the object or podfit
 * appears or changes.
 * Clauses: R55, R56.
 */
export function applyPause(before: ReplicasState, scale: Scale | null, input: ReplicasInput): ReplicasOutcome {
  const { object } = input;
  const pausedReplicas = object.scaledObject?.annotations.pausedReplicas ?? null;
  const stopped = reportScalersStopped(before.notified);
  const state: ReplicasState = {
    ...before,
    isScaleInPending: false,
    pausedReplicas,
    conditions: { ...before.conditions, Ready: toReady(PAUSED_MESSAGE, input.warnings), Paused: PAUSED },
    notified: stopped.notified,
  };
  const write = scale === null || pausedReplicas === null ? null : toPausedWrite(scale, pausedReplicas, input);
  return { ...leaveReplicas(state, stopped.notices), write };
}

function toPausedWrite(from: Scale, replicas: number, { now }: ReplicasInput): ScaleWrite | null {
  if (from.replicas === replicas) return null;
  const message = `New size: ${replicas}; reason: annotation autoscaling.keda.sh/paused-replicas`;
  return { from, replicas, half: "paused", at: now, reason: "Paused", message };
}

/** Returns the outcome of a loop that was due while the object is paused. */
export function skipWhilePaused(
  state: ReplicasState,
  { kind: half, scale }: Extract<ReplicasObservation, { readonly kind: "poll" | "tick" }>,
  input: ReplicasInput,
): ReplicasOutcome {
  const { replicas } = scale;
  const nothing = { triggers: [], need: null, stabilized: null };
  const report = { half, replicas, desired: replicas, reason: "Paused", message: PAUSED_MESSAGE, ...nothing } as const;
  return { ...applyPause(state, null, input), report };
}

/** Sets condition Paused. A paused object is paused even where a blocker or a mistake in its spec exists as well. */
export function setPausedCondition(before: ReplicasState, { object }: ReplicasInput): ReplicasState {
  const Paused = nextPaused(before.conditions.Paused, object);
  const state = { ...before, conditions: { ...before.conditions, Paused } };
  return object.isPaused ? { ...state, history: null } : state;
}

/** Condition Paused, of which one direction is enough; the manifest may be invalid otherwise. */
function nextPaused(before: Condition | undefined, object: ScaledObjectFacts): Condition {
  if (object.isPaused || isDirectionPaused(object.scaledObject)) return PAUSED;
  if (before === undefined) return NEVER_PAUSED;
  return before.status === "True" ? UNPAUSED : before;
}

const NEVER_PAUSED: Condition = { status: "False", reason: "", message: "" };

function isDirectionPaused(object: ScaledObject | null): boolean {
  return object !== null && (object.annotations.isScaleInPaused || object.annotations.isScaleOutPaused);
}

/**
 * The one word for log and metrics; `null` where conditions alone have one.
 * Clauses: C53, R3, R6, R30, R75, R78, R94.
 */
export function findBlockerReason(obstacle: Blocker): ReplicasReason | null {
  switch (obstacle.kind) {
    case "invalid":
      return "InvalidSpec";
    case "check":
      return obstacle.reason;
    case "selector":
      return obstacle.reason === "AmbiguousSelector" ? obstacle.reason : null;
    case "scale":
      return null;
  }
}

/** The target keeps its replicas, and the tick half its history. */
export function applyBlocker(before: ReplicasState, obstacle: Blocker, input: ReplicasInput): ReplicasOutcome {
  const conditions = { ...before.conditions, ...toBlockedConditions(obstacle, input) };
  return leaveReplicas({ ...before, conditions, isScaleInPending: false });
}

function toBlockedConditions(obstacle: Blocker, { object }: ReplicasInput): Conditions {
  switch (obstacle.kind) {
    case "invalid":
      return { Ready: toCheckFailed(`InvalidSpec: ${formatProblems(object.problems)}`), Active: UNKNOWN_STATE };
    case "check":
      return { Ready: toCheckFailed(obstacle.message), Active: UNKNOWN_STATE };
    case "selector": {
      const { reason, message } = obstacle;
      const failed = { Ready: toCheckFailed(`${reason}: ${message}`), Active: UNKNOWN_STATE };
      return { ...failed, ...mirrorHpaActive({ HPAActive: { status: "False", reason, message } }) };
    }
    case "scale":
      return { Ready: toNoReplicas(obstacle.message), AbleToScale: toFailedGetScale(obstacle.message) };
  }
}

type AnsweredObservation = Extract<ReplicasObservation, { readonly kind: "answered" }>;

/**
 * What was refused is wanted again at the next tick or poll, or not.
 * Clauses: R44, R46, R52.
 */
export function applyAnswer(
  before: ReplicasState,
  { write, answer }: AnsweredObservation,
  input: ReplicasInput,
): ReplicasOutcome {
  switch (answer.kind) {
    case "accepted":
      return applyAccepted(before, { write, replicas: answer.replicas, input });
    case "dropped":
      return leaveReplicas(before);
    case "refused":
    case "unanswered":
      return applyFailed(before, { write, cause: formatCause(answer), input });
  }
}

const WRITE_TOPIC = "write";

interface AcceptedWrite {
  readonly write: ScaleWrite;
  readonly replicas: number;
  readonly input: ReplicasInput;
}

function applyAccepted(before: ReplicasState, { write, replicas, input }: AcceptedWrite): ReplicasOutcome {
  const isIn = replicas < write.from.replicas;
  const isActivation = write.half === "poll" && write.reason === "Activated";
  const state: ReplicasState = {
    ...before,
    history: nextScalingHistory(before.history, { write, replicas, input }),
    lastActiveAt: isActivation ? toWholeSeconds(write.at) : before.lastActiveAt,
    scaledInAt: isIn ? input.now : before.scaledInAt,
    isScaleInPending: before.isScaleInPending && !isIn,
    conditions: setAbleToScale(before, toRescaled(replicas)),
    notified: setTopic(before.notified, WRITE_TOPIC, null),
  };
  return leaveReplicas(state, [toWrittenNotice(write)]);
}

/** Only writes of the tick half are events of its rate policies; a pause in between has forgotten them all. */
function nextScalingHistory(
  history: ScalingHistory | null,
  { write, replicas, input }: AcceptedWrite,
): ScalingHistory | null {
  const { scaledObject } = input.object;
  if (history === null || write.half !== "tick" || scaledObject === null) return history;
  const behavior = disablePausedDirections(scaledObject);
  return recordRescale(history, { from: write.from.replicas, to: replicas, now: write.at, behavior });
}

function formatCause(answer: Extract<ScaleAnswer, { readonly kind: "refused" | "unanswered" }>): string {
  return answer.kind === "refused" ? `${answer.message} (HTTP ${answer.code})` : answer.message;
}

interface FailedWrite {
  readonly write: ScaleWrite;
  readonly cause: string;
  readonly input: ReplicasInput;
}

/** News when it begins, or the cause is another one: a write is tried again every 15 s. */
function applyFailed(before: ReplicasState, { write, cause, input }: FailedWrite): ReplicasOutcome {
  const isNews = findTopic(before.notified, WRITE_TOPIC) !== cause;
  const state: ReplicasState = {
    ...before,
    conditions: setAbleToScale(before, toFailedUpdateScale(cause)),
    notified: setTopic(before.notified, WRITE_TOPIC, cause),
  };
  return leaveReplicas(state, isNews ? [toFailedWriteNotice(write, cause, input.object)] : []);
}

function setAbleToScale({ conditions }: ReplicasState, AbleToScale: Condition): ReplicasState["conditions"] {
  return { ...conditions, AbleToScale };
}

const DELETED_TOPIC = "deleted";

const DELETED_NOTICE: ReplicasNotice = { name: "ScaledObjectDeleted", message: "ScaledObject was deleted" };

/**
 * Nothing is written but the replicas of before podfit, where that is asked for. Told once, written as often as it is
 * asked.
 * Clauses: R57.
 */
export function applyDeletion(before: ReplicasState, scale: Scale | null, input: ReplicasInput): ReplicasOutcome {
  const stopped = reportScalersStopped(before.notified);
  const isNews = findTopic(before.notified, DELETED_TOPIC) === null;
  const notified = setTopic(stopped.notified, DELETED_TOPIC, "told");
  const notices = isNews ? [...stopped.notices, DELETED_NOTICE] : stopped.notices;
  const write = scale === null ? null : toRestoringWrite(before, scale, input);
  return { ...leaveReplicas({ ...before, history: null, isScaleInPending: false, notified }, notices), write };
}

function toRestoringWrite(
  { originalReplicas: replicas }: ReplicasState,
  from: Scale,
  { object: { scaledObject, restoring }, now }: ReplicasInput,
): ScaleWrite | null {
  if ((scaledObject ?? restoring)?.restoresReplicas !== true || replicas === null || replicas === from.replicas) {
    return null;
  }
  const reason = replicas > from.replicas ? "ScaledOut" : "ScaledIn";
  const message = `New size: ${replicas}; reason: restoreToOriginalReplicaCount`;
  return { from, replicas, half: "restore", at: now, reason, message };
}

/** Removes the write of a dry run, and reports it instead. */
export function applyDryRun(outcome: ReplicasOutcome, { dryRun }: ReplicasInput): ReplicasOutcome {
  const { write, report } = outcome;
  if (!dryRun || write === null) return outcome;
  const message = `not written: ${write.message}`;
  return { ...outcome, write: null, report: report === null ? null : { ...report, reason: "DryRun", message } };
}
