/** The embedded cluster over TLS on the real clock, reached as podfit reaches any: by a kubeconfig and node addresses. */
import { assert, assertEquals, assertMatch } from "#assert";
import { createObjectsClient } from "../../lib/embedded/objects_client.ts";
import { connect } from "../../lib/kube/http_transport.ts";
import { scaleClock, systemClock } from "../../lib/runtime/clock.ts";
import { openDirectSource } from "../../lib/usage/kubelet/fetch_summary.ts";
import { parseSummary } from "../../lib/usage/kubelet/parse_summary.ts";
import { waitUntil } from "../e2e/support/wait.ts";
import { pod } from "../e2e/support/workloads.ts";
import type { Json } from "../support/api_objects.ts";
import { serveFullCluster } from "../support/embedded/full_cluster.ts";

Deno.test("C54 a served cluster is reached by its kubeconfig, and its kubelets at their nodes' addresses", async () => {
  const signal = new AbortController().signal;
  const tokens = new Map([
    ["admin", { name: "admin", groups: ["system:masters"] }],
    ["guest", { name: "guest", groups: [] }],
  ]);
  await using cluster = await serveFullCluster({ clock: systemClock, tokens });
  const path = await Deno.makeTempFile({ suffix: ".kubeconfig" });
  await using stack = new AsyncDisposableStack();
  stack.defer(() => Deno.remove(path));
  const open = async (token: string) => {
    await Deno.writeTextFile(path, cluster.kubeconfig(token));
    return stack.use(await connect({ version: "test", kubeconfigPaths: [path] }));
  };
  const admin = await open("admin");
  const client = createObjectsClient({ server: admin, clock: systemClock, agent: "test", signal });
  const web = pod("web", { containers: [{ requests: { cpu: "10m" }, cpuMillicores: 20, memoryMiB: 10 }] });
  await client.create("/api/v1/namespaces/default/pods", structuredClone(web) as Json);
  const running = await waitUntil("the pod to run", async () => {
    const found: Json = await client.get("/api/v1/namespaces/default/pods/web");
    return found.status.phase === "Running" ? found : null;
  }, { clock: systemClock, timeoutMs: 10_000, everyMs: 50 });

  const { status }: Json = await client.get("/api/v1/nodes/node-1");
  const node = {
    name: "node-1",
    addresses: status.addresses,
    port: status.daemonEndpoints.kubeletEndpoint.Port,
    maxPods: null,
  };
  using source = openDirectSource(admin, { clock: systemClock });
  const answer = await source.fetchSummary(node, signal);
  assert(answer.kind === "summary", JSON.stringify(answer));
  const summary = parseSummary(answer.bytes, { tracked: () => true });
  assert(summary.kind === "summary" && summary.pods.has(running.metadata.uid));

  const limits: Json = await client.get("/api/v1/namespaces/default/pods/web:8080/proxy/limits");
  assertEquals([limits.cgroupVersion, limits.cpuShares], [1, 10]);
  const proxied: Json = await client.get("/api/v1/nodes/node-1/proxy/stats/summary");
  assertEquals(proxied.node.nodeName, "node-1");

  using refused = openDirectSource(await open("guest"), { clock: systemClock });
  const no = await refused.fetchSummary(node, signal);
  assert(no.kind === "failed" && no.reason === "forbidden", JSON.stringify(no));
  assertMatch(no.message, /403 Forbidden \(user=guest, verb=get, resource=nodes, subresource\(s\)=\[stats\]\)/);
});

Deno.test("a cluster on a faster clock lives through minutes in seconds", async () => {
  const signal = new AbortController().signal;
  const clock = scaleClock(systemClock, 60);
  await using cluster = await serveFullCluster({ clock });
  const annotations = { "sim.podfit.dev/load": JSON.stringify({ main: { readyAfterMs: 60_000, cpuMillicores: 100 } }) };
  await cluster.client.create("/api/v1/namespaces/default/pods", structuredClone(pod("web", { annotations })) as Json);
  const server = cluster.connect();
  const found = await waitUntil("the pod to be ready after a minute of its own", async () => {
    const found: Json = await cluster.client.get("/api/v1/namespaces/default/pods/web");
    return found.status.conditions?.some((one: Json) => one.type === "Ready" && one.status === "True") ? found : null;
  }, { clock: systemClock, timeoutMs: 15_000, everyMs: 50 });
  const [{ state }] = found.status.containerStatuses;
  const ready = found.status.conditions.find(({ type }: Json) => type === "Ready");
  assert(Date.parse(ready.lastTransitionTime) - Date.parse(state.running.startedAt) >= 59_000);
  using source = cluster.openSource(server);
  const { host, port } = cluster.nodes.get("node-1")?.place ?? NOWHERE;
  const addresses = [{ type: "InternalIP", address: host }];
  const answer = await source.fetchSummary({ name: "node-1", addresses, port, maxPods: null }, signal);
  assertEquals(answer.kind, "summary");
});

const NOWHERE = { host: "", port: 0 };
