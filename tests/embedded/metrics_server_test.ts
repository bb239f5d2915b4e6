/** metrics.k8s.io of the embedded cluster, as metrics-server serves it. */
import { assert, assertEquals, assertMatch } from "#assert";
import { pod } from "../e2e/support/workloads.ts";
import { ADMIN } from "../support/embedded/access.ts";
import type { Json } from "../support/api_objects.ts";
import { ClusterRun } from "../support/cluster_run.ts";

const PATH = "/apis/metrics.k8s.io/v1beta1";
const BUSY = { containers: [{ requests: { cpu: "100m", memory: "64Mi" }, cpuMillicores: 300 }] };

async function get(run: ClusterRun, path: string, token: string | null = null): Promise<[number, Json]> {
  const { origin, transport } = run.cluster.connect(token);
  const response = await transport(new Request(`${origin}${path}`));
  const text = await response.text();
  return [response.status, text.startsWith("{") ? JSON.parse(text) : text];
}

Deno.test("metrics.k8s.io has a pod once its container is ten seconds old, and then every fifteen seconds a newer rate", async () => {
  await using run = await ClusterRun.start({ hasMetricsServer: true });
  await run.create(pod("web", BUSY), { ...pod("other", BUSY), metadata: { name: "other", namespace: "kube-system" } });
  await run.advance(5);
  assertEquals((await get(run, `${PATH}/pods`))[1], {
    kind: "PodMetricsList",
    apiVersion: "metrics.k8s.io/v1beta1",
    metadata: {},
    items: [],
  });
  const [missing, status] = await get(run, `${PATH}/namespaces/default/pods/web`);
  assertEquals([missing, status.reason, status.details.name], [404, "NotFound", "default/web"]);
  await run.advance(60);
  const [, { items }] = await get(run, `${PATH}/pods`);
  assertEquals(items.map(({ metadata }: Json) => `${metadata.namespace}/${metadata.name}`).sort(), [
    "default/web",
    "kube-system/other",
  ]);
  const [code, web] = await get(run, `${PATH}/namespaces/default/pods/web`);
  assertEquals([code, web.kind, web.metadata.name], [200, "PodMetrics", "web"]);
  const [, { items: own }] = await get(run, `${PATH}/namespaces/default/pods`);
  assertEquals(own.map(({ metadata }: Json) => metadata.name), ["web"]);
  const { timestamp, window, containers: [{ name, usage }] } = own[0];
  assertEquals(name, "main");
  assertMatch(usage.cpu, /^\d+[num]$/);
  const millicores = Number.parseInt(usage.cpu) / { n: 1e6, u: 1e3, m: 1 }[usage.cpu.at(-1) as "n" | "u" | "m"];
  assert(Math.abs(millicores - 300) < 10, usage.cpu);
  assertMatch(usage.memory, /^\d+(Ki|Mi)?$/);
  assertMatch(window, /^\d+(\.\d+)?s$/);
  const ageMs = run.clock.now() - Date.parse(timestamp);
  assert(ageMs >= 0 && ageMs < 40_000, `${ageMs} ms old`);
  await run.advance(30);
  const [, later] = await get(run, `${PATH}/namespaces/default/pods/web`);
  assert(Date.parse(later.timestamp) > Date.parse(timestamp), later.timestamp);
});

Deno.test("metrics.k8s.io is not there without a metrics-server, and asks for the right to list its pods", async () => {
  await using bare = await ClusterRun.start();
  assertEquals(await get(bare, `${PATH}/pods`), [404, "404 page not found\n"]);
  const reader = { name: "reader", groups: ["system:authenticated"] };
  const tokens = new Map([["admin", ADMIN], ["reader", reader]]);
  await using run = await ClusterRun.start({ hasMetricsServer: true, tokens });
  await run.advance(1);
  const [code, { message }] = await get(run, `${PATH}/pods`, "reader");
  assertEquals([code, message], [
    403,
    'pods.metrics.k8s.io is forbidden: User "reader" cannot list resource "pods" in API group "metrics.k8s.io" at the cluster scope',
  ]);
  assertEquals((await get(run, `${PATH}/pods`, "admin"))[0], 200);
});

Deno.test("metrics.k8s.io has nothing of a node that does not answer, as long as it does not", async () => {
  await using run = await ClusterRun.start({ hasMetricsServer: true });
  await run.create(pod("web", BUSY));
  await run.advance(60);
  const [node] = run.cluster.nodes.values();
  await node?.lose();
  await run.advance(40);
  assertEquals((await get(run, `${PATH}/pods`))[1].items, []);
  node?.comeBack();
  await run.advance(60);
  assertEquals((await get(run, `${PATH}/pods`))[1].items.length, 1);
});
