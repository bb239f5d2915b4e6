/** What pausing does (R55, R56), as KEDA's handlePause and newHPAForScaledObject. */
import { type Behavior, DEFAULT_BEHAVIOR } from "../../scaled_object/behavior.ts";
import type { ScaledObject, ScaledObjectFacts } from "../../scaled_object/scaled_object.ts";
import { PAUSED, PAUSED_MESSAGE, toReady, UNPAUSED } from "./condition_words.ts";
import type { Condition } from "./conditions.ts";
import type { ReplicasInput, ReplicasOutcome, Scale, ScaleWrite } from "./input.ts";
import { noteStopped } from "./notify/watching.ts";
import type { ReplicasReport } from "./report.ts";
import type { ReplicasState } from "./state.ts";

/** Nothing runs any more. `scale` is `null` where no count may be written: it is, once, when the object or podfit appears or changes. */
export function pause(before: ReplicasState, scale: Scale | null, input: ReplicasInput): ReplicasOutcome {
  const { object } = input;
  const pausedReplicas = object.scaledObject?.annotations.pausedReplicas ?? null;
  const stopped = noteStopped(before.notified);
  const state: ReplicasState = {
    ...before,
    isScaleInPending: false,
    pausedReplicas,
    conditions: { ...before.conditions, Ready: toReady(PAUSED_MESSAGE, input.warnings), Paused: PAUSED },
    notified: stopped.notified,
  };
  const write = scale === null || pausedReplicas === null ? null : writePaused(scale, pausedReplicas, input);
  return { state, write, notices: stopped.notices, report: null };
}

function writePaused(from: Scale, replicas: number, { now }: ReplicasInput): ScaleWrite | null {
  if (from.replicas === replicas) return null;
  const message = `New size: ${replicas}; reason: annotation autoscaling.keda.sh/paused-replicas`;
  return { from, replicas, half: "paused", at: now, reason: "Paused", message };
}

/** What a half that was due tells of a paused object. */
export function reportPaused(half: "poll" | "tick", { replicas }: Scale): ReplicasReport {
  const nothing = { triggers: [], need: null, stabilized: null };
  return { half, replicas, desired: replicas, reason: "Paused", message: PAUSED_MESSAGE, ...nothing };
}

/** Condition Paused, of which one direction is enough; the manifest may be invalid otherwise. */
export function nextPaused(before: Condition | undefined, object: ScaledObjectFacts): Condition {
  if (object.isPaused || isDirectionPaused(object.scaledObject)) return PAUSED;
  if (before === undefined) return NEVER_PAUSED;
  return before.status === "True" ? UNPAUSED : before;
}

const NEVER_PAUSED: Condition = { status: "False", reason: "", message: "" };

function isDirectionPaused(object: ScaledObject | null): boolean {
  return object !== null && (object.annotations.isScaleInPaused || object.annotations.isScaleOutPaused);
}

/** The tick half's behavior: a paused direction is Disabled, and so `behavior` is present, with defaults where it was absent. */
export function restrainBehavior({ behavior, annotations }: ScaledObject): Behavior | null {
  const { isScaleInPaused, isScaleOutPaused } = annotations;
  if (!isScaleInPaused && !isScaleOutPaused) return behavior;
  const { scaleUp, scaleDown } = behavior ?? DEFAULT_BEHAVIOR;
  return {
    scaleUp: isScaleOutPaused ? { ...scaleUp, select: "Disabled" } : scaleUp,
    scaleDown: isScaleInPaused ? { ...scaleDown, select: "Disabled" } : scaleDown,
  };
}
