/**
 * pkg/scalers/prometheus_scaler_test.go of KEDA 2.21.0 (Apache-2.0): its 8 tests as tables of inputs and outcomes.
 * Each test here has the name of KEDA's.
 */
import { assert, assertEquals, assertStringIncludes } from "#assert";
import { createAskTrigger } from "../../lib/triggers/http_trigger.ts";
import { resolveAuth, toTriggerRequest } from "../../lib/triggers/request.ts";
import { externalTrigger, prometheusSource } from "../support/triggers.ts";
import { VIRTUAL_START_AT, VirtualClock } from "../support/virtual_clock.ts";
import { accepted, assertParsed, getTrigger, type ParseCase, refused } from "./scalers.ts";

const BASE = { serverAddress: "http://localhost:9090", threshold: "100", query: "up" };
/** A key that older versions had. It has no effect, in KEDA either. */
const NAMED = { ...BASE, metricName: "http_requests_total" };

const METADATA: readonly ParseCase[] = [
  refused("nothing", {}),
  accepted("all that it needs", NAMED),
  accepted("a namespace", { ...BASE, namespace: "foo" }),
  accepted("ignoreNullValues", { ...NAMED, ignoreNullValues: "false" }),
  accepted("an activationThreshold", { ...NAMED, activationThreshold: "50" }),
  refused("an empty serverAddress", { ...NAMED, serverAddress: "" }),
  refused("no threshold", { serverAddress: BASE.serverAddress, metricName: "http_requests_total", query: "up" }),
  refused("a threshold that is not a number", { ...NAMED, threshold: "one" }),
  refused("an activationThreshold that is not a number", { ...NAMED, activationThreshold: "one" }),
  refused("an empty query", { ...NAMED, query: "" }),
  refused("ignoreNullValues that is not a boolean", { ...NAMED, ignoreNullValues: "xxxx" }),
  accepted("unsafeSsl", { ...NAMED, serverAddress: "https://localhost:9090", unsafeSsl: "true" }),
  accepted("customHeaders", { ...NAMED, customHeaders: "key1=value1,key2=value2" }),
  refused("customHeaders without a value", { ...NAMED, customHeaders: "key1=value1,key2" }),
  accepted("queryParameters", { ...NAMED, queryParameters: "key1=value1,key2=value2" }),
  refused("queryParameters without a value", { ...NAMED, queryParameters: "key1=value1,key2" }),
  accepted("a timeout", { ...NAMED, timeout: "1000" }),
  refused("a negative timeout", { ...NAMED, timeout: "-1" }),
  refused("a timeout that is not a number", { ...NAMED, timeout: "a" }),
];

Deno.test("KEDA's TestPrometheusParseMetadata (R14, R15)", () => {
  assertEquals(METADATA.length, 19);
  assertParsed("prometheus", METADATA);
});

Deno.test("KEDA's TestPrometheusGetMetricSpecForScaling (R18)", () => {
  const names = [0, 1].map((index) => getTrigger("prometheus", NAMED, { index }).metricName);
  assertEquals(names, ["s0-prometheus", "s1-prometheus"]);
});

const by = (authModes: string) => ({ ...NAMED, authModes });
const CLIENT = { cert: "ceert", key: "keey" };
const USER = { username: "user", password: "pass" };
const OAUTH = { oauthTokenURI: "http://localhost:8080/token", clientID: "client", clientSecret: "secret" };

const AUTHENTICATION: readonly ParseCase[] = [
  accepted("tls", by("tls"), { parameters: { ca: "caaa", ...CLIENT }, differs: "client-certificates" }),
  accepted("tls without a ca", by("tls"), { parameters: CLIENT, differs: "client-certificates" }),
  refused("tls without a key", by("tls"), { parameters: { ca: "caaa", cert: "ceert" } }),
  refused("tls without a certificate", by("tls"), { parameters: { ca: "caaa", key: "keey" } }),
  accepted("bearer", by("bearer"), { parameters: { bearerToken: "tooooken" } }),
  refused("bearer without a token", by("bearer"), { parameters: {} }),
  accepted("basic", by("basic"), { parameters: USER }),
  refused("basic without a user", by("basic"), { parameters: {} }),
  accepted("tls and basic", by("tls, basic"), {
    parameters: { ca: "caaa", ...CLIENT, ...USER },
    differs: "client-certificates",
  }),
  refused("tls and basic without a certificate", by("tls,basic"), { parameters: USER }),
  accepted("custom", by("custom"), { parameters: { customAuthHeader: "header", customAuthValue: "value" } }),
  refused("custom without a header", by("custom"), { parameters: { customAuthHeader: "" } }),
  refused("custom without a value", by("custom"), { parameters: { customAuthValue: "" } }),
  accepted("custom with line ends", by("custom"), {
    parameters: { customAuthHeader: "header\n", customAuthValue: "value\n" },
  }),
  refused("tls and basic without a certificate, again", by("tls,basic"), { parameters: USER }),
  accepted("oauth", by("oauth"), { parameters: OAUTH }),
  accepted("oauth with scopes and endpointParams", by("oauth"), {
    parameters: { ...OAUTH, scopes: "scope-a,scope-b", endpointParams: "audience=aud" },
  }),
  accepted("oauth with a client certificate in place of the secret", by("oauth,tls"), {
    parameters: { oauthTokenURI: OAUTH.oauthTokenURI, clientID: "client", ...CLIENT },
    differs: "client-certificates",
  }),
  refused("oauth without an address", by("oauth"), { parameters: { clientID: "client", clientSecret: "secret" } }),
  refused("oauth without an id", by("oauth"), {
    parameters: { oauthTokenURI: OAUTH.oauthTokenURI, clientSecret: "secret" },
  }),
  refused("oauth and bearer", by("oauth,bearer"), { parameters: { ...OAUTH, bearerToken: "tooooken" } }),
  refused("oauth and basic", by("oauth,basic"), { parameters: { ...OAUTH, ...USER } }),
  refused("basic and the identity of a pod", by("basic"), { parameters: USER, identity: "azure-workload" }),
  accepted("the identity of a pod: azure-workload", NAMED, { identity: "azure-workload", differs: "cloud-identity" }),
  accepted("the identity of a pod: azure", NAMED, { identity: "azure", differs: "cloud-identity" }),
];

Deno.test("KEDA's TestPrometheusScalerAuthParams (R14, R16)", () => {
  assertEquals(AUTHENTICATION.length, 25);
  assertParsed("prometheus", AUTHENTICATION);
});

/** `value: null` = an error. `ignoresNullValues` is false in the rows that KEDA's test says so. */
const ANSWERS: readonly (readonly [body: string, value: number | null, ignoresNullValues?: false])[] = [
  ["{}", 0],
  ['{"data":{"result":[]}}', 0],
  ['{"data":{"result":[]}}', null, false],
  ['{"data":{"result":[{"value": []}]}}', 0],
  ['{"data":{"result":[{"value": []}]}}', null, false],
  ['{"data":{"result":[{"value": ["1", "2"]}]}}', 2],
  ['{"data":{"result":[{"value": ["1"]}]}}', null],
  ['{"data":{"result":[{},{}]}}', null],
  ['{"data":{"result":[{"value": ["1", "+Inf"]}]}}', 0],
  ['{"data":{"result":[{"value": ["1", "+Inf"]}]}}', null, false],
  ['{"data":{"result":[{"value": ["1", "-Inf"]}]}}', 0],
  ['{"data":{"result":[{"value": ["1", "-Inf"]}]}}', null, false],
  ['{"data":{"result":[{"value": ["1", "NaN"]}]}}', 0],
  ['{"data":{"result":[{"value": ["1", "NaN"]}]}}', null, false],
];

Deno.test("KEDA's TestPrometheusScalerExecutePromQuery (R14)", async () => {
  for (const [body, value, ignoresNullValues = true] of ANSWERS) {
    assertEquals(await ask(body, 200, ignoresNullValues), value, `${body}, ignoreNullValues ${ignoresNullValues}`);
  }
  assertEquals(await ask("{}", 400, true), null, "an answer with status 400");
  assertEquals(ANSWERS.length + 1, 15);
});

Deno.test("KEDA's TestPrometheusScalerCustomHeaders (R14)", () => {
  const headers = { "X-Client-Id": "cid", "X-Tenant-Id": "tid", "X-Organization-Token": "oid" };
  const customHeaders = Object.entries(headers).map((pair) => pair.join("=")).join(",");
  const { headers: sent } = toRequest({ ...BASE, customHeaders });
  assertEquals(Object.keys(headers).map((name) => sent.get(name)), Object.values(headers));
});

Deno.test("KEDA's TestPrometheusScalerExecutePromQueryParameters (R14)", () => {
  const { url } = toRequest({ ...BASE, queryParameters: "first=foo,second=bar" });
  assertEquals(url.pathname, "/api/v1/query");
  assertEquals(url.searchParams.get("time"), new Date(VIRTUAL_START_AT).toISOString().replace(/\.\d+Z$/, "Z"));
  assertEquals(["first", "second"].map((name) => url.searchParams.get(name)), ["foo", "bar"]);
});

Deno.test("KEDA's TestPrometheusScaler_ExecutePromQuery_WithOAuth: one token for two queries (R100)", async () => {
  const sent: string[] = [];
  const send = (url: URL, { headers, body }: { readonly headers: Headers; readonly body?: string }) => {
    const isToken = body !== undefined;
    sent.push(`${url.pathname} ${headers.get("authorization")}${isToken ? ` ${body}` : ""}`);
    return Promise.resolve(
      isToken
        ? Response.json({ access_token: "test-oauth-token", token_type: "Bearer", expires_in: 3600 })
        : new Response('{"data":{"result":[{"value":[1686063687,"42"]}]}}'),
    );
  };
  const ask = createAskTrigger({ clock: new VirtualClock(), send, version: "1.2.3" });
  const credentials = { ...OAUTH, scopes: "scope-a,scope-b", endpointParams: "audience=my-audience" };
  const trigger = externalTrigger(prometheusSource({ authModes: ["oauth"] }));
  const signal = new AbortController().signal;
  for (const _ of [1, 2]) {
    const answer = await ask(trigger, { credentials, now: VIRTUAL_START_AT, signal });
    assertEquals(answer, { kind: "value", value: 42, isEmpty: false });
  }
  // The id and the secret are in the header, and not once more in the form.
  const form = "grant_type=client_credentials&scope=scope-a+scope-b&audience=my-audience";
  const query = "/api/v1/query Bearer test-oauth-token";
  assertEquals(sent, [`/token Basic ${btoa("client:secret")} ${form}`, query, query]);
});

/** podfit refuses them: "cloud-identity" is a difference. */
Deno.test("KEDA's TestPrometheusScaler_ExecutePromQuery_WithGcpNativeAuthentication (R14, R16)", () => {
  assertParsed("prometheus", [
    accepted("the identity of a pod: gcp", BASE, { identity: "gcp", differs: "cloud-identity" }),
  ]);
  // These three need no podIdentity in KEDA. podfit sends no credential for them, and warns of the keys.
  for (const key of ["credentialsFromEnv", "credentialsFromEnvFile"]) {
    const { headers } = toRequest({ ...BASE, [key]: "GCP_APP_CREDENTIALS" });
    assertEquals(headers.get("authorization"), null, key);
  }
  const { headers } = toRequest(BASE, { GoogleApplicationCredentials: "{}" });
  assertEquals(headers.get("authorization"), null);
});

function toRequest(metadata: ParseCase["metadata"], parameters = {}) {
  const { source } = getTrigger("prometheus", metadata);
  assert(source.kind === "prometheus");
  const resolved = resolveAuth(source, parameters);
  assert(resolved.ok);
  const built = toTriggerRequest(source, { auth: resolved.auth, now: VIRTUAL_START_AT, userAgent: "podfit" });
  assert(built.ok);
  return built.request;
}

/** The value, or `null` for an error. */
async function ask(body: string, status: number, ignoresNullValues: boolean): Promise<number | null> {
  const send = () => Promise.resolve(new Response(body, { status }));
  const asking = createAskTrigger({ clock: new VirtualClock(), send, version: "1.2.3" });
  const signal = new AbortController().signal;
  const trigger = externalTrigger(prometheusSource({ ignoresNullValues }));
  const answer = await asking(trigger, { credentials: {}, now: VIRTUAL_START_AT, signal });
  if (answer.kind === "failed") assertStringIncludes(answer.message, "Cannot read trigger");
  return answer.kind === "value" ? answer.value : null;
}
