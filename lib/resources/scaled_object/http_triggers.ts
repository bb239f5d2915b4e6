/**
 * Parses the triggers whose value comes from a server over HTTP: prometheus and metrics-api.
 *
 * Both have the address, the authentication and the timeout in common.
 */
import { type Aggregation, AGGREGATIONS, type AuthMode, type MetricsApiSource } from "../../model/scaled_object.ts";
import { findForbiddenPurpose, hostOf } from "../../units/address.ts";
import { isText, LABEL_RULE } from "../../units/fields.ts";
import { type Parsed, quote } from "../../units/untrusted.ts";
import { parseJsonPath } from "./json_path.ts";
import { type Metadata, type ParsedSource, parseTargetMilli, type SourceContext } from "./metadata.ts";
import { parseMetricSelector } from "./metric_selector.ts";

const HTTP_KEYS = ["authModes", "authMode", "unsafeSsl", "timeout"];

/** With these keys KEDA authenticates as a cloud identity. */
const CLOUD_KEYS = ["awsRegion", "identityOwner"];

export const PROMETHEUS_KEYS = [
  "serverAddress",
  "query",
  "threshold",
  "activationThreshold",
  "namespace",
  "queryParameters",
  "customHeaders",
  "ignoreNullValues",
  ...HTTP_KEYS,
  ...CLOUD_KEYS,
];

/** Problems are reported to the metadata; never throws. Clauses: R14. */
export function parsePrometheusSource(
  metadata: Metadata,
  { hasFormula, hasAuthentication }: SourceContext,
): ParsedSource {
  metadata.require(["serverAddress", "query", "threshold"]);
  const serverAddress = parseAddress(metadata, "serverAddress");
  const query = metadata.text("query");
  for (const key of CLOUD_KEYS.filter((key) => metadata.has(key))) {
    metadata.report(
      key,
      `Cannot use ${key}: identities of a cloud are not supported, use authModes with bearer, basic or custom`,
    );
  }
  const customHeaders = parseHeaders(metadata);
  const http = parseHttp(metadata, {
    hasAuthentication,
    hasApiKey: false,
    modes: ["basic", "bearer", "custom", "oauth"],
    unused: ["apiKey"],
  });
  const rest = {
    kind: "prometheus",
    namespace: metadata.text("namespace"),
    queryParameters: metadata.pairs("queryParameters") ?? [],
    customHeaders,
    ignoresNullValues: metadata.boolean("ignoreNullValues") ?? true,
    hasNullRule: metadata.has("ignoreNullValues"),
    ...http,
  } as const;
  const targetMilli = parseTargetMilli(metadata, "threshold", hasFormula);
  const activation = metadata.number("activationThreshold") ?? 0;
  const source = serverAddress === null || query === null ? null : { ...rest, serverAddress, query };
  return { source, metric: "prometheus", targetMilli, activation };
}

/** https://www.rfc-editor.org/rfc/rfc9110#name-tokens; KEDA would fail with another name at each request. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

function parseHeaders(metadata: Metadata): readonly (readonly [string, string])[] {
  const headers = metadata.pairs("customHeaders") ?? [];
  const wrong = headers.find(([name, value]) => !HEADER_NAME.test(name) || !HEADER_VALUE.test(value));
  if (wrong === undefined) return headers;
  metadata.report(
    "customHeaders",
    `Cannot use ${quote(wrong[0])} as custom header: HTTP does not allow its name or value`,
  );
  return [];
}

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

/** Problems are reported to the metadata; never throws. Clauses: R13. */
export function parseMetricsApiSource(
  metadata: Metadata,
  { hasFormula, hasAuthentication }: SourceContext,
): ParsedSource {
  metadata.require(hasFormula ? ["url", "valueLocation"] : ["url", "valueLocation", "targetValue"]);
  const url = parseAddress(metadata, "url");
  const format = parseFormat(metadata);
  const valueLocation = parseLocation(metadata, format ?? "json");
  const aggregation = parseAggregation(metadata, url);
  const apiKey = metadata.text("apiKey");
  const http = parseHttp(metadata, {
    hasAuthentication,
    hasApiKey: apiKey !== null,
    modes: ["apiKey", "basic", "bearer"],
    unused: [],
  });
  const targetMilli = parseTargetMilli(metadata, "targetValue", hasFormula);
  const activation = metadata.number("activationTargetValue") ?? 0;
  const method = metadata.word("method", ["header", "query"]);
  const keyParamName = metadata.text("keyParamName");
  const source = url === null || valueLocation === null || format === null
    ? null
    : { kind: "metrics-api", url, valueLocation, format, method, keyParamName, apiKey, aggregation, ...http } as const;
  return { source, metric: `metric-api-${metadata.text("valueLocation") ?? ""}`, targetMilli, activation };
}

function parseFormat(metadata: Metadata): MetricsApiSource["format"] | null {
  if (metadata.text("format") === "xml") {
    metadata.report("format", "Cannot use format xml: not supported, use json, yaml or prometheus");
    return null;
  }
  return metadata.has("format") ? metadata.word("format", ["json", "prometheus", "yaml"]) : "json";
}

function parseLocation(metadata: Metadata, format: MetricsApiSource["format"]): string | null {
  const text = metadata.text("valueLocation");
  const fault = text === null ? null : findLocationFault(text, format);
  if (fault === null) return text;
  metadata.report("valueLocation", fault);
  return null;
}

function parseAggregation(metadata: Metadata, url: string | null): Aggregation | null {
  const type = metadata.word("aggregationType", AGGREGATIONS) ?? "average";
  if (metadata.boolean("aggregateFromKubeServiceEndpoints") !== true) return null;
  if (url !== null && findService(url) === null) {
    const rule =
      "with aggregateFromKubeServiceEndpoints its host must be SERVICE.NAMESPACE, SERVICE.NAMESPACE.svc or " +
      "SERVICE.NAMESPACE.svc.cluster.local";
    metadata.report("url", `Cannot use ${showAddress(url)} as url: ${rule}`);
  }
  return type;
}

/**
 * Returns the Service that the host of a URL names; `null` = none. Never throws. A host with another ending may be a server
 * outside of the cluster: its credentials must not go to the pods of a Service that has the first two words for its name.
 * Clauses: R98.
 */
export function findService(address: string): { readonly service: string; readonly namespace: string } | null {
  const url = URL.parse(address);
  if (url === null) return null;
  const [service = "", namespace = "", ...ending] = hostOf(url).replace(/\.$/, "").split(".");
  if (!SERVICE_ENDINGS.has(ending.join("."))) return null;
  return isText(service, LABEL_RULE) && isText(namespace, LABEL_RULE) ? { service, namespace } : null;
}

const SERVICE_ENDINGS: ReadonlySet<string> = new Set(["", "svc", "svc.cluster.local"]);

/** Returns what is wrong with a location, in a sentence; `null` if nothing is. Never throws. Clauses: R13, R15. */
export function findLocationFault(location: string, format: MetricsApiSource["format"]): string | null {
  const parsed = PARSERS[format](location);
  return parsed.ok ? null : parsed.message;
}

type Parse = (location: string) => Parsed<unknown>;

/** Keys with dots between them need no check: every key is accepted. */
const PARSERS: Readonly<Record<MetricsApiSource["format"], Parse>> = {
  json: parseJsonPath,
  prometheus: parseMetricSelector,
  yaml: () => ({ ok: true }),
};

interface HttpContext extends Pick<SourceContext, "hasAuthentication"> {
  /** The modes that this type supports. */
  readonly modes: readonly AuthMode[];
  /** Those that KEDA accepts there, and that have no effect. */
  readonly unused: readonly AuthMode[];
  /** The metadata itself has a key. */
  readonly hasApiKey: boolean;
}

/** Returns the settings that both types have. Problems are reported to the metadata; never throws. */
function parseHttp(
  metadata: Metadata,
  context: HttpContext,
): Pick<MetricsApiSource, "authModes" | "isTlsUnverified" | "timeoutMs"> {
  return {
    authModes: parseAuthModes(metadata, context),
    isTlsUnverified: metadata.boolean("unsafeSsl") ?? false,
    timeoutMs: parseTimeoutMs(metadata),
  };
}

function parseTimeoutMs(metadata: Metadata): number {
  const timeoutMs = metadata.durationMs("timeout") ?? 0;
  if (timeoutMs > MAX_TIMEOUT_MS) {
    const given = quote(metadata.text("timeout"));
    metadata.warn("timeout", `Cannot wait ${given} for an answer: it is cut to 15s, as a tick is 15 s`);
  }
  return timeoutMs === 0 ? DEFAULT_TIMEOUT_MS : Math.min(timeoutMs, MAX_TIMEOUT_MS);
}

/** Returns an address that podfit may send a request to. */
function parseAddress(metadata: Metadata, key: "url" | "serverAddress"): string | null {
  const text = metadata.text(key);
  if (text === null) return null;
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    metadata.report(
      key,
      `Cannot use ${showAddress(text)} as ${key}: must be an address that begins with http:// or https://`,
    );
    return null;
  }
  const purpose = findForbiddenPurpose(hostOf(url));
  if (purpose === null) return text;
  metadata.report(key, `Cannot use ${showAddress(text)} as ${key}: its host is ${purpose}, which is not asked`);
  return null;
}

/** Returns an address for a message: records have no credentials, and a user and a query may be some. */
function showAddress(text: string): string {
  return quote(text.replace(/\/\/[^/?#]*@/, "//").replace(/[?#].*/s, ""));
}

const DEFAULT_TIMEOUT_MS = 3000;

/** The period of the scaling loop: a longer wait would delay the next loop. */
const MAX_TIMEOUT_MS = 15_000;

/** At most one of these is allowed. */
const EXCLUSIVE: readonly AuthMode[] = ["bearer", "basic", "oauth"];

function parseAuthModes(metadata: Metadata, context: HttpContext): readonly AuthMode[] | null {
  const key = metadata.has("authModes") ? "authModes" : "authMode";
  const text = metadata.text(key);
  if (text === null) return null;
  const given = text.split(",").map((mode) => mode.trim());
  const { modes, unused } = context;
  const refuse = (why: string) => metadata.report(key, `Cannot use ${quote(text)} as ${key}: ${why}`);
  if (given.includes("tls")) refuse(`client certificates are not supported, use ${modes.join(" or ")}`);
  else if (!given.every((mode) => [...modes, ...unused].some((one) => one === mode))) {
    refuse(`must be of ${modes.join(", ")}, with commas between several`);
  }
  const used = modes.filter((mode) => given.includes(mode));
  if (used.filter((mode) => EXCLUSIVE.includes(mode)).length > 1) refuse(`only one of ${EXCLUSIVE.join(", ")}`);
  for (const mode of unused.filter((mode) => given.includes(mode))) {
    metadata.warn(key, `Cannot use ${mode} in ${key}: it has no effect here`);
  }
  for (const mode of used) {
    const hasOwn = mode === "apiKey" && context.hasApiKey;
    if (!context.hasAuthentication && !hasOwn) {
      refuse(`the credentials of ${mode} come from an authenticationRef, add one`);
    }
  }
  return used;
}
