/** Does a record tell anything that the one before it has not told? What only repeats is counted, not kept. */
import type { ContainerDecision } from "../core/decision.ts";
import type { ReplicasObservation } from "../core/replicas/input.ts";
import type { EvaluationRecord } from "./record.ts";
import type { ReplicasRecord } from "./replicas_record.ts";

/**
 * What a record is beside the one before it. news: it is kept. repeats: the same was decided for the same reason. silent: nothing was
 * asked, such as when a pod has changed between two samples.
 */
export type Repetition = "news" | "repeats" | "silent";

/** The same kind, reason and action for each container; what was resized, answered, seen in force or notified of is always news. */
export function comparePods(before: EvaluationRecord, next: EvaluationRecord): Repetition {
  if (isNotable(next)) return "news";
  const { decisions } = next.outcome;
  if (decisions.length === 0) return "silent";
  const known = before.outcome.decisions;
  const isSame = known.length === decisions.length && !isNotable(before) &&
    decisions.every((one, at) => isSameDecision(known[at], one));
  return isSame ? "repeats" : "news";
}

/** Something was wanted and held: the record with which that begins is kept beside the newest. */
export function isBlocked({ outcome }: EvaluationRecord): boolean {
  return outcome.decisions.some(({ decision }) => decision.kind === "blocked");
}

/** The same desired number for the same reason, without a write. */
export function compareReplicas(before: ReplicasRecord, next: ReplicasRecord): Repetition {
  if (isNotableForReplicas(next) || isNotableForReplicas(before)) return "news";
  const [a, b] = [before.outcome.report, next.outcome.report];
  if (nameObservation(before.input.observation) !== nameObservation(next.input.observation)) return "news";
  return a?.desired === b?.desired && a?.reason === b?.reason ? "repeats" : "news";
}

/** Each half repeats itself. */
export function readLane({ input: { observation: { kind } } }: ReplicasRecord): string {
  return kind === "poll" || kind === "tick" ? kind : "";
}

function isNotable({ input, outcome }: EvaluationRecord): boolean {
  const { request, scaled, enacted, notices } = outcome;
  return input.observation.kind === "answered" || request !== null || scaled !== null || enacted !== null ||
    notices.length > 0;
}

function isSameDecision(a: ContainerDecision | undefined, b: ContainerDecision): boolean {
  return a !== undefined && a.autoscaler === b.autoscaler && a.container === b.container &&
    a.decision.kind === b.decision.kind && readReason(a) === readReason(b) && readAction(a) === readAction(b);
}

function readReason({ decision }: ContainerDecision): string | undefined {
  return decision.reason;
}

function readAction({ decision }: ContainerDecision): string | undefined {
  return "action" in decision ? decision.action : undefined;
}

function isNotableForReplicas({ input: { observation: { kind } }, outcome }: ReplicasRecord): boolean {
  return kind === "answered" || kind === "deleted" || outcome.write !== null || outcome.notices.length > 0;
}

function nameObservation(observation: ReplicasObservation): string {
  if (observation.kind !== "obstructed") return observation.kind;
  const { obstacle } = observation;
  return `${obstacle.kind} ${"message" in obstacle ? obstacle.message : ""}`;
}
