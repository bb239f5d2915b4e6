/** Parses triggers of metrics-api (R13). */
import type { Metadata } from "./metadata.ts";
import { HTTP_KEYS, parseHttp, readAddress } from "./parse_http.ts";
import { type ParsedSource, readTarget, type SourceContext } from "./parsed_source.ts";
import type { MetricsApiSource } from "./trigger.ts";
import { findLocationFault } from "./value_location.ts";

export const METRICS_API_KEYS = [
  "url",
  "valueLocation",
  "targetValue",
  "activationTargetValue",
  "format",
  "aggregateFromKubeServiceEndpoints",
  "aggregationType",
  ...HTTP_KEYS,
  "method",
  "keyParamName",
  "apiKey",
];

/** Gives the source; `null` where something is wrong, which is reported to the metadata. Never throws. */
export function parseMetricsApiSource(
  metadata: Metadata,
  { hasFormula, hasAuthentication }: SourceContext,
): ParsedSource | null {
  metadata.require(hasFormula ? ["url", "valueLocation"] : ["url", "valueLocation", "targetValue"]);
  const url = readAddress(metadata, "url");
  const format = readFormat(metadata);
  const valueLocation = readLocation(metadata, format ?? "json");
  refuseAggregation(metadata);
  const apiKey = metadata.text("apiKey");
  const http = parseHttp(metadata, {
    hasAuthentication,
    hasApiKey: apiKey !== null,
    modes: ["apiKey", "basic", "bearer"],
  });
  const targetMilli = readTarget(metadata, "targetValue", hasFormula);
  const activation = metadata.number("activationTargetValue") ?? 0;
  const method = metadata.word("method", ["header", "query"]);
  if (url === null || valueLocation === null || format === null) return null;
  const keyParamName = metadata.text("keyParamName");
  return {
    source: { kind: "metrics-api", url, valueLocation, format, method, keyParamName, apiKey, ...http },
    metric: `metric-api-${valueLocation}`,
    targetMilli,
    activation,
  };
}

function readFormat(metadata: Metadata): MetricsApiSource["format"] | null {
  if (metadata.text("format") === "xml") {
    metadata.report("format", "Cannot use format xml: not supported, use json, yaml or prometheus");
    return null;
  }
  return metadata.has("format") ? metadata.word("format", ["json", "prometheus", "yaml"]) : "json";
}

function readLocation(metadata: Metadata, format: MetricsApiSource["format"]): string | null {
  const text = metadata.text("valueLocation");
  const fault = text === null ? null : findLocationFault(text, format);
  if (fault === null) return text;
  metadata.report("valueLocation", fault);
  return null;
}

function refuseAggregation(metadata: Metadata): void {
  metadata.word("aggregationType", ["average", "sum", "max", "min"]);
  if (metadata.boolean("aggregateFromKubeServiceEndpoints") !== true) return;
  const instead = "set it to false, or let prometheus collect and add up";
  metadata.report(
    "aggregateFromKubeServiceEndpoints",
    `Cannot use aggregateFromKubeServiceEndpoints: the endpoints of a Service are not asked one by one, ${instead}`,
  );
}
