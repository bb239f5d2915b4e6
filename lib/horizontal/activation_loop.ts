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
import { formatTarget, listExternalTriggers, type ScaledObject } from "../model/scaled_object.ts";
import { formatTime } from "../units/time.ts";
import {
  type ActivationStep,
  type Activity,
  chooseActivationStep,
  computeActivity,
  toWholeSeconds,
} from "./activation.ts";
import {
  COOLING_DOWN,
  NOT_ACTIVE,
  PARTIAL_TRIGGER_ERROR,
  READY_MESSAGE,
  toReady,
  toScalerActive,
  TRIGGER_ERROR,
} from "./conditions.ts";
import { evaluateTriggers, type Evaluation, reportActivation } from "./evaluation.ts";

type PollObservation = Extract<ReplicasObservation, { readonly kind: "poll" }>;

/** Returns the outcome of one activation loop. Never throws. Clauses: R50, R51, R52, R53. */
export function runActivationLoop(
  before: ReplicasState,
  { scale, triggers: readings, readyPods }: PollObservation,
  { input, object }: { readonly input: ReplicasInput; readonly object: ScaledObject },
): ReplicasOutcome {
  const { replicas } = scale;
  const evaluation = evaluateTriggers(before, { object, half: "poll", readings, replicas, readyPods });
  const activity = computeActivity(object, evaluation.metrics, evaluation.composite);
  const isActive = activity.isActive || object.annotations.isForcedActive;
  const { isError, activeMetrics } = activity;
  const step = chooseActivationStep({ ...object, isActive, isError, hasFallback: object.fallback !== null, replicas });
  const taken = takeStep(step, { before, input, object, scale, activeMetrics });
  const { conditions } = evaluation.state;
  const ready = toReady(READY_MESSAGE, input.warnings);
  const state: ReplicasState = {
    ...evaluation.state,
    activity: nextActivity(object, activity),
    isActive,
    lastActiveAt: taken.lastActiveAt ?? before.lastActiveAt,
    conditions: { ...conditions, Ready: taken.ready ?? ready, Active: taken.active },
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
  readonly ready: Condition | null;
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
  fail: () => ({ ...INACTIVE_RESULT, ready: TRIGGER_ERROR, ...TRIGGER_FAILED_REPORT }),
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
  const cooledAt = computeCooldownEnd(facts);
  if (cooledAt > input.now) {
    const message = `triggers are not active, and the cooldown lasts until ${
      formatTime(cooledAt + (input.wallAheadMs ?? 0))
    }`;
    return { ...INACTIVE_RESULT, active: COOLING_DOWN, reason: "ScalerCooldown", message };
  }
  const replicas = object.idleReplicas ?? 0;
  const message = `Deactivated ${formatTarget(input.object)} from ${scale.replicas} to ${replicas}`;
  return { ...INACTIVE_RESULT, ...toStepWrite(facts, { replicas, reason: "Deactivated", message }) };
}

/** Returns epoch ms. For an object that was never active, the cooldown starts at its creation. */
function computeCooldownEnd({ before, object, input: { wallAheadMs = 0 } }: StepFacts): number {
  return before.lastActiveAt === null
    ? object.createdAt - wallAheadMs + object.initialCooldownMs
    : before.lastActiveAt + object.cooldownMs;
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
