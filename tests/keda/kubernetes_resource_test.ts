/**
 * pkg/scalers/kubernetes_resource_scaler_test.go of KEDA 2.21.0 (Apache-2.0): its 4 tests as tables of inputs and outcomes.
 * Each test here has the name of KEDA's.
 */
import { assert, assertEquals } from "#assert";
import { createAskObject, SAFE_CREDENTIAL_RULES } from "../../lib/daemon/replicas/triggers.ts";
import { createClient } from "../../lib/kube/client.ts";
import { VirtualClock } from "../support/virtual_clock.ts";
import { accepted, assertParsed, getTrigger, type ParseCase, refused } from "./scalers.ts";

const MAP = { resourceKind: "ConfigMap", resourceName: "my-config", key: "threshold", targetValue: "10" };
const SECRET = { ...MAP, resourceKind: "Secret", resourceName: "my-secret" };

function without(key: keyof typeof MAP): ParseCase["metadata"] {
  return Object.fromEntries(Object.entries(MAP).filter(([name]) => name !== key));
}

const METADATA: readonly ParseCase[] = [
  accepted("a ConfigMap", MAP),
  accepted("a Secret", SECRET),
  accepted("every key", {
    ...MAP,
    key: "data",
    valueLocation: "metrics.threshold",
    activationTargetValue: "5",
    format: "json",
    valueType: "float64",
  }),
  refused("no resourceKind", without("resourceKind")),
  refused("no resourceName", without("resourceName")),
  refused("no key", without("key")),
  refused("no targetValue", without("targetValue")),
  refused("another kind", { ...MAP, resourceKind: "Pod", resourceName: "my-pod" }),
  refused("another format", { ...MAP, format: "xml" }),
  refused("another valueType", { ...MAP, valueType: "string" }),
  refused("a valueLocation in a number", { ...MAP, format: "number", valueLocation: "some.path" }),
];

Deno.test("KEDA's TestParseKubernetesResourceMetadata (R97)", () => {
  assertEquals(METADATA.length, 11);
  assertParsed("kubernetes-resource", METADATA);
});

const AT = { ...MAP, key: "data", valueLocation: "metrics.threshold" };

/** What the object has, the value and whether the trigger is active by it. */
const VALUES: readonly (readonly [metadata: ParseCase["metadata"], entry: string, value: number, isActive: boolean])[] =
  [
    [{ ...MAP, activationTargetValue: "5" }, "3", 3, false],
    [{ ...MAP, activationTargetValue: "5" }, "8", 8, true],
    [{ ...AT, format: "json" }, '{"metrics": {"threshold": 15}}', 15, true],
    [{ ...AT, format: "yaml" }, "metrics:\n  threshold: 20\n", 20, true],
    [{ ...MAP, valueType: "quantity" }, "500m", 0.5, true],
    [{ ...MAP, valueType: "int64" }, "42", 42, true],
    [SECRET, "25", 25, true],
    [
      { ...SECRET, key: "data", valueLocation: "limit", targetValue: "100", format: "json" },
      '{"limit": 150}',
      150,
      true,
    ],
  ];

Deno.test("KEDA's TestKubernetesResourceIsActive (R51, R97)", async () => {
  for (const [metadata, entry, value, isActive] of VALUES) {
    assertEquals(await ask(metadata, { [metadata["key"] ?? ""]: entry }), value, entry);
    assertEquals(value > getTrigger("kubernetes-resource", metadata).activation, isActive, entry);
  }
  assertEquals(VALUES.length, 8);
});

Deno.test("KEDA's TestKubernetesResourceGetMetricSpecForScaling (R18)", () => {
  const rows = [MAP, { ...SECRET, key: "limit" }, { ...MAP, resourceName: "scaling-config", key: "queue_length" }];
  const names = rows.map((metadata, index) => getTrigger("kubernetes-resource", metadata, { index }).metricName);
  assertEquals(names, [
    "s0-configmap-my-config-threshold",
    "s1-secret-my-secret-limit",
    "s2-configmap-scaling-config-queue_length",
  ]);
});

/** What the object has; `null` = it does not exist. */
const ERRORS: readonly (readonly [what: string, ParseCase["metadata"], Readonly<Record<string, string>> | null])[] = [
  ["no ConfigMap", MAP, null],
  ["no such key", { ...MAP, key: "missing-key" }, { threshold: "10" }],
  ["no Secret", SECRET, null],
  ["a text that is not a number", MAP, { threshold: "not-a-number" }],
  ["a text that is not JSON", { ...AT, format: "json" }, { data: "{invalid json}" }],
  ["nothing at the location", { ...AT, valueLocation: "missing.path", format: "json" }, {
    data: '{"metrics": {"threshold": 10}}',
  }],
  ["a text that is not YAML", { ...AT, format: "yaml" }, { data: "invalid:\n  yaml\n    bad indent" }],
  ["a text that is not a quantity", { ...MAP, valueType: "quantity" }, { threshold: "invalid-quantity" }],
];

Deno.test("KEDA's TestKubernetesResourceErrorCases (R97)", async () => {
  for (const [what, metadata, data] of ERRORS) assertEquals(await ask(metadata, data), null, what);
  assertEquals(ERRORS.length, 8);
});

/** The value; `null` for an error. */
async function ask(metadata: ParseCase["metadata"], data: Readonly<Record<string, string>> | null) {
  const trigger = getTrigger("kubernetes-resource", metadata);
  const { source } = trigger;
  assert(source.kind === "kubernetes-resource");
  const isSecret = source.objectKind === "Secret";
  const encoded = Object.entries(data ?? {}).map(([key, text]) => [key, isSecret ? btoa(text) : text]);
  const path = `/api/v1/namespaces/test/${isSecret ? "secrets" : "configmaps"}/${source.name}`;
  const client = createClient({
    origin: "http://api",
    transport: ({ url }) => {
      const isThere = data !== null && url === `http://api${path}`;
      const answer = isThere ? { data: Object.fromEntries(encoded) } : { kind: "Status", code: 404, message: "no" };
      return Promise.resolve(Response.json(answer, { status: isThere ? 200 : 404 }));
    },
  });
  const asking = createAskObject({ client, clock: new VirtualClock(), credentialRules: SAFE_CREDENTIAL_RULES });
  const signal = new AbortController().signal;
  const answer = await asking({ ...trigger, source }, { credentials: {}, now: 0, signal, namespace: "test" });
  return answer.kind === "value" ? answer.value : null;
}
