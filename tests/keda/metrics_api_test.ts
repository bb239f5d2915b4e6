/**
 * pkg/scalers/metrics_api_scaler_test.go of KEDA 2.21.0 (Apache-2.0): its 10 tests as tables of inputs and outcomes.
 * Each test here has the name of KEDA's.
 */
import { assert, assertEquals, assertStringIncludes } from "#assert";
import { createAskEndpoints } from "../../lib/daemon/replicas/triggers.ts";
import { createClient } from "../../lib/kube/client.ts";
import { createAskTrigger } from "../../lib/triggers/http_trigger.ts";
import { parseLocatedValue } from "../../lib/triggers/located.ts";
import type { TriggerParameters } from "../../lib/triggers/value.ts";
import { VIRTUAL_START_AT, VirtualClock } from "../support/virtual_clock.ts";
import { accepted, assertParsed, getTrigger, type ParseCase, refused } from "./scalers.ts";

const BASE = { url: "http://dummy:1230/api/v1/", valueLocation: "metric", targetValue: "42" };

const METADATA: readonly ParseCase[] = [
  refused("nothing", {}),
  accepted("all that it needs", { ...BASE, valueLocation: "metric.test" }),
  refused("a target that is not a number", { ...BASE, targetValue: "aa" }),
  refused("an activation target that is not a number", { ...BASE, targetValue: "1", activationTargetValue: "aa" }),
  refused("no valueLocation", { url: BASE.url, targetValue: "aa" }),
  refused("no url", { valueLocation: "metric", targetValue: "aa" }),
  refused("no target", { url: BASE.url, valueLocation: "metric" }),
  accepted("a timeout", { ...BASE, timeout: "1000" }),
  refused("a negative timeout", { ...BASE, timeout: "-1" }),
  refused("a timeout that is not a number", { ...BASE, timeout: "a" }),
];

Deno.test("KEDA's TestParseMetricsAPIMetadata (R13, R15)", () => {
  assertEquals(METADATA.length, 10);
  assertParsed("metrics-api", METADATA);
});

Deno.test("KEDA's TestMetricsAPIGetMetricSpecForScaling (R18)", () => {
  const { metricName } = getTrigger("metrics-api", { ...BASE, valueLocation: "metric.test" }, { index: 1 });
  assertEquals(metricName, "s1-metric-api-metric-test");
});

const JSON_TEXT = '{"components":[{"id": "82328e93e", "tasks": 32, "str": "64", "k":"1k","wrong":"NaN"}],"count":2.43}';
const YAML_TEXT = "{components: [{id: 82328e93e, tasks: 32, str: '64', k: 1k, wrong: NaN}], count: 2.43}";
/** Lines are indented by tabs, and the last one has no end. */
const EXPOSITION = [
  "# HELP backend_queue_size Total number of items",
  "# TYPE backend_queue_size counter",
  'backend_queue_size{queueName="zero"} 0',
  'backend_queue_size{queueName="one"} 1',
  'backend_queue_size{queueName="two", instance="random"} 2',
  'backend_queue_size{queueName="two", instance="zero"} 20',
  "# HELP random_metric Random metric generate to include noise",
  "# TYPE random_metric counter",
  "random_metric 10",
].join("\n\t");

/** `value: null` = an error. */
const VALUES: readonly (readonly ["json" | "yaml" | "prometheus", location: string, value: number | null])[] = [
  ["json", "count", 2.43],
  ["json", "components.0.str", 64],
  ["json", "components.0.tasks", 32],
  ["json", "components.0.wrong", null],
  ["yaml", "count", 2.43],
  ["yaml", "components.0.str", 64],
  ["yaml", "components.0.tasks", 32],
  ["yaml", "components.0.wrong", null],
  ["prometheus", "random_metric", 10],
  ["prometheus", 'backend_queue_size{queueName="one"}', 1],
  ["prometheus", 'backend_queue_size{queueName="two"}', 2],
  ["prometheus", 'backend_queue_size{queueName="two", instance="zero"}', 20],
  ["prometheus", "backend_queue_size{invalid=test}", null],
];

Deno.test("KEDA's TestGetValueFromResponse (R13, R15)", () => {
  const texts = { json: JSON_TEXT, yaml: YAML_TEXT, prometheus: EXPOSITION };
  for (const [format, valueLocation, value] of VALUES) {
    const parsed = parseLocatedValue(texts[format], { format, valueLocation });
    assertEquals(parsed.ok ? parsed.value : null, value, `${format}, ${valueLocation}`);
  }
  assertEquals(VALUES.length, 13);
});

const by = (authMode: string) => ({ ...BASE, authMode });
const CLIENT = { cert: "ceert", key: "keey" };
const CUSTOM = { customAuthHeader: "X-Custom-Auth", customAuthValue: "customValue" };

const AUTHENTICATION: readonly ParseCase[] = [
  accepted("tls", by("tls"), { parameters: { ca: "caaa", ...CLIENT }, differs: "client-certificates" }),
  accepted("tls without a ca", by("tls"), { parameters: CLIENT, differs: "client-certificates" }),
  refused("tls without a key", by("tls"), { parameters: { ca: "caaa", cert: "ceert" } }),
  refused("tls without a certificate", by("tls"), { parameters: { ca: "caaa", key: "keey" } }),
  accepted("apiKey", by("apiKey"), { parameters: { apiKey: "apiikey" } }),
  accepted("apiKey in the query", by("apiKey"), { parameters: { apiKey: "apiikey", method: "query" } }),
  accepted("apiKey in a header of its own", by("apiKey"), {
    parameters: { apiKey: "apiikey", method: "header", keyParamName: "custom" },
  }),
  accepted("apiKey in a query parameter of its own", by("apiKey"), {
    parameters: { apiKey: "apiikey", method: "query", keyParamName: "custom" },
  }),
  refused("apiKey without a key", by("apiKey"), { parameters: {} }),
  accepted("basic", by("basic"), { parameters: { username: "user", password: "pass" } }),
  refused("basic without a user", by("basic"), { parameters: {} }),
  accepted("bearer", by("bearer"), { parameters: { token: "bearerTokenValue" } }),
  refused("bearer without a token", by("bearer"), { parameters: {} }),
  accepted("unsafeSsl true", { ...BASE, unsafeSsl: "true" }),
  accepted("unsafeSsl false", { ...BASE, unsafeSsl: "false" }),
  refused("unsafeSsl that is not a boolean", { ...BASE, unsafeSsl: "yes" }),
  accepted("apiKey and tls", by("apiKey,tls"), {
    parameters: { apiKey: "apiikey", ca: "caaa", ...CLIENT },
    differs: "client-certificates",
  }),
  refused("custom, which KEDA never applied", by("custom"), { parameters: CUSTOM }),
  refused("oauth, which KEDA never performed", by("oauth"), {
    parameters: { oauthTokenURI: "http://dummy:1230/oauth/token", clientID: "clientt", clientSecret: "secrett" },
  }),
  refused("apiKey and custom", by("apiKey,custom"), {
    parameters: { apiKey: "apiikey", ...CUSTOM },
  }),
];

Deno.test("KEDA's TestMetricAPIScalerAuthParams (R13, R16)", () => {
  assertEquals(AUTHENTICATION.length, 20);
  assertParsed("metrics-api", AUTHENTICATION);
});

Deno.test("KEDA's TestBearerAuth (R13, R16)", async () => {
  const metadata = { ...BASE, valueLocation: "components.0.tasks", targetValue: "1", authMode: "bearer" };
  const asked = await ask(metadata, () => new Response(JSON_TEXT), { token: "secure-token" });
  assertEquals(asked.headers, ["Bearer secure-token"]);
  assertEquals(asked.value, 32);
});

Deno.test("KEDA's TestGetMetricValueErrorMessage: podfit's own words have the path and the status too (R13)", async () => {
  const { message } = await ask(BASE, () => new Response("", { status: 418 }));
  assertStringIncludes(message, '"http://dummy:1230/api/v1/"');
  assertStringIncludes(message, "it answered 418");
});

Deno.test("KEDA's TestAggregateMetricsFromMultipleEndpoints_AverageAllEndpointsFail (R98)", async () => {
  const { answer } = await askEndpoints(["10.0.0.1", "10.0.0.2"], () => new Response("", { status: 418 }));
  assertEquals(answer.kind, "failed");
});

Deno.test("KEDA's TestAggregateMetricsFromMultipleEndpoints_AveragePartialSuccess (R98)", async () => {
  const { answer } = await askEndpoints(
    ["10.0.0.1", "10.0.0.2"],
    ({ hostname }) => hostname === "10.0.0.1" ? new Response('{"count": 20}') : new Response("", { status: 418 }),
  );
  assertEquals(answer, { kind: "value", value: 20, isEmpty: false });
});

Deno.test("KEDA's TestAggregateMetricsFromMultipleEndpoints_NoEndpoints (R98)", async () => {
  const { answer } = await askEndpoints([], () => new Response('{"count": 20}'));
  assertEquals(answer.kind, "failed");
});

Deno.test("KEDA's TestGetEndpointsUrlsFromServiceURL_SelectorFiltersCorrectly: the API server gets the selector (R98)", async () => {
  const { listed, urls } = await askEndpoints(["10.0.0.1"], () => new Response('{"count": 20}'));
  const slices = "http://api/apis/discovery.k8s.io/v1/namespaces/my-namespace/endpointslices";
  assertEquals(listed, [`${slices}?labelSelector=kubernetes.io%2Fservice-name%3Dmy-service`]);
  assertEquals(urls, ["http://10.0.0.1:8080/metrics"]);
});

/** Of a Service with these endpoints. */
async function askEndpoints(addresses: readonly string[], answer: (url: URL) => Response) {
  const url = "http://my-service.my-namespace.svc:8080/metrics";
  const trigger = getTrigger("metrics-api", {
    url,
    valueLocation: "count",
    targetValue: "1",
    aggregateFromKubeServiceEndpoints: "true",
  });
  const { source } = trigger;
  assert(source.kind === "metrics-api");
  const [listed, urls]: [string[], string[]] = [[], []];
  const clock = new VirtualClock();
  const client = createClient({
    origin: "http://api",
    transport: (request) => {
      listed.push(request.url);
      const endpoints = [{ addresses, conditions: { ready: true } }];
      return Promise.resolve(Response.json({ items: [{ ports: [{ port: 8080 }], endpoints }] }));
    },
  });
  const send = (asked: URL) => (urls.push(asked.href), Promise.resolve(answer(asked)));
  const askOne = createAskTrigger({ clock, send, version: "1.2.3" });
  const ask = createAskEndpoints({
    ask: (one, options) =>
      askOne({ ...one, source: { ...source, url: one.source.kind === "metrics-api" ? one.source.url : "" } }, options),
    client,
    clock,
    budget: { wait: () => Promise.resolve(), spend: () => {} },
  });
  const signal = new AbortController().signal;
  const given = await ask({ ...trigger, source }, { credentials: {}, now: VIRTUAL_START_AT, signal });
  return { answer: given, listed, urls };
}

/** What the server was sent as authorization, and the answer. */
async function ask(metadata: ParseCase["metadata"], answer: () => Response, credentials: TriggerParameters = {}) {
  const trigger = getTrigger("metrics-api", metadata, { authenticationRef: { name: "auth" } });
  const { source } = trigger;
  assert(source.kind === "metrics-api");
  const headers: (string | null)[] = [];
  const send = (_: URL, options: { readonly headers: Headers }) => {
    headers.push(options.headers.get("authorization"));
    return Promise.resolve(answer());
  };
  const asking = createAskTrigger({ clock: new VirtualClock(), send, version: "1.2.3" });
  const signal = new AbortController().signal;
  const given = await asking({ ...trigger, source }, { credentials, now: VIRTUAL_START_AT, signal });
  return {
    headers,
    value: given.kind === "value" ? given.value : null,
    message: given.kind === "failed" ? given.message : "",
  };
}
