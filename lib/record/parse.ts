/**
 * Parses states, records and record lines from JSON that anybody may have written. Each field is checked against the
 * schema. Another version is refused by name. Nothing throws.
 */
import * as v from "valibot";
import { type PodState, STATE_VERSION } from "../model/state.ts";
import type { Problem } from "../units/untrusted.ts";
import { inputSchema, outcomeSchema, stateSchema } from "./pod_schema.ts";
import {
  type EvaluationRecord,
  RECORD_VERSION,
  type RecordLine,
  REPLICAS_RECORD_VERSION,
  type ReplicasRecord,
} from "./record.ts";
import { replicasRecordSchema } from "./scaled_object_schema.ts";

/** Parses a pod's state from the result of `JSON.parse`. Never throws. */
export function parseState(value: unknown): Parsed<PodState> {
  return parseVersioned(value, { what: "state", version: STATE_VERSION, schema: stateSchema });
}

/** Parses a record of a pod from the result of `JSON.parse`. Never throws. */
export function parseRecord(value: unknown): Parsed<EvaluationRecord> {
  return parseVersioned(value, { what: "record", version: RECORD_VERSION, schema: recordSchema });
}

/** Parses a record of a ScaledObject from the result of `JSON.parse`. Compiles its formulas and schedules again. */
function parseReplicasRecord(value: unknown): Parsed<ReplicasRecord> {
  return parseVersioned(value, {
    what: "record",
    version: REPLICAS_RECORD_VERSION,
    schema: replicasRecordSchema,
  });
}

/** Parses one line, without its newline. Never throws. Paths of problems begin at the line: `record.input.now`. */
export function parseLine(text: string): Parsed<RecordLine> {
  const json = parseJson(text);
  if (!json.ok) return json;
  const head = parseAs(json.value, { what: "line", schema: lineSchema });
  if (!head.ok) return head;
  const { record, kind, ...line } = head.value;
  if (kind === "pod") {
    const parsed = parseRecord(record);
    return parsed.ok ? { ok: true, value: { kind, ...line, record: parsed.value } } : toRecordProblems(parsed);
  }
  const parsed = parseReplicasRecord(record);
  return parsed.ok ? { ok: true, value: { kind, ...line, record: parsed.value } } : toRecordProblems(parsed);
}

/** The value, or every problem that was found. */
type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** What is read, and of which version. */
interface RecordKind<T> {
  readonly what: string;
  readonly version: number;
  readonly schema: v.GenericSchema<unknown, T>;
}

/** Another version is refused by name. Never throws. */
function parseVersioned<T>(value: unknown, { what, version, schema }: RecordKind<T>): Parsed<T> {
  const versioned = v.safeParse(v.looseObject({ version: v.number() }), value);
  if (versioned.success && versioned.output.version !== version) {
    const message =
      `Cannot read a ${what} of version ${versioned.output.version}: this podfit reads version ${version}`;
    return { ok: false, problems: [{ path: "version", message }] };
  }
  return parseAs(value, { what, schema });
}

/** Never throws. */
function parseAs<T>(value: unknown, { what, schema }: Pick<RecordKind<T>, "what" | "schema">): Parsed<T> {
  const parsed = v.safeParse(schema, value);
  if (parsed.success) return { ok: true, value: parsed.output };
  const problems = parsed.issues.map((issue) => ({
    path: v.getDotPath(issue) ?? "",
    message: `Cannot read the ${what}: ${issue.message}`,
  }));
  return { ok: false, problems };
}

const recordSchema: v.GenericSchema<unknown, EvaluationRecord> = v.strictObject({
  version: v.literal(RECORD_VERSION),
  before: stateSchema,
  input: inputSchema,
  outcome: outcomeSchema,
});

const lineSchema = v.strictObject({
  kind: v.picklist(["pod", "scaledObject"]),
  namespace: v.string(),
  name: v.string(),
  uid: v.string(),
  count: v.pipe(v.number(), v.safeInteger(), v.minValue(1)),
  since: v.pipe(v.number(), v.finite()),
  record: v.unknown(),
});

type Refused = Extract<Parsed<never>, { readonly ok: false }>;

function parseJson(text: string): Parsed<unknown> {
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch {
    const why = text.trimStart().startsWith("{")
      ? "it is not a whole JSON object, so it may be cut off"
      : "it is not JSON";
    return { ok: false, problems: [{ path: "", message: `Cannot read the line: ${why}` }] };
  }
}

function toRecordProblems({ problems }: Refused): Refused {
  return { ok: false, problems: problems.map(({ path, message }) => ({ path: joinPath(path), message })) };
}

function joinPath(path: string): string {
  return path === "" ? "record" : `record.${path}`;
}
