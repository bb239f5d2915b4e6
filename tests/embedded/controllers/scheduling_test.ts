/** Where the embedded cluster puts its pods, why it does not, and what becomes of those whose node is lost. */
import { assert, assertEquals } from "#assert";
import { deployment, pod } from "../../e2e/support/workloads.ts";
import type { Json } from "../../support/api_objects.ts";
import { ClusterRun } from "../../support/cluster_run.ts";

const sized = (cpu: string) => ({ containers: [{ requests: { cpu } }] });

Deno.test("pods go where most room is left", async () => {
  await using run = await ClusterRun.start({ nodes: [{ cpuMillicores: 2000 }, { cpuMillicores: 4000 }] });
  await run.create(...["a", "b", "c"].map((name) => pod(name, sized("1"))));
  await run.advance(3);
  const nodes = (await run.list("pods")).map(({ spec }: Json) => spec.nodeName);
  assertEquals(nodes, ["node-2", "node-1", "node-2"]);
  assertEquals((await run.events("a")).includes("Scheduled"), true);
});

Deno.test("a pod without room is told so in the real scheduler's words, and is bound once there is some", async () => {
  await using run = await ClusterRun.start({ nodes: [{ cpuMillicores: 1000 }] });
  await run.create(pod("first", sized("800m")));
  await run.advance(3);
  await run.create(pod("second", sized("500m")), pod("picky", { fields: { nodeSelector: { zone: "a" } } }));
  await run.advance(3);
  const [waiting] = (await run.get("pods/second")).status.conditions;
  assertEquals([waiting.type, waiting.status, waiting.reason], ["PodScheduled", "False", "Unschedulable"]);
  const rest = "no new claims to deallocate, preemption: 0/1 nodes are available: " +
    "1 Preemption is not helpful for scheduling.";
  assertEquals(waiting.message, `0/1 nodes are available: 1 Insufficient cpu. ${rest}`);
  const [picky] = (await run.get("pods/picky")).status.conditions;
  const why = "1 node(s) didn't match Pod's node affinity/selector";
  assertEquals(picky.message, `0/1 nodes are available: ${why}. ${rest}`);
  assertEquals(await run.events("second"), ["FailedScheduling"]);
  await run.delete("pods/first");
  await run.advance(5);
  assertEquals((await run.get("pods/second")).status.phase, "Running");
  await run.patch("nodes/node-1", { metadata: { labels: { zone: "a" } } });
  await run.advance(5);
  assertEquals((await run.get("pods/picky")).status.phase, "Running");
});

Deno.test("a resize that waits for room counts with what it wants", async () => {
  await using run = await ClusterRun.start({ nodes: [{ cpuMillicores: 1000 }] });
  await run.create(pod("a", sized("300m")), pod("b", sized("300m")));
  await run.advance(3);
  const patch = { spec: { containers: [{ name: "main", resources: { requests: { cpu: "900m" } } }] } };
  await run.cluster.client.patch("/api/v1/namespaces/default/pods/a/resize", "strategic", patch);
  await run.advance(3);
  await run.create(pod("c", sized("100m")));
  await run.advance(3);
  const [waiting] = (await run.get("pods/c")).status.conditions;
  assertEquals(waiting.reason, "Unschedulable");
});

Deno.test("a silent node turns Unknown, its pods are evicted in time, and it is welcomed back", async () => {
  await using run = await ClusterRun.start({ nodes: [{}, {}] });
  await run.create(deployment("web", { ...sized("10m"), replicas: 2 }));
  await run.advance(5);
  const before = new Map((await run.list("pods")).map(({ metadata, spec }: Json) => [spec.nodeName, metadata.name]));
  assertEquals([...before.keys()].sort(), ["node-1", "node-2"]);
  const readReady = async () =>
    (await run.get("nodes/node-1")).status.conditions.find(({ type }: Json) => type === "Ready").status;
  await run.cluster.nodes.get("node-1")?.lose();
  await run.advance(30);
  assertEquals(await readReady(), "True");
  await run.advance(25);
  assertEquals(await readReady(), "Unknown");
  const lost = await run.get(`pods/${before.get("node-1")}`);
  assertEquals(lost.status.conditions.find(({ type }: Json) => type === "Ready").status, "False");
  const { spec: { taints } } = await run.get("nodes/node-1");
  assertEquals(taints.map(({ key, effect }: Json) => `${key} ${effect}`), [
    "node.kubernetes.io/unreachable NoSchedule",
    "node.kubernetes.io/unreachable NoExecute",
  ]);
  await run.advance(320);
  assert((await run.pods()).includes(`${before.get("node-1")} Running leaving`), (await run.pods()).join());
  assertEquals((await run.pods()).filter((line) => line.endsWith("ready")).length, 2);
  run.cluster.nodes.get("node-1")?.comeBack();
  await run.advance(20);
  assertEquals(await readReady(), "True");
  assertEquals((await run.get("nodes/node-1")).spec.taints, undefined);
  assertEquals(await run.find(`pods/${before.get("node-1")}`), null);
  assertEquals((await run.pods()).length, 2);
});

Deno.test("pods of a node that was deleted are removed", async () => {
  await using run = await ClusterRun.start({ nodes: [{}, {}] });
  await run.create(deployment("web", { ...sized("10m"), replicas: 2 }));
  await run.advance(5);
  await run.cluster.nodes.get("node-1")?.lose();
  await run.delete("nodes/node-1");
  await run.advance(60);
  const nodes = (await run.list("pods")).map(({ spec }: Json) => spec.nodeName);
  assertEquals(nodes, ["node-2", "node-2"]);
});
