/**
 * Parses the triggers that podfit evaluates without a request to a server that the author names.
 *
 * These are cpu, memory, cron, kubernetes-workload and kubernetes-resource.
 */
import type { Baseline, ObjectSource, ResourceTarget, ResourceTrigger } from "../../model/scaled_object.ts";
import { type CronSchedule, isTimezone, parseCron } from "../../units/cron.ts";
import { type Fields, isText, NAME_RULE } from "../../units/fields.ts";
import { parseGoInteger, parseJsonInteger } from "../../units/numbers.ts";
import { parseMilli } from "../../units/quantity.ts";
import { parseSelectorText, type Selector } from "../../units/selector.ts";
import { quote } from "../../units/untrusted.ts";
import { findLocationFault } from "./http_triggers.ts";
import {
  type Metadata,
  openMetadata,
  type ParsedSource,
  parseTargetMilli,
  type SourceContext,
  type TriggerContext,
} from "./metadata.ts";

interface ResourceContext extends TriggerContext {
  readonly type: ResourceTrigger["type"];
  readonly name: string | null;
}

/**
 * Returns the trigger; `null` where it has no target. Problems are reported to `fields`; never throws. Clauses: R10.
 */
export function parseResourceTrigger(
  fields: Fields,
  { type, name, index, findings }: ResourceContext,
): ResourceTrigger | null {
  const metadata = openMetadata(fields, { type, keys: KEYS, warnings: findings.warnings });
  if (metadata === null) return null;
  if (metadata.has("type")) {
    metadata.report("type", "Cannot use type in metadata: KEDA 2.18 removed it, write metricType next to metadata");
  }
  if (fields.has("authenticationRef")) {
    metadata.warn("authenticationRef", `Cannot use authenticationRef: ${type} sends no request, so it has no effect`);
  }
  const target = parseResourceTarget(fields, metadata);
  const baseline = parseBaseline(metadata);
  if (baseline !== null && target?.kind === "AverageValue") {
    metadata.warn("baseline", "Cannot use baseline: AverageValue looks at no request, it has no effect");
  }
  const container = metadata.text("containerName");
  return target === null ? null : { kind: "resource", type, index, name, container, target, baseline };
}

const KEYS = ["type", "value", "containerName", "baseline"];

function parseResourceTarget(fields: Fields, metadata: Metadata): ResourceTarget | null {
  const value = metadata.requiredText("value");
  if ((fields.get("metricType") ?? "") === "") {
    fields.report("metricType", 'Missing field "metricType": must be Utilization or AverageValue');
    return null;
  }
  const metricType = fields.word("metricType", ["Utilization", "AverageValue"]);
  if (metricType === null || value === null) return null;
  if (metricType === "Utilization") {
    const percent = parseGoInteger(value, 32);
    if (percent !== null && percent >= 1n) return { kind: "Utilization", percent: Number(percent) };
    metadata.report(
      "value",
      `Cannot use ${quote(value)} as value: must be an integer percentage, 1 or more, such as "60"`,
    );
    return null;
  }
  const milli = parsePositive(metadata, "value");
  return milli === null ? null : { kind: "AverageValue", milli };
}

/** `born` is an earlier word for `initial`. */
function parseBaseline(metadata: Metadata): Baseline | null {
  const text = metadata.text("baseline");
  if (text === null) return null;
  if (text === "live") return { kind: text };
  if (text === "initial" || text === "born") return { kind: "initial" };
  const milli = parsePositive(metadata, "baseline");
  return milli === null ? null : { kind: "amount", milli };
}

/** Returns thousandths of a core or byte. */
function parsePositive(metadata: Metadata, key: "value" | "baseline"): bigint | null {
  const text = metadata.text(key);
  const parsed = parseMilli(text);
  const words = key === "baseline" ? "; or write initial or live" : "";
  if (!parsed.ok) metadata.report(key, `${parsed.message}${words}`);
  else if (parsed.milli <= 0n) {
    metadata.report(key, `Cannot use ${quote(text)} as ${key}: must be greater than 0${words}`);
  } else return parsed.milli;
  return null;
}

export const CRON_KEYS = ["timezone", "start", "end", "desiredReplicas"];

/** Problems are reported to the metadata; never throws. Clauses: R11. */
export function parseCronSource(metadata: Metadata): ParsedSource {
  metadata.require(CRON_KEYS);
  const timezone = parseTimezone(metadata);
  const [start, end] = [parseSchedule(metadata, "start"), parseSchedule(metadata, "end")];
  const times = { start: metadata.text("start"), end: metadata.text("end") };
  if (times.start !== null && times.start === times.end) {
    metadata.report("end", `Cannot use end ${quote(times.end)}: the same as start`);
  }
  const desiredReplicas = parseDesiredReplicas(metadata);
  const isKnown = timezone !== null && start !== null && end !== null && desiredReplicas !== null;
  return {
    source: isKnown ? { kind: "cron", timezone, start, end, desiredReplicas } : null,
    metric: `cron-${timezone ?? ""}-${toCronName(times.start ?? "")}-${toCronName(times.end ?? "")}`,
    targetMilli: TARGET_MILLI,
    activation: 0,
  };
}

/** One replica for each of desiredReplicas. */
const TARGET_MILLI = 1000n;

function parseTimezone(metadata: Metadata): string | null {
  const timezone = metadata.text("timezone");
  if (timezone === null || isTimezone(timezone)) return timezone;
  metadata.report("timezone", `Cannot use timezone ${quote(timezone)}: must be a name such as Europe/Berlin or UTC`);
  return null;
}

function parseSchedule(metadata: Metadata, key: "start" | "end"): CronSchedule | null {
  const text = metadata.text(key);
  if (text === null) return null;
  const parsed = parseCron(text);
  if (parsed.ok) return parsed.schedule;
  metadata.report(key, parsed.message);
  return null;
}

function parseDesiredReplicas(metadata: Metadata): number | null {
  const text = metadata.text("desiredReplicas");
  if (text === null) return null;
  const replicas = parseJsonInteger(text);
  if (replicas !== null && replicas >= 1n) return Number(replicas);
  const rule = 'must be an integer, 1 or more, such as "10"; outside of the times it is 0';
  metadata.report("desiredReplicas", `Cannot use ${quote(text)} as desiredReplicas: ${rule}`);
  return null;
}

/** Writes a cron expression as part of a name, as KEDA's parseCronTimeFormat does. Clauses: R18. */
function toCronName(text: string): string {
  return text.replaceAll(" ", "").replaceAll("*", "x").replaceAll("/", "Sl").replaceAll("?", "Qm").replaceAll(
    ",",
    "Cm",
  );
}

export const WORKLOAD_KEYS = ["podSelector", "value", "activationValue", "groupByNode"];

/** Problems are reported to the metadata; never throws. Clauses: R12. */
export function parseWorkloadSource(metadata: Metadata, { namespace, hasFormula }: SourceContext): ParsedSource {
  metadata.require(hasFormula ? ["podSelector"] : ["podSelector", "value"]);
  const selector = parsePodSelector(metadata);
  const targetMilli = parseTargetMilli(metadata, "value", hasFormula);
  const activation = metadata.number("activationValue") ?? 0;
  const isByNode = metadata.boolean("groupByNode") ?? false;
  const source = selector === null ? null : { kind: "kubernetes-workload", selector, isByNode } as const;
  return { source, metric: `workload-${namespace}`, targetMilli, activation };
}

function parsePodSelector(metadata: Metadata): Selector | null {
  const text = metadata.text("podSelector");
  if (text === null) return null;
  const parsed = parseSelectorText(text, `${metadata.path}.podSelector`);
  if (parsed.ok) return parsed.selector;
  for (const problem of parsed.problems) metadata.add(problem);
  return null;
}

export const OBJECT_KEYS = [
  "resourceKind",
  "resourceName",
  "key",
  "format",
  "valueLocation",
  "valueType",
  "targetValue",
  "activationTargetValue",
];

/** Problems are reported to the metadata; never throws. Clauses: R97. */
export function parseObjectSource(metadata: Metadata, { hasFormula }: SourceContext): ParsedSource {
  metadata.require(["resourceKind", "resourceName", "key", "targetValue"]);
  const objectKind = metadata.word("resourceKind", ["ConfigMap", "Secret"]);
  const name = parseObjectName(metadata);
  const key = metadata.text("key");
  const format = metadata.word("format", ["number", "json", "yaml"]) ?? "number";
  const valueType = metadata.word("valueType", ["float64", "int64", "quantity"]) ?? "float64";
  const valueLocation = parseEntryLocation(metadata, format);
  const source = objectKind === null || name === null || key === null
    ? null
    : { kind: "kubernetes-resource", objectKind, name, key, format, valueLocation, valueType } as const;
  const kind = metadata.text("resourceKind")?.toLowerCase() ?? "";
  return {
    source,
    metric: `${kind}-${metadata.text("resourceName") ?? ""}-${key ?? ""}`,
    targetMilli: parseTargetMilli(metadata, "targetValue", hasFormula),
    activation: metadata.number("activationTargetValue") ?? 0,
  };
}

/** It becomes a part of a path of the API server. */
function parseObjectName(metadata: Metadata): string | null {
  const name = metadata.text("resourceName");
  if (name === null || isText(name, NAME_RULE)) return name;
  metadata.report("resourceName", `Cannot use ${quote(name)} as resourceName: ${NAME_RULE.rule}`);
  return null;
}

function parseEntryLocation(metadata: Metadata, format: ObjectSource["format"]): string {
  const location = metadata.text("valueLocation");
  if (format === "number") {
    if (location !== null) metadata.report("valueLocation", "Cannot use valueLocation: it needs format json or yaml");
    return "";
  }
  if (location === null) metadata.report("valueLocation", `Missing field "valueLocation": format ${format} needs it`);
  const fault = location === null ? null : findLocationFault(location, format);
  if (fault !== null) metadata.report("valueLocation", fault);
  return location ?? "";
}
