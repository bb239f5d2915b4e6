/** What keeps both halves from running: said in conditions, which make the events (R3, R6, R30, R75, R78). */
import { listProblems } from "../../autoscaler/conditions.ts";
import { mirrorActive, toCheckFailed, toFailedGetScale, toNoReplicas, UNKNOWN_STATE } from "./condition_words.ts";
import type { Conditions } from "./conditions.ts";
import type { Obstacle, ReplicasInput, ReplicasOutcome } from "./input.ts";
import type { ReplicasReason } from "./reasons.ts";
import type { ReplicasState } from "./state.ts";

/** The one word for log and metrics (C53, R94); `null` where conditions alone have one. */
export function readObstacleReason(obstacle: Obstacle): ReplicasReason | null {
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
export function obstruct(before: ReplicasState, obstacle: Obstacle, input: ReplicasInput): ReplicasOutcome {
  const conditions = { ...before.conditions, ...toConditions(obstacle, input) };
  return { state: { ...before, conditions, isScaleInPending: false }, write: null, notices: [], report: null };
}

function toConditions(obstacle: Obstacle, { object }: ReplicasInput): Conditions {
  switch (obstacle.kind) {
    case "invalid":
      return { Ready: toCheckFailed(`InvalidSpec: ${listProblems(object.problems)}`), Active: UNKNOWN_STATE };
    case "check":
      return { Ready: toCheckFailed(obstacle.message), Active: UNKNOWN_STATE };
    case "selector": {
      const { reason, message } = obstacle;
      const failed = { Ready: toCheckFailed(`${reason}: ${message}`), Active: UNKNOWN_STATE };
      return { ...failed, ...mirrorActive({ HPAActive: { status: "False", reason, message } }) };
    }
    case "scale":
      return { Ready: toNoReplicas(obstacle.message), AbleToScale: toFailedGetScale(obstacle.message) };
  }
}
