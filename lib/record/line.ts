/**
 * What podfit remembers of its own decisions, as JSON lines: those of `/debug/records`, of a trace file, and of everybody who reads them (explain,
 * top, replay). A record that only repeats the one before is counted, not kept: `count` of them, the first at `since`. One in which nothing was
 * asked, as when a pod has changed between two samples, is counted too, and does not take the place of what was decided.
 */
import type { EvaluationRecord } from "./record.ts";
import type { ReplicasRecord } from "./replicas_record.ts";

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
