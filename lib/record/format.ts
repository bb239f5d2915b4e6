/** Records and lines as JSON, which `parseLine` reads back to the same values. */
import type { RecordLine } from "./line.ts";
import { REPLICAS_RECORD_VERSION, type ReplicasRecord } from "./replicas_record.ts";

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
