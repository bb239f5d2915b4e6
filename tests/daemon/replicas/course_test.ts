/** ScaledObjects on a whole embedded cluster: the replicas of their targets over time. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "#assert";
import { deployment } from "../../e2e/support/workloads.ts";
import { WHOLE_CLUSTER } from "../../../lib/daemon/cluster/facts.ts";
import { limitScaledObject } from "../../../lib/daemon/cluster/scaled_objects.ts";
import { NO_OPERATOR_LIMITS } from "../../../lib/resources/pod_resource_autoscaler/parse.ts";
import { parseScaledObject, parseWithoutRun } from "../../../lib/resources/scaled_object/scaled_object.ts";
import type { AskTrigger, TriggerAnswer } from "../../../lib/triggers/value.ts";
import type { Json } from "../../support/api_objects.ts";
import { CPU_50, hpa, replicasBy, ReplicasRun, scaledObject, workloadTrigger } from "../../support/replicas_run.ts";

const MAIN = { containers: [{ requests: { cpu: "100m" } }] };
const WEB = { namespace: "default", labels: { app: "web" } };
const QUICK = { behavior: { scaleDown: { stabilizationWindowSeconds: 30 } } };

Deno.test("a cpu trigger scales 1 -> 4 -> 1 with a load that comes and goes, by usage that nobody else reads (R20, R30)", async () => {
  await using run = await ReplicasRun.start([
    deployment("web", { ...MAIN, replicas: 1 }),
    scaledObject("web", [CPU_50], {
      spec: { minReplicaCount: 1, maxReplicaCount: 6, advanced: { horizontalPodAutoscalerConfig: QUICK } },
    }),
  ]);
  await run.advance(60);
  assertEquals(await run.replicas(), 1);
  run.cluster.cluster.setWorkloadLoad(WEB, { cpuMillicores: 190 });
  await run.advance(150);
  assertEquals(await run.replicas(), 4);
  assertEquals(await run.condition("web", "Ready"), "True ScaledObjectReady");
  run.cluster.cluster.setWorkloadLoad(WEB, { cpuMillicores: 10 });
  await run.advance(180);
  assertEquals(await run.replicas(), 1);
  assertEquals(run.cluster.errors, []);
});

Deno.test("a kubernetes-workload trigger scales 0 -> 1 -> 0 with the pods that it counts (R50, R53)", async () => {
  await using run = await ReplicasRun.start([
    deployment("web", { ...MAIN, replicas: 0 }),
    deployment("jobs", { ...MAIN, replicas: 0 }),
    scaledObject("web", [workloadTrigger("app=jobs")], { spec: { pollingInterval: 10, cooldownPeriod: 60 } }),
  ]);
  await run.advance(30);
  assertEquals(await run.replicas(), 0);
  await run.cluster.patch("deployments/jobs", { spec: { replicas: 1 } });
  await run.advance(20);
  assertEquals(await run.replicas(), 1);
  await run.cluster.patch("deployments/jobs", { spec: { replicas: 0 } });
  await run.advance(45);
  assertEquals(await run.replicas(), 1);
  await run.advance(45);
  assertEquals(await run.replicas(), 0);
});

Deno.test("a kubernetes-resource trigger scales by the number in a ConfigMap, and keeps replicas where there is none (R53, R97)", async () => {
  await using run = await ReplicasRun.start([
    deployment("web", { ...MAIN, replicas: 0 }),
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "queue", namespace: "default" }, data: { length: "3" } },
    scaledObject("web", [{
      type: "kubernetes-resource",
      metadata: { resourceKind: "ConfigMap", resourceName: "queue", key: "length", targetValue: "1" },
    }], { spec: { pollingInterval: 10, cooldownPeriod: 10, advanced: { horizontalPodAutoscalerConfig: QUICK } } }),
  ]);
  await run.advance(60);
  assertEquals(await run.replicas(), 3);
  await run.cluster.patch("configmaps/queue", { data: { length: "none" } });
  await run.advance(120);
  assertEquals([await run.replicas(), await run.condition("web", "Ready")], [3, "False TriggerError"]);
  await run.cluster.patch("configmaps/queue", { data: { length: "0" } });
  await run.advance(60);
  assertEquals(await run.replicas(), 0);
});

Deno.test("a trigger that asks all endpoints of a Service fails where they cannot be listed, and does not ask the Service (R98)", async () => {
  const asked: string[] = [];
  const ask: AskTrigger = ({ metricName }) => {
    asked.push(metricName);
    return Promise.resolve({ kind: "value", value: 9, isEmpty: false });
  };
  const metadata = { url: "http://queue.default.svc", valueLocation: "v", targetValue: "1" };
  await using run = await ReplicasRun.start([
    deployment("web", { ...MAIN, replicas: 1 }),
    scaledObject("web", [
      { type: "metrics-api", metadata: { ...metadata, aggregateFromKubeServiceEndpoints: "true" } },
      { type: "metrics-api", metadata: { ...metadata, valueLocation: "w", targetValue: "3" } },
    ], { spec: { pollingInterval: 10 } }),
  ], { ask });
  await run.advance(30);
  assertEquals(new Set(asked), new Set(["s1-metric-api-w"]));
  assertEquals([await run.replicas(), await run.condition("web", "Ready")], [3, "Unknown PartialTriggerError"]);
  const [told] = (await run.cluster.list("events")).filter(({ reason }) => reason === "KEDAScalerFailed");
  assertStringIncludes(told?.message ?? "", 'the endpoints of Service "default/queue" cannot be listed');
});

Deno.test("a pollingInterval under the operator's --min-poll-interval is raised to it, and Ready says so (R2)", async () => {
  const limits = { ...NO_OPERATOR_LIMITS, minPollIntervalMs: 120_000 };
  await using run = await ReplicasRun.start([
    deployment("web", { ...MAIN, replicas: 0 }),
    deployment("jobs", { ...MAIN, replicas: 0 }),
    scaledObject("web", [workloadTrigger("app=jobs")], { spec: { pollingInterval: 1 } }),
  ], { limits });
  await run.advance(10);
  assertStringIncludes(
    await run.message("web"),
    "warning: spec.pollingInterval: 1s is raised to podfit's --min-poll-interval 2m",
  );
  await run.cluster.patch("deployments/jobs", { spec: { replicas: 1 } });
  await run.advance(100);
  assertEquals(await run.replicas(), 0);
  await run.advance(30);
  assertEquals(await run.replicas(), 1);
});

Deno.test("a pollingInterval that is no shorter than the operator's is as it was (R2)", () => {
  const facts = parseScaledObject(
    scaledObject("web", [workloadTrigger("app=jobs")], { spec: { pollingInterval: 30 } }),
  );
  assertEquals(limitScaledObject(facts, { ...NO_OPERATOR_LIMITS, minPollIntervalMs: 30_000 }), facts);
  assertEquals(limitScaledObject(facts, NO_OPERATOR_LIMITS), facts);
  const slower = limitScaledObject(facts, { ...NO_OPERATOR_LIMITS, minPollIntervalMs: 30_001 });
  assertEquals(slower.scaledObject?.pollIntervalMs, 30_001);
});

Deno.test("paused-replicas is written once, and later changes by hand stay (R55)", async () => {
  await using run = await ReplicasRun.start([
    deployment("web", { ...MAIN, replicas: 1 }),
    scaledObject("web", [CPU_50], {
      annotations: { "autoscaling.keda.sh/paused-replicas": "3" },
      spec: { minReplicaCount: 1 },
    }),
  ]);
  await run.advance(5);
  assertEquals(await run.replicas(), 3);
  await run.cluster.patch("deployments/web", { spec: { replicas: 5 } });
  await run.advance(60);
  assertEquals(await run.replicas(), 5);
  assertEquals(run.writes.length, 1);
});

Deno.test("an HPA of the target stops podfit within a watch event, and its end lets podfit go on (R75)", async () => {
  await using run = await ReplicasRun.start([
    deployment("web", { ...MAIN, replicas: 1 }),
    scaledObject("web", [workloadTrigger("app=web", "1")], { spec: { minReplicaCount: 2 } }),
    hpa("other"),
  ]);
  await run.advance(60);
  assertEquals([await run.replicas(), run.writes.length], [1, 0]);
  assertEquals(await run.condition("web", "Ready"), "False ScaledObjectCheckFailed");
  assertStringIncludes(await run.message("web"), 'hpa "other"');
  await run.cluster.delete("horizontalpodautoscalers/other");
  await run.advance(40);
  assertEquals(await run.replicas(), 2);
  assertEquals(await run.condition("web", "Ready"), "True ScaledObjectReady");
  await run.cluster.create(hpa("again"));
  await run.advance(2);
  assertEquals(await run.condition("web", "Ready"), "False ScaledObjectCheckFailed");
});

Deno.test("a deleted object restores its target's replicas once, and its finalizer goes (R57)", async () => {
  await using run = await ReplicasRun.start([
    deployment("web", { ...MAIN, replicas: 3 }),
    scaledObject("web", [workloadTrigger("app=web")], {
      spec: { minReplicaCount: 5, advanced: { restoreToOriginalReplicaCount: true } },
    }),
  ]);
  await run.advance(20);
  assertEquals(await run.replicas(), 5);
  const { metadata, status } = await run.cluster.get("scaledobjects/web");
  assertEquals([metadata.finalizers, status.originalReplicaCount], [["finalizer.keda.sh"], 3]);
  await run.cluster.delete("scaledobjects/web");
  await run.advance(5);
  assertEquals([await run.replicas(), await run.cluster.find("scaledobjects/web")], [3, null]);
  assertMatch((await run.cluster.events("web")).join(), /ScaledObjectDeleted/);
  await run.cluster.patch("deployments/web", { spec: { replicas: 4 } });
  await run.advance(60);
  assertEquals(await run.replicas(), 4);
});

Deno.test("KEDA's finalizer goes from an object that podfit controls and that restores nothing (R57)", async () => {
  const left = scaledObject("web", [workloadTrigger("app=web")]);
  await using run = await ReplicasRun.start([
    deployment("web", { ...MAIN, replicas: 3 }),
    { ...left, metadata: { ...left.metadata, finalizers: ["finalizer.keda.sh", "example.com/own"] } },
  ]);
  await run.advance(5);
  assertEquals((await run.cluster.get("scaledobjects/web")).metadata.finalizers, ["example.com/own"]);
  assert(run.passes.length > 0);
});

Deno.test("podfit takes a target over from the HPA that is named, and one that comes back is a conflict (R76)", async () => {
  await using run = await ReplicasRun.start([
    deployment("web", { ...MAIN, replicas: 3 }),
    hpa("old"),
    scaledObject("web", [workloadTrigger("app=web")], {
      annotations: { "scaledobject.keda.sh/transfer-hpa-ownership": "true" },
      spec: { minReplicaCount: 1, advanced: { horizontalPodAutoscalerConfig: { name: "old" } } },
    }),
  ]);
  await run.advance(5);
  assertEquals(await run.cluster.find("horizontalpodautoscalers/old"), null);
  assertEquals(await run.condition("web", "Ready"), "True ScaledObjectReady");
  const [told] = (await run.cluster.list("events")).filter(({ reason }) => reason === "KEDAScalerInfo");
  assertMatch(told?.message, /"old".* minimum was 2.* maximum 7/);
  await run.cluster.create(hpa("old"));
  await run.advance(20);
  assertEquals(await run.condition("web", "Ready"), "False ScaledObjectCheckFailed");
  assertEquals((await run.cluster.get("horizontalpodautoscalers/old")).spec.maxReplicas, 7);
});

Deno.test("a mistake in one trigger stops no other: replicas rise by them, do not fall, and Ready names it (R4, R40, R53, R76)", async () => {
  const bad = {
    type: "metrics-api",
    metadata: { url: "invalid-invalid", valueLocation: "value", targetValue: "1" },
    authenticationRef: { name: "nowhere" },
  };
  await using run = await ReplicasRun.start([
    deployment("web", { ...MAIN, replicas: 0 }),
    deployment("jobs", { ...MAIN, replicas: 2 }),
    hpa("old", { target: "web" }),
    scaledObject("web", [workloadTrigger("app=jobs"), bad], {
      annotations: { "scaledobject.keda.sh/transfer-hpa-ownership": "true" },
      spec: {
        pollingInterval: 10,
        cooldownPeriod: 10,
        advanced: { horizontalPodAutoscalerConfig: { name: "old", ...QUICK } },
      },
    }),
  ]);
  await run.advance(60);
  const problem = 'spec.triggers[1].metadata.url: Cannot use "invalid-invalid" as url';
  assertEquals(await run.replicas(), 0);
  assertEquals((await run.cluster.get("horizontalpodautoscalers/old")).spec.maxReplicas, 7);
  assertStringIncludes(await run.message("web"), problem);
  await run.cluster.delete("horizontalpodautoscalers/old");
  await run.advance(60);
  assertEquals(await run.replicas(), 2);
  assertEquals(await run.condition("web", "Ready"), "Unknown PartialTriggerError");
  assertStringIncludes(await run.message("web"), problem);
  await run.cluster.patch("deployments/jobs", { spec: { replicas: 0 } });
  await run.advance(600);
  assertEquals(await run.replicas(), 2);
  assertEquals(await run.condition("web", "Ready"), "False TriggerError");
  const [told] = (await run.cluster.list("events")).filter(({ reason }) => reason === "KEDAScalerFailed");
  assertStringIncludes(told?.message ?? "", problem);
});

Deno.test("an HPA is not taken over before the triggers have their credentials, and answer (R76)", async () => {
  let answer: TriggerAnswer = { kind: "failed", message: "Cannot read the queue: 401", isEmpty: false };
  const asked = {
    type: "metrics-api",
    metadata: { url: "https://metrics/", valueLocation: "value", targetValue: "1", authMode: "bearer" },
    authenticationRef: { name: "key" },
  };
  await using run = await ReplicasRun.start([
    deployment("web", { ...MAIN, replicas: 3 }),
    hpa("old"),
    {
      apiVersion: "keda.sh/v1alpha1",
      kind: "TriggerAuthentication",
      metadata: { name: "key", namespace: "default" },
      spec: { secretTargetRef: [{ parameter: "token", name: "key", key: "token" }] },
    },
    scaledObject("web", [asked], {
      annotations: { "scaledobject.keda.sh/transfer-hpa-ownership": "true" },
      spec: { minReplicaCount: 1, advanced: { horizontalPodAutoscalerConfig: { name: "old" } } },
    }),
  ], { ask: () => Promise.resolve(answer) });
  await run.advance(60);
  assertEquals((await run.cluster.get("horizontalpodautoscalers/old")).spec.maxReplicas, 7);
  assertEquals(await run.condition("web", "Ready"), "False ScaledObjectCheckFailed");
  assertStringIncludes(await run.message("web"), "key");
  await run.cluster.create({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "key", namespace: "default" },
    stringData: { token: "t" },
  });
  await run.advance(60);
  assertEquals((await run.cluster.get("horizontalpodautoscalers/old")).spec.maxReplicas, 7);
  assertEquals(await run.condition("web", "Ready"), "False ScaledObjectCheckFailed");
  assertStringIncludes(await run.message("web"), "Cannot read the queue: 401");
  answer = { kind: "value", value: 2, isEmpty: false };
  await run.advance(60);
  assertEquals(await run.cluster.find("horizontalpodautoscalers/old"), null);
});

Deno.test("of two ScaledObjects of one target the older acts alone, and the younger goes on once it is gone (R78)", async () => {
  const toObject = (name: string, min: number) =>
    scaledObject(name, [workloadTrigger("app=none")], { spec: { minReplicaCount: min } });
  await using run = await ReplicasRun.start([deployment("web", { ...MAIN, replicas: 1 }), toObject("b", 2)]);
  await run.advance(20);
  await run.cluster.create(toObject("a", 4));
  await run.advance(60);
  assertEquals([await run.replicas(), run.writes.length], [2, 1]);
  assertEquals(await run.condition("a", "Ready"), "False ScaledObjectCheckFailed");
  assertStringIncludes(await run.message("a"), 'ScaledObject "b"');
  await run.cluster.delete("scaledobjects/b");
  await run.advance(3);
  assertEquals(await run.condition("a", "Ready"), "True ScaledObjectReady");
  await run.advance(40);
  assertEquals(await run.replicas(), 4);
});

Deno.test("an HPA of another target with pods in common makes the object AmbiguousSelector (R78)", async () => {
  const twin = deployment("twin", { ...MAIN, replicas: 1 }) as Json;
  const template = { ...twin.spec.template, metadata: { labels: { app: "web", tier: "twin" } } };
  await using run = await ReplicasRun.start([
    deployment("web", { ...MAIN, replicas: 1 }),
    { ...twin, spec: { ...twin.spec, selector: { matchLabels: { tier: "twin" } }, template } },
    hpa("other", { target: "twin" }),
    scaledObject("web", [workloadTrigger("app=none")], { spec: { minReplicaCount: 2 } }),
  ]);
  await run.advance(20);
  assertEquals([await run.replicas(), run.writes.length], [1, 0]);
  assertStringIncludes(await run.message("web") + await run.message("web", "HPAActive"), 'HPA "other"');
});

const PROMETHEUS = {
  type: "prometheus",
  metadata: { serverAddress: "http://prometheus", query: "up", threshold: "1" },
};

Deno.test("halves that are due in the same second ask each trigger once, and each half is dated by its due time (R7, R8)", async () => {
  const asked: number[] = [];
  let isFirst = true;
  await using run = await ReplicasRun.start([
    deployment("web", { ...MAIN, replicas: 1 }),
    scaledObject("web", [PROMETHEUS], { spec: { pollingInterval: 5, minReplicaCount: 0 } }),
  ], {
    async ask(_trigger, { now }) {
      asked.push(now);
      if (isFirst) await run.cluster.clock.sleep(700);
      isFirst = false;
      return { kind: "value", value: 1, isEmpty: false };
    },
  });
  await run.advance(46);
  const [start = 0] = asked;
  assertEquals(asked.map((at) => (at - start) / 1000), [0, 5, 10, 15, 20, 25, 30, 35, 40, 45]);
  const halves = run.passes.filter(({ input: { observation: { kind } } }) => kind === "poll" || kind === "tick");
  const seen = halves.map(({ input: { now, observation } }) => `${observation.kind}@${(now - start) / 1000}`);
  assertEquals(seen.filter((one) => one.startsWith("tick")), ["tick@15", "tick@30", "tick@45"]);
  assertEquals(seen.filter((one) => one.startsWith("poll")).length, 10);
});

Deno.test("where polling has no effect each source is asked once in 15 s, and the status is as fresh as it was (R8)", async () => {
  const asked: number[] = [];
  await using run = await ReplicasRun.start([
    deployment("web", { ...MAIN, replicas: 1 }),
    scaledObject("web", [PROMETHEUS], { spec: { pollingInterval: 4, minReplicaCount: 1 } }),
  ], {
    ask(_trigger, { now }) {
      asked.push(now);
      return Promise.resolve({ kind: "value", value: asked.length > 2 ? 0 : 1, isEmpty: false });
    },
  });
  await run.advance(46);
  const [start = 0] = asked;
  assertEquals(asked.map((at) => (at - start) / 1000), [0, 15, 30, 45]);
  assertEquals(run.passes.filter(({ input: { observation: { kind } } }) => kind === "poll").length, 12);
  assertEquals(await run.condition("web", "Active"), "False ScalerNotActive");
});

Deno.test("a target that is missing, or of a kind without a scale, is said and heals by itself (R6)", async () => {
  await using run = await ReplicasRun.start([
    scaledObject("web", [workloadTrigger("app=none")], { spec: { minReplicaCount: 2 } }),
    scaledObject("agent", [workloadTrigger("app=none")], {
      spec: { scaleTargetRef: { apiVersion: "apps/v1", kind: "DaemonSet", name: "agent" } },
    }),
  ]);
  await run.advance(5);
  assertEquals(await run.condition("web", "Ready"), "False ScaledObjectCheckFailed");
  assertEquals(await run.condition("agent", "Ready"), "False ScaledObjectCheckFailed");
  assertStringIncludes(await run.message("agent"), "no subresource scale");
  await run.cluster.create(deployment("web", { ...MAIN, replicas: 1 }));
  await run.advance(40);
  assertEquals(await run.replicas(), 2);
  const { status } = await run.cluster.get("scaledobjects/web");
  assertEquals([status.scaleTargetKind, status.originalReplicaCount], ["apps/v1.Deployment", 1]);
});

Deno.test("in a dry run nothing is written, no HPA is deleted, and no finalizer is added (R46, R57, R76)", async () => {
  await using run = await ReplicasRun.start([
    deployment("web", { ...MAIN, replicas: 1 }),
    scaledObject("web", [workloadTrigger("app=none")], {
      spec: { minReplicaCount: 2, advanced: { restoreToOriginalReplicaCount: true } },
    }),
    deployment("api", { ...MAIN, replicas: 1 }),
    hpa("old", { target: "api" }),
    scaledObject("api", [workloadTrigger("app=none")], {
      target: "api",
      annotations: { "scaledobject.keda.sh/transfer-hpa-ownership": "true" },
      spec: { advanced: { horizontalPodAutoscalerConfig: { name: "old" } } },
    }),
  ], { dryRun: true });
  await run.advance(60);
  assertEquals([await run.replicas(), run.writes.length], [1, 0]);
  assert(await run.cluster.find("horizontalpodautoscalers/old") !== null);
  assertEquals((await run.cluster.get("scaledobjects/web")).metadata.finalizers, undefined);
});

Deno.test("where replicas are off nothing of them is watched; a podfit of one node leaves them alone and says so once (R1)", async () => {
  await using run = await ReplicasRun.start([deployment("web", { ...MAIN, replicas: 1 })]);
  const { cluster } = run;
  const replicas = replicasBy(() => Promise.reject(new Error("asked")));
  await using off = cluster.startPodfit();
  await using partial = cluster.startPodfit({ ...WHOLE_CLUSTER, node: "node-1" }, { replicas });
  await cluster.advance(20);
  const isOfReplicas = (request: string) =>
    /scaledobjects|triggerauthentications|horizontalpodautoscalers/.test(request);
  assertEquals([off, partial].map(({ requests }) => requests.filter(isOfReplicas)), [[], []]);
  assert(run.podfit.requests.some(isOfReplicas));
  const said = partial.log.filter(({ message }) => String(message).includes("ScaledObjects are left alone"));
  assertEquals(said.length, 1);
});

Deno.test("a formula that fails with every trigger at -1 is not run where a watch is parsed, and once by the object itself (R60)", async () => {
  const triggers = [{ ...workloadTrigger("app=jobs"), name: "jobs" }];
  const toSpec = (formula: string) => ({ advanced: { scalingModifiers: { formula, target: "1" } } });
  const bad = scaledObject("web", triggers, { spec: toSpec("[1, 2][int(jobs) + 9]") });
  assertEquals(parseWithoutRun(bad).problems, []);
  const [problem] = parseScaledObject(bad).problems;
  await using run = await ReplicasRun.start([deployment("web", { ...MAIN, replicas: 1 }), bad]);
  await run.advance(60);
  assertEquals(await run.condition("web", "Ready"), "False ScaledObjectCheckFailed");
  assertStringIncludes(await run.message("web"), problem?.message ?? "no problem");
  const passes = run.passes.length;
  await run.advance(10);
  assertEquals(run.passes.length, passes, "its own status is no reason to check it again");
  await run.cluster.patch("scaledobjects/web", { spec: toSpec("jobs + 2") });
  await run.advance(40);
  assertEquals([await run.condition("web", "Ready"), await run.replicas()], ["True ScaledObjectReady", 2]);
  await run.cluster.patch("scaledobjects/web", { spec: toSpec("[1, 2][int(jobs) + 9]") });
  await run.advance(2);
  assertEquals(await run.condition("web", "Ready"), "False ScaledObjectCheckFailed");
});

Deno.test("the status of a paused object that another client writes over is put right a minute later, and written no more (C51, R55, R90)", async () => {
  const annotations = { "autoscaling.keda.sh/paused": "true" };
  await using run = await ReplicasRun.start([
    deployment("web", { ...MAIN, replicas: 1 }),
    scaledObject("web", [workloadTrigger("app=none")], { annotations }),
  ]);
  await run.advance(20);
  const path = "/apis/keda.sh/v1alpha1/namespaces/default/scaledobjects/web/status";
  const conditions = [{ type: "Paused", status: "False" }];
  await run.cluster.cluster.client.patch(path, "merge", { status: { conditions } });
  await run.advance(20);
  assertEquals(await run.condition("web", "Ready"), "-");
  await run.advance(60);
  assertEquals(await run.condition("web", "Paused"), "True ScaledObjectPaused");
  const countPatches = () =>
    run.podfit.requests.filter((one) => one.startsWith("PATCH ") && one.includes("web/status"));
  const before = countPatches().length;
  await run.advance(300);
  assertEquals([before, countPatches().length], [2, 2]);
});
