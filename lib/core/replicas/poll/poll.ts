/** The poll half: activation, deactivation and idle (R50 to R53), as KEDA's checkScalers and RequestScale. */
import { listExternalTriggers } from "../../../scaled_object/list_triggers.ts";
import type { ScaledObject } from "../../../scaled_object/scaled_object.ts";
import { READY_MESSAGE, toReady } from "../condition_words.ts";
import { evaluate, type Evaluation } from "../evaluate.ts";
import type { ReplicasInput, ReplicasObservation, ReplicasOutcome } from "../input.ts";
import type { ReplicasReport } from "../report.ts";
import type { ReplicasState } from "../state.ts";
import { reportPolled } from "../trigger_reports.ts";
import { type Activity, readActivity } from "./activity.ts";
import { type Taken, takeStep } from "./take_step.ts";
import { choosePollStep } from "./step.ts";

type Polled = Extract<ReplicasObservation, { readonly kind: "poll" }>;

export function poll(
  before: ReplicasState,
  { scale, triggers: readings, readyPods }: Polled,
  { input, object }: { readonly input: ReplicasInput; readonly object: ScaledObject },
): ReplicasOutcome {
  const { replicas } = scale;
  const evaluation = evaluate(before, { object, half: "poll", readings, replicas, readyPods });
  const activity = readActivity(object, evaluation.metrics, evaluation.composite);
  const isActive = activity.isActive || object.annotations.isForcedActive;
  const { isError, activeMetrics } = activity;
  const step = choosePollStep({ ...object, isActive, isError, hasFallback: object.fallback !== null, replicas });
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
  const report = toReport(taken, { object, replicas, evaluation });
  return { state, write: taken.write, notices: evaluation.notices, report };
}

/** With a formula it is the composite that is active, and KEDA shows none of the triggers as such. */
function nextActivity(object: ScaledObject, { activeMetrics }: Activity): Readonly<Record<string, boolean>> {
  const active = new Set(activeMetrics);
  return Object.fromEntries(listExternalTriggers(object).map(({ metricName }) => [metricName, active.has(metricName)]));
}

interface Reported {
  readonly object: ScaledObject;
  readonly replicas: number;
  readonly evaluation: Evaluation;
}

function toReport({ write, reason, message }: Taken, { object, replicas, evaluation }: Reported): ReplicasReport {
  const triggers = reportPolled(object, evaluation);
  const desired = write?.replicas ?? replicas;
  return { half: "poll", replicas, desired, reason, message, triggers, need: null, stabilized: null };
}
