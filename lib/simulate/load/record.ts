/** Usage per container out of a file of records (JSON lines, as `podfit record` writes them), as loads. */
import { parseRecord } from "../../record/parse.ts";
import { isRecord, quote } from "../../units/untrusted.ts";
import { collectUsage } from "./usage_points.ts";
import type { ReadLoads } from "./load.ts";

export interface RecordOptions {
  /** The file's name, for messages. */
  readonly file: string;
}

/**
 * One load for each container of each pod that two readings are there of. Lines of ScaledObjects are passed over, any
 * other line that is no record is refused with its number. Never throws.
 */
export function readRecords(text: string, { file }: RecordOptions): ReadLoads {
  const usage = collectUsage();
  let readings = 0;
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    const parsed = readLine(line);
    if (typeof parsed === "string") return { ok: false, message: `${file}:${index + 1}:1: ${parsed}` };
    if (parsed === null) continue;
    const { pod, observation } = parsed.record.input;
    if (observation.kind !== "usage") continue;
    readings++;
    usage.add(`${pod.namespace}/${pod.name}`, observation.usage.points);
  }
  const loads = usage.toLoads();
  if (loads.length > 0) return { ok: true, loads };
  const cause = `${readings} reading${readings === 1 ? "" : "s"} of usage, and a load needs two of one container`;
  return { ok: false, message: `Cannot read a load from ${file}: it has ${cause}; record for longer` };
}

/** `null` for a line without a pod's usage; a sentence for one that is no record. */
function readLine(line: string) {
  const value = parseJson(line);
  if (!isRecord(value)) return "Cannot read the line: it is no JSON object, or cut off";
  const { kind } = value;
  if (kind === "scaledObject") return null;
  if (kind !== "pod") return `Cannot read the line: its kind is ${quote(kind)}, not "pod" or "scaledObject"`;
  const parsed = parseRecord(value["record"]);
  if (parsed.ok) return { record: parsed.value };
  const [problem] = parsed.problems;
  const path = problem === undefined || problem.path === "" ? "" : `record.${problem.path}: `;
  return `${path}${problem?.message ?? "Cannot read the record"}`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
