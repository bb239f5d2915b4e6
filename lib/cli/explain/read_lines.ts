/** JSON lines of `/debug/records` as they come: each is read as soon as it is whole. */
import type { RecordLine, ScaledObjectLine } from "../../record/line.ts";
import { parseRecord } from "../../record/parse.ts";
import { REPLICAS_RECORD_VERSION } from "../../record/replicas_record.ts";
import { DebugError } from "./debug_source.ts";
import { isRecord, quote } from "../../units/untrusted.ts";

/** Characters; a pod of many containers has some 100,000. */
const LONGEST = 16 * 2 ** 20;

/** Throws a DebugError for what is no line of this podfit's version, and where one is too long. */
export async function* readLines(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<RecordLine> {
  let rest = "";
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > LONGEST) {
      throw new DebugError("BadAnswer", `Cannot read a record: it is longer than ${LONGEST} characters`);
    }
    for (const line of lines) if (line.trim() !== "") yield toLine(line);
  }
  if (rest.trim() !== "") yield toLine(rest);
}

function toLine(text: string): RecordLine {
  const value = parseJson(text);
  if (!isRecord(value) || !isRecord(value["record"])) {
    throw new DebugError("BadAnswer", `Cannot read a record: ${quote(text)} is none`);
  }
  const { kind, namespace, name, uid, count, since, record } = value;
  const head = {
    namespace: String(namespace),
    name: String(name),
    uid: String(uid),
    count: Number(count),
    since: Number(since),
  };
  if (kind === "pod") {
    const parsed = parseRecord(record);
    if (parsed.ok) return { kind, ...head, record: parsed.value };
    throw new DebugError(
      "BadAnswer",
      `${parsed.problems[0]?.message ?? "Cannot read a record"} (${parsed.problems[0]?.path ?? ""})`,
    );
  }
  if (kind !== "scaledObject") {
    throw new DebugError("BadAnswer", `Cannot read a record of kind ${quote(kind)}: this podfit knows none`);
  }
  if (record["version"] === REPLICAS_RECORD_VERSION) {
    return { kind, ...head, record: record as unknown as ScaledObjectLine["record"] };
  }
  throw new DebugError(
    "BadAnswer",
    `Cannot read a record of version ${quote(record["version"])}: this podfit reads version ${REPLICAS_RECORD_VERSION}`,
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new DebugError("BadAnswer", `Cannot read a record: it is no whole JSON object, as if it were cut off`, {
      cause,
    });
  }
}
