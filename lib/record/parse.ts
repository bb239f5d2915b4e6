/**
 * Records and states read back from JSON that anybody may have written or cut off: believed only when every field is
 * there, of its type, and no other. Another version is refused by name. Nothing here throws.
 */
import * as v from "valibot";
import type { PodState } from "../core/state.ts";
import { STATE_VERSION } from "../core/state.ts";
import { inputSchema } from "./input_schema.ts";
import { outcomeSchema } from "./outcome_schema.ts";
import { type Parsed, parseVersioned } from "./parsed.ts";
import { type EvaluationRecord, RECORD_VERSION } from "./record.ts";
import { REPLICAS_RECORD_VERSION, type ReplicasRecord } from "./replicas_record.ts";
import { replicasRecordSchema } from "./replicas_schema.ts";
import { stateSchema } from "./state_schema.ts";

/** A pod's state as `JSON.parse` gives it. */
export function parseState(value: unknown): Parsed<PodState> {
  return parseVersioned(value, { what: "state", version: STATE_VERSION, schema: stateSchema });
}

/** A record of a pod as `JSON.parse` gives it. */
export function parseRecord(value: unknown): Parsed<EvaluationRecord> {
  return parseVersioned(value, { what: "record", version: RECORD_VERSION, schema: recordSchema });
}

/** A record of a ScaledObject as `JSON.parse` gives it. Its formulas and schedules are compiled anew. */
export function parseReplicasRecord(value: unknown): Parsed<ReplicasRecord> {
  return parseVersioned(value, {
    what: "record",
    version: REPLICAS_RECORD_VERSION,
    schema: replicasRecordSchema,
  });
}

const recordSchema: v.GenericSchema<unknown, EvaluationRecord> = v.strictObject({
  version: v.literal(RECORD_VERSION),
  before: stateSchema,
  input: inputSchema,
  outcome: outcomeSchema,
});
