/**
 * The activation loop: scales between zero (or idle) and the minimum, as KEDA's checkScalers and RequestScale.
 *
 * activation.ts chooses the step, and this file performs it.
 */
import type {
  ReplicasInput,
  ReplicasObservation,
  ReplicasOutcome,
  ReplicasReason,
  ReplicasReport,
  Scale,
  ScaleWrite,
} from "../model/replicas_decision.ts";
import type { Condition, ReplicasState } from "../model/replicas_state.ts";
import { formatTarget, listExternalTriggers, listMistakes, type ScaledObject } from "../model/scaled_object.ts";
import { formatTime } from "../units/time.ts";
import {
  type ActivationStep,
  type Activity,
  chooseActivationStep,
  computeActivity,
  toWholeSeconds,
} from "./activation.ts";
import {
  addMistakes,
  COOLING_DOWN,
  isFailedWrite,
  NOT_ACTIVE,
  type OwnCondition,
  PARTIAL_TRIGGER_ERROR,
  toReadyNow,
  toScalerActive,
  TRIGGER_EMPTY,
  TRIGGER_ERROR,
} from "./conditions.ts";
import { type AnswersByMetric, isDoubted } from "./empty_answers.ts";
import { evaluateTriggers, type Evaluation, reportActivation } from "./evaluation.ts";
import { reportHeld } from "./events.ts";

type PollObservation = Extract<ReplicasObservation, { readonly kind: "poll" }>;

/** Returns the outcome of one activation loop. Never throws. Clauses: R50, R51, R52, R53, R58. */
export function runActivationLoop(
  before: ReplicasState,
  { scale, triggers: readings, readyPods }: PollObservation,
  { input, object }: { readonly input: ReplicasInput; readonly object: ScaledObject },
): ReplicasOutcome {
  const { replicas } = scale;
  const evaluation = evaluateTriggers(before, { input, object, half: "poll", readings, replicas, readyPods });
  const activity = computeActivity(object, evaluation.metrics, evaluation.composite);
  const isActive = activity.isActive || object.annotations.isForcedActive;
  const { isError, isEmpty, activeMetrics } = activity;
  // An empty answer does not count for fallback, so no fallback replaces it.
  const hasFallback = object.fallback !== null && !isEmpty;
  const step = chooseActivationStep({ ...object, isActive, isError, hasFallback, replicas });
  const { answers } = evaluation.state;
  const taken = takeStep(step, { before, input, object, scale, answers, isEmpty, activeMetrics });
  const isDeactivated = taken.write?.reason === "Deactivated";
  const { conditions } = evaluation.state;
  const isHeld = taken.write !== null && !input.dryRun && isFailedWrite(conditions.Ready);
  const ready = isHeld ? conditions.Ready : toReadyNow(input);
  const failing = taken.ready && addMistakes(taken.ready, listMistakes(object));
  const state: ReplicasState = {
    ...evaluation.state,
    notified: isDeactivated ? evaluation.state.notified : reportHeld(evaluation.state.notified, null).notified,
    answeredChecks: isError ? before.answeredChecks : Math.min(before.answeredChecks + 1, MIN_ANSWERED_CHECKS),
    activity: nextActivity(object, activity),
    isActive,
    lastActiveAt: taken.lastActiveAt ?? before.lastActiveAt,
    conditions: { ...conditions, Ready: failing ?? ready, Active: taken.active },
  };
  const report = toActivationReport(taken, { object, replicas, evaluation });
  return { state, write: taken.write, notices: evaluation.notices, report };
}

/** With a formula the composite metric is active, and KEDA shows no trigger as active. */
function nextActivity(object: ScaledObject, { activeMetrics }: Activity): Readonly<Record<string, boolean>> {
  const active = new Set(activeMetrics);
  return Object.fromEntries(listExternalTriggers(object).map(({ metricName }) => [metricName, active.has(metricName)]));
}

interface ActivationFacts {
  readonly object: ScaledObject;
  readonly replicas: number;
  readonly evaluation: Evaluation;
}

function toActivationReport(
  { write, reason, message }: StepResult,
  { object, replicas, evaluation }: ActivationFacts,
): ReplicasReport {
  const triggers = reportActivation(object, evaluation);
  const desired = write?.replicas ?? replicas;
  return { half: "poll", replicas, desired, reason, message, triggers, need: null, stabilized: null };
}

/** The result of a step. */
interface StepResult {
  readonly write: ScaleWrite | null;
  /** `null` = no fault. */
  readonly ready: OwnCondition | null;
  readonly active: Condition;
  /** Epoch ms in whole seconds; `null` = unchanged. A write sets it only once it is accepted. */
  readonly lastActiveAt: number | null;
  readonly reason: ReplicasReason | null;
  readonly message: string;
}

interface StepFacts {
  readonly before: ReplicasState;
  readonly input: ReplicasInput;
  readonly object: ScaledObject;
  readonly scale: Scale;
  /** With those of this check. */
  readonly answers: AnswersByMetric;
  /** The only failures are empty answers. */
  readonly isEmpty: boolean;
  /** Names of metrics. */
  readonly activeMetrics: readonly string[];
}

/** Performs a step: its write, its conditions and its message. Clauses: R52, R53, R56. */
function takeStep(step: ActivationStep, facts: StepFacts): StepResult {
  return STEPS[step](facts);
}

const STEPS: Readonly<Record<ActivationStep, (facts: StepFacts) => StepResult>> = {
  activate,
  doubt: (facts) => ({ ...stayActive(facts), ready: PARTIAL_TRIGGER_ERROR, ...TRIGGER_FAILED_REPORT }),
  stay: (facts) => ({ ...stayActive(facts), lastActiveAt: toWholeSeconds(facts.input.now) }),
  awaitFallback: () => ({ ...INACTIVE_RESULT, ...TRIGGER_FAILED_REPORT }),
  fail: ({ isEmpty }) =>
    isEmpty
      ? { ...INACTIVE_RESULT, ready: TRIGGER_EMPTY, reason: "TriggerEmpty", message: TRIGGER_EMPTY.message }
      : { ...INACTIVE_RESULT, ready: TRIGGER_ERROR, ...TRIGGER_FAILED_REPORT },
  deactivate,
  raise: raiseToMinimum,
  rest: stayInactive,
};

const TRIGGER_FAILED_REPORT = {
  reason: "TriggerFailed",
  message: "triggers failed: nothing is written for that",
} as const;

const INACTIVE_RESULT: StepResult = {
  write: null,
  ready: null,
  active: NOT_ACTIVE,
  lastActiveAt: null,
  reason: null,
  message: "triggers are not active, and nothing is to be done",
};

function stayActive({ object }: StepFacts): StepResult {
  const active = toScalerActive(object.annotations.isForcedActive);
  return { ...INACTIVE_RESULT, active, message: "triggers are active, and nothing is to be done" };
}

function activate(facts: StepFacts): StepResult {
  const { object, scale, input } = facts;
  const { isScaleOutPaused, isForcedActive } = object.annotations;
  if (isScaleOutPaused) return { ...stayActive(facts), reason: "Paused", message: "scale-out is paused by annotation" };
  const replicas = Math.max(1, object.minReplicas);
  const cause = isForcedActive
    ? "caused by forced activation annotation"
    : `triggered by ${formatActiveTriggers(facts)}`;
  const message = `Scaled ${formatTarget(input.object)} from ${scale.replicas} to ${replicas}, ${cause}`;
  return { ...stayActive(facts), ...toStepWrite(facts, { replicas, reason: "Activated", message }) };
}

/** CPU and memory have no metric name in KEDA. */
function formatActiveTriggers({ object, activeMetrics }: StepFacts): string {
  return activeMetrics.length > 0 ? activeMetrics.join(";") : object.triggers.map(({ type }) => type).join(";");
}

function deactivate(facts: StepFacts): StepResult {
  const { object, scale, input } = facts;
  if (object.annotations.isScaleInPaused) {
    return { ...INACTIVE_RESULT, reason: "Paused", message: "scale-in is paused by annotation" };
  }
  // KEDA knows since when the object was active, and podfit does not take that over.
  const isUnknown = input.kedaDeactivation === true && input.object.adoption === null;
  const lastActiveAt = facts.before.lastActiveAt ?? (isUnknown ? null : toWholeSeconds(input.now));
  const cooledAt = computeCooldownEnd(lastActiveAt, facts);
  const waiting = { ...INACTIVE_RESULT, active: COOLING_DOWN, lastActiveAt, reason: "ScalerCooldown" } as const;
  if (cooledAt > input.now) {
    const message = `triggers are not active, and the cooldown lasts until ${
      formatTime(cooledAt + (input.wallAheadMs ?? 0))
    }`;
    return { ...waiting, message };
  }
  const unproven = input.kedaDeactivation ? null : describeUnproven(facts);
  if (unproven !== null) return { ...waiting, message: `triggers are not active, but ${unproven}` };
  const replicas = object.idleReplicas ?? 0;
  const message = `Deactivated ${formatTarget(input.object)} from ${scale.replicas} to ${replicas}`;
  return { ...INACTIVE_RESULT, ...toStepWrite(facts, { replicas, reason: "Deactivated", message }) };
}

/**
 * Returns epoch ms. `lastActiveAt` is `null` for an object that was never active where KEDA's rule applies: then only
 * the initial cooldown counts, and otherwise only the other one. podfit's own rule is the later of both.
 */
function computeCooldownEnd(
  lastActiveAt: number | null,
  { object, input: { wallAheadMs = 0, kedaDeactivation } }: StepFacts,
): number {
  const initialEnd = object.createdAt - wallAheadMs + object.initialCooldownMs;
  if (lastActiveAt === null) return initialEnd;
  const end = lastActiveAt + object.cooldownMs;
  return kedaDeactivation ? end : Math.max(end, initialEnd);
}

/** From this number of answered checks on, podfit relies on the answers. */
const MIN_ANSWERED_CHECKS = 2;

/** Returns why the answers since podfit's start do not prove yet that the object is inactive; `null` = they do. */
function describeUnproven({ before, object, answers, input: { now } }: StepFacts): string | null {
  if (before.answeredChecks + 1 < MIN_ANSWERED_CHECKS) return "podfit has just started and checks once more";
  const { pollIntervalMs } = object;
  const empty = listExternalTriggers(object).find((trigger) => isDoubted(trigger, { answers, pollIntervalMs, now }));
  return empty === undefined ? null : `${empty.metricName} has given no value since podfit started: it may still come`;
}

function raiseToMinimum(facts: StepFacts): StepResult {
  const replicas = facts.object.minReplicas;
  const message = `New size: ${replicas}; reason: Current number of replicas below minReplicaCount`;
  return { ...INACTIVE_RESULT, ...toStepWrite(facts, { replicas, reason: "ScaledOut", message }) };
}

function stayInactive({ object, scale }: StepFacts): StepResult {
  if (object.idleReplicas !== null) return { ...INACTIVE_RESULT, reason: "Idle" };
  return scale.replicas === 0 ? { ...INACTIVE_RESULT, reason: "ScalingDisabled" } : INACTIVE_RESULT;
}

function toStepWrite(
  { scale, input }: StepFacts,
  wanted: Pick<ScaleWrite, "replicas" | "reason" | "message">,
): Pick<StepResult, "write" | "reason" | "message"> {
  const { reason, message } = wanted;
  return { write: { from: scale, half: "poll", at: input.now, ...wanted }, reason, message };
}
