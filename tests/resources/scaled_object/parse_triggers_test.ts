/** What parseScaledObject() makes of the triggers: targets, thresholds, sources and metric names. */
import { assert, assertEquals } from "#assert";
import fc from "fast-check";
import { toMetricName } from "../../../lib/resources/scaled_object/triggers.ts";
import { parseScaledObject, parseWithoutRun } from "../../../lib/resources/scaled_object/scaled_object.ts";
import type { ExternalTrigger, Trigger } from "../../../lib/model/scaled_object.ts";
import type { Edits } from "../../support/manifests.ts";
import {
  CPU,
  CRON,
  MEMORY,
  METRICS_API,
  OBJECT,
  PROMETHEUS,
  toScaledObject,
  trigger,
  WORKLOAD,
} from "../../support/scaled_objects.ts";

Deno.test("parseScaledObject() reads cpu and memory as a share of requests or an amount (R10)", () => {
  const resource = { kind: "resource", index: 0, name: null, container: null, baseline: null };
  const utilization = { kind: "Utilization", percent: 60 };
  const cases: readonly (readonly [Edits, unknown])[] = [
    [trigger(CPU), { ...resource, type: "cpu", target: utilization }],
    [trigger(CPU, { containerName: "app" }), { ...resource, type: "cpu", container: "app", target: utilization }],
    [trigger({ ...CPU, name: "c" }), { ...resource, type: "cpu", name: "c", target: utilization }],
    [trigger({ ...CPU, metricType: "AverageValue" }, { value: "1.5" }), {
      ...resource,
      type: "cpu",
      target: { kind: "AverageValue", milli: 1500n },
    }],
    [trigger(MEMORY, { value: "1Gi" }), {
      ...resource,
      type: "memory",
      target: { kind: "AverageValue", milli: 1_073_741_824_000n },
    }],
    [trigger(CPU, { baseline: "live" }), { ...resource, type: "cpu", target: utilization, baseline: { kind: "live" } }],
    [trigger(CPU, { baseline: "initial" }), {
      ...resource,
      type: "cpu",
      target: utilization,
      baseline: { kind: "initial" },
    }],
    [trigger(CPU, { baseline: "born" }), {
      ...resource,
      type: "cpu",
      target: utilization,
      baseline: { kind: "initial" },
    }],
    [trigger(CPU, { baseline: "2" }), {
      ...resource,
      type: "cpu",
      target: utilization,
      baseline: { kind: "amount", milli: 2000n },
    }],
  ];
  for (const [edits, expected] of cases) assertEquals(parse(edits) as unknown, expected);
});

Deno.test("parseScaledObject() reads cron with its target of 1 (R11)", () => {
  const { source, ...rest } = external(trigger({ ...CRON, name: "day" }));
  assert(source.kind === "cron");
  const { start, end, ...facts } = source;
  assertEquals([start.text, end.text], ["0 8 * * 1-5", "0 18 * * 1-5"]);
  assertEquals(facts, { kind: "cron", timezone: "Europe/Berlin", desiredReplicas: 10 });
  assertEquals(rest, {
    kind: "external",
    type: "cron",
    index: 0,
    name: "day",
    metricName: "s0-cron-Europe-Berlin-08xx1-5-018xx1-5",
    metricType: "AverageValue",
    targetMilli: 1000n,
    activation: 0,
    isCached: false,
    isServedByKeda: false,
    authentication: null,
  });
});

Deno.test("parseScaledObject() reads kubernetes-workload (R12)", () => {
  const plain = external(trigger(WORKLOAD, { podSelector: "app=worker,!old" }));
  assert(plain.source.kind === "kubernetes-workload");
  assertEquals(plain.source.isByNode, false);
  assertEquals(plain.source.selector.requirements, [
    { key: "app", operator: "In", values: ["worker"] },
    { key: "old", operator: "DoesNotExist", values: [] },
  ]);
  assertEquals([plain.targetMilli, plain.activation], [2000n, 0]);
  const { source, activation } = external(trigger(WORKLOAD, { groupByNode: "1", activationValue: "-2.5" }));
  assertEquals([source.kind === "kubernetes-workload" && source.isByNode, activation], [true, -2.5]);
});

Deno.test("parseScaledObject() reads kubernetes-resource with its defaults, and everything it may have (R18, R97)", () => {
  const { source, metricName, targetMilli, activation } = external(trigger(OBJECT));
  assertEquals([metricName, targetMilli, activation], ["s0-configmap-queue-length", 5000n, 0]);
  assertEquals(source, {
    kind: "kubernetes-resource",
    objectKind: "ConfigMap",
    name: "queue",
    key: "length",
    format: "number",
    valueLocation: "",
    valueType: "float64",
  });
  const full = external(trigger(OBJECT, {
    resourceKind: "Secret",
    resourceName: "app.queue",
    key: "stats.yaml",
    format: "yaml",
    valueLocation: "a.b",
    valueType: "quantity",
    activationTargetValue: "2",
  }));
  assertEquals([full.metricName, full.activation], ["s0-secret-app-queue-stats-yaml", 2]);
  assertEquals(full.source, {
    kind: "kubernetes-resource",
    objectKind: "Secret",
    name: "app.queue",
    key: "stats.yaml",
    format: "yaml",
    valueLocation: "a.b",
    valueType: "quantity",
  });
});

Deno.test("parseScaledObject() reads metrics-api with its defaults, and everything it may have (R13, R15)", () => {
  const plain = external(trigger(METRICS_API));
  assertEquals([plain.targetMilli, plain.activation], [5000n, 0]);
  assertEquals(plain.source, {
    kind: "metrics-api",
    url: "http://queue/stats",
    valueLocation: "queue.length",
    format: "json",
    method: null,
    keyParamName: null,
    apiKey: null,
    aggregation: null,
    authModes: null,
    isTlsUnverified: false,
    timeoutMs: 3000,
  });
  const full = external(trigger({ ...METRICS_API, authenticationRef: { name: "queue" } }, {
    url: " https://queue.shop.svc/stats ",
    aggregateFromKubeServiceEndpoints: "true",
    aggregationType: "max",
    format: "yaml",
    activationTargetValue: "7",
    method: "query",
    keyParamName: "token",
    apiKey: "k",
    authModes: "apiKey, basic",
    unsafeSsl: "T",
    timeout: "1.5s",
  }));
  assertEquals([full.activation, full.authentication], [7, { kind: "TriggerAuthentication", name: "queue" }]);
  assertEquals(full.source, {
    kind: "metrics-api",
    url: "https://queue.shop.svc/stats",
    valueLocation: "queue.length",
    format: "yaml",
    method: "query",
    keyParamName: "token",
    apiKey: "k",
    aggregation: "max",
    authModes: ["apiKey", "basic"],
    isTlsUnverified: true,
    timeoutMs: 1500,
  });
});

Deno.test("parseScaledObject() reads prometheus with its defaults, and everything it may have (R14, R15)", () => {
  const plain = external(trigger(PROMETHEUS));
  assertEquals([plain.targetMilli, plain.activation], [10_000n, 0]);
  assertEquals(plain.source, {
    kind: "prometheus",
    serverAddress: "http://prometheus:9090",
    query: "up",
    namespace: null,
    queryParameters: [],
    customHeaders: [],
    ignoresNullValues: true,
    hasNullRule: false,
    authModes: null,
    isTlsUnverified: false,
    timeoutMs: 3000,
  });
  const reference = { name: "prom", kind: "ClusterTriggerAuthentication" };
  const full = external(
    trigger({ ...PROMETHEUS, metricType: "Value", useCachedMetrics: true, authenticationRef: reference }, {
      activationThreshold: "1e2",
      namespace: "shop",
      queryParameters: "a=1, a = 2 ,b=",
      customHeaders: "X-Scope-OrgID=shop",
      ignoreNullValues: "false",
      authMode: "custom",
      timeout: "0",
    }),
  );
  assertEquals([full.metricType, full.isCached, full.activation, full.authentication as unknown], [
    "Value",
    true,
    100,
    reference,
  ]);
  assertEquals(full.source, {
    kind: "prometheus",
    serverAddress: "http://prometheus:9090",
    query: "up",
    namespace: "shop",
    queryParameters: [["a", "2"], ["b", ""]],
    customHeaders: [["X-Scope-OrgID", "shop"]],
    ignoresNullValues: false,
    hasNullRule: true,
    authModes: ["custom"],
    isTlsUnverified: false,
    timeoutMs: 3000,
  });
});

Deno.test("parseScaledObject() makes an average of endpoints, unless another aggregation is given (R98)", () => {
  const url = "http://queue.shop:8080/";
  const read = (metadata: Edits) => {
    const { source } = external(trigger(METRICS_API, { url, ...metadata }));
    return source.kind === "metrics-api" && source.aggregation;
  };
  const all = { aggregateFromKubeServiceEndpoints: "true" };
  assertEquals(read(all), "average");
  assertEquals(["sum", "max", "min", "average"].map((aggregationType) => read({ ...all, aggregationType })), [
    "sum",
    "max",
    "min",
    "average",
  ]);
  assertEquals(read({ aggregateFromKubeServiceEndpoints: "false", aggregationType: "sum" }), null);
});

Deno.test("parseScaledObject() takes authModes before authMode, and none that has no effect (R13, R14)", () => {
  const read = (base: typeof PROMETHEUS | typeof METRICS_API, metadata: Edits) => {
    const { source } = external(trigger({ ...base, authenticationRef: { name: "a" } }, metadata));
    assert(source.kind === "prometheus" || source.kind === "metrics-api");
    return source.authModes;
  };
  assertEquals(read(METRICS_API, { authModes: "basic", authMode: "bearer" }), ["basic"]);
  assertEquals(read(PROMETHEUS, { authMode: "apiKey" }), []);
  assertEquals(read(PROMETHEUS, { authMode: "" }), null);
});

Deno.test("parseScaledObject() rounds a threshold to three decimals, ties to even, and never to 0 (R17)", () => {
  const read = (threshold: string) => external(trigger(PROMETHEUS, { threshold })).targetMilli;
  assertEquals(["0.0625", "0.0005", "2.9999", "1e3"].map(read), [62n, 1n, 3000n, 1_000_000n]);
  assertEquals(read("1e300"), 2n ** 63n - 1n);
});

Deno.test("parseScaledObject() reads durations as Go does, or as milliseconds (R15)", () => {
  const read = (timeout: string) => {
    const { source } = external(trigger(PROMETHEUS, { timeout }));
    return source.kind === "prometheus" ? source.timeoutMs : null;
  };
  assertEquals(["250", "250ms", "15s", "0s", "", "+5"].map(read), [250, 250, 15_000, 3000, 3000, 5]);
});

Deno.test("parseScaledObject() cuts a timeout to a tick's 15 s, with a warning (R15)", () => {
  for (const timeout of ["15001", "1m", "99999999999999"]) {
    const { scaledObject, warnings } = parseScaledObject(toScaledObject(trigger(PROMETHEUS, { timeout })));
    const [first] = scaledObject?.triggers ?? [];
    const source = first?.kind === "external" ? first.source : null;
    assertEquals(source?.kind === "prometheus" ? source.timeoutMs : null, 15_000);
    assertEquals(warnings, [{
      path: "spec.triggers[0].metadata.timeout",
      message: `Cannot wait "${timeout}" for an answer: it is cut to 15s, as a tick is 15 s`,
    }]);
  }
  assertEquals(parseScaledObject(toScaledObject(trigger(PROMETHEUS, { timeout: "15s" }))).warnings, []);
});

const FORBIDDEN: readonly (readonly [host: string, purpose: string])[] = [
  ["169.254.169.254", "a link-local address"],
  ["169.254.169.254.", "a link-local address"],
  ["2852039166", "a link-local address"],
  ["0xA9FEA9FE", "a link-local address"],
  ["0251.0376.0251.0376", "a link-local address"],
  ["169.254.43518", "a link-local address"],
  ["%31%36%39.254.169.254", "a link-local address"],
  ["１６９。254.169.254", "a link-local address"],
  ["u:p@169.254.169.254:80", "a link-local address"],
  ["[::ffff:169.254.169.254]", "a link-local address"],
  ["[0:0:0:0:0:FFFF:A9FE:A9FE]", "a link-local address"],
  ["[fe80::1]", "a link-local address"],
  ["[FEBF::1]", "a link-local address"],
  ["0.0.0.0", "the unspecified address"],
  ["0", "the unspecified address"],
  ["0.1.2.3", "the unspecified address"],
  ["[::]", "the unspecified address"],
  ["[::ffff:0:0]", "the unspecified address"],
  ["224.0.0.1", "a multicast address"],
  ["239.1", "a multicast address"],
  ["[ff02::1]", "a multicast address"],
  ["[::ffff:224.0.0.1]", "a multicast address"],
];
for (const [host, purpose] of FORBIDDEN) {
  Deno.test(`parseScaledObject() refuses to ask ${host}, which is ${purpose} (R13, R14)`, () => {
    for (const [base, key] of [[PROMETHEUS, "serverAddress"], [METRICS_API, "url"]] as const) {
      const url = `http://${host}/latest`;
      assertEquals(parseScaledObject(toScaledObject(trigger(base, { [key]: url }))).problems, [{
        path: `spec.triggers[0].metadata.${key}`,
        message: `Cannot use "${url.replace("u:p@", "")}" as ${key}: its host is ${purpose}, which is not asked`,
      }]);
    }
  });
}

Deno.test("parseScaledObject() takes loopback and private addresses, and names that look like others (R13, R14)", () => {
  const hosts = [
    "127.0.0.1",
    "[::1]",
    "localhost",
    "10.0.0.1",
    "[fd00::1]",
    "169.254.169.254.example",
    "ff02.example",
    "240.0.0.1",
  ];
  for (const host of hosts) {
    assertEquals(
      parseScaledObject(toScaledObject(trigger(METRICS_API, { url: `http://${host}/` }))).problems,
      [],
      host,
    );
  }
});

Deno.test("parseScaledObject() takes 50 triggers and no more (R2, R4)", () => {
  const parse = (count: number) =>
    parseScaledObject(toScaledObject({ "spec.triggers": Array(count).fill(PROMETHEUS) }));
  assertEquals(parse(50).scaledObject?.triggers.length, 50);
  assertEquals(parse(51).problems, [{
    path: "spec.triggers",
    message: "Cannot use 51 triggers: must be at most 50, split the object or add up in a query",
  }]);
  assertEquals(parse(51).scaledObject, null);
});

Deno.test("parseScaledObject() names metrics as KEDA does (R18)", () => {
  const cases: readonly (readonly [Edits, string])[] = [
    [trigger(PROMETHEUS), "s0-prometheus"],
    [trigger(WORKLOAD), "s0-workload-shop"],
    [trigger(METRICS_API, { valueLocation: "a.b/c:d%e(f)" }), "s0-metric-api-a-b-c-d-e-f-"],
    [
      trigger(CRON, { timezone: "Etc/UTC", start: "*/5 1,2 ? * *", end: "0 3 * * *" }),
      "s0-cron-Etc-UTC-xSl51Cm2Qmxx-03xxx",
    ],
  ];
  for (const [edits, expected] of cases) assertEquals(external(edits).metricName, expected);
  const { scaledObject } = parseScaledObject(toScaledObject({ "spec.triggers": [CPU, PROMETHEUS, WORKLOAD] }));
  assertEquals(scaledObject?.triggers.map((one) => one.kind === "external" ? one.metricName : one.type), [
    "cpu",
    "s1-prometheus",
    "s2-workload-shop",
  ]);
  assertEquals(toMetricName(12, "a.b"), "s12-a-b");
});

Deno.test("parseScaledObject() reads any number of a threshold as JSON does, or refuses it (R15, R17)", () => {
  fc.assert(fc.property(fc.oneof(fc.double().map(String), fc.string()), (threshold) => {
    const { scaledObject, problems } = parseScaledObject(toScaledObject(trigger(PROMETHEUS, { threshold })));
    const number = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(threshold.trim()) ? Number(threshold) : NaN;
    assertEquals(scaledObject !== null, Number.isFinite(number) && number >= 0.0005, threshold);
    assertEquals(scaledObject === null, problems.length > 0);
  }));
});

function parse(edits: Edits): Trigger {
  const { scaledObject, problems } = parseScaledObject(toScaledObject(edits));
  const [first] = scaledObject?.triggers ?? [];
  assert(first !== undefined, JSON.stringify(problems));
  return first;
}

function external(edits: Edits): ExternalTrigger {
  const found = parse(edits);
  assert(found.kind === "external");
  return found;
}

Deno.test("parseScaledObject() bounds each text of a trigger by what real ones need", () => {
  const bounds = [
    [PROMETHEUS, "query", 8192],
    [PROMETHEUS, "serverAddress", 2048],
    [METRICS_API, "url", 2048],
    [METRICS_API, "valueLocation", 1024],
    [CRON, "timezone", 1024],
  ] as const;
  for (const [type, key, max] of bounds) {
    const long = `http://metrics.shop/${"a".repeat(max - 19)}`;
    const [tooLong, ...others] = parseScaledObject(toScaledObject(trigger(type, { [key]: long }))).problems;
    assertEquals([tooLong?.path, others], [`spec.triggers[0].metadata.${key}`, []]);
    assert(tooLong?.message.endsWith(`longer than ${max} characters`), tooLong?.message);
    const whole = parseScaledObject(toScaledObject(trigger(type, { [key]: long.slice(0, max) }))).problems;
    assert(whole.every(({ message }) => !message.includes("longer than")), JSON.stringify(whole));
  }
});

Deno.test("parseWithoutRun() reports few problems, however many triggers need the metrics APIs (M15, M23)", () => {
  const one = { type: "external-metric", metadata: { metricName: "jobs", value: "5" } };
  const parse = (count: number) =>
    parseWithoutRun(toScaledObject({ "spec.triggers": Array(count).fill(one) }), { usesMetricsApis: false }).problems;
  assertEquals(parse(1).map(({ path }) => path), ["spec.triggers[0].type"]);
  assertEquals(parse(2).map(({ path }) => path), ["spec.triggers[0].type", "spec.triggers[1].type"]);
  // One more says that there are too many.
  assertEquals(parse(10_000).length, 51);
});
