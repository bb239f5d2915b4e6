/**
 * The format of flight records: one evaluation of a pod or a ScaledObject, as versioned JSON, one per line.
 *
 * A record holds the input and the result of a decision, so that it can be replayed: `decideSize(before, input)`
 * returns the same outcome again. A record that repeats the one before is counted, not kept.
 */
import type { SizeInput, SizeOutcome } from "../model/decision.ts";
import type { ReplicasInput, ReplicasOutcome } from "../model/replicas_decision.ts";
import type { ReplicasState } from "../model/replicas_state.ts";
import type { PodState } from "../model/state.ts";

/** Grows with each change of a record's shape, that of the state in it included. */
export const RECORD_VERSION = 2;

/** The arguments of `decideSize`, and what it returned. */
export interface EvaluationRecord {
  readonly version: typeof RECORD_VERSION;
  readonly before: PodState;
  readonly input: SizeInput;
  readonly outcome: SizeOutcome;
}

/** Returns a record of the present version. */
export function toRecord(evaluation: Omit<EvaluationRecord, "version">): EvaluationRecord {
  const { before, input, outcome } = evaluation;
  return { version: RECORD_VERSION, before, input, outcome };
}

/** Returns one line of JSON, without the newline. */
export function formatRecord(record: EvaluationRecord): string {
  return JSON.stringify(record);
}

/** Grows with each change of a record's shape, that of the state in it included. */
export const REPLICAS_RECORD_VERSION = 1;

/** The arguments of `decideReplicas`, and what it returned. */
export interface ReplicasRecord {
  readonly version: typeof REPLICAS_RECORD_VERSION;
  readonly before: ReplicasState;
  readonly input: ReplicasInput;
  readonly outcome: ReplicasOutcome;
}

interface Line {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** How many evaluations in a row had the same result, this one included. */
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

/** A record of the present version. */
export function toReplicasRecord({ before, input, outcome }: Omit<ReplicasRecord, "version">): ReplicasRecord {
  return { version: REPLICAS_RECORD_VERSION, before, input, outcome };
}

/**
 * Returns one line, without the newline. Credentials of triggers are left out: readers of the lines may have no right
 * to them.
 */
export function formatLine(line: RecordLine): string {
  // A pod's record has only values that JSON can hold.
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
