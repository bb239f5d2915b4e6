/** parseScaledObject() and parseAuthentication() with every value that somebody might write into a field, and with random objects (R3). */
import { assert, assertEquals } from "#assert";
import fc from "fast-check";
import { parseAuthentication } from "../../../lib/resources/trigger_authentication/trigger_authentication.ts";
import { parseScaledObject } from "../../../lib/resources/scaled_object/scaled_object.ts";
import type { Problem } from "../../../lib/units/untrusted.ts";
import { AUTHENTICATION } from "../../support/authentications.ts";
import type { Manifest } from "../../support/manifests.ts";
import { CPU, CRON, METRICS_API, named, PROMETHEUS, toScaledObject, WORKLOAD } from "../../support/scaled_objects.ts";

/** Every field that is read, so that every one can be spoilt. */
const FULL = toScaledObject({
  "metadata": {
    name: "web",
    namespace: "shop",
    uid: "u",
    resourceVersion: "1",
    generation: 1,
    creationTimestamp: "2026-01-02T03:04:05Z",
    finalizers: ["finalizer.keda.sh"],
    annotations: { "autoscaling.keda.sh/paused-replicas": "1", "autoscaling.keda.sh/paused": "true" },
  },
  "spec": {
    scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web", envSourceContainerName: "app" },
    pollingInterval: 30,
    cooldownPeriod: 300,
    initialCooldownPeriod: 0,
    minReplicaCount: 1,
    maxReplicaCount: 9,
    idleReplicaCount: 0,
    fallback: { failureThreshold: 3, replicas: 6, behavior: "static" },
    advanced: {
      restoreToOriginalReplicaCount: true,
      horizontalPodAutoscalerConfig: {
        name: "hpa",
        behavior: {
          scaleUp: {
            stabilizationWindowSeconds: 1,
            selectPolicy: "Max",
            tolerance: "50m",
            policies: [{ type: "Pods", value: 1, periodSeconds: 15 }],
          },
        },
      },
      scalingModifiers: { formula: "a", target: "2", activationTarget: "1", metricType: "Value" },
    },
    triggers: [
      { ...named(PROMETHEUS, "a") as object, metricType: "Value", useCachedMetrics: true },
      { ...CPU, metadata: { value: "60", containerName: "app", baseline: "initial" } },
      CRON,
      { ...WORKLOAD, metadata: { ...WORKLOAD.metadata, activationValue: "1", groupByNode: "true" } },
      {
        ...METRICS_API,
        authenticationRef: { name: "a", kind: "TriggerAuthentication" },
        metadata: { ...METRICS_API.metadata, timeout: "3s", authModes: "apiKey", method: "query", format: "json" },
      },
      {
        ...PROMETHEUS,
        metadata: { ...PROMETHEUS.metadata, customHeaders: "a=b", queryParameters: "a=b", unsafeSsl: "true" },
      },
    ],
  },
});

const VALUES: readonly unknown[] = [
  null,
  0,
  -1,
  1.5,
  1e21,
  2 ** 31,
  NaN,
  Infinity,
  true,
  "",
  " ",
  "\u0000\n\u202e\u2028",
  "\ud800",
  "-1",
  "NaN",
  "1e400",
  "constructor",
  "__proto__",
  "a,b=c,=,",
  "http://[",
  "(((((((((",
  "9".repeat(1e6),
  "(".repeat(1e6),
  "a.".repeat(5e5),
  "* ".repeat(5e5),
  "a=b,".repeat(2.5e5),
  [],
  [null],
  [[]],
  [{}],
  Array.from({ length: 2000 }, () => ({})),
  {},
  { constructor: 1, __proto__: null },
  { ["k".repeat(1e6)]: "\n" },
  1n,
  () => 1,
  Symbol("s"),
];

const SLOW_MS = 1000;
/** No field has it in its name. */
const SEPARATOR = "\u0001";
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

Deno.test("parseScaledObject() has a presentable answer to any value in any field (R3)", () => {
  const paths = listPaths(FULL, "");
  assert(paths.length > 80, `${paths.length}`);
  assertEquals(
    spoilEach(FULL, paths, (object) => {
      const { scaledObject, problems, warnings } = parseScaledObject(object);
      assert(scaledObject !== null || problems.length > 0);
      return [...problems, ...warnings];
    }),
    [],
  );
});

Deno.test("parseAuthentication() has a presentable answer to any value in any field (R16)", () => {
  const paths = listPaths(AUTHENTICATION, "");
  assert(paths.length > 10, `${paths.length}`);
  assertEquals(
    spoilEach(AUTHENTICATION, paths, (object) => {
      const { authentication, problems, warnings } = parseAuthentication(object);
      assert(authentication !== null || problems.length > 0);
      return [...problems, ...warnings];
    }),
    [],
  );
});

Deno.test("parseScaledObject() and parseAuthentication() take any value at all (R3, R16)", () => {
  for (const value of [...VALUES, undefined]) {
    assertEquals(parseScaledObject(value).scaledObject, null);
    assert(parseScaledObject(value).problems.length > 0);
    assertEquals(parseAuthentication(value).authentication, null);
    assert(parseAuthentication(value).problems.length > 0);
  }
});

Deno.test("parseScaledObject() gives an object or problems for random specs, and the same for the same (R3)", () => {
  const names = fc.constantFrom(...listPaths(FULL, "").map((path) => path.split(SEPARATOR).at(-1) ?? ""));
  const anySpec = fc.dictionary(names, fc.jsonValue({ maxDepth: 4 }), { maxKeys: 12 });
  fc.assert(fc.property(anySpec, fc.array(fc.jsonValue(), { maxLength: 3 }), (spec, triggers) => {
    const object = { metadata: { name: "web" }, spec: { scaleTargetRef: { name: "web" }, triggers, ...spec } };
    const facts = parseScaledObject(object);
    assertEquals(facts.scaledObject === null, facts.problems.length > 0);
    assertEquals(facts.problems, parseScaledObject(structuredClone(object)).problems);
  }));
});

/** Gives what was slow or could not be shown. Throws where the parser does. */
function spoilEach(
  base: Manifest,
  paths: readonly string[],
  parse: (object: Manifest) => readonly Problem[],
): readonly string[] {
  const failures: string[] = [];
  for (const path of paths) {
    for (const [index, value] of VALUES.entries()) {
      const object = spoil(base, path, value);
      const startedAt = performance.now();
      const found = parse(object);
      const took = performance.now() - startedAt;
      if (took > SLOW_MS) failures.push(`${path} with value ${index}: ${took} ms`);
      failures.push(
        ...found.filter((one) => !isPresentable(one)).map((one) => `${path} with value ${index}: ${one.path}`),
      );
    }
  }
  return failures;
}

function spoil(base: Manifest, path: string, value: unknown): Manifest {
  const keys = path.split(SEPARATOR);
  const object = structuredClone(base) as Record<string, unknown>;
  const parent = keys.slice(0, -1).reduce((node, key) => node[key] as Record<string, unknown>, object);
  parent[keys.at(-1) ?? ""] = value;
  return object;
}

/** Every field, however deep, of objects and of lists. */
function listPaths(value: unknown, path: string): readonly string[] {
  const inner = typeof value === "object" && value !== null
    ? Object.entries(value).flatMap(([key, one]) => listPaths(one, path === "" ? key : `${path}${SEPARATOR}${key}`))
    : [];
  return path === "" ? inner : [path, ...inner];
}

function isPresentable({ path, message }: Problem): boolean {
  return message !== "" && path.length + message.length < 1500 && !UNSEEN.test(path + message) &&
    (path + message).isWellFormed();
}
