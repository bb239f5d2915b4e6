/**
 * One podfit on each node, and one in each pod, with a whole embedded cluster under virtual time (C17, C51): each
 * resizes its own containers and needs no other podfit for it, and one of them writes the status of all.
 */
import { assert, assertEquals, assertMatch } from "#assert";
import { autoscaler, pod } from "../e2e/support/workloads.ts";
import type { Json } from "../support/api_objects.ts";
import { ClusterRun, type PodfitRun } from "../support/cluster_run.ts";

const SIDE = { scaleUpThreshold: 80, scaleDownThreshold: 10, targetUtilization: 60 };
const POLICY = {
  pollInterval: "5s",
  consecutiveSamples: 2,
  cooldown: "30s",
  delay: "0s",
  cpu: { requests: SIDE },
};
const LABEL = { "podfit.dev/mode": "sidecar" };
const CGROUPS = { version: 2, driver: "systemd" } as const;

function scaled(app: string): Json {
  return autoscaler(app, { selector: { matchLabels: { app } }, containerName: "main", policy: POLICY });
}

function load(name: string, nodeName: string, labels: Json = {}): Json {
  const containers = [{ requests: { cpu: "100m" }, limits: { cpu: "2" }, cpuMillicores: 50 }];
  return pod(name, { containers, labels: { app: "web", ...labels }, fields: { nodeName } });
}

function use(run: ClusterRun, name: string, cpuMillicores: number): void {
  run.cluster.setLoad({ namespace: "default", name, port: 8080 }, { cpuMillicores });
}

const onNode = (node: string) => ({ namespaces: null, node, pod: null });
const inPod = (name: string) => ({ namespaces: ["default"], node: "node-1", pod: { namespace: "default", name } });
const resizesOf = ({ requests }: PodfitRun) =>
  new Set(requests.filter((one) => /^PATCH .*\/resize/.test(one)).map((one) => /pods\/([^/]+)\//.exec(one)?.[1]));
const statusWrites = ({ requests }: PodfitRun) => requests.filter((one) => /^PATCH .*\/status/.test(one)).length;
const readSize = async (run: ClusterRun, name: string) =>
  (await run.get(`pods/${name}`)).spec.containers[0].resources.requests.cpu;
const readStatus = async (run: ClusterRun, name = "web") =>
  (await run.get(`podresourceautoscalers/${name}`)).status ?? {};

async function readConditions(run: ClusterRun, name = "web"): Promise<Readonly<Record<string, string>>> {
  const { conditions = [] } = await readStatus(run, name);
  return Object.fromEntries(conditions.map(({ type, status, reason }: Json) => [type, `${status} ${reason}`]));
}

/** Two pods of one autoscaler, on a node each. */
async function startTwoNodes(): Promise<ClusterRun> {
  const run = await ClusterRun.start({ nodes: [{ name: "node-1" }, { name: "node-2" }] });
  await run.create(load("web-1", "node-1"), load("web-2", "node-2"), scaled("web"));
  await run.advance(10);
  return run;
}

Deno.test("each node's podfit resizes the pods of its node, and the one with the Lease tells of all (C51)", async () => {
  await using run = await startTwoNodes();
  await using first = run.startPodfit(onNode("node-1"), { identity: "first" });
  await run.advance(5);
  await using second = run.startPodfit(onNode("node-2"), { identity: "second" });
  await run.advance(30);
  assertEquals(await readConditions(run), {
    Ready: "True Valid",
    Active: "True Tracking",
    Scaling: "False Idle",
    Metrics: "Unknown NodeLocal",
    Limited: "Unknown NodeLocal",
  });
  assertEquals((await readStatus(run)).conditions[1].message, "2 pods");

  use(run, "web-2", 500);
  await run.advance(60);
  const line = second.lines("Resized pod").at(-1);
  const status = await readStatus(run);
  assertEquals([status.lastScaleAction, status.lastScaleResourceChange], ["scaleUp", line?.change]);
  assert(Math.abs(Date.parse(status.lastScaleTime) - Date.parse(line?.["@timestamp"])) < 2000, JSON.stringify(line));
  use(run, "web-1", 500);
  await run.advance(60);
  assertEquals((await readStatus(run)).lastScaleResourceChange, first.lines("Resized pod").at(-1)?.change);

  assertEquals([resizesOf(first), resizesOf(second)], [new Set(["web-1"]), new Set(["web-2"])]);
  assert(statusWrites(first) > 0);
  assertEquals(statusWrites(second), 0);
  assertEquals((await first.series("kedify_agent_pra_total")).length, 1);
  assertEquals(await second.series("kedify_agent_pra_total{"), []);
  const events = (await run.list("events")).filter(({ reason }: Json) => reason === "PodResourceAutoscalerScaleUp");
  const onAutoscaler = events.filter(({ involvedObject: { kind } }: Json) => kind === "PodResourceAutoscaler");
  assertEquals(
    onAutoscaler.map(({ related }: Json) => related.name).sort().filter((name, index, all) => all[index - 1] !== name),
    [
      "web-1",
      "web-2",
    ],
  );
  assertEquals(run.errors, []);
});

Deno.test("agents and sidecars write events on their own pods, each one alone (L58)", async (t) => {
  const sum = (events: readonly Json[], pod: string) =>
    events.filter(({ involvedObject: { kind, name } }: Json) => kind === "Pod" && name === pod).length;
  const readUps = async (run: ClusterRun) =>
    (await run.list("events")).filter(({ reason }: Json) => reason === "PodResourceAutoscalerScaleUp");

  await t.step("a podfit for each node", async () => {
    await using run = await startTwoNodes();
    await using first = run.startPodfit(onNode("node-1"), { identity: "first" });
    await using second = run.startPodfit(onNode("node-2"), { identity: "second" });
    await run.advance(30);
    for (const name of ["web-1", "web-2"]) use(run, name, 500);
    await run.advance(90);
    const ups = await readUps(run);
    for (const [podfit, name] of [[first, "web-1"], [second, "web-2"]] as const) {
      assertEquals(sum(ups, name), podfit.lines("Resized pod").length);
      assert(sum(ups, name) > 0, name);
    }
  });
  await t.step("a podfit in each pod, and one for the cluster", async () => {
    const { run, startSidecar } = await startSidecars();
    await using _run = run;
    await using central = run.startPodfit();
    await using one = startSidecar("web-1");
    await run.advance(30);
    for (const name of ["web-1", "db"]) use(run, name, 500);
    await run.advance(90);
    const ups = await readUps(run);
    for (const [podfit, name] of [[one, "web-1"], [central, "db"]] as const) {
      assertEquals(sum(ups, name), podfit.lines("Resized pod").length);
      assert(sum(ups, name) > 0, name);
    }
  });
});

Deno.test("a node's podfit lists and watches the pods of its node alone, and all pods with the Lease (C51)", async () => {
  await using run = await startTwoNodes();
  await using first = run.startPodfit(onNode("node-1"), { identity: "first" });
  await run.advance(5);
  await using second = run.startPodfit(onNode("node-2"), { identity: "second" });
  await run.advance(300);
  const ofPods = ({ requests }: PodfitRun) => requests.filter((one) => /^GET \/api\/v1\/pods[?]/.test(one));
  const isOwn = (one: string) => one.includes(`fieldSelector=${encodeURIComponent("spec.nodeName=node-2")}`);
  assert(ofPods(second).length >= 2);
  assertEquals(ofPods(second).filter((one) => !isOwn(one)), []);
  assert(ofPods(first).some((one) => !one.includes("fieldSelector")), "the one with the Lease sees all");
  const nodes = [...first.requests, ...second.requests].filter((one) => one.startsWith("GET /api/v1/nodes"));
  assertEquals(nodes.filter((one) => !one.includes("fieldSelector=metadata.name")), []);
});

Deno.test("a node's podfit resizes while all others are gone, and then writes the statuses itself (C51)", async () => {
  await using run = await startTwoNodes();
  await using first = run.startPodfit(onNode("node-1"), { identity: "first" });
  await run.advance(5);
  await using second = run.startPodfit(onNode("node-2"), { identity: "second" });
  await run.advance(30);
  use(run, "web-1", 200);
  await run.advance(60);
  use(run, "web-2", 500);
  // Two samples of the kubelet show it some 20 s later, and the Lease has no holder for 15 s after the cut.
  await run.advance(14);
  assertEquals(second.lines("Resized pod"), []);
  const before = await readStatus(run);
  assertEquals(before.lastScaleAction, "scaleUp");
  first.cut();
  await run.advance(11);
  assertMatch(second.lines("Resized pod").at(-1)?.change ?? "", /^cpu\.requests 100m -> /);
  assertEquals([statusWrites(second), await readStatus(run)], [0, before], "nobody holds the Lease yet");
  for (let second = 0; second < 30; second++) {
    await run.advance(1);
    const { lastScaleTime, conditions } = await readStatus(run);
    assert(lastScaleTime >= before.lastScaleTime);
    assertEquals(conditions[0].lastTransitionTime, before.conditions[0].lastTransitionTime);
  }
  assert(statusWrites(second) > 0);
  assertEquals((await readStatus(run)).lastScaleResourceChange, second.lines("Resized pod").at(-1)?.change);
  assertEquals((await second.series("kedify_agent_pra_total{")).length, 1);
  assertEquals(await first.series("kedify_agent_pra_total{"), [], "it knows that it is no longer heard");
  assertEquals((await readConditions(run))["Metrics"], "Unknown NodeLocal");
});

Deno.test("a podfit that ends gives the Lease back, and the statuses stand as they are meanwhile (C51)", async () => {
  await using run = await startTwoNodes();
  await using second = run.startPodfit(onNode("node-2"), { identity: "second" });
  await run.advance(5);
  {
    await using _first = run.startPodfit(onNode("node-1"), { identity: "first" });
    await run.advance(30);
    use(run, "web-1", 500);
    await run.advance(60);
  }
  await run.advance(10);
  const before = await readStatus(run);
  const writes = statusWrites(second);
  await run.advance(600);
  const after = await readStatus(run);
  assertEquals([after.lastScaleResourceChange, after.lastScaleTime], [
    before.lastScaleResourceChange,
    before.lastScaleTime,
  ]);
  assert(statusWrites(second) - writes <= 2, `${statusWrites(second) - writes} writes in ten quiet minutes`);
});

Deno.test("a node's podfit is ready and resizes though it may not look at the Lease (C51)", async () => {
  await using run = await startTwoNodes();
  run.cluster.api.faults.add({ path: /default\/leases/, effect: { kind: "refuse", code: 403, message: "no right" } });
  await using first = run.startPodfit(onNode("node-1"), { identity: "first" });
  await run.advance(30);
  use(run, "web-1", 500);
  await run.advance(60);
  assertEquals([first.isReady(), resizesOf(first)], [{ ok: true, message: "ok" }, new Set(["web-1"])]);
  assertEquals(statusWrites(first), 0);
  const said = first.log.find(({ level }) => level === "ERROR")?.message;
  assertEquals(said, "Cannot take part in the election of a leader, retrying");
});

/** Two pods with a sidecar, one of another autoscaler without; and a podfit for the whole cluster. */
async function startSidecars(labels: Json = LABEL) {
  const run = await ClusterRun.start();
  await run.create(
    load("web-1", "node-1", labels),
    load("web-2", "node-1", labels),
    load("db", "node-1", { app: "db" }),
    scaled("web"),
    scaled("db"),
  );
  await run.advance(10);
  const startSidecar = (name: string) =>
    run.startPodfit(inPod(name), { identity: name, watchUsage: run.watchCgroups("node-1", CGROUPS) });
  return { run, startSidecar };
}

Deno.test("each sidecar resizes its own pod, and a podfit for the cluster leaves those pods alone (C17)", async () => {
  const { run, startSidecar } = await startSidecars();
  await using _run = run;
  await using central = run.startPodfit();
  await using one = startSidecar("web-1");
  await using two = startSidecar("web-2");
  await run.advance(30);
  for (const name of ["web-1", "web-2", "db"]) use(run, name, 500);
  await run.advance(90);
  assertEquals([one, two, central].map(resizesOf), [new Set(["web-1"]), new Set(["web-2"]), new Set(["db"])]);
  for (const name of ["web-1", "web-2", "db"]) assert(Number.parseInt(await readSize(run, name)) > 700, name);
  const held = central.log.filter(({ reason }) => reason === "NotOwner");
  assertEquals(new Set(held.map(({ pod }) => pod)), new Set(["web-1", "web-2"]));
  assertMatch(
    held[0]?.why ?? "",
    /has the label podfit\.dev\/mode=sidecar: the podfit in it resizes it/,
  );
  assertEquals(run.errors, []);
});

Deno.test("a sidecar asks for nothing outside of its namespace, of no node, and is ready without (C17)", async () => {
  const { run, startSidecar } = await startSidecars();
  await using _run = run;
  await using one = startSidecar("web-1");
  await using two = startSidecar("web-2");
  await run.advance(300);
  const isWithin = (request: string) => / \/(api\/v1|apis\/[^/]+\/[^/]+)\/namespaces\/default\//.test(request);
  for (const { requests } of [one, two]) {
    assertEquals(requests.filter((request) => !isWithin(request) && request !== "GET /version/"), []);
    assertEquals(requests.filter((request) => request.includes("nodes")), []);
  }
  assertEquals([one.isReady(), two.isReady()].map(({ ok }) => ok), [true, true]);
});

Deno.test("statuses of sidecars and of a podfit for the cluster do not flap (C51)", async () => {
  const { run, startSidecar } = await startSidecars();
  await using _run = run;
  await using central = run.startPodfit();
  await using one = startSidecar("web-1");
  await using two = startSidecar("web-2");
  await run.advance(60);
  for (const name of ["web-1", "web-2", "db"]) use(run, name, 500);
  await run.advance(120);
  assertEquals((await readConditions(run))["Metrics"], "Unknown NodeLocal");
  assertEquals((await readConditions(run, "db"))["Metrics"], "True Available");
  assertEquals((await readStatus(run)).conditions[1].message, "2 pods");
  const all = [central, one, two];
  const before = all.map(statusWrites).reduce((sum, count) => sum + count);
  const seen = new Set<string>();
  for (let minute = 0; minute < 30; minute++) {
    await run.advance(60);
    seen.add(JSON.stringify([await readConditions(run), await readConditions(run, "db")]));
  }
  const writes = all.map(statusWrites).reduce((sum, count) => sum + count) - before;
  assert(writes <= 4, `${writes} writes in thirty quiet minutes`);
  assertEquals(seen.size, 1, [...seen].join("\n"));
  for (const { log } of all) assertEquals(log.filter(({ level }) => level === "WARN"), []);
});

Deno.test("a sidecar leaves a pod without the label alone, which the podfit for the cluster resizes (C17)", async () => {
  const { run, startSidecar } = await startSidecars({});
  await using _run = run;
  await using central = run.startPodfit();
  await using one = startSidecar("web-1");
  await run.advance(30);
  use(run, "web-1", 500);
  await run.advance(90);
  assertEquals([one, central].map(resizesOf), [new Set(), new Set(["web-1"])]);
  const said = one.log.filter(({ level }) => level === "WARN");
  assertEquals(said.map(({ message, pod }) => [message, pod]), [["The pod is not resized", "default/web-1"]]);
  assertMatch(said[0]?.why, /add the label to its pod template$/);
});
