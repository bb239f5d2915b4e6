/**
 * The fold of a ScaledObject: decideReplicas(state, input) -> { state, write, notices, report }. One kind of observation after the other: what the
 * manifest says (changed, deleted), what keeps podfit from it (obstructed), the two halves (poll, tick), and what became of a write (answered).
 * Events that follow from conditions are found once, at the end. Pure.
 */
import type { ScaledObject } from "../../scaled_object/scaled_object.ts";
import { settle } from "./answered.ts";
import { change } from "./changed.ts";
import { finish } from "./deleted.ts";
import type { ReplicasInput, ReplicasObservation, ReplicasOutcome, Scale } from "./input.ts";
import { listEdges } from "./notify/edges.ts";
import { obstruct } from "./obstructed.ts";
import { nextPaused, pause, reportPaused } from "./pause.ts";
import { poll } from "./poll/poll.ts";
import type { ReplicasState } from "./state.ts";
import { tickHalf } from "./tick_half.ts";

/** The next state, at most one write, what people are notified of, and what log and metrics say. Never throws. */
export function decideReplicas(before: ReplicasState, input: ReplicasInput): ReplicasOutcome {
  const outcome = fold(before, input);
  const edges = listEdges(before.conditions, outcome.state.conditions);
  return withhold({ ...outcome, notices: [...edges, ...outcome.notices] }, input);
}

function fold(before: ReplicasState, input: ReplicasInput): ReplicasOutcome {
  const { observation } = input;
  if (observation.kind === "answered") return settle(before, observation, input);
  if (observation.kind === "deleted") return finish(before, observation.scale, input);
  if (input.object.isDeleting) return { state: before, write: null, notices: [], report: null };
  const state = markPaused(before, input);
  if (observation.kind === "obstructed") return obstruct(state, observation.obstacle, input);
  const { scaledObject: object } = input.object;
  if (object === null) return obstruct(state, { kind: "invalid" }, input);
  return runValid(state, observation, { input, object });
}

type Running = Extract<ReplicasObservation, { readonly kind: "changed" | "poll" | "tick" }>;

interface Valid {
  readonly input: ReplicasInput;
  readonly object: ScaledObject;
}

function runValid(state: ReplicasState, observation: Running, valid: Valid): ReplicasOutcome {
  const { scale } = observation;
  if (observation.kind === "changed") return change(state, scale, valid);
  if (valid.input.object.isPaused) return standStill(state, { half: observation.kind, scale, ...valid });
  return observation.kind === "poll" ? poll(state, observation, valid) : tickHalf(state, { observation, ...valid });
}

function markPaused(before: ReplicasState, { object }: ReplicasInput): ReplicasState {
  const Paused = nextPaused(before.conditions.Paused, object);
  const state = { ...before, conditions: { ...before.conditions, Paused } };
  // Paused is paused, also where an obstacle or a mistake beside it keeps podfit from more.
  return object.isPaused ? { ...state, history: null } : state;
}

/** A half was due while the object is paused. */
function standStill(
  state: ReplicasState,
  { half, scale, input }: { readonly half: "poll" | "tick"; readonly scale: Scale; readonly input: ReplicasInput },
): ReplicasOutcome {
  return { ...pause(state, null, input), report: reportPaused(half, scale) };
}

/** `--dry-run` writes nothing, and says what it would (C53). */
function withhold(outcome: ReplicasOutcome, { dryRun }: ReplicasInput): ReplicasOutcome {
  const { write, report } = outcome;
  if (!dryRun || write === null) return outcome;
  const said = report === null
    ? null
    : { ...report, reason: "DryRun", message: `not written: ${write.message}` } as const;
  return { ...outcome, write: null, report: said };
}
