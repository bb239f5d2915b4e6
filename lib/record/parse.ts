/**
 * Records and states read back from JSON that anybody may have written or cut off: believed only when every field is
 * there, of its type, and no other. Another version is refused by name. Nothing here throws.
 */
import * as v from "valibot";
import type { PodState } from "../core/state.ts";
import { STATE_VERSION } from "../core/state.ts";
import type { Problem } from "../units/problem.ts";
import { inputSchema } from "./input_schema.ts";
import { outcomeSchema } from "./outcome_schema.ts";
import { type EvaluationRecord, RECORD_VERSION } from "./record.ts";
import { stateSchema } from "./state_schema.ts";

/** The value, or every problem that was found. */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** A pod's state as `JSON.parse` gives it. */
export function parseState(value: unknown): Parsed<PodState> {
  return parse(value, { what: "state", version: STATE_VERSION, schema: stateSchema });
}

/** A record as `JSON.parse` gives it. */
export function parseRecord(value: unknown): Parsed<EvaluationRecord> {
  return parse(value, { what: "record", version: RECORD_VERSION, schema: recordSchema });
}

const recordSchema: v.GenericSchema<unknown, EvaluationRecord> = v.strictObject({
  version: v.literal(RECORD_VERSION),
  before: stateSchema,
  input: inputSchema,
  outcome: outcomeSchema,
});

interface Kind<T> {
  readonly what: string;
  readonly version: number;
  readonly schema: v.GenericSchema<unknown, T>;
}

function parse<T>(value: unknown, { what, version, schema }: Kind<T>): Parsed<T> {
  const versioned = v.safeParse(v.looseObject({ version: v.number() }), value);
  if (versioned.success && versioned.output.version !== version) {
    const message =
      `Cannot read a ${what} of version ${versioned.output.version}: this podfit reads version ${version}`;
    return { ok: false, problems: [{ path: "version", message }] };
  }
  const parsed = v.safeParse(schema, value);
  if (parsed.success) return { ok: true, value: parsed.output };
  const problems = parsed.issues.map((issue) => ({
    path: v.getDotPath(issue) ?? "",
    message: `Cannot read the ${what}: ${issue.message}`,
  }));
  return { ok: false, problems };
}
