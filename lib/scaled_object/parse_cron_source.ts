/** Parses triggers of cron (R11). */
import { type CronSchedule, parseCron } from "../units/cron.ts";
import { parseJsonInteger } from "../units/go_numbers.ts";
import { quote } from "../units/untrusted.ts";
import { isTimezone } from "../units/zone.ts";
import type { Metadata } from "./metadata.ts";
import { toCronName } from "./metric_name.ts";
import type { ParsedSource } from "./parsed_source.ts";

export const CRON_KEYS = ["timezone", "start", "end", "desiredReplicas"];

/** Gives the source; `null` where something is wrong, which is reported to the metadata. Never throws. */
export function parseCronSource(metadata: Metadata): ParsedSource | null {
  metadata.require(CRON_KEYS);
  const timezone = readTimezone(metadata);
  const [start, end] = [readSchedule(metadata, "start"), readSchedule(metadata, "end")];
  const times = { start: metadata.text("start"), end: metadata.text("end") };
  if (times.start !== null && times.start === times.end) {
    metadata.report("end", `Cannot use end ${quote(times.end)}: the same as start`);
  }
  const desiredReplicas = readReplicas(metadata);
  if (timezone === null || start === null || end === null || desiredReplicas === null) return null;
  return {
    source: { kind: "cron", timezone, start, end, desiredReplicas },
    metric: `cron-${timezone}-${toCronName(times.start ?? "")}-${toCronName(times.end ?? "")}`,
    targetMilli: TARGET_MILLI,
    activation: 0,
  };
}

/** One replica for each of desiredReplicas. */
const TARGET_MILLI = 1000n;

function readTimezone(metadata: Metadata): string | null {
  const timezone = metadata.text("timezone");
  if (timezone === null || isTimezone(timezone)) return timezone;
  metadata.report("timezone", `Cannot use timezone ${quote(timezone)}: must be a name such as Europe/Berlin or UTC`);
  return null;
}

function readSchedule(metadata: Metadata, key: "start" | "end"): CronSchedule | null {
  const text = metadata.text(key);
  if (text === null) return null;
  const parsed = parseCron(text);
  if (parsed.ok) return parsed.schedule;
  metadata.report(key, parsed.message);
  return null;
}

function readReplicas(metadata: Metadata): number | null {
  const text = metadata.text("desiredReplicas");
  if (text === null) return null;
  const replicas = parseJsonInteger(text);
  if (replicas !== null && replicas >= 1n) return Number(replicas);
  const rule = 'must be an integer, 1 or more, such as "10"; outside of the times it is 0';
  metadata.report("desiredReplicas", `Cannot use ${quote(text)} as desiredReplicas: ${rule}`);
  return null;
}
