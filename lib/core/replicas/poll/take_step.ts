/** Performs a step of the poll half: which write, which conditions, and what is said of it (R52, R53, R56). */
import type { ScaledObject } from "../../../scaled_object/scaled_object.ts";
import { formatTime } from "../../../units/time.ts";
import { COOLING_DOWN, NOT_ACTIVE, PARTIAL_TRIGGER_ERROR, toActive, TRIGGER_ERROR } from "../condition_words.ts";
import type { Condition } from "../conditions.ts";
import type { ReplicasInput, Scale, ScaleWrite } from "../input.ts";
import { nameTarget } from "../notify/words.ts";
import type { ReplicasReason } from "../reasons.ts";
import type { ReplicasState } from "../state.ts";
import type { PollStep } from "./step.ts";

/** What a step comes to. */
export interface Taken {
  readonly write: ScaleWrite | null;
  /** `null` = all is well. */
  readonly ready: Condition | null;
  readonly active: Condition;
  /** Epoch ms in whole seconds; `null` = it stays. What is written counts once it is accepted. */
  readonly lastActiveAt: number | null;
  readonly reason: ReplicasReason | null;
  readonly message: string;
}

export interface StepFacts {
  readonly before: ReplicasState;
  readonly input: ReplicasInput;
  readonly object: ScaledObject;
  readonly scale: Scale;
  /** Names of metrics. */
  readonly activeMetrics: readonly string[];
}

export function takeStep(step: PollStep, facts: StepFacts): Taken {
  return STEPS[step](facts);
}

const STEPS: Readonly<Record<PollStep, (facts: StepFacts) => Taken>> = {
  activate,
  doubt: (facts) => ({ ...beActive(facts), ready: PARTIAL_TRIGGER_ERROR, ...TRIGGER_FAILED }),
  stay: (facts) => ({ ...beActive(facts), lastActiveAt: toWholeSeconds(facts.input.now) }),
  awaitFallback: () => ({ ...INACTIVE, ...TRIGGER_FAILED }),
  fail: () => ({ ...INACTIVE, ready: TRIGGER_ERROR, ...TRIGGER_FAILED }),
  deactivate,
  raise,
  rest,
};

const TRIGGER_FAILED = { reason: "TriggerFailed", message: "triggers failed: nothing is written for that" } as const;

/** What status.lastActiveTime can hold. */
export function toWholeSeconds(at: number): number {
  return Math.floor(at / 1000) * 1000;
}

const INACTIVE: Taken = {
  write: null,
  ready: null,
  active: NOT_ACTIVE,
  lastActiveAt: null,
  reason: null,
  message: "triggers are not active, and nothing is to be done",
};

function beActive({ object }: StepFacts): Taken {
  const active = toActive(object.annotations.isForcedActive);
  return { ...INACTIVE, active, message: "triggers are active, and nothing is to be done" };
}

function activate(facts: StepFacts): Taken {
  const { object, scale, input } = facts;
  const { isScaleOutPaused, isForcedActive } = object.annotations;
  if (isScaleOutPaused) return { ...beActive(facts), reason: "Paused", message: "scale-out is paused by annotation" };
  const replicas = Math.max(1, object.minReplicas);
  const cause = isForcedActive ? "caused by forced activation annotation" : `triggered by ${nameTriggers(facts)}`;
  const message = `Scaled ${nameTarget(input.object)} from ${scale.replicas} to ${replicas}, ${cause}`;
  return { ...beActive(facts), ...write(facts, { replicas, reason: "Activated", message }) };
}

/** CPU and memory have no metric of KEDA's. */
function nameTriggers({ object, activeMetrics }: StepFacts): string {
  return activeMetrics.length > 0 ? activeMetrics.join(";") : object.triggers.map(({ type }) => type).join(";");
}

function deactivate(facts: StepFacts): Taken {
  const { object, scale, input } = facts;
  if (object.annotations.isScaleInPaused) {
    return { ...INACTIVE, reason: "Paused", message: "scale-in is paused by annotation" };
  }
  const cooledAt = readCooledAt(facts);
  if (cooledAt > input.now) {
    const message = `triggers are not active, and the cooldown lasts until ${formatTime(cooledAt)}`;
    return { ...INACTIVE, active: COOLING_DOWN, reason: "ScalerCooldown", message };
  }
  const replicas = object.idleReplicas ?? 0;
  const message = `Deactivated ${nameTarget(input.object)} from ${scale.replicas} to ${replicas}`;
  return { ...INACTIVE, ...write(facts, { replicas, reason: "Deactivated", message }) };
}

/** Never active counts from when the object was made. */
function readCooledAt({ before, object }: StepFacts): number {
  return before.lastActiveAt === null
    ? object.createdAt + object.initialCooldownMs
    : before.lastActiveAt + object.cooldownMs;
}

function raise(facts: StepFacts): Taken {
  const replicas = facts.object.minReplicas;
  const message = `New size: ${replicas}; reason: Current number of replicas below minReplicaCount`;
  return { ...INACTIVE, ...write(facts, { replicas, reason: "ScaledOut", message }) };
}

function rest({ object, scale }: StepFacts): Taken {
  if (object.idleReplicas !== null) return { ...INACTIVE, reason: "Idle" };
  return scale.replicas === 0 ? { ...INACTIVE, reason: "ScalingDisabled" } : INACTIVE;
}

function write(
  { scale, input }: StepFacts,
  wanted: Pick<ScaleWrite, "replicas" | "reason" | "message">,
): Pick<Taken, "write" | "reason" | "message"> {
  const { reason, message } = wanted;
  return { write: { from: scale, half: "poll", at: input.now, ...wanted }, reason, message };
}
