/** A kubelet of the embedded cluster as its API server sees it: the node it registers, and the pods that it runs. */
import { assert, assertEquals, assertMatch } from "#assert";
import type { Json } from "../../support/api_objects.ts";
import { KubeletRun, load, NODE, PODS } from "../../support/kubelet_run.ts";

const SIZE = { requests: { cpu: "100m", memory: "64Mi" }, limits: { cpu: "500m", memory: "128Mi" } };

Deno.test("a kubelet registers its node, and says that it lives", async () => {
  await using run = new KubeletRun();
  await run.advance(30);
  const { metadata, status } = await run.server.get("/api/v1/nodes/node1");
  assertEquals(metadata.labels["kubernetes.io/hostname"], "node1");
  assertEquals(status.allocatable, { cpu: "2", memory: "8Gi", pods: "110" });
  assertEquals(status.addresses[0], { type: "InternalIP", address: NODE.hostIP });
  assertEquals(status.daemonEndpoints, { kubeletEndpoint: { Port: 10250 } });
  assertEquals(toStatuses(status.conditions).Ready, "True");
  const { spec } = await run.server.get("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node1");
  assertEquals(spec.renewTime, "2026-11-20T11:00:30.000000Z");
  assertEquals(run.errors, []);
});

Deno.test("a kubelet takes over the node of its name", async () => {
  await using run = new KubeletRun();
  await run.lose();
  await run.server.call("DELETE", "/api/v1/nodes/node1");
  const { metadata: { uid } } = await run.server.create("/api/v1/nodes", {
    metadata: { name: "node1", labels: { zone: "a" } },
  });
  run.comeBack();
  await run.advance(1);
  const { metadata, status } = await run.server.get("/api/v1/nodes/node1");
  assertEquals([metadata.uid, metadata.labels.zone], [uid, "a"]);
  assertEquals(metadata.labels["kubernetes.io/hostname"], "node1");
  assertEquals(toStatuses(status.conditions).Ready, "True");
});

Deno.test("a bound pod runs, and its status and events tell of it", async () => {
  await using run = new KubeletRun();
  await run.create("web", { containers: [load({ resources: SIZE })] });
  await run.advance(5);
  const { status } = await run.pod("web");
  assertEquals([status.phase, status.hostIP, status.observedGeneration], ["Running", NODE.hostIP, 1]);
  assertEquals(toStatuses(status.conditions), {
    PodReadyToStartContainers: "True",
    Initialized: "True",
    Ready: "True",
    ContainersReady: "True",
    PodScheduled: "True",
  });
  assert(status.conditions.every(({ reason, message }: Json) => reason === undefined && message === undefined));
  assertEquals(status.containerStatuses[0].resources, SIZE);
  assertEquals((await run.events("web")).map((line) => line.split(" ")[0]), ["Pulled", "Created", "Started"]);
  assertEquals(run.errors, []);
});

Deno.test("a resize is enacted within a second, with its conditions and events", async () => {
  await using run = new KubeletRun();
  await run.create("web", { containers: [load({ resources: SIZE })] });
  await run.advance(5);
  await run.resize("web", { requests: { cpu: "300m" } });
  const seen = new Set<string>();
  for (let step = 0; step < 50; step++) {
    await run.advance(0.02);
    for (const { type } of (await run.pod("web")).status.conditions) seen.add(type);
  }
  assert(seen.has("PodResizeInProgress"), [...seen].join());
  const { status } = await run.pod("web");
  assertEquals(status.observedGeneration, 2);
  assertEquals(status.conditions.filter(({ type }: Json) => type.startsWith("PodResize")), []);
  assertEquals(status.containerStatuses[0].resources.requests.cpu, "300m");
  assertEquals(status.containerStatuses[0].restartCount, 0);
  const reasons = (await run.events("web")).map((line) => line.split(" ")[0]);
  assertEquals(reasons.slice(-2), ["ResizeStarted", "ResizeCompleted"]);
});

Deno.test("a resize without room is deferred until another pod is gone", async () => {
  await using run = new KubeletRun();
  await run.create("web", { containers: [load({ resources: { requests: { cpu: "500m" } } })] });
  await run.create("other", { containers: [load({ resources: { requests: { cpu: "1200m" } } })] });
  await run.advance(5);
  await run.resize("web", { requests: { cpu: "1500m" } });
  await run.advance(1);
  const [pending] = (await run.pod("web")).status.conditions;
  assertEquals([pending.type, pending.reason], ["PodResizePending", "Deferred"]);
  assertMatch(pending.message, /^Node didn't have enough resource: cpu, requested: 1500, used: 1200, capacity: 2000$/);
  await run.server.call("DELETE", `${PODS}/other`);
  await run.advance(5);
  assertEquals((await run.server.call("GET", `${PODS}/other`)).code, 404);
  const { status } = await run.pod("web");
  assertEquals(toStatuses(status.conditions).PodResizePending, undefined);
  assertEquals(status.containerStatuses[0].resources.requests.cpu, "1500m");
});

Deno.test("a container over its memory limit is killed, and comes back with its first setting", async () => {
  await using run = new KubeletRun();
  await run.create("web", { containers: [load({ cpu: 50, memory: 20, resources: SIZE })] });
  await run.advance(30);
  const ref = { namespace: "default", name: "web", port: 8080 };
  let told = "";
  try {
    run.loads.set(ref, { memoryMiB: 500 });
  } catch (error) {
    told = String(error);
  }
  assertMatch(told, /killed before it answered/);
  await run.advance(30);
  const [{ restartCount, lastState, state }] = (await run.pod("web")).status.containerStatuses;
  assertEquals([restartCount, lastState.terminated.reason, Object.keys(state)], [1, "OOMKilled", ["running"]]);
  const [{ memory }] = await readContainers(run);
  assertEquals(memory.workingSetBytes, 20 * 2 ** 20 + 2_000_000);
});

Deno.test("a load is told to change, by port, and its limits are read", async () => {
  await using run = new KubeletRun();
  await run.create("web", {
    containers: [load({ resources: SIZE }), load({ name: "side", port: 8081, cpu: 10 })],
  });
  await run.advance(5);
  const at = (port: number) => ({ namespace: "default", name: "web", port });
  run.loads.set(at(8081), { cpuMillicores: 200 });
  const before = await readCounters(run);
  await run.advance(60);
  const after = await readCounters(run);
  const rate = (name: string) => (Number(after[name]) - Number(before[name])) / 60e6;
  assert(rate("side") > 130 && rate("side") < 260, `${rate("side")}m`);
  assert(rate("main") < 5, `${rate("main")}m`);
  assertEquals(run.loads.findLimits(at(8080)), {
    cgroupVersion: 1,
    cpuMillicores: 500,
    memoryBytes: 128 * 2 ** 20,
    cpuShares: 102,
    cpuWeight: null,
  });
  assertEquals(run.loads.findLimits(at(9999)), null);
});

Deno.test("an annotation says what a container does; one that cannot be read is told, and the pod idles", async () => {
  await using run = new KubeletRun();
  const annotate = (value: Json) => ({ annotations: { "sim.podfit.dev/load": JSON.stringify(value) } });
  await run.create("busy", {}, annotate({ main: { cpuMillicores: 300, workingSetBytes: 5e7 } }));
  await run.create("odd", {}, annotate({ main: { cpuMillicores: "much" }, other: {} }));
  await run.advance(60);
  const rows = Object.fromEntries(
    (await run.summary()).pods.map(({ podRef, containers: [one] }: Json) => [podRef.name, one]),
  );
  assertEquals(Math.round(rows.busy.cpu.usageNanoCores / 1e6), 300);
  assertEquals(rows.busy.memory.workingSetBytes, 5e7);
  assertEquals(Math.round(rows.odd.cpu.usageNanoCores / 1e6), 1);
  const told = (await run.events("odd")).filter((line) => line.startsWith("InvalidLoad"));
  assertEquals(told.length, 2);
  assertMatch(told.join("\n"), /main\.cpuMillicores: .*\n.*other: the pod has no such container/);
});

Deno.test("Ready waits for the pod's readiness gates, and a condition of others stays", async () => {
  await using run = new KubeletRun();
  await run.create("web", { readinessGates: [{ conditionType: "example.com/open" }] });
  await run.advance(5);
  const closed = (await run.pod("web")).status.conditions.find(({ type }: Json) => type === "Ready");
  assertEquals([closed.status, closed.reason], ["False", "ReadinessGatesNotReady"]);
  assertEquals(toStatuses((await run.pod("web")).status.conditions).ContainersReady, "True");
  const open = { status: { conditions: [{ type: "example.com/open", status: "True" }] } };
  await run.server.patch(`${PODS}/web/status`, open);
  await run.advance(5);
  const { status } = await run.pod("web");
  assertEquals(toStatuses(status.conditions), {
    ...toStatuses(status.conditions),
    Ready: "True",
    "example.com/open": "True",
  });
  const ready = status.conditions.find(({ type }: Json) => type === "Ready");
  assertEquals([ready.reason, ready.lastTransitionTime > closed.lastTransitionTime], [undefined, true]);
});

Deno.test("a deleted pod is stopped and then removed; one that took its name is another", async () => {
  await using run = new KubeletRun();
  await run.create("web");
  await run.advance(5);
  await run.server.call("DELETE", `${PODS}/web`);
  await run.advance(0.01);
  const { metadata } = await run.pod("web");
  assert(metadata.deletionTimestamp !== undefined);
  await run.advance(3);
  assertEquals((await run.server.call("GET", `${PODS}/web`)).code, 404);
  await run.create("web");
  await run.advance(5);
  assertEquals((await run.pod("web")).status.phase, "Running");
  assertEquals((await run.summary()).pods.length, 1);
});

Deno.test("a machine that was lost and comes back tells what happened meanwhile", async () => {
  await using run = new KubeletRun();
  await run.create("web", { containers: [load({ resources: SIZE })] });
  await run.advance(5);
  const before = (await run.pod("web")).status.containerStatuses[0];
  await run.lose();
  await run.resize("web", { requests: { cpu: "200m" } });
  await run.advance(120);
  assertEquals((await run.pod("web")).status.observedGeneration, 1);
  run.comeBack();
  await run.advance(5);
  const { status: { observedGeneration, containerStatuses } } = await run.pod("web");
  assertEquals(observedGeneration, 2);
  assertEquals(containerStatuses[0].containerID, before.containerID);
  assertEquals(containerStatuses[0].resources.requests.cpu, "200m");
});

Deno.test("what the API server refuses for a while is told in the end", async () => {
  await using run = new KubeletRun();
  await run.create("web");
  using _fault = run.server.api.faults.add({
    method: "PATCH",
    path: /\/status$/,
    effect: { kind: "refuse", code: 500 },
  });
  await run.advance(20);
  assertEquals((await run.pod("web")).status.phase, "Pending");
  assert(run.errors.length > 2);
  _fault[Symbol.dispose]();
  await run.advance(15);
  assertEquals((await run.pod("web")).status.phase, "Running");
});

async function readContainers(run: KubeletRun): Promise<Json> {
  return (await run.summary()).pods[0].containers;
}

async function readCounters(run: KubeletRun): Promise<Readonly<Record<string, number>>> {
  const containers: Json[] = await readContainers(run);
  return Object.fromEntries(containers.map(({ name, cpu }) => [name, cpu.usageCoreNanoSeconds]));
}

function toStatuses(conditions: readonly Json[]): Readonly<Record<string, string>> {
  return Object.fromEntries(conditions.map(({ type, status }) => [type, status]));
}
