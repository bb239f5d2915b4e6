/**
 * Parses the triggers that ask for a metric as an HPA does: pods-metric, object-metric and external-metric.
 *
 * They are podfit's own; KEDA does not have them.
 */
import { METRIC_TYPES, type MetricsApiType, type MetricSource } from "../../model/scaled_object.ts";
import { formatSelector, parseSelectorText } from "../../units/selector.ts";
import { NAME_RULE } from "../../units/fields.ts";
import { MAX_MILLI, milliToDouble } from "../../units/numbers.ts";
import { parseMilli } from "../../units/quantity.ts";
import { quote } from "../../units/untrusted.ts";
import type { Metadata, ParsedSource, ParseSource } from "./metadata.ts";

const KEYS = ["metricName", "selector", "value", "activationValue"];

const OBJECT_KEYS = [...KEYS, "apiVersion", "kind", "name"];

/** The keys and the parser of each type. Clauses: M17. */
export const METRIC_SOURCES: Readonly<
  Record<MetricsApiType, { readonly keys: readonly string[]; readonly parse: ParseSource }>
> = {
  "pods-metric": { keys: KEYS, parse: createParse(() => ({ kind: "pods" })) },
  "object-metric": { keys: OBJECT_KEYS, parse: createParse(parseObject) },
  "external-metric": { keys: KEYS, parse: createParse(() => ({ kind: "external" })) },
};

/** Returns whether the type is one of podfit's own, which KEDA does not have. */
export function isMetricsApiType(type: unknown): type is MetricsApiType {
  return METRIC_TYPES.some((known) => known === type);
}

function createParse(parseOf: (metadata: Metadata) => MetricSource["of"] | null): ParseSource {
  return (metadata, { hasFormula }): ParsedSource => {
    metadata.require(hasFormula ? ["metricName"] : ["metricName", "value"]);
    const metric = parseWord(metadata, "metricName", isPathSegment, "must be a name without / and %");
    const selector = parseSelector(metadata);
    const of = parseOf(metadata);
    const amount = parseAmount(metadata, "value");
    const targetMilli = amount !== null && amount > 0n ? amount : null;
    if (amount !== null && targetMilli === null) {
      metadata.report("value", `Cannot use value ${quote(metadata.text("value"))}: must be greater than 0`);
    }
    const activation = milliToDouble(parseAmount(metadata, "activationValue") ?? 0n);
    const source = metric === null || selector === null || of === null
      ? null
      : { kind: "metric", metric, selector, of } as const;
    return { source, metric: metric ?? "metric", targetMilli, activation };
  };
}

function parseObject(metadata: Metadata): MetricSource["of"] | null {
  metadata.require(["kind", "name"]);
  const apiVersion = metadata.has("apiVersion")
    ? parseWord(metadata, "apiVersion", isApiVersion, "must be a group and a version, such as networking.k8s.io/v1")
    : "v1";
  const objectKind = parseWord(metadata, "kind", (text) => /^[A-Za-z0-9]{1,63}$/.test(text), "must be a kind");
  const name = parseWord(metadata, "name", isPathSegment, "must be the name of an object");
  return apiVersion === null || objectKind === null || name === null
    ? null
    : { kind: "object", apiVersion, objectKind, name };
}

function parseWord(metadata: Metadata, key: string, isValid: (text: string) => boolean, rule: string): string | null {
  const text = metadata.text(key);
  if (text === null || (text.length <= NAME_RULE.max && isValid(text))) return text;
  metadata.report(key, `Cannot use ${quote(text)} as ${key}: ${rule}`);
  return null;
}

/** It becomes a part of a path of the API server, so it must not be "..". The HPA has the same rule. */
function isPathSegment(text: string): boolean {
  return text !== "." && text !== ".." && /^[^/%\p{Cc}]+$/u.test(text);
}

function isApiVersion(text: string): boolean {
  return /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?v[a-z0-9]+$/.test(text) && !text.includes("..");
}

/** Returns thousandths of a quantity, as in an HPA. */
function parseAmount(metadata: Metadata, key: string): bigint | null {
  const text = metadata.text(key);
  if (text === null) return null;
  const parsed = parseMilli(text);
  if (parsed.ok && parsed.milli <= MAX_MILLI) return parsed.milli;
  metadata.report(key, `Cannot use ${quote(text)} as ${key}: must be a quantity, such as "5", "0.5" or "500m"`);
  return null;
}

/** An absent selector is an empty one: all series of the metric. */
function parseSelector(metadata: Metadata): string | null {
  const parsed = parseSelectorText(metadata.text("selector") ?? "", `${metadata.path}.selector`);
  if (parsed.ok) return formatSelector(parsed.selector);
  for (const problem of parsed.problems) metadata.add(problem);
  return null;
}
