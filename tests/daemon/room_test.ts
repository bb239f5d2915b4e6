/**
 * Nodes, namespaces and versions as the daemon uses them.
 * Clauses: L30, L32, L33.
 */
import { assert, assertEquals } from "#assert";
import { autoscalerObject, type Json, nodeObject, podObject } from "../support/api_objects.ts";
import { refuse } from "../support/api_server.ts";
import { Run } from "../support/daemon_run.ts";

function sizedNode(cpu: string, kubeletVersion = "v1.36.3"): Json {
  const node = nodeObject();
  Object.assign(node.status, { allocatable: { cpu, memory: "32Gi" }, nodeInfo: { kubeletVersion } });
  return node;
}

/** A usage of 150m with a request of 100m, which needs 250m. */
function busy(options: ConstructorParameters<typeof Run>[0] = {}): Run {
  const run = new Run(options);
  run.kubelet.use({ "web-1": { cpu: 150 } });
  return run;
}

Deno.test("createDaemon() counts every pod of the node, overhead too, and those that nobody tracks (L30)", async () => {
  await using run = busy();
  run.api.put("nodes", sizedNode("1"));
  const other = podObject({ name: "other", labels: {}, requests: { cpu: "600m" } });
  other.spec.overhead = { cpu: "100m" };
  run.api.put("pods", other);
  await run.advance(30);
  assertEquals(run.resizes.map(({ body }) => body.spec.containers[0].resources.requests.cpu), ["250m"]);
  run.kubelet.use({ "web-1": { cpu: 400 } });
  await run.advance(90);
  assertEquals(run.resizes.at(-1)?.body.spec.containers[0].resources.requests.cpu, "300m", "of 1 less 600m and 100m");
});

Deno.test("createDaemon() sends what waited for room on the event that shows some (L30)", async () => {
  await using run = busy({ autoscalers: [autoscalerObject({ policy: { pollInterval: "30s" } })] });
  run.api.put("nodes", sizedNode("1"));
  run.api.put("pods", podObject({ name: "other", labels: {}, requests: { cpu: "900m" } }));
  await run.advance(200);
  assertEquals(run.resizes, []);
  run.api.edit("pods", "other", (pod) => pod.status.phase = "Succeeded");
  await run.advance(1);
  assertEquals(run.resizes.length, 1);
});

Deno.test("createDaemon() sends what waited for room when its node grows (L30)", async () => {
  await using run = busy({ autoscalers: [autoscalerObject({ policy: { pollInterval: "30s" } })] });
  run.api.put("nodes", sizedNode("100m"));
  await run.advance(200);
  assertEquals(run.resizes, []);
  run.api.put("nodes", sizedNode("2"));
  await run.advance(1);
  assertEquals(run.resizes.length, 1);
});

Deno.test("createDaemon() does not wait for limit ranges and quotas that it may not see, and says so once (L32)", async () => {
  await using run = busy();
  run.api.intercept = ({ path }) => /limitranges|resourcequotas/.test(path) ? refuse(403, { message: "no" }) : null;
  await run.advance(120);
  assertEquals([run.daemon.isReady().ok, run.resizes.length], [true, 1]);
  const said = run.log.filter(({ message }) => String(message).startsWith("Not watched"));
  assertEquals(said.map(({ level, resource }) => `${level} ${resource}`).sort(), [
    "INFO limitranges",
    "INFO resourcequotas",
  ]);
  assertEquals(run.log.filter(({ message }) => message === "Cannot watch, retrying"), []);
});

const quotaOf = (cpu: string): Json => ({
  kind: "ResourceQuota",
  status: { hard: { "requests.cpu": cpu }, used: { "requests.cpu": "100m" } },
});

const rangeUpTo = (cpu: string): Json => ({
  kind: "LimitRange",
  spec: { limits: [{ type: "Container", max: { cpu } }] },
});

for (const [reason, ruleOf] of [["Quota", quotaOf], ["LimitRange", rangeUpTo]] as const) {
  Deno.test(`createDaemon() does not believe a ${reason} that was raised while its watch failed for 5 min (L32)`, async () => {
    await using run = busy();
    const plural = `${ruleOf("1").kind.toLowerCase()}s`;
    const put = (cpu: string) =>
      run.api.put(plural, {
        apiVersion: "v1",
        metadata: { name: "r", namespace: "shop", uid: "uid-r" },
        ...ruleOf(cpu),
      });
    put("100m");
    await run.advance(60);
    assertEquals([run.resizes.length, run.condition("Limited")], [0, `True ${reason}`]);
    run.api.intercept = ({ method, path }) =>
      method === "GET" && path.endsWith(plural) ? refuse(500, { message: "etcd" }) : null;
    run.api.closeWatches(plural);
    await run.advance(2);
    put("10");
    await run.advance(238);
    assertEquals(run.resizes.length, 0);
    await run.advance(120);
    assertEquals([run.resizes.length, run.condition("Limited")], [1, "False NotLimited"]);
  });
}

Deno.test("createDaemon() sends nothing that a LimitRange adds to, also where its watch or that of quotas fails (L32)", async () => {
  await using run = busy({ pods: [podObject({ limits: { memory: undefined } })] });
  const spec = { limits: [{ type: "Container", default: { memory: "64Mi" } }] };
  const metadata = { name: "r", namespace: "shop", uid: "uid-r" };
  run.api.put("limitranges", { apiVersion: "v1", kind: "LimitRange", metadata, spec });
  await run.advance(60);
  run.api.intercept = ({ method, path }) =>
    method === "GET" && /limitranges|resourcequotas/.test(path) ? refuse(500, { message: "etcd" }) : null;
  run.api.closeWatches("limitranges");
  run.api.closeWatches("resourcequotas");
  await run.advance(600);
  assertEquals([run.resizes, run.condition("Limited")], [[], "True LimitRange"]);
});

Deno.test("createDaemon() keeps to limit ranges as soon as the right is there (L32)", async () => {
  await using run = busy();
  const range = { apiVersion: "v1", kind: "LimitRange", metadata: { name: "r", namespace: "shop", uid: "uid-r" } };
  run.api.put("limitranges", { ...range, spec: { limits: [{ type: "Container", max: { cpu: "1", memory: "1Gi" } }] } });
  let isForbidden = true;
  run.api.intercept = ({ path }) =>
    isForbidden && path.endsWith("/limitranges") ? refuse(403, { message: "no" }) : null;
  await run.advance(10);
  isForbidden = false;
  await run.advance(60);
  run.api.put("limitranges", { ...range, spec: { limits: [{ type: "Container", max: { cpu: "1", memory: "1Mi" } }] } });
  run.kubelet.use({ "web-1": { cpu: 400 } });
  const before = run.resizes.length;
  await run.advance(120);
  assertEquals(run.resizes.length, before);
  assert(run.log.some(({ reason }) => reason === "LimitRange"));
});

Deno.test("createDaemon() says each time that the right to watch a kind is taken, though the kind never changes (L32)", async () => {
  await using run = busy();
  let isForbidden = true;
  run.api.intercept = ({ path, query }) => {
    if (!path.endsWith("/limitranges")) return null;
    if (isForbidden) return refuse(403, { message: "no" });
    // No event and no bookmark, as from an API server for a kind that has not changed since its start.
    return query["watch"] === undefined ? null : new Response(new ReadableStream());
  };
  for (const forbidden of [true, false, true, false]) {
    isForbidden = forbidden;
    await run.advance(180);
  }
  const said = run.log.filter(({ resource, message }) => resource === "limitranges" && /atched,/.test(String(message)));
  assertEquals(said.map(({ message }) => String(message).split(",")[0]), [
    "Not watched",
    "Watched",
    "Not watched",
    "Watched",
  ]);
});

Deno.test("createDaemon() lists limit ranges again after the right to watch them was taken and given back (L32)", async () => {
  await using run = busy();
  const range = { apiVersion: "v1", kind: "LimitRange", metadata: { name: "r", namespace: "shop", uid: "uid-r" } };
  run.api.put("limitranges", { ...range, spec: { limits: [{ type: "Container", max: { cpu: "1", memory: "1Mi" } }] } });
  let isForbidden = true;
  run.api.intercept = ({ path, query }) =>
    isForbidden && path.endsWith("/limitranges") && query["watch"] !== undefined
      ? refuse(403, { message: "no" })
      : null;
  await run.advance(90);
  const said = () =>
    run.log.filter(({ message, resource }) => resource === "limitranges" && /atched/.test(String(message)));
  assertEquals(said().length, 1, "a right to list and not to watch is reported once");
  isForbidden = false;
  await run.advance(120);
  assertEquals(said().at(-1)?.message, "Watched, because the right is there now");
  run.kubelet.use({ "web-1": { cpu: 400 } });
  const before = run.resizes.length;
  await run.advance(120);
  assertEquals(run.resizes.length, before);
  assert(run.log.some(({ reason }) => reason === "LimitRange"));
  assertEquals(said().length, 2);
});

/** [sentence, version of the API server, of the kubelet, is the limit lowered] */
const VERSIONS: readonly [string, string, string, boolean][] = [
  ["lowers a memory limit since 1.34", "v1.34.2", "v1.34.2", true],
  ["lowers none under an API server of 1.33", "v1.33.4", "v1.34.2", false],
  ["lowers none on a kubelet of 1.33", "v1.34.2", "v1.33.4", false],
];
for (const [sentence, gitVersion, kubelet, expected] of VERSIONS) {
  Deno.test(`createDaemon() ${sentence} (L33)`, async () => {
    const side = { scaleUpThreshold: 80, scaleDownThreshold: 40, targetUtilization: 60 };
    await using run = new Run({ autoscalers: [autoscalerObject({ policy: { memory: { limits: side } } })] });
    run.kubelet.use({ "web-1": { cpu: 60, memoryMi: 20 } });
    run.api.put("nodes", sizedNode("8", kubelet));
    run.api.intercept = ({ path }) => path.startsWith("/version") ? Response.json({ gitVersion }) : null;
    // After the window in which memory has to be idle. Clauses: L2.
    await run.advance(1200);
    assertEquals(run.resizes.length, expected ? 1 : 0);
    assertEquals(run.log.some(({ reason }) => reason === "Unsupported"), !expected);
  });
}

Deno.test("createDaemon() notices within 10 min that the API server was upgraded, and keeps what it knew without an answer (L33)", async () => {
  const side = { scaleUpThreshold: 80, scaleDownThreshold: 40, targetUtilization: 60 };
  await using run = new Run({ autoscalers: [autoscalerObject({ policy: { memory: { limits: side } } })] });
  run.kubelet.use({ "web-1": { cpu: 60, memoryMi: 20 } });
  run.api.put("nodes", sizedNode("8", "v1.34.2"));
  let gitVersion: string | null = "v1.33.4";
  run.api.intercept = ({ path }) =>
    !path.startsWith("/version")
      ? null
      : gitVersion === null
      ? new Response("", { status: 503 })
      : Response.json({ gitVersion });
  await run.advance(1200);
  gitVersion = null;
  await run.advance(1200);
  assertEquals(run.resizes.length, 0);
  gitVersion = "v1.34.2";
  await run.advance(600 + 60);
  assertEquals(run.resizes.length, 1);
});
