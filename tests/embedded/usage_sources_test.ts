/** podfit by metrics.k8s.io, and by kubelets with that in their place, with a whole embedded cluster (C46, C54). */
import { assert, assertEquals, assertMatch } from "#assert";
import { autoscaler, deployment } from "../e2e/support/workloads.ts";
import type { Json } from "../support/api_objects.ts";
import { ClusterRun, type PodfitRun } from "../support/cluster_run.ts";

const SIDE = { scaleUpThreshold: 80, scaleDownThreshold: 30, targetUtilization: 60 };
const TIMES = { pollInterval: "15s", consecutiveSamples: 2, cooldown: "30s", delay: "0s" };
const NODES = ["a", "b", "c", "d"].map((name) => ({ name: `node-${name}` }));

/** One pod on each of the nodes. */
async function start(policy: Json = { cpu: { requests: SIDE } }): Promise<ClusterRun> {
  const run = await ClusterRun.start({ hasMetricsServer: true, nodes: NODES });
  const containers = [{ requests: { cpu: "100m" }, limits: { cpu: "2", memory: "512Mi" }, cpuMillicores: 50 }];
  for (const { name } of NODES) {
    const made = deployment(name, { containers }) as Json;
    made.spec.template.spec.nodeName = name;
    const target = { kind: "deployment", name };
    await run.create(made, autoscaler(name, { target, containerName: "main", policy: { ...TIMES, ...policy } }));
  }
  await run.advance(60);
  return run;
}

async function findPod(run: ClusterRun, node: string): Promise<Json> {
  const found = (await run.list("pods")).find(({ spec }: Json) => spec.nodeName === node);
  if (found === undefined) throw new Error(`Cannot find a pod on node "${node}"`);
  return found;
}

async function setLoad(run: ClusterRun, node: string, cpuMillicores: number): Promise<void> {
  const { metadata: { name } } = await findPod(run, node);
  run.cluster.setLoad({ namespace: "default", name, port: 8080 }, { cpuMillicores });
}

async function readRequest(run: ClusterRun, node: string): Promise<string> {
  return (await findPod(run, node)).status.containerStatuses[0].resources.requests.cpu;
}

const servedBy = (podfit: PodfitRun) => podfit.series("podfit_nodes_by_usage_source{");
const SWITCHED = /^Usage of node "node-a" is read from metrics-api: Cannot read usage of node "node-a" at https:.*500/;

Deno.test("C54 by metrics.k8s.io pods follow their load up and down, and one list serves all nodes", async () => {
  await using run = await start();
  await using podfit = run.startPodfitBy("metrics-api");
  await run.advance(120);
  assertEquals(podfit.lines("Resized pod"), []);
  for (const { name } of NODES) await setLoad(run, name, 500);
  await run.advance(120);
  for (const { name } of NODES) {
    const request = Number.parseInt(await readRequest(run, name));
    assert(request >= 750 && request <= 920, `${name}: ${request}m`);
  }
  for (const { name } of NODES) await setLoad(run, name, 60);
  await run.advance(180);
  for (const { name } of NODES) {
    const request = Number.parseInt(await readRequest(run, name));
    assert(request >= 75 && request <= 200, `${name}: ${request}m`);
  }
  assertEquals(podfit.log.filter(({ level }) => level === "ERROR" || level === "WARN"), []);
  const gaps = run.metricsAskedAt.map((at, index) => at - (run.metricsAskedAt[index - 1] ?? at - 15_000));
  assert(gaps.length >= 27 && gaps.every((gap) => gap >= 14_000), gaps.join());
  assertEquals(run.errors, []);
});

Deno.test("C46 by metrics.k8s.io no memory limit goes down, for the page cache is unknown, and that is said", async () => {
  await using run = await start({ memory: { limits: SIDE } });
  await using podfit = run.startPodfitBy("metrics-api");
  await run.advance(1000);
  assertEquals(podfit.lines("Resized pod"), []);
  const blocked = await podfit.series("kedify_agent_pra_scale_blocked_total");
  assertEquals(blocked.filter((line) => line.includes('reason="MemoryInUse"')).length, NODES.length);
  const why = podfit.lines("Blocked").map((line) => line.why);
  assertEquals(why.at(-1), "memory.limits is not lowered: the usage source does not tell the page cache");
});

Deno.test("C54 a node whose kubelet fails is served by metrics.k8s.io within a few polls, the others by theirs, and it comes back", async () => {
  await using run = await start();
  await using podfit = run.startPodfitBy("auto");
  await run.advance(60);
  assertEquals(await servedBy(podfit), ['podfit_nodes_by_usage_source{source="kubelet"} 4']);
  assertEquals(run.metricsAskedAt, []);
  const fault = run.cluster.faultsOf("node-a").add({ path: /^\/stats/, effect: { kind: "refuse", code: 500 } });
  await run.advance(75);
  assertEquals(await servedBy(podfit), [
    'podfit_nodes_by_usage_source{source="kubelet"} 3',
    'podfit_nodes_by_usage_source{source="metrics-api"} 1',
  ]);
  const switched = podfit.log.filter(({ message }) => SWITCHED.test(message));
  assertEquals(switched.map(({ level }) => level), ["WARN"]);
  for (const name of ["node-a", "node-b"]) await setLoad(run, name, 500);
  await run.advance(90);
  for (const name of ["node-a", "node-b"]) {
    const request = Number.parseInt(await readRequest(run, name));
    assert(request >= 750 && request <= 920, `${name}: ${request}m`);
  }
  fault[Symbol.dispose]();
  // Its kubelet was tried in vain for the last time up to two minutes before.
  await run.advance(420);
  assertEquals(await servedBy(podfit), [
    'podfit_nodes_by_usage_source{source="kubelet"} 4',
    'podfit_nodes_by_usage_source{source="metrics-api"} 0',
  ]);
  assertEquals(podfit.lines("Usage of node is read from kubelet again").map(({ subject }) => subject), ["node-a"]);
  const asked = run.metricsAskedAt.length;
  await run.advance(120);
  assertEquals(run.metricsAskedAt.length, asked);
  assertEquals(podfit.lines("Resized pod").length, 2);
  assertEquals(run.errors, []);
});

Deno.test("C54 without a metrics-server a kubelet that fails is said to, and what else was tried", async () => {
  await using run = await ClusterRun.start({ nodes: [{ name: "node-a" }] });
  const target = { kind: "deployment", name: "web" };
  await run.create(
    deployment("web", { containers: [{ requests: { cpu: "100m" }, cpuMillicores: 50 }] }),
    autoscaler("web", { target, containerName: "main", policy: { ...TIMES, cpu: { requests: SIDE } } }),
  );
  await run.advance(30);
  run.cluster.faultsOf("node-a").add({ path: /^\/stats/, effect: { kind: "refuse", code: 500 } });
  await using podfit = run.startPodfitBy("auto");
  await run.advance(150);
  const { status } = await run.get("podresourceautoscalers/web");
  const metrics = status.conditions.find(({ type }: Json) => type === "Metrics");
  assertEquals(metrics.status, "False");
  assertMatch(
    metrics.message,
    /at https:.*500.*; Cannot read usage of node "node-a" from metrics.k8s.io: 404.*install metrics-server/,
  );
  assertEquals(await servedBy(podfit), ['podfit_nodes_by_usage_source{source="kubelet"} 1']);
});
