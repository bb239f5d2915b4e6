/**
 * decideReplicas: one observation of a ScaledObject in, the next state, at most one write, events and a report out.
 *
 * This page calls each step in order. Events that follow from conditions are found once, at the end.
 */
import type { ReplicasInput, ReplicasObservation, ReplicasOutcome, Scale } from "../model/replicas_decision.ts";
import type { ReplicasState } from "../model/replicas_state.ts";
import type { ScaledObject } from "../model/scaled_object.ts";
import { runActivationLoop } from "./activation_loop.ts";
import { listConditionNotices } from "./events.ts";
import {
  applyAnswer,
  applyBlocker,
  applyChange,
  applyDeletion,
  applyPause,
  nextPaused,
  reportPaused,
} from "./lifecycle.ts";
import { runScalingLoop } from "./scaling_loop.ts";

// The fold of a ScaledObject: decideReplicas(state, input) -> { state, write, notices, report }. One kind of
// observation after the other: what the manifest says (changed, deleted), what keeps podfit from it (obstructed), the
// two halves (poll, tick), and what became of a write (answered). Events that follow from conditions are found once,
// at the end. Pure.

/** The next state, at most one write, what people are notified of, and what log and metrics say. Never throws. */
export function decideReplicas(before: ReplicasState, input: ReplicasInput): ReplicasOutcome {
  const outcome = applyObservation(before, input);
  const edges = listConditionNotices(before.conditions, outcome.state.conditions);
  return applyDryRun({ ...outcome, notices: [...edges, ...outcome.notices] }, input);
}

function applyObservation(before: ReplicasState, input: ReplicasInput): ReplicasOutcome {
  const { observation } = input;
  if (observation.kind === "answered") return applyAnswer(before, observation, input);
  if (observation.kind === "deleted") return applyDeletion(before, observation.scale, input);
  if (input.object.isDeleting) return { state: before, write: null, notices: [], report: null };
  const state = setPausedCondition(before, input);
  if (observation.kind === "obstructed") return applyBlocker(state, observation.obstacle, input);
  const { scaledObject: object } = input.object;
  if (object === null) return applyBlocker(state, { kind: "invalid" }, input);
  return reconcileValid(state, observation, { input, object });
}

type LoopObservation = Extract<ReplicasObservation, { readonly kind: "changed" | "poll" | "tick" }>;

interface ValidFacts {
  readonly input: ReplicasInput;
  readonly object: ScaledObject;
}

function reconcileValid(state: ReplicasState, observation: LoopObservation, valid: ValidFacts): ReplicasOutcome {
  const { scale } = observation;
  if (observation.kind === "changed") return applyChange(state, scale, valid);
  if (valid.input.object.isPaused) return skipWhilePaused(state, { half: observation.kind, scale, ...valid });
  return observation.kind === "poll"
    ? runActivationLoop(state, observation, valid)
    : runScalingLoop(state, { observation, ...valid });
}

function setPausedCondition(before: ReplicasState, { object }: ReplicasInput): ReplicasState {
  const Paused = nextPaused(before.conditions.Paused, object);
  const state = { ...before, conditions: { ...before.conditions, Paused } };
  // Paused is paused, also where an obstacle or a mistake beside it keeps podfit from more.
  return object.isPaused ? { ...state, history: null } : state;
}

/** A half was due while the object is paused. */
function skipWhilePaused(
  state: ReplicasState,
  { half, scale, input }: { readonly half: "poll" | "tick"; readonly scale: Scale; readonly input: ReplicasInput },
): ReplicasOutcome {
  return { ...applyPause(state, null, input), report: reportPaused(half, scale) };
}

/** `--dry-run` writes nothing, and says what it would (C53). */
function applyDryRun(outcome: ReplicasOutcome, { dryRun }: ReplicasInput): ReplicasOutcome {
  const { write, report } = outcome;
  if (!dryRun || write === null) return outcome;
  const said = report === null
    ? null
    : { ...report, reason: "DryRun", message: `not written: ${write.message}` } as const;
  return { ...outcome, write: null, report: said };
}
