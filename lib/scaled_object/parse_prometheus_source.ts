/** Parses triggers of prometheus (R14). */
import { quote } from "../units/untrusted.ts";
import type { Metadata } from "./metadata.ts";
import { HTTP_KEYS, parseHttp, readAddress } from "./parse_http.ts";
import { type ParsedSource, readTarget, type SourceContext } from "./parsed_source.ts";

/** With these KEDA asks as an identity of a cloud. */
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

/** Gives the source; `null` where something is wrong, which is reported to the metadata. Never throws. */
export function parsePrometheusSource(
  metadata: Metadata,
  { hasFormula, hasAuthentication }: SourceContext,
): ParsedSource | null {
  metadata.require(["serverAddress", "query", "threshold"]);
  const serverAddress = readAddress(metadata, "serverAddress");
  const query = metadata.text("query");
  for (const key of CLOUD_KEYS.filter((key) => metadata.has(key))) {
    metadata.report(
      key,
      `Cannot use ${key}: identities of a cloud are not supported, use authModes with bearer, basic or custom`,
    );
  }
  const customHeaders = readHeaders(metadata);
  const http = parseHttp(metadata, { hasAuthentication, hasApiKey: false, modes: ["basic", "bearer", "custom"] });
  const source = {
    kind: "prometheus",
    namespace: metadata.text("namespace"),
    queryParameters: metadata.pairs("queryParameters") ?? [],
    customHeaders,
    ignoresNullValues: metadata.boolean("ignoreNullValues") ?? true,
    ...http,
  } as const;
  const targetMilli = readTarget(metadata, "threshold", hasFormula);
  const activation = metadata.number("activationThreshold") ?? 0;
  if (serverAddress === null || query === null) return null;
  return { source: { ...source, serverAddress, query }, metric: "prometheus", targetMilli, activation };
}

/** https://www.rfc-editor.org/rfc/rfc9110#name-tokens; KEDA would fail with another name at each request. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

function readHeaders(metadata: Metadata): readonly (readonly [string, string])[] {
  const headers = metadata.pairs("customHeaders") ?? [];
  const wrong = headers.find(([name, value]) => !HEADER_NAME.test(name) || !HEADER_VALUE.test(value));
  if (wrong === undefined) return headers;
  metadata.report(
    "customHeaders",
    `Cannot use ${quote(wrong[0])} as custom header: its name or value is none that HTTP has`,
  );
  return [];
}
