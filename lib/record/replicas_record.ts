/** One pass of a ScaledObject as plain versioned JSON: what its fold was given and what it made of it. */
import type { ReplicasInput, ReplicasOutcome } from "../core/replicas/input.ts";
import type { ReplicasState } from "../core/replicas/state.ts";

/** Grows with each change of a record's shape, that of the state in it included. */
export const REPLICAS_RECORD_VERSION = 1;

/** The arguments of `decideReplicas`, and what it returned. */
export interface ReplicasRecord {
  readonly version: typeof REPLICAS_RECORD_VERSION;
  readonly before: ReplicasState;
  readonly input: ReplicasInput;
  readonly outcome: ReplicasOutcome;
}
