/** What a kubelet's own server answers, and to whom. */
import { assertEquals, assertMatch } from "#assert";
import { reviewAccess } from "../../support/embedded/kubelet_access.ts";
import { createObjectsClient } from "../../../lib/embedded/objects_client.ts";
import { LOAD_IMAGE } from "../../../lib/embedded/kubelet/loads.ts";
import type { Json } from "../../support/api_objects.ts";
import { KubeletRun } from "../../support/kubelet_run.ts";
import { ORIGIN } from "../../support/sim_server.ts";
import { parseSummary } from "../../../lib/usage/kubelet/parse_summary.ts";

Deno.test("a kubelet answers health, usage and its pods, and nothing else", async () => {
  await using run = new KubeletRun();
  await run.create("web");
  await run.advance(5);
  assertEquals(await (await run.ask("/healthz")).text(), "ok");
  const { items: [pod] } = await (await run.ask("/pods")).json();
  assertEquals(pod.metadata.name, "web");
  const unknown = await run.ask("/exec/default/web/main");
  assertEquals([unknown.status, await unknown.text()], [404, "404 page not found\n"]);
  assertEquals((await run.ask("/stats/summary", { method: "POST" })).status, 405);
  const answer = await run.ask("/stats/summary?only_cpu_and_memory=true");
  const summary = parseSummary(await answer.bytes(), { tracked: () => true });
  if (summary.kind !== "summary") throw new Error(summary.message);
  assertEquals([summary.node.name, summary.skipped, summary.pods.size], ["node1", 0, 1]);
  assertEquals(answer.headers.get("date"), "Fri, 20 Nov 2026 11:00:05 GMT");
});

Deno.test("a kubelet whose clock is ahead says so in its answers and statuses", async () => {
  await using run = new KubeletRun({ skewMs: 90_000 });
  await run.create("web");
  await run.advance(5);
  assertEquals((await run.ask("/healthz")).headers.get("date"), "Fri, 20 Nov 2026 11:01:35 GMT");
  const [{ state }] = (await run.pod("web")).status.containerStatuses;
  assertMatch(state.running.startedAt, /^2026-11-20T11:01:3/);
});

Deno.test("C54 a kubelet asks its API server who comes and what they may, and refuses in a real one's words", async () => {
  const tokens = new Map([
    ["admin", { name: "kubernetes-admin", groups: ["system:masters"] }],
    ["reader", { name: "reader", groups: [] }],
    ["none", { name: "system:serviceaccount:rec:s-none", groups: [] }],
  ]);
  await using run = new KubeletRun({
    server: { tokens },
    checkAccess: (request, node) => check(request, node),
  });
  const transport = (request: Request) => {
    request.headers.set("authorization", "Bearer admin");
    return run.server.api.handle(request);
  };
  const { clock } = run.server;
  const client = createObjectsClient({
    server: { origin: ORIGIN, transport },
    clock,
    agent: "kubelet",
    signal: new AbortController().signal,
  });
  const check = reviewAccess(client);
  await client.create("/apis/rbac.authorization.k8s.io/v1/clusterroles", {
    metadata: { name: "stats" },
    rules: [{ apiGroups: [""], resources: ["nodes/stats"], verbs: ["get"] }],
  });
  await client.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
    metadata: { name: "stats" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "stats" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "reader" }],
  });
  const ask = async (path: string, token: string | null) => {
    const headers: HeadersInit = token === null ? {} : { authorization: `Bearer ${token}` };
    const response = await run.ask(path, { headers });
    return [response.status, response.status === 200 ? "" : await response.text()];
  };
  assertEquals(await ask("/stats/summary", null), [401, "Unauthorized"]);
  assertEquals(await ask("/stats/summary", "unknown"), [401, "Unauthorized"]);
  assertEquals(await ask("/stats/summary", "reader"), [200, ""]);
  // Its own right: nodes/stats is none to the page that metrics-server reads.
  const page = "verb=get, resource=nodes, subresource(s)=[metrics]";
  assertEquals(await ask("/metrics/resource", "reader"), [403, `Forbidden (user=reader, ${page})`]);
  assertEquals(await ask("/metrics/resource", "admin"), [200, ""]);
  const user = "user=system:serviceaccount:rec:s-none, verb=get, resource=nodes";
  assertEquals(await ask("/stats/summary", "none"), [403, `Forbidden (${user}, subresource(s)=[stats])`]);
  assertEquals(await ask("/pods", "none"), [403, `Forbidden (${user}, subresource(s)=[pods proxy])`]);
});

Deno.test("a kubelet writes summaries as a real one: its fields in its order, a line each, without a length", async () => {
  await using run = new KubeletRun();
  const resources = { requests: { cpu: "100m", memory: "64Mi" }, limits: { cpu: "500m", memory: "128Mi" } };
  await run.create("web", { containers: [{ name: "main", image: LOAD_IMAGE, resources }] });
  // Until the readings are cAdvisor's, as those of the recorded node are.
  await run.advance(60);
  const answer = await run.ask("/stats/summary?only_cpu_and_memory=true");
  const text = await answer.text();
  const recorded = await Deno.readTextFile(new URL("../../testdata/summary/cadvisor.json", import.meta.url));
  assertEquals(listFields(text), listFields(recorded));
  assertEquals(text, JSON.stringify(JSON.parse(text), null, 1));
  assertEquals([answer.headers.get("content-type"), answer.headers.get("content-length")], ["application/json", null]);
});

/** The lines of the node and of the first pod with its first container, without values. */
function listFields(text: string): readonly string[] {
  const { node, pods: [pod] } = JSON.parse(text);
  const [container] = pod.containers.filter(({ memory }: Json) => memory.availableBytes !== undefined);
  // The recorded pod has containers without a limit, so it has none itself.
  const { availableBytes: _, ...memory } = pod.memory;
  const one = { ...pod, memory, containers: [container] };
  return JSON.stringify({ node, pods: [one] }, null, 1).split("\n").map((line) => line.replace(/: [^{[].*/, ""));
}
