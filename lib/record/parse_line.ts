/** A line of /debug/records or of a trace read back; whoever wrote it or cut it off, nothing here throws. */
import * as v from "valibot";
import type { RecordLine } from "./line.ts";
import { parseRecord, parseReplicasRecord } from "./parse.ts";
import { parseAs, type Parsed } from "./parsed.ts";

/** One line, without its newline. Paths of problems begin at the line: `record.input.now`. */
export function parseLine(text: string): Parsed<RecordLine> {
  const json = parseJson(text);
  if (!json.ok) return json;
  const head = parseAs(json.value, { what: "line", schema: lineSchema });
  if (!head.ok) return head;
  const { record, kind, ...line } = head.value;
  if (kind === "pod") {
    const parsed = parseRecord(record);
    return parsed.ok ? { ok: true, value: { kind, ...line, record: parsed.value } } : within(parsed);
  }
  const parsed = parseReplicasRecord(record);
  return parsed.ok ? { ok: true, value: { kind, ...line, record: parsed.value } } : within(parsed);
}

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
      ? "it is no whole JSON object, as if it were cut off"
      : "it is no JSON";
    return { ok: false, problems: [{ path: "", message: `Cannot read the line: ${why}` }] };
  }
}

function within({ problems }: Refused): Refused {
  return { ok: false, problems: problems.map(({ path, message }) => ({ path: join(path), message })) };
}

function join(path: string): string {
  return path === "" ? "record" : `record.${path}`;
}
