/**
 * What happens to a ScaledObject outside of its two loops?
 *
 * It appears or changes, is paused, is blocked by something, gets the answer to a write, or is deleted.
 */
import { formatProblems } from "../model/reasons.ts";
import type {
  Blocker,
  CheckReason,
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
import { FINALIZER, type ScaledObject, type ScaledObjectFacts } from "../model/scaled_object.ts";
import { toWholeSeconds } from "./activation.ts";
import { disablePausedDirections, recordRescale } from "./behavior.ts";
import {
  CHECK_FAILED_MESSAGE,
  dropScaling,
  ENDING,
  ENDING_MESSAGE,
  GOT_SCALE,
  IDLE_SCALING_DISABLED,
  isEnding,
  isFailedWrite,
  mirrorHpaActive,
  PAUSED,
  PAUSED_MESSAGE,
  SCALING_DISABLED,
  startLoops,
  stopLoops,
  toCheckFailed,
  toDeactivationHeld,
  toFailedGetScale,
  toFailedUpdateScale,
  toFailedWrite,
  toFallback,
  toKept,
  toNoReplicas,
  toReady,
  toReadyNow,
  toRescaled,
  toStale,
  UNPAUSED,
} from "./conditions.ts";
import {
  dropRemovedTriggers,
  findTopic,
  reportHeld,
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

/** Starts both loops, unless the object is paused. Clauses: R6, R55, R57. */
export function applyChange(
  before: ReplicasState,
  scale: Scale,
  { input, object }: { readonly input: ReplicasInput; readonly object: ScaledObject },
): ReplicasOutcome {
  const state = recordTarget(before, scale, object);
  if (input.object.isPaused) return applyPause(state, scale, input);
  const started = reportScalersStarted(state.notified, object);
  const { Ready } = state.conditions;
  const conditions = {
    ...startLoops(state.conditions),
    Ready: isSetByActivationLoop(Ready) ? Ready : toReadyNow(input),
  };
  return leaveReplicas({ ...state, pausedReplicas: null, conditions, notified: started.notified }, started.notices);
}

/** Records the target at first sight, and removes what belongs to triggers that no longer exist. */
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

/** The next activation loop is due at once, and reports whether its triggers work. */
function isSetByActivationLoop(ready: Condition | undefined): ready is Condition {
  return ready !== undefined && SET_BY_ACTIVATION_LOOP.includes(ready.reason);
}

const SET_BY_ACTIVATION_LOOP: readonly string[] = [
  "TriggerError",
  "PartialTriggerError",
  "TriggerEmpty",
  "ErrorScalingTarget",
];

/**
 * Stops both loops. `scale` is `null` if no replica count may be written. The paused count is written once, when the
 * object or podfit appears or changes. Clauses: R55, R56.
 */
export function applyPause(before: ReplicasState, scale: Scale | null, input: ReplicasInput): ReplicasOutcome {
  const { object } = input;
  const pausedReplicas = object.scaledObject?.annotations.pausedReplicas ?? null;
  const stopped = reportScalersStopped(before.notified);
  const write = scale === null || pausedReplicas === null ? null : toPausedWrite(scale, pausedReplicas, input);
  const { Ready } = before.conditions;
  const state: ReplicasState = {
    ...before,
    isScaleInPending: false,
    pausedReplicas,
    conditions: {
      ...stopLoops(before.conditions, PAUSED_MESSAGE),
      // A write that failed is tried again: until it is answered, the last answer counts.
      Ready: write !== null && isFailedWrite(Ready) ? Ready : toReady(PAUSED_MESSAGE, input.warnings),
      Paused: PAUSED,
      AbleToScale: GOT_SCALE,
    },
    notified: stopped.notified,
  };
  return { ...leaveReplicas(state, stopped.notices), write };
}

function toPausedWrite(from: Scale, replicas: number, { now, object }: ReplicasInput): ScaleWrite | null {
  if (from.replicas === replicas) return null;
  const prefix = object.adoption === null ? "autoscaling.keda.sh" : "podfit.dev";
  const message = `New size: ${replicas}; reason: annotation ${prefix}/paused-replicas`;
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

/** Sets the condition Paused. An object can be paused while it is blocked or its spec is invalid. */
export function setPausedCondition(
  before: ReplicasState,
  { object }: Pick<ReplicasInput, "object">,
): ReplicasState {
  const Paused = nextPaused(before.conditions.Paused, object);
  const state = { ...before, conditions: { ...before.conditions, Paused } };
  return object.isPaused ? { ...state, history: null } : state;
}

/** Returns the condition Paused: one paused direction is enough, and the manifest may be invalid otherwise. */
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
 * Returns what the status says while the list of `resource` is stale, so that podfit does nothing. The state itself stays:
 * podfit goes on from it. Clauses: R91.
 */
export function toStaleState(before: ReplicasState, resource: string, object: ScaledObjectFacts): ReplicasState {
  const state = setPausedCondition(before, { object });
  if (isEnding(state.conditions.Ready)) return state;
  const Ready = toStale(resource);
  return { ...state, conditions: { ...stopLoops(state.conditions, Ready.message), Ready } };
}

/**
 * Returns the reason for log and metrics; `null` if only conditions have one. Clauses: C53, R3, R6, R30, R75, R78, R94.
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

/** The target keeps its replicas, and the scaling loop its history. Clauses: R91, R92. */
export function applyBlocker(before: ReplicasState, obstacle: Blocker, input: ReplicasInput): ReplicasOutcome {
  const blocked = toBlockedConditions(obstacle, input);
  const conditions = { ...stopLoops(before.conditions, CHECK_FAILED_MESSAGE), ...blocked };
  const isNews = blocked.Ready?.message !== before.conditions.Ready?.message;
  const fault = obstacle.kind === "check" && isNews ? obstacle.fault : undefined;
  const notices = fault === undefined ? [] : [{ name: "ScaledObjectCheckFailed", message: fault } as const];
  // While KEDA scales, podfit does not see how long the object is active.
  const isKedas = obstacle.kind === "check" && obstacle.reason === "KEDAIsScaling";
  const lastActiveAt = isKedas ? null : before.lastActiveAt;
  return leaveReplicas({ ...before, lastActiveAt, conditions, isScaleInPending: false }, notices);
}

function toBlockedConditions(obstacle: Blocker, { object }: ReplicasInput): Conditions {
  switch (obstacle.kind) {
    case "invalid":
      return {
        Ready: toCheckFailed(`${object.problems[0]?.reason ?? "InvalidSpec"}: ${formatProblems(object.problems)}`),
      };
    case "check": {
      const { reason, message, fault } = obstacle;
      const failed = toCheckFailed(fault === undefined ? message : `${TARGET_FAULT}: ${message}`);
      return {
        // The condition is podfit's own there, so its reason need not be one of KEDA's.
        Ready: object.adoption === null ? failed : { ...failed, reason },
        ...toAbleToGetScale(reason, message),
      };
    }
    case "selector": {
      const { reason, message } = obstacle;
      const failed = { Ready: toCheckFailed(`${reason}: ${message}`), AbleToScale: GOT_SCALE };
      return { ...failed, ...mirrorHpaActive({ HPAActive: { status: "False", reason, message } }) };
    }
    case "scale":
      return { Ready: toNoReplicas(obstacle.message), AbleToScale: toFailedGetScale(obstacle.message) };
  }
}

/** KEDA's words for a target that is not there or has no subresource scale. */
const TARGET_FAULT = "ScaledObject doesn't have correct scaleTargetRef specification";

/** Empty where the scale was not asked for. */
function toAbleToGetScale(reason: CheckReason, message: string): Conditions {
  if (reason === "KEDAIsScaling" || reason === "NoRecord") return {};
  const isRead = reason !== "TargetNotFound" && reason !== "Rights";
  return { AbleToScale: isRead ? GOT_SCALE : toFailedGetScale(message) };
}

type AnsweredObservation = Extract<ReplicasObservation, { readonly kind: "answered" }>;

/** Returns the outcome of a write. The next loop may write again what was refused. Clauses: R44, R46, R52, R59. */
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
    case "held": {
      const { notified, notices } = reportHeld(before.notified, answer.message);
      const conditions = { ...before.conditions, Active: toDeactivationHeld(answer.message) };
      return leaveReplicas({ ...before, conditions, notified }, notices);
    }
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
  const conditions = nextScaling(before.conditions, write, replicas);
  const { Ready } = conditions;
  const state: ReplicasState = {
    ...before,
    history: nextScalingHistory(before.history, { write, replicas, input }),
    lastActiveAt: isActivation ? toWholeSeconds(write.at) : before.lastActiveAt,
    scaledInAt: isIn ? input.now : before.scaledInAt,
    isScaleInPending: before.isScaleInPending && !isIn,
    conditions: {
      ...conditions,
      ...(isFailedWrite(Ready) && toFailedWrite(write, "") !== null && { Ready: toReadyNow(input) }),
      AbleToScale: toRescaled(replicas),
    },
    notified: setTopic(before.notified, WRITE_TOPIC, null),
  };
  return leaveReplicas(state, [toWrittenNotice(write)]);
}

/** Returns the conditions when the activation loop has started or stopped the scaling loop. Clauses: R91. */
function nextScaling(before: Conditions, { half, reason }: ScaleWrite, replicas: number): Conditions {
  if (half !== "poll") return before;
  if (reason === "Deactivated") {
    return { ...dropScaling(before), HPAActive: replicas === 0 ? SCALING_DISABLED : IDLE_SCALING_DISABLED };
  }
  return before.HPAActive?.reason === "ScalingDisabled" ? dropScaling(before) : before;
}

/** Only writes of the scaling loop count for rate policies. A pause removes them all. */
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

/** Reports when it begins or the cause changes: the write is repeated every 15 s. */
function applyFailed(before: ReplicasState, { write, cause, input }: FailedWrite): ReplicasOutcome {
  const isNews = findTopic(before.notified, WRITE_TOPIC) !== cause;
  const Ready = toFailedWrite(write, cause);
  const state: ReplicasState = {
    ...before,
    conditions: { ...before.conditions, ...(Ready && { Ready }), AbleToScale: toFailedUpdateScale(cause) },
    notified: setTopic(before.notified, WRITE_TOPIC, cause),
  };
  return leaveReplicas(state, isNews ? [toFailedWriteNotice(write, cause, input.object)] : []);
}

const DELETED_TOPIC = "deleted";

const DELETED_NOTICE: ReplicasNotice = { name: "ScaledObjectDeleted", message: "ScaledObject was deleted" };

/**
 * Writes only the replicas from before podfit, if the spec asks for it. The event is sent once; the write is repeated
 * as often as requested. Clauses: R57.
 */
export function applyDeletion(before: ReplicasState, scale: Scale | null, input: ReplicasInput): ReplicasOutcome {
  const stopped = reportScalersStopped(before.notified);
  const isKedas = input.object.adoption !== null;
  const isNews = findTopic(before.notified, DELETED_TOPIC) === null;
  const notified = setTopic(stopped.notified, DELETED_TOPIC, "told");
  const notices = !isKedas && isNews ? [...stopped.notices, DELETED_NOTICE] : stopped.notices;
  const write = scale === null ? null : toRestoringWrite(before, scale, input);
  // A write of the status would get in the way of the finalizer's, so only an end that lasts has conditions of its own.
  const isKept = !isKedas && input.dryRun && input.object.finalizers.includes(FINALIZER);
  const isLasting = isKept || isKedas || !isNews || input.object.finalizers.some((one) => one !== FINALIZER);
  const Ready = isKept ? toKept(input.object) : ENDING;
  const lasting = { ...stopLoops(before.conditions, ENDING_MESSAGE), Ready };
  const state = {
    ...before,
    history: null,
    isScaleInPending: false,
    notified,
    ...(isLasting && { conditions: lasting }),
  };
  return { ...leaveReplicas(state, notices), write };
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
