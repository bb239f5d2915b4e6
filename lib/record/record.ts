/**
 * The format of flight records: one evaluation of a pod or a ScaledObject, as versioned JSON, one per line. A record
 * holds the input and the result of a decision, so that it can be replayed.
 */
import type { SizeInput, SizeOutcome } from "../model/decision.ts";
import type { ReplicasInput, ReplicasOutcome } from "../model/replicas_decision.ts";
import type { ReplicasState } from "../model/replicas_state.ts";
import type { PodState } from "../model/state.ts";

// One evaluation as plain versioned JSON: what the fold was given and what it made of it. A record can be kept, sent,
// shown and replayed: `decide(before, input)` gives the same outcome again. A room of its own above core, of whose
// types it is made.

/** Grows with each change of a record's shape, that of the state in it included. */
export const RECORD_VERSION = 2;

/** The arguments of `decideSize`, and what it returned. */
export interface EvaluationRecord {
  readonly version: typeof RECORD_VERSION;
  readonly before: PodState;
  readonly input: SizeInput;
  readonly outcome: SizeOutcome;
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

// One pass of a ScaledObject as plain versioned JSON: what its fold was given and what it made of it.

/** Grows with each change of a record's shape, that of the state in it included. */
export const REPLICAS_RECORD_VERSION = 1;

/** The arguments of `decideReplicas`, and what it returned. */
export interface ReplicasRecord {
  readonly version: typeof REPLICAS_RECORD_VERSION;
  readonly before: ReplicasState;
  readonly input: ReplicasInput;
  readonly outcome: ReplicasOutcome;
}

// What podfit remembers of its own decisions, as JSON lines: those of `/debug/records`, of a trace file, and of
// everybody who reads them (explain, top, replay). A record that only repeats the one before is counted, not kept:
// `count` of them, the first at `since`. One in which nothing was asked, as when a pod has changed between two
// samples, is counted too, and does not take the place of what was decided.

interface Line {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** How many evaluations in a row came to the same, this one included. */
  readonly count: number;
  /** When the first of them was, epoch ms. */
  readonly since: number;
}

/** The newest of `count` evaluations of a pod. */
export interface PodLine extends Line {
  readonly kind: "pod";
  readonly record: EvaluationRecord;
}

/** The newest of `count` passes of a ScaledObject. */
export interface ScaledObjectLine extends Line {
  readonly kind: "scaledObject";
  readonly record: ReplicasRecord;
}

export type RecordLine = PodLine | ScaledObjectLine;

// Records and lines as JSON, which `parseLine` reads back to the same values.

/** A record of the present version. */
export function toReplicasRecord({ before, input, outcome }: Omit<ReplicasRecord, "version">): ReplicasRecord {
  return { version: REPLICAS_RECORD_VERSION, before, input, outcome };
}

/** One line, without the newline. What triggers send as credentials is left out: whoever may read lines may not have them. */
export function formatLine(line: RecordLine): string {
  // What a pod's record is made of JSON knows.
  return line.kind === "pod" ? JSON.stringify(line) : JSON.stringify(line, replace);
}

const REDACTED = "(not shown)";

function replace(key: string, value: unknown): unknown {
  switch (typeof value) {
    case "bigint":
      return String(value);
    case "number":
      return Number.isFinite(value) ? value : String(value);
    case "object":
      return value === null ? null : replaceObject(key, value);
    default:
      return key === "apiKey" ? REDACTED : withoutPassword(key, value);
  }
}

function replaceObject(key: string, value: object): unknown {
  if (value instanceof Map) return [...value];
  if ((key === "start" || key === "end") && "weekdays" in value && "text" in value) return value.text;
  const isSecret = (key === "customHeaders" || key === "queryParameters") && Array.isArray(value);
  return isSecret ? value.map((pair) => Array.isArray(pair) ? [pair[0], REDACTED] : pair) : value;
}

function withoutPassword(key: string, value: unknown): unknown {
  if ((key !== "url" && key !== "serverAddress") || typeof value !== "string") return value;
  return value.replace(/^(https?:\/\/)[^/?#]*@/i, "$1").replace(/\?.*$/s, `?${REDACTED}`);
}
