/** How metrics.k8s.io is asked for the usage of many nodes, what is made of the answer, and what is said of none (C54). */
import { assert, assertEquals, assertStringIncludes } from "#assert";
import type { Reading } from "../../../lib/api/usage.ts";
import type { Transport } from "../../../lib/kube/transport.ts";
import { VIRTUAL_START_AT, VirtualClock } from "../../support/virtual_clock.ts";
import { type MetricsApiOptions, openMetricsApi } from "../../../lib/usage/metrics_api/watch.ts";
import type { UsagePod } from "../../../lib/usage/source.ts";

const ALL = { namespaces: null, node: null, pod: null };
const API = "/apis/metrics.k8s.io/v1beta1";

Deno.test("one list serves hundreds of nodes, each fifteen seconds, however often they are polled (C54)", async () => {
  await using run = start({});
  for (let index = 0; index < 300; index++) run.watch(`n${index}`, { intervalMs: index % 2 === 0 ? 15_000 : 1000 });
  await run.clock.advance(60_000);
  assertEquals(new Set(run.asked), new Set([`${API}/pods`]));
  assert(run.asked.length >= 4 && run.asked.length <= 5, `${run.asked.length} lists`);
  assertEquals(run.readings.filter(({ kind }) => kind === "failed"), []);
  assert(run.readings.filter(({ node }) => node === "n0").length >= 4);
});

Deno.test("a point is a rate with its window, without what the source does not know (C46, C54)", async () => {
  await using run = start({});
  run.watch("n1", { pods: [pod("web")] });
  await run.clock.advance(15_000);
  const [reading] = run.readings;
  assert(reading?.kind === "usage");
  assertEquals([...reading.pods], [["uid-web", {
    usageBytes: null,
    points: [{
      container: "main",
      instance: "metrics.k8s.io containerd://web",
      at: VIRTUAL_START_AT,
      resolutionMs: 1000,
      cpu: { kind: "rate", millicores: 100, windowMs: 15_000 },
      workingSetBytes: 2 ** 20,
      usageBytes: null,
      pressure: null,
    }],
  }]]);
});

Deno.test("a pod that is missing in the list, or of whose container it is too early, has no point, and nothing fails (C54)", async () => {
  await using run = start({});
  const [container] = pod("web").containers;
  const cases: readonly UsagePod[] = [
    pod("unknown"),
    { ...pod("web"), containers: [{ name: "main", instance: "containerd://new", runningAt: VIRTUAL_START_AT - 7000 }] },
    { ...pod("web"), containers: [{ name: "main", instance: null, runningAt: 1 }] },
    { ...pod("web"), containers: [{ name: "main", instance: "containerd://web", runningAt: null }] },
    { ...pod("web"), containers: [{ name: "other", instance: "containerd://web", runningAt: 1 }] },
  ];
  for (const [index, one] of cases.entries()) run.watch(`n${index}`, { pods: [one] });
  // Half of the window lies after its start.
  run.watch("n9", {
    pods: [{ ...pod("web"), containers: [{ name: "main", instance: "x", runningAt: VIRTUAL_START_AT - 7500 }] }],
  });
  await run.clock.advance(15_000);
  assertEquals(container?.name, "main");
  assertEquals(run.readings.map((one) => one.kind === "usage" && one.pods.size), [0, 0, 0, 0, 0, 1]);
});

Deno.test("what is implausible is counted once for each list, however short the interval, and a clock ahead of podfit's is told (C54)", async () => {
  await using run = start({
    answer: () =>
      Response.json({ items: [item("web", { timestamp: VIRTUAL_START_AT + 60_000, cpu: "12Q" }), item("db")] }),
  });
  run.watch("n1", { pods: [pod("web"), pod("db")], intervalMs: 5000 });
  await run.clock.advance(15_000);
  assertEquals(run.readings.map((one) => one.kind === "usage" && one.skipped), [1]);
  assertEquals(run.readings.map((one) => one.kind === "usage" && one.clockOffsetMs > 40_000), [true]);
});

Deno.test("a watch that begins later, at another interval, gets a list that has its pods, and one failure is one reading (C54)", async () => {
  let fails = false;
  await using run = start({
    answer: () => fails ? refuse(503, {}) : Response.json({ items: [item("web"), item("db")] }),
  });
  run.watch("n1", { pods: [pod("web")], intervalMs: 5000 });
  await run.clock.advance(21_000);
  run.watch("n2", { pods: [pod("db")], intervalMs: 10_000 });
  await run.clock.advance(15_000);
  assertEquals(run.readings.map((one) => [one.node, one.kind === "usage" && one.pods.size]), [
    ["n1", 1],
    ["n1", 1],
    ["n2", 1],
  ]);
  fails = true;
  await run.clock.advance(15_000);
  fails = false;
  await run.clock.advance(15_000);
  assertEquals(run.readings.slice(3).map(({ node, kind }) => `${node} ${kind}`).sort(), [
    "n1 failed",
    "n1 usage",
    "n2 failed",
    "n2 usage",
  ]);
});

Deno.test("of some namespaces each is listed by itself, of one node those that its pods are in (C54)", async () => {
  for (const scope of [{ ...ALL, namespaces: ["default", "shop", "empty"] }, { ...ALL, node: "n1" }]) {
    await using run = start({ scope });
    run.watch("n1", { pods: [pod("web"), pod("db"), pod("cart", "shop")] });
    run.watch("n2", { pods: [pod("web2")] });
    await run.clock.advance(15_000);
    assertEquals(run.asked, [`${API}/namespaces/default/pods`, `${API}/namespaces/shop/pods`]);
    const reading = run.readings.find(({ node }) => node === "n1");
    assertEquals(reading?.kind === "usage" && [...reading.pods.keys()], ["uid-web", "uid-db", "uid-cart"]);
  }
});

Deno.test("the pods of all nodes are gone through once for all namespaces, and anew fifteen seconds later (C54)", async () => {
  const namespaces = ["a", "b", "c", "d"];
  const items = namespaces.map((namespace) => item(`web-${namespace}`, { namespace }));
  await using run = start({ scope: { ...ALL, namespaces }, answer: () => Response.json({ items }) });
  const pods = [pod("web-a", "a"), pod("web-b", "b")];
  run.watch("n1", { pods });
  run.watch("n2", { pods: [pod("web-c", "c"), pod("web-d", "d")] });
  await run.clock.advance(15_000);
  assertEquals(run.asked.length, 4);
  // Each node's own reading goes through its pods too.
  assertEquals(run.goneThrough(), 2 + 2);
  pods.push(pod("web-c", "c"));
  await run.clock.advance(15_000);
  assertEquals(run.goneThrough(), 2 * (2 + 2));
  assertEquals(run.readings.map((one) => one.kind === "usage" && one.pods.size), [2, 2, 3, 2]);
});

Deno.test("a sidecar gets its own pod, which is missing while it is young (C54)", async () => {
  let isThere = false;
  await using run = start({
    scope: { ...ALL, pod: { namespace: "default", name: "web" } },
    answer: () => isThere ? Response.json(item("web")) : refuse(404, { details: { name: "default/web" } }),
  });
  run.watch("n1", { pods: [pod("web")] });
  await run.clock.advance(15_000);
  isThere = true;
  await run.clock.advance(15_000);
  assertEquals(run.asked.slice(0, 1), [`${API}/namespaces/default/pods/web`]);
  assertEquals(run.readings.map((one) => one.kind === "usage" && one.pods.size), [0, 1]);
});

const FAILURES: Readonly<
  Record<string, readonly [answer: () => Response | Promise<Response>, reason: string, why: string]>
> = {
  "no metrics-server": [
    () => new Response("404 page not found\n", { status: 404 }),
    "http",
    "404 404 page not found; install metrics-server, or choose another --stats-source, such as kubelet",
  ],
  "no such resource in its group": [
    () => refuse(404, { message: "the server could not find the requested resource", details: {} }),
    "http",
    "install metrics-server",
  ],
  "a metrics-server that is down": [
    () => refuse(503, { message: "service unavailable" }),
    "http",
    "503 service unavailable; look at `kubectl get apiservice v1beta1.metrics.k8s.io` and at metrics-server",
  ],
  "no right": [
    () => refuse(403, { message: "pods.metrics.k8s.io is forbidden" }),
    "forbidden",
    '403 pods.metrics.k8s.io is forbidden; grant that user the verb "list" on "pods" of API group "metrics.k8s.io" in a ClusterRole',
  ],
  "no credential": [() => refuse(401, { message: "Unauthorized" }), "unauthorized", "check podfit's credential"],
  "a redirect": [() => new Response(null, { status: 307, headers: { location: "/x" } }), "http", "307"],
  "another document": [() => new Response("<html>"), "malformed", 'the answer is not a PodMetricsList: unexpected "<"'],
  "too much": [() => new Response(" ".repeat(5000)), "too_large", "the answer has more than 4096 bytes"],
  "no answer in time": [() => new Promise<Response>(() => {}), "timeout", "no answer within 10 s"],
  "no connection": [() => Promise.reject(new TypeError("refused")), "unreachable", "refused"],
};
for (const [what, [answer, reason, why]] of Object.entries(FAILURES)) {
  Deno.test(`${what} is said of each node in words that stay the same, and asked again after fifteen seconds`, async () => {
    await using run = start({ answer, limitBytes: 4096 });
    for (const name of ["n1", "n2"]) run.watch(name, { pods: [pod("web")] });
    await run.clock.advance(40_000);
    assert(run.asked.length <= 3, `asked ${run.asked.length} times`);
    for (const name of ["n1", "n2"]) {
      const own = run.readings.filter(({ node }) => node === name);
      assert(own.length >= 2);
      assertEquals(new Set(own.map((one) => one.kind === "failed" ? one.message : "it did not fail")).size, 1);
      const [first] = own;
      assert(first?.kind === "failed");
      assertEquals(first.reason, reason);
      assertStringIncludes(first.message, `Cannot read usage of node "${name}" from metrics.k8s.io: `);
      assertStringIncludes(first.message, why);
    }
  });
}

Deno.test("of several namespaces one that may not be read keeps nothing of the others away, and is told once (C54)", async () => {
  let mayRead = false;
  const told: string[] = [];
  await using run = start({
    scope: { ...ALL, namespaces: ["default", "shop"] },
    answer: (path) => path.includes("/shop/") && !mayRead ? refuse(403, {}) : Response.json({ items: ITEMS }),
    onNamespace: (namespace, why) => told.push(`${namespace}: ${why}`),
  });
  run.watch("n1", { pods: [pod("web"), pod("cart", "shop")] });
  run.watch("n2", { pods: [pod("cart", "shop")] });
  await run.clock.advance(45_000);
  const [both, refused] = ["n1", "n2"].map((name) => run.readings.find(({ node }) => node === name));
  assertEquals(both?.kind === "usage" && [...both.pods.keys()], ["uid-web"]);
  assert(refused?.kind === "failed" && refused.message.includes('in a Role of namespace "shop", or a ClusterRole'));
  assertEquals(told.length, 1);
  assertStringIncludes(told[0] ?? "", 'shop: 403 no; grant that user the verb "list"');
  mayRead = true;
  await run.clock.advance(45_000);
  assertEquals(told.slice(1), ["shop: null"]);
});

Deno.test("usage that was not asked for is not believed: of another namespace, or another pod (C54)", async () => {
  await using run = start({
    scope: { ...ALL, namespaces: ["default", "shop"] },
    answer: (path) => Response.json({ items: path.includes("/default/") ? ITEMS : [] }),
  });
  run.watch("n1", { pods: [pod("web"), pod("cart", "shop")] });
  await using sidecar = start({
    scope: { ...ALL, pod: { namespace: "default", name: "web" } },
    answer: () => Response.json(item("db")),
  });
  sidecar.watch("n1", { pods: [pod("web"), pod("db")] });
  for (const { clock } of [run, sidecar]) await clock.advance(15_000);
  const read = ({ readings: [one] }: typeof run) => one?.kind === "usage" ? [...one.pods.keys()] : one;
  assertEquals([read(run), read(sidecar)], [["uid-web"], []]);
});

Deno.test("a watch ends at once while its list is waited for, and the source ends what it has asked", async () => {
  const run = start({ answer: () => new Promise<Response>(() => {}) });
  run.watch("n1", { pods: [pod("web")] });
  await run.clock.advance(15_000);
  assertEquals(run.asked.length, 1);
  await run[Symbol.asyncDispose]();
  assertEquals([run.readings, run.clock.pending], [[], 0]);
});

function pod(name: string, namespace = "default"): UsagePod {
  const containers = [{ name: "main", instance: `containerd://${name}`, runningAt: VIRTUAL_START_AT - 60_000 }];
  return { uid: `uid-${name}`, namespace, name, qosClass: "Burstable", containers };
}

function item(name: string, { namespace = "default", timestamp = VIRTUAL_START_AT, cpu = "100m" } = {}) {
  return {
    metadata: { name, namespace },
    timestamp: new Date(timestamp).toISOString(),
    window: "15s",
    containers: [{ name: "main", usage: { cpu, memory: "1Mi" } }],
  };
}

function refuse(code: number, status: Readonly<Record<string, unknown>>): Response {
  return Response.json({ kind: "Status", code, message: "no", ...status }, { status: code });
}

const ITEMS = [item("web"), item("db"), item("web2"), item("cart", { namespace: "shop" })];

function start(
  { answer = () => Response.json({ items: ITEMS }), scope = ALL, ...options }:
    & { readonly answer?: (path: string) => Response | Promise<Response> }
    & Partial<MetricsApiOptions>,
) {
  const clock = new VirtualClock();
  const ending = new AbortController();
  const asked: string[] = [];
  const readings: Reading[] = [];
  const watches: Promise<void>[] = [];
  let goneThrough = 0;
  const transport: Transport = (request) => {
    const path = new URL(request.url).pathname;
    asked.push(path);
    return new Promise((resolve, reject) => {
      request.signal.addEventListener("abort", () => reject(request.signal.reason));
      Promise.resolve(answer(path)).then(resolve, reject);
    });
  };
  const server = { origin: "https://api", transport };
  const source = openMetricsApi({ server, clock, scope, random: () => 0.5, ...options });
  async function read(name: string, pods: readonly UsagePod[], intervalMs: number): Promise<void> {
    const node = { name, getAddress: () => ({ addresses: null, port: 0, maxPods: null }) };
    const watch = {
      interval: () => intervalMs,
      isTracked: () => true,
      pods: () => (goneThrough++, pods),
      signal: ending.signal,
    };
    for await (const reading of source.watchUsage(node, watch)) readings.push(reading);
  }
  return {
    clock,
    asked,
    readings,
    goneThrough: () => goneThrough,
    watch(name: string, { pods = [], intervalMs = 15_000 }: { pods?: readonly UsagePod[]; intervalMs?: number } = {}) {
      watches.push(read(name, pods, intervalMs));
    },
    async [Symbol.asyncDispose]() {
      ending.abort();
      source[Symbol.dispose]();
      await Promise.all(watches);
    },
  };
}
