/** The tick half around the HPA's algorithm: which proposals it gets, when it rests (R54), and what comes of it for state and report. */
import type { Behavior } from "../../scaled_object/behavior.ts";
import type { ScaledObject } from "../../scaled_object/scaled_object.ts";
import { IDLE, mirrorActive } from "./condition_words.ts";
import { evaluate, type Evaluation } from "./evaluate.ts";
import type { ReplicasInput, ReplicasOutcome, ScaleWrite } from "./input.ts";
import { notifyOfNoNeed } from "./notify/no_need.ts";
import { notifyOfYardsticks } from "./notify/yardsticks.ts";
import { restrainBehavior } from "./pause.ts";
import { proposeFor, type Ticked } from "./propose.ts";
import type { ReplicasState } from "./state.ts";
import { listSubjects, nameSubject } from "./subjects.ts";
import { tick, type TickOutcome } from "./tick/tick.ts";
import { reportTicked } from "./trigger_reports.ts";

/** What the half is about. */
interface Facts {
  readonly observation: Ticked;
  readonly input: ReplicasInput;
  readonly object: ScaledObject;
}

export function tickHalf(before: ReplicasState, facts: Facts): ReplicasOutcome {
  const { observation: { scale, triggers: readings, readyPods }, object } = facts;
  const { replicas } = scale;
  const evaluation = evaluate(before, { object, half: "tick", readings, replicas, readyPods });
  return isResting(before, object, replicas) ? rest(evaluation, facts) : follow(evaluation, facts);
}

/** At idle replicas the poll half alone decides; the tick half would lift them to the minimum at once. */
function isResting({ isActive }: ReplicasState, { idleReplicas }: ScaledObject, replicas: number): boolean {
  return isActive === false && idleReplicas !== null && idleReplicas > 0 && replicas <= idleReplicas;
}

function rest({ state, notices, ...evaluation }: Evaluation, { observation, object }: Facts): ReplicasOutcome {
  const { replicas } = observation.scale;
  const triggers = reportTicked(object, { ...evaluation, readings: observation.triggers, proposals: [] });
  const said = { reason: "Idle", message: IDLE.message } as const;
  const report = {
    half: "tick",
    replicas,
    desired: replicas,
    ...said,
    triggers,
    need: null,
    stabilized: null,
  } as const;
  const conditions = { ...state.conditions, HPAActive: IDLE };
  return { state: { ...state, conditions, isScaleInPending: false }, write: null, notices, report };
}

function follow(evaluation: Evaluation, facts: Facts): ReplicasOutcome {
  const { observation, input, object } = facts;
  const { replicas } = observation.scale;
  const behavior = restrainBehavior(object);
  const subjects = listSubjects(object);
  const outcome = tick(evaluation.state.history, {
    ...object,
    now: input.now,
    replicas,
    behavior,
    propose: () => subjects.map((subject) => proposeFor(subject, { ...facts, evaluation, behavior })),
    metricNames: subjects.map(nameSubject),
  });
  const { proposals, conditions, history } = outcome;
  const told = notifyOfYardsticks(evaluation.state.notified, { subjects, proposals, readings: observation.triggers });
  const isFirst = evaluation.state.history === null;
  const needless = notifyOfNoNeed(told.notified, { outcome, isFirst });
  const state: ReplicasState = {
    ...evaluation.state,
    history,
    conditions: { ...evaluation.state.conditions, ...mirrorActive(conditions) },
    isScaleInPending: isScaleInPending(outcome, { object, behavior, replicas }),
    notified: needless.notified,
  };
  const notices = [...evaluation.notices, ...told.notices, ...needless.notices];
  const { desired, reason, message, need, stabilized } = outcome;
  const triggers = reportTicked(object, { ...evaluation, readings: observation.triggers, proposals });
  const report = { half: "tick", replicas, desired, reason, message, triggers, need, stabilized } as const;
  return { state, write: toWrite(outcome, facts), notices, report };
}

function toWrite({ desired, reason, message }: TickOutcome, { observation, input }: Facts): ScaleWrite | null {
  const { scale } = observation;
  if (desired === scale.replicas) return null;
  const said = `New size: ${desired}; reason: ${message}`;
  return { from: scale, replicas: desired, half: "tick", at: input.now, reason, message: said };
}

interface Pending {
  readonly object: ScaledObject;
  readonly behavior: Behavior | null;
  readonly replicas: number;
}

/** All triggers ask for fewer, whatever yardstick is taken, and replicas may fall (R86). Where they may not, pods are not kept from shrinking. */
function isScaleInPending({ proposals }: TickOutcome, { object, behavior, replicas }: Pending): boolean {
  if (replicas <= Math.max(1, object.minReplicas) || behavior?.scaleDown.select === "Disabled") return false;
  return proposals.length > 0 && proposals.every((proposal) => proposal.kind === "proposal" && proposal.hi < replicas);
}
