/**
 * One evaluation as plain versioned JSON: what the fold was given and what it made of it. A record can be kept, sent,
 * shown and replayed: `decide(before, input)` gives the same outcome again. A room of its own above core, of whose types it is made.
 */
import type { Input, Outcome } from "../core/decision.ts";
import type { PodState } from "../core/state.ts";

/** Grows with each change of a record's shape, that of the state in it included. */
export const RECORD_VERSION = 2;

/** The arguments of `decide`, and what it returned. */
export interface EvaluationRecord {
  readonly version: typeof RECORD_VERSION;
  readonly before: PodState;
  readonly input: Input;
  readonly outcome: Outcome;
}

/** A record of the present version. */
export function toRecord(evaluation: Omit<EvaluationRecord, "version">): EvaluationRecord {
  const { before, input, outcome } = evaluation;
  return { version: RECORD_VERSION, before, input, outcome };
}

/** One line of JSON, without the newline. */
export function formatRecord(record: EvaluationRecord): string {
  return JSON.stringify(record);
}
