/**
 * decideReplicas: one observation of a ScaledObject in, the next state, at most one write, events and a report out.
 *
 * This page calls each step in order. Events that follow from conditions are found once, at the end.
 */
import type { ReplicasInput, ReplicasOutcome } from "../model/replicas_decision.ts";
import type { ReplicasState } from "../model/replicas_state.ts";
import { runActivationLoop } from "./activation_loop.ts";
import { listConditionNotices } from "./events.ts";
import {
  applyAnswer,
  applyBlocker,
  applyChange,
  applyDeletion,
  applyDryRun,
  leaveReplicas,
  setPausedCondition,
  skipWhilePaused,
} from "./lifecycle.ts";
import { runScalingLoop } from "./scaling_loop.ts";

/** Returns the next state, at most one write, the events to report, and a report for log and metrics. Never throws. */
export function decideReplicas(before: ReplicasState, input: ReplicasInput): ReplicasOutcome {
  const outcome = applyObservation(before, input);
  const edges = listConditionNotices(before.conditions, outcome.state.conditions);
  return applyDryRun({ ...outcome, notices: [...edges, ...outcome.notices] }, input);
}

function applyObservation(before: ReplicasState, input: ReplicasInput): ReplicasOutcome {
  const { observation } = input;
  if (observation.kind === "answered") return applyAnswer(before, observation, input);
  if (observation.kind === "deleted") return applyDeletion(before, observation.scale, input);
  if (input.object.isDeleting) return leaveReplicas(before);
  const state = setPausedCondition(before, input);
  if (observation.kind === "obstructed") return applyBlocker(state, observation.obstacle, input);
  const { scaledObject: object } = input.object;
  if (object === null) return applyBlocker(state, { kind: "invalid" }, input);
  if (observation.kind === "changed") return applyChange(state, observation.scale, { input, object });
  // The early check can ask about an object that was paused a moment ago.
  if (input.object.isPaused) return skipWhilePaused(state, observation, input);
  switch (observation.kind) {
    case "poll":
      return runActivationLoop(state, observation, { input, object });
    case "tick":
      return runScalingLoop(state, { observation, input, object });
  }
}
