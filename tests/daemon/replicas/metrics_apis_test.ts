/**
 * Triggers that ask for a metric as an HPA does. The test plays the adapter of both APIs.
 * Clauses: M15, M17, M20, M22, M23.
 */
import { assertEquals, assertStringIncludes } from "#assert";
import { parseMetricAnswer, toMetricPath, toPodValues } from "../../../lib/daemon/replicas/metrics_apis.ts";
import { proposeByPodValues } from "../../../lib/horizontal/replica_calculator.ts";
import type { MetricSource } from "../../../lib/model/scaled_object.ts";
import { parseScaledObject } from "../../../lib/resources/scaled_object/scaled_object.ts";
import { deployment } from "../../e2e/support/workloads.ts";
import type { Json } from "../../support/api_objects.ts";
import { hpa, ReplicasRun, type ReplicasRunOptions, scaledObject } from "../../support/replicas_run.ts";
import { TOLERANCE } from "../../support/tick_builders.ts";

const PODS: Json = { type: "pods-metric", metadata: { metricName: "rps", selector: "verb=GET", value: "10" } };

const INGRESS: Json = {
  type: "object-metric",
  metricType: "Value",
  metadata: {
    metricName: "rps",
    value: "500m",
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    name: "main",
    activationValue: "0.5",
  },
};

const QUEUE: Json = { type: "external-metric", metadata: { metricName: "queue", selector: "queue=a", value: "10" } };

/** The adapter of both APIs, and discovery of the group of the Ingress. */
class Adapter {
  /** Of each pod in turn, of the object, or of the external metric. */
  values: readonly string[] = ["20"];
  body: unknown = null;
  readonly asked: string[] = [];
  run: ReplicasRun | null = null;

  readonly answer = (request: Request): Response | Promise<Response> | null => {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/apis/networking.k8s.io/v1") {
      return Response.json({ resources: [{ name: "ingresses", kind: "Ingress", namespaced: true }] });
    }
    const [, api, path] = /^\/apis\/(external|custom)\.metrics\.k8s\.io\/[^/]+\/(.*)$/.exec(pathname) ?? [];
    if (api === undefined || path === undefined) return null;
    this.asked.push(`${api} ${path} ${searchParams}`);
    if (this.body !== null) return Response.json(this.body);
    const metricName = path.split("/").at(-1) ?? "";
    if (api === "external") return Response.json({ items: this.values.map((value) => ({ metricName, value })) });
    if (!path.includes("/pods/")) return Response.json({ items: [toItem(metricName, "main", this.values[0] ?? "0")] });
    return this.#answerForPods(metricName);
  };

  async #answerForPods(metricName: string): Promise<Response> {
    const pods = await this.run?.cluster.list("pods") ?? [];
    const items = pods.flatMap(({ metadata: { name } }, at) => {
      const value = this.values[at % this.values.length] ?? "";
      return value === "" ? [] : [toItem(metricName, name, value)];
    });
    return Response.json({ items });
  }
}

function toItem(name: string, pod: string, value: string): object {
  return { describedObject: { kind: "Pod", name: pod }, metric: { name }, value, timestamp: "2026-01-01T00:00:00Z" };
}

async function start(adapter: Adapter, trigger: Json, options: ReplicasRunOptions & { readonly spec?: Json } = {}) {
  const { spec = { minReplicaCount: 1, maxReplicaCount: 50 }, ...others } = options;
  const run = await ReplicasRun.start([
    deployment("web", { containers: [{ requests: { cpu: "100m" } }], replicas: 3 }),
    scaledObject("web", [trigger], { spec }),
  ], { answer: adapter.answer, settings: { usesMetricsApis: true }, ...others });
  adapter.run = run;
  return run;
}

Deno.test("pods-metric asks for the pods of the target and scales by their average (M17)", async () => {
  const adapter = new Adapter();
  await using run = await start(adapter, PODS);
  await run.advance(20);
  assertEquals(
    adapter.asked[0],
    "custom namespaces/default/pods/*/rps labelSelector=app%3Dweb&metricLabelSelector=verb%3DGET",
  );
  assertEquals(await run.replicas(), 6);
});

Deno.test("object-metric finds the plural name of the kind, and scales by the ready pods (M17)", async () => {
  const adapter = new Adapter();
  adapter.values = ["1"];
  await using run = await start(adapter, INGRESS);
  await run.advance(20);
  assertEquals(adapter.asked[0], "custom namespaces/default/ingresses.networking.k8s.io/main/rps ");
  assertEquals(await run.replicas(), 6);
});

Deno.test("external-metric adds up the series that its selector finds (M17)", async () => {
  const adapter = new Adapter();
  adapter.values = ["20", "35500m"];
  await using run = await start(adapter, QUEUE);
  await run.advance(40);
  assertEquals(adapter.asked[0], "external namespaces/default/queue labelSelector=queue%3Da");
  assertEquals(await run.replicas(), 6);
});

Deno.test("a value beyond doubles is counted exactly, as by the HPA: 4900T are seven times 700T (M17)", async () => {
  const adapter = new Adapter();
  adapter.values = ["4900T"];
  await using run = await start(adapter, { type: "external-metric", metadata: { metricName: "queue", value: "700T" } });
  await run.advance(60);
  assertEquals(await run.replicas(), 7);
});

Deno.test("an external metric that falls to activationValue scales to zero, and above it from zero (M17)", async () => {
  const adapter = new Adapter();
  adapter.values = ["3"];
  const trigger = { ...QUEUE, metadata: { metricName: "queue", value: "10", activationValue: "3" } };
  await using run = await start(adapter, trigger, { spec: { minReplicaCount: 0, cooldownPeriod: 30 } });
  await run.advance(400);
  assertEquals(await run.replicas(), 0);
  adapter.values = ["3001m"];
  await run.advance(60);
  assertEquals(await run.replicas(), 1);
});

Deno.test("a pods-metric at zero replicas asks nothing, and counts as 0 (M17)", async () => {
  const adapter = new Adapter();
  adapter.values = ["0"];
  const spec = { minReplicaCount: 0, cooldownPeriod: 30, triggers: [PODS, QUEUE] };
  await using run = await start(adapter, PODS, { spec });
  await run.advance(400);
  assertEquals(await run.replicas(), 0);
  const before = adapter.asked.length;
  await run.advance(60);
  const asked = adapter.asked.slice(before).map((one) => one.includes("/pods/"));
  assertEquals([...new Set(asked)], [false]);
  adapter.values = ["5"];
  await run.advance(40);
  assertEquals(await run.replicas(), 1);
});

Deno.test("without --metrics-apis the trigger is a problem of the object, and nothing is asked (M15, M22)", async () => {
  const adapter = new Adapter();
  await using run = await start(adapter, QUEUE, { settings: {} });
  await run.advance(60);
  assertEquals([await run.condition("web", "Ready"), adapter.asked], ["False ScaledObjectCheckFailed", []]);
  assertStringIncludes(await run.message("web"), "--metrics-apis");
});

Deno.test("a bad answer fails its trigger, and replicas stay (M23)", async () => {
  const adapter = new Adapter();
  adapter.body = { items: [], padding: "x".repeat(3 * 2 ** 20) };
  await using run = await start(adapter, PODS);
  await run.advance(60);
  assertEquals(await run.replicas(), 3);
  assertStringIncludes(await run.message("web", "HPAActive"), "the answer is larger than 2048 KiB");
  assertEquals(await run.condition("web", "HPAActive"), "False FailedGetPodsMetric");
});

Deno.test("a ScaledObject takes over an HPA with these metrics, and goes on from its replicas (M20)", async () => {
  const adapter = new Adapter();
  adapter.values = ["30"];
  await using run = await ReplicasRun.start([
    deployment("web", { containers: [{ requests: { cpu: "100m" } }], replicas: 3 }),
    hpa("web"),
    scaledObject("web", [QUEUE], {
      annotations: { "scaledobject.keda.sh/transfer-hpa-ownership": "true" },
      spec: { minReplicaCount: 1, advanced: { horizontalPodAutoscalerConfig: { name: "web" } } },
    }),
  ], { answer: adapter.answer, settings: { usesMetricsApis: true } });
  await run.advance(60);
  assertEquals([await run.replicas(), (await run.cluster.list("horizontalpodautoscalers")).length], [3, 0]);
});

Deno.test("an HPA with metrics of all five types is taken over by one trigger for each (M20)", async () => {
  const adapter = new Adapter();
  adapter.values = ["500m"];
  const old = hpa("web");
  const average = (averageValue: string) => ({ type: "AverageValue", averageValue });
  const cpu = { name: "cpu", target: { type: "Utilization", averageUtilization: 60 } };
  const metrics: Json[] = [
    { type: "Resource", resource: cpu },
    { type: "ContainerResource", containerResource: { ...cpu, container: "main" } },
    { type: "Pods", pods: { metric: { name: "rps" }, target: average("10") } },
    {
      type: "Object",
      object: {
        metric: { name: "rps" },
        describedObject: { apiVersion: "networking.k8s.io/v1", kind: "Ingress", name: "main" },
        target: { type: "Value", value: "500m" },
      },
    },
    { type: "External", external: { metric: { name: "queue" }, target: average("10") } },
  ];
  const resource: Json = { type: "cpu", metricType: "Utilization", metadata: { value: "60" } };
  const container: Json = { ...resource, metadata: { value: "60", containerName: "main" } };
  await using run = await ReplicasRun.start([
    deployment("web", { containers: [{ requests: { cpu: "100m" } }], replicas: 3 }),
    { ...old, spec: { ...old["spec"], metrics } },
    scaledObject("web", [resource, container, PODS, INGRESS, QUEUE], {
      annotations: { "scaledobject.keda.sh/transfer-hpa-ownership": "true" },
      spec: { minReplicaCount: 1, advanced: { horizontalPodAutoscalerConfig: { name: "web" } } },
    }),
  ], { answer: adapter.answer, settings: { usesMetricsApis: true } });
  adapter.run = run;
  await run.advance(60);
  assertEquals([await run.replicas(), (await run.cluster.list("horizontalpodautoscalers")).length], [3, 0]);
  assertEquals(await run.condition("web", "Ready"), "True ScaledObjectReady");
  assertEquals(new Set(adapter.asked.map((one) => one.split(" ")[1])).size, 3, "each metric is asked for");
});

const source = (of: MetricSource["of"], selector = ""): MetricSource => ({ kind: "metric", metric: "m", selector, of });

Deno.test("toMetricPath() is the question of the HPA's clients (M17)", () => {
  const ask = (of: MetricSource["of"], plural: string | null = null, selector = "") =>
    toMetricPath(source(of, selector), { namespace: "n", plural, podSelector: "app=a,tier in (x,y)" });
  const custom = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/n";
  assertEquals(ask({ kind: "external" }), "/apis/external.metrics.k8s.io/v1beta1/namespaces/n/m");
  assertEquals(ask({ kind: "pods" }), `${custom}/pods/*/m?labelSelector=app%3Da%2Ctier+in+%28x%2Cy%29`);
  const service = { kind: "object", apiVersion: "v1", objectKind: "Service", name: "s" } as const;
  assertEquals(ask(service, "services", "a=b"), `${custom}/services/s/m?metricLabelSelector=a%3Db`);
  assertEquals(ask({ ...service, objectKind: "Namespace" }), `${custom}/metrics/m`);
});

Deno.test("parseMetricAnswer() refuses what is no value of this metric (M17, M23)", () => {
  const causeOf = (items: unknown, of: MetricSource["of"] = { kind: "pods" }) => {
    const parsed = parseMetricAnswer({ items }, source(of));
    return parsed.ok ? `${parsed.milli}` : parsed.cause;
  };
  const object = { kind: "object", apiVersion: "v1", objectKind: "Service", name: "s" } as const;
  assertEquals(causeOf([toItem("m", "a", "1"), toItem("m", "b", "2500m")]), "3500");
  assertEquals(causeOf([{ ...toItem("m", "a", ""), value: 0.5 }, { ...toItem("m", "b", ""), value: 2 }]), "2500");
  assertStringIncludes(causeOf([toItem("other", "a", "1")]), "another metric");
  assertStringIncludes(causeOf([{ metric: { name: "m" }, value: "1" }]), "names no pod");
  assertStringIncludes(causeOf([toItem("m", "a", "-1")]), "negative");
  assertStringIncludes(causeOf([toItem("m", "a", "NaN")]), "no quantity");
  assertStringIncludes(causeOf([toItem("m", "a", `${2n ** 70n}`)]), "too large");
  assertStringIncludes(causeOf([toItem("m", "s", "1"), toItem("m", "s", "1")], object), "2 items");
});

interface PodGiven {
  readonly name: string;
  readonly phase?: string;
  readonly deleting?: boolean;
}

function proposeFor(pods: readonly PodGiven[], values: Readonly<Record<string, number>>, replicas = pods.length) {
  const listed = pods.map(({ name, phase = "Running", deleting = false }) => (
    { name, phase, deleting, startAt: null, ready: null }
  ));
  const byName = new Map(Object.entries(values).map(([name, value]) => [name, BigInt(value)]));
  const proposal = proposeByPodValues({
    values: toPodValues(byName, listed as unknown as Parameters<typeof toPodValues>[1]),
    targetMilli: 100n,
    replicas,
    tolerance: TOLERANCE,
  });
  return proposal.kind === "failed" ? proposal.message : proposal.replicas;
}

Deno.test("proposeByPodValues() counts missing and pending pods against the direction (M17)", () => {
  const [a, b, c] = [{ name: "a" }, { name: "b" }, { name: "c" }];
  const pending = { name: "p", phase: "Pending" };
  assertEquals(proposeFor([a, b], { a: 200, b: 200 }), 4);
  assertEquals(proposeFor([a, b], { a: 110, b: 110 }), 2, "within the tolerance");
  assertEquals(proposeFor([a, b, c], { a: 200, b: 200 }), 4, "a missing pod counts as 0: 400 / 3 = 133");
  assertEquals(proposeFor([a, b, c], { a: 10, b: 10 }), 2, "a missing pod counts as the target: 120 / 3 = 40");
  assertEquals(proposeFor([a, pending], { a: 190 }), 2, "a pending pod counts as 0: 95");
  assertEquals(proposeFor([a, b, pending], { a: 10, b: 10, p: 900 }), 1, "a pending pod does not count");
  assertEquals(proposeFor([a, { ...b, phase: "Failed" }], { a: 200 }), 2);
  assertEquals(
    proposeFor([a, { ...b, deleting: true }], { a: 200, b: 0 }),
    2,
    "only the value of a deleted pod is left out",
  );
});

Deno.test("proposeByPodValues() takes pods that podfit does not list into the average, as the HPA (M17)", () => {
  assertEquals(proposeFor([{ name: "a" }], { a: 100, x: 300 }), 2);
  assertEquals(proposeFor([{ name: "a" }], { x: 300 }, 2), 3, "a is missing: 300 / 2 = 150, of 2 values: 3");
  assertStringIncludes(String(proposeFor([], { x: 300 })), "no pods returned by selector");
  assertStringIncludes(String(proposeFor([{ name: "a" }], {})), "did not receive metrics");
});

Deno.test("pods, objects and external metrics are parsed as an HPA's, with clear problems (M17)", () => {
  const parse = (trigger: Json, spec: Json = { minReplicaCount: 1 }) => {
    const { scaledObject: object, problems } = parseScaledObject(scaledObject("web", [trigger], { spec }));
    return object?.triggers[0] ?? problems.map(({ path, message }) => `${path} ${message}`).join("; ");
  };
  const change = (trigger: Json, metadata: Json) => ({ ...trigger, metadata: { ...trigger["metadata"], ...metadata } });
  const parsed = parse(INGRESS);
  assertEquals(typeof parsed !== "string" && parsed.kind === "external" && [parsed.targetMilli, parsed.activation], [
    500n,
    0.5,
  ]);
  assertStringIncludes(String(parse({ ...PODS, metricType: "Value" })), "average of the pods");
  assertStringIncludes(String(parse(PODS, { minReplicaCount: 0 })), "never scale to 0");
  for (const name of ["..", "a/b", "a%2F", "a\nb"]) {
    assertStringIncludes(String(parse(change(QUEUE, { metricName: name }))), "metadata.metricName");
  }
  assertStringIncludes(String(parse(change(QUEUE, { selector: "a in" }))), "metadata.selector");
  assertStringIncludes(String(parse(change(QUEUE, { value: "0" }))), "greater than 0");
  assertStringIncludes(String(parse(change(QUEUE, { value: "ten" }))), "must be a quantity");
  assertStringIncludes(String(parse(change(INGRESS, { kind: null }))), "metadata.kind");
  assertStringIncludes(String(parse(change(INGRESS, { apiVersion: "../v1" }))), "metadata.apiVersion");
});
