/**
 * podfit's daemon on a whole embedded cluster, in process under virtual time: its decisions reach containers that
 * use what they are given, and come back as status, events and metrics.
 */
import { assert, assertEquals, assertMatch } from "#assert";
import { autoscaler, deployment, pod } from "../e2e/support/workloads.ts";
import type { Effect } from "../support/embedded/faults.ts";
import type { Json } from "../support/api_objects.ts";
import { ClusterRun } from "../support/cluster_run.ts";

const SIDE = { scaleUpThreshold: 80, scaleDownThreshold: 30, targetUtilization: 60 };
const TIMES = { pollInterval: "5s", consecutiveSamples: 2, cooldown: "30s", delay: "0s" };
const MI = 2 ** 20;

function scaled(name: string, policy: Json, bounds?: Json) {
  const target = { kind: "deployment", name };
  return autoscaler(name, {
    target,
    containerName: "main",
    policy: { ...TIMES, ...policy },
    ...(bounds && { bounds }),
  });
}

Deno.test("C30 C40 C45 C50 C52 a pod follows its load up and down, and every place tells of it", async () => {
  await using run = await ClusterRun.start();
  await run.create(
    deployment("web", { containers: [{ requests: { cpu: "100m" }, limits: { cpu: "1" }, cpuMillicores: 50 }] }),
    scaled("web", { cpu: { requests: SIDE } }, { cpu: { requests: { min: "50m" } } }),
  );
  await run.advance(10);
  await using podfit = run.startPodfit();
  await run.advance(60);
  assertEquals(podfit.lines("Resized pod"), []);
  const [before] = await run.list("pods");
  const container = { namespace: "default", name: before.metadata.name, port: 8080 };

  run.cluster.setLoad(container, { cpuMillicores: 500 });
  await run.advance(120);
  const up = await run.get(`pods/${before.metadata.name}`);
  const request = Number.parseInt(up.status.containerStatuses[0].resources.requests.cpu);
  assert(request >= 790 && request <= 880, `${request}m`);
  assertEquals(up.status.containerStatuses[0].restartCount, 0);
  run.cluster.setLoad(container, { cpuMillicores: 0 });
  await run.advance(120);
  const down = await run.get(`pods/${before.metadata.name}`);
  assertEquals(down.status.containerStatuses[0].resources.requests.cpu, "50m");

  const { status } = await run.get("podresourceautoscalers/web");
  assertEquals([status.lastScaleAction, status.scaling], ["scaleDown", false]);
  const told = (await run.events("web")).map((reason) => reason.replace("PodResourceAutoscaler", ""));
  const count = (name: string) => told.filter((reason) => reason === name).length;
  assertEquals(count("ScaleUp") + count("ScaleDown"), podfit.lines("Resized pod").length);
  assert(count("ScaleUp") >= 1 && count("ScaleDown") >= 1);
  const applied = await podfit.series("kedify_agent_pra_time_to_apply_seconds_count");
  const total = applied.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  assertEquals(total, podfit.lines("Resized pod").length);
  assertEquals(run.errors, []);
});

Deno.test("C41 a resize without room is deferred, and enacted when another pod goes", async () => {
  await using run = await ClusterRun.start({ nodes: [{ cpuMillicores: 1000 }] });
  await run.create(
    deployment("web", { containers: [{ requests: { cpu: "100m" }, cpuMillicores: 300 }] }),
    pod("other", { containers: [{ requests: { cpu: "700m" } }] }),
    scaled("web", { cpu: { requests: SIDE } }),
  );
  await run.advance(10);
  // It does not see what other pods of the node ask for (L30).
  await using podfit = run.startPodfit({ namespaces: ["default"], node: null, pod: null });
  await run.advance(90);
  const { metadata: { name } } = (await run.list("pods")).find(({ metadata }) => metadata.labels.app === "web");
  const waiting = await run.get(`pods/${name}`);
  assertEquals([waiting.status.conditions[0].type, waiting.status.conditions[0].reason], [
    "PodResizePending",
    "Deferred",
  ]);
  assertEquals(waiting.status.containerStatuses[0].resources.requests.cpu, "100m");
  assert(podfit.lines("Blocked").some(({ reason }) => reason === "ResizeDeferred"));
  await run.delete("pods/other");
  await run.advance(10);
  const enacted = await run.get(`pods/${name}`);
  assertEquals(enacted.status.containerStatuses[0].resources.requests, enacted.spec.containers[0].resources.requests);
  assertEquals(enacted.status.conditions.filter(({ type }: Json) => type.startsWith("PodResize")), []);
});

Deno.test("C22 C46 a container that leaks is given more until its bound, then killed, and begins anew", async () => {
  await using run = await ClusterRun.start();
  const leak = { kind: "leak", base: 40 * MI, perHour: 2400 * MI, max: null };
  const manifest = deployment("web", {
    containers: [{ requests: { memory: "64Mi" }, limits: { memory: "128Mi" } }],
    annotations: { "sim.podfit.dev/load": JSON.stringify({ main: { workingSetBytes: leak } }) },
  });
  const side = { memory: { limits: { ...SIDE, scaleDownThreshold: 0 } } };
  await run.create(manifest, scaled("web", side, { memory: { limits: { max: "512Mi" } } }));
  await run.advance(10);
  await using podfit = run.startPodfit();
  await run.advance(1200);
  const [{ status: { containerStatuses: [main] } }] = await run.list("pods");
  assert(main.restartCount >= 1, `${main.restartCount} restarts`);
  assertEquals(main.lastState.terminated.reason, "OOMKilled");
  assertEquals(main.resources.limits.memory, "512Mi");
  const limits = podfit.lines("Resized pod").map(({ change }) => String(change));
  assert(limits.length >= 2, limits.join());
  assertMatch(limits.at(-1) ?? "", /memory\.limits .* -> 512Mi/);
});

Deno.test("C51 while a node is lost its usage is told as missing, and read again when it is back", async () => {
  await using run = await ClusterRun.start();
  await run.create(
    deployment("web", { containers: [{ requests: { cpu: "100m" }, cpuMillicores: 50 }] }),
    scaled("web", { cpu: { requests: SIDE } }),
  );
  await run.advance(10);
  await using podfit = run.startPodfit();
  const readMetrics = async () => {
    const { status } = await run.get("podresourceautoscalers/web");
    const { status: is, message } = status.conditions.find(({ type }: Json) => type === "Metrics");
    return { is, message };
  };
  await run.advance(60);
  assertEquals((await readMetrics()).is, "True");
  await run.cluster.nodes.get("node-1")?.lose();
  await run.advance(90);
  assertEquals((await readMetrics()).is, "False");
  assert(podfit.log.some(({ message }) => /Cannot read usage of node "node-1" at https:.*timed out/.test(message)));
  run.cluster.nodes.get("node-1")?.comeBack();
  await run.advance(60);
  assertEquals((await readMetrics()).is, "True");
});

const FAULTS: readonly (readonly [string, Effect, RegExp])[] = [
  ["hangs", { kind: "hang" }, /timed out/],
  ["breaks connections", { kind: "disconnect" }, /connection reset/],
  ["is cut off", { kind: "truncate", bytes: 100 }, /connection reset/],
  ["gives garbage", { kind: "garbage", text: "<html>" }, /not JSON/],
  ["is out of order", { kind: "refuse", code: 500, message: "Internal Error" }, /500 Internal Error/],
];

Deno.test("C51 a kubelet that fails in any way is told of in its words, and read again when it is well", async (t) => {
  await using run = await ClusterRun.start();
  await run.create(
    deployment("web", { containers: [{ requests: { cpu: "100m" }, cpuMillicores: 50 }] }),
    scaled("web", { cpu: { requests: SIDE } }),
  );
  await run.advance(10);
  await using podfit = run.startPodfit();
  await run.advance(60);
  for (const [what, effect, words] of FAULTS) {
    await t.step(what, async () => {
      const since = podfit.log.length;
      const fault = run.cluster.faultsOf("node-1").add({ path: /^\/stats/, effect });
      await run.advance(90);
      const told = podfit.log.slice(since).filter(({ level }) => level === "WARN").map(({ message }) => message);
      assert(told.some((line) => words.test(line)), told.join("\n"));
      fault[Symbol.dispose]();
      await run.advance(60);
      const { status } = await run.get("podresourceautoscalers/web");
      assertEquals(status.conditions.find(({ type }: Json) => type === "Metrics").status, "True");
    });
  }
});

Deno.test("an hour of a node with ten pods and podfit passes in seconds", async () => {
  await using run = await ClusterRun.start();
  const containers = [{ requests: { cpu: "100m", memory: "64Mi" }, limits: { memory: "128Mi" }, cpuMillicores: 60 }];
  await run.create(deployment("web", { containers, replicas: 10 }), scaled("web", { cpu: { requests: SIDE } }));
  await run.advance(10);
  await using _podfit = run.startPodfit();
  const startedAt = performance.now();
  await run.advance(3600);
  const tookMs = performance.now() - startedAt;
  assertEquals((await run.pods()).filter((line) => line.endsWith("ready")).length, 10);
  // On an idle core 2 s; the machine of a test has others to serve too.
  assert(tookMs < 20_000, `${Math.round(tookMs)} ms`);
});
