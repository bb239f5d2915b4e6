/**
 * podfit's daemon on a whole embedded cluster under virtual time: what node and namespace have left is known before
 * a PATCH, and what does not fit holds nothing else up.
 */
import { assert, assertEquals } from "#assert";
import { autoscaler, type LoadContainer, pod } from "../e2e/support/workloads.ts";
import { limitRange, quota } from "../e2e/support/quotas.ts";
import type { Json } from "../support/api_objects.ts";
import { ClusterRun, type PodfitRun } from "../support/cluster_run.ts";

const SIDE = { scaleUpThreshold: 80, scaleDownThreshold: 30, targetUtilization: 60 };
const TIMES = { pollInterval: "5s", consecutiveSamples: 2, cooldown: "30s", delay: "0s" };
const BOTH = { requests: SIDE, limits: { ...SIDE, scaleUpThreshold: 90, targetUtilization: 70 } };
const IN_NAMESPACE = { namespaces: ["default"], node: null, pod: null };

/** Up to what fits the bounds exactly, so that the sizes are known. */
const MOST = { cpu: { requests: { max: "500m" }, limits: { max: "800m" } } };

function scaled(name: string, policy: Json) {
  const selector = { matchLabels: { app: name } };
  const bounds = policy.cpu === undefined ? {} : { bounds: MOST };
  return autoscaler(name, { selector, containerName: "main", policy: { ...TIMES, ...policy }, ...bounds });
}

function busy(name: string, container: LoadContainer) {
  return pod(name, { containers: [container] });
}

/** `requests 100m, limits 200m` of the container "main", in force. */
async function read(run: ClusterRun, name: string): Promise<Record<"requests" | "limits", Json>> {
  const { status } = await run.get(`pods/${name}`);
  return status.containerStatuses[0].resources;
}

async function countPatches(run: ClusterRun, name: string): Promise<number> {
  return (await run.get(`pods/${name}`)).metadata.generation - 1;
}

async function events(run: ClusterRun, name: string): Promise<readonly string[]> {
  return (await run.list("events")).filter(({ involvedObject: { kind, name: about } }: Json) =>
    kind === "PodResourceAutoscaler" && about === name
  ).map(({ reason, message }: Json) => `${reason.replace("PodResourceAutoscaler", "")} ${message}`);
}

async function isRefused(podfit: PodfitRun): Promise<boolean> {
  return (await podfit.series("kedify_agent_pra_error_total")).length > 0;
}

Deno.test("L30 L31 a request that does not fit the node is fitted into it, and its limit is raised as far as it needs", async () => {
  await using run = await ClusterRun.start({ nodes: [{ cpuMillicores: 1000 }] });
  await run.create(
    busy("web", { requests: { cpu: "100m" }, limits: { cpu: "200m" }, cpuMillicores: 700 }),
    busy("other", { requests: { cpu: "870m" } }),
    scaled("web", { cpu: BOTH }),
  );
  await run.advance(10);
  await using podfit = run.startPodfit();
  await run.advance(900);
  const { requests, limits } = await read(run, "web");
  assertEquals(requests.cpu, "130m", "the 30m that the node had left");
  assertEquals(limits.cpu, "800m", "its bound");
  assertEquals(
    (await run.get("pods/web")).status.conditions.filter(({ type }: Json) => type === "PodResizePending"),
    [],
  );
  const told = (await events(run, "web")).filter((event) => event.startsWith("ScaleFailed"));
  assertEquals(told.length, 1, told.join("\n"));
  assert(told[0]?.includes("(NodeCapacity): cpu.requests stays at 130m: the node has room for 0 more"), told[0]);
  assertEquals(await isRefused(podfit), false);
  assert(
    (await events(run, "web")).some((event) =>
      event.includes("cpu.requests 100m -> 130m") && event.includes("capped by node")
    ),
  );
});

Deno.test("L30 a request that waits for room goes as soon as there is some, without a look at the clock", async () => {
  await using run = await ClusterRun.start({ nodes: [{ cpuMillicores: 1000 }] });
  await run.create(
    busy("web", { requests: { cpu: "100m" }, cpuMillicores: 330 }),
    busy("other", { requests: { cpu: "896m" } }),
    scaled("web", { cpu: { requests: SIDE }, pollInterval: "60s" }),
  );
  await run.advance(10);
  await using podfit = run.startPodfit();
  await run.advance(400);
  assertEquals([await countPatches(run, "web"), (await read(run, "web")).requests.cpu], [0, "100m"]);
  assert(podfit.lines("Blocked").some(({ reason }) => reason === "NodeCapacity"));
  await run.delete("pods/other");
  await run.advance(5);
  assertEquals([await countPatches(run, "web"), (await read(run, "web")).requests.cpu], [1, "500m"]);
});

Deno.test("L30 two pods of one node that want the same room at once do not both get it", async () => {
  await using run = await ClusterRun.start({ nodes: [{ cpuMillicores: 1000 }] });
  await run.create(
    busy("a", { requests: { cpu: "100m" }, cpuMillicores: 330 }),
    busy("b", { requests: { cpu: "100m" }, cpuMillicores: 330 }),
    busy("other", { requests: { cpu: "300m" } }),
    scaled("a", { cpu: { requests: SIDE } }),
    scaled("b", { cpu: { requests: SIDE } }),
  );
  await run.advance(10);
  await using podfit = run.startPodfit();
  await run.advance(300);
  const sizes = await Promise.all(["a", "b"].map(async (name) => (await read(run, name)).requests.cpu));
  assertEquals(sizes.sort(), ["200m", "500m"], "together what the node has");
  assert(!podfit.log.some(({ reason }) => reason === "ResizeDeferred"));
});

Deno.test("L30 where the scope does not see all pods of a node its room is unknown, and the kubelet is believed", async () => {
  await using run = await ClusterRun.start({ nodes: [{ cpuMillicores: 1000 }] });
  await run.create(
    busy("web", { requests: { cpu: "100m" }, cpuMillicores: 330 }),
    busy("other", { requests: { cpu: "880m" } }),
    scaled("web", { cpu: { requests: SIDE } }),
  );
  await run.advance(10);
  await using podfit = run.startPodfit(IN_NAMESPACE);
  await run.advance(60);
  const { status } = await run.get("pods/web");
  assertEquals(status.conditions[0].type, "PodResizePending");
  assert(podfit.lines("Blocked").some(({ reason }) => reason === "ResizeDeferred"));
});

Deno.test("L31 a request that waits at the kubelet goes back together with the limit that can go, and waits alone", async () => {
  await using run = await ClusterRun.start({ nodes: [{ cpuMillicores: 1000 }] });
  await run.create(
    busy("web", { requests: { cpu: "100m" }, limits: { cpu: "400m" }, cpuMillicores: 350 }),
    busy("other", { requests: { cpu: "880m" } }),
    scaled("web", { cpu: { requests: SIDE, limits: { ...SIDE, scaleUpThreshold: 95, targetUtilization: 50 } } }),
  );
  await run.advance(10);
  await using podfit = run.startPodfit(IN_NAMESPACE);
  await run.advance(40);
  assertEquals((await run.get("pods/web")).spec.containers[0].resources.requests.cpu, "400m");
  assertEquals(await read(run, "web"), { requests: { cpu: "100m" }, limits: { cpu: "400m" } });
  run.cluster.setLoad({ namespace: "default", name: "web", port: 8080 }, { cpuMillicores: 900 });
  await run.advance(60);
  assertEquals(await read(run, "web"), { requests: { cpu: "100m" }, limits: { cpu: "800m" } });
  const changes = podfit.lines("Resized pod").map(({ change }) => change);
  assertEquals(changes.slice(0, 2), ["cpu.requests 100m -> 400m", "cpu.limits 400m -> 800m"]);
});

Deno.test("L32 limit ranges and quotas cap sizes like bounds, and nothing is refused", async () => {
  await using run = await ClusterRun.start();
  await run.create(
    busy("ranged", { requests: { memory: "64Mi" }, limits: { memory: "128Mi" }, memoryMiB: 120 }),
    busy("metered", { requests: { cpu: "100m", memory: "16Mi" }, limits: { memory: "128Mi" }, cpuMillicores: 330 }),
  );
  await run.advance(10);
  await run.create(
    limitRange("sizes", { type: "Container", min: { memory: "16Mi" }, max: { memory: "150Mi" } }),
    quota("cpu", { "requests.cpu": "350m" }),
    scaled("ranged", { memory: { limits: { ...SIDE, scaleDownThreshold: 0 } } }),
    scaled("metered", { cpu: { requests: SIDE } }),
  );
  await run.advance(5);
  await using podfit = run.startPodfit();
  await run.advance(300);
  assertEquals((await read(run, "ranged")).limits.memory, "150Mi");
  assertEquals((await read(run, "metered")).requests.cpu, "350m");
  for (const [name, words] of [["ranged", "(LimitRange)"], ["metered", "(Quota)"]] as const) {
    const told = (await events(run, name)).filter((event) => event.startsWith("ScaleFailed"));
    assertEquals(told.length, 1, told.join("\n"));
    assert(told[0]?.includes(words), told[0]);
  }
  assertEquals(await isRefused(podfit), false);
  await run.patch("resourcequotas/cpu", { spec: { hard: { "requests.cpu": "2" } } });
  await run.advance(60);
  assertEquals((await read(run, "metered")).requests.cpu, "500m");
});

Deno.test("L32 a resize to which a limit range would add its defaults is held", async () => {
  await using run = await ClusterRun.start();
  await run.create(busy("web", { requests: { cpu: "100m" }, cpuMillicores: 330 }));
  await run.advance(10);
  await run.create(
    limitRange("defaults", { type: "Container", max: { memory: "1Gi" } }),
    scaled("web", { cpu: { requests: SIDE } }),
  );
  await using podfit = run.startPodfit();
  await run.advance(60);
  assertEquals([await countPatches(run, "web"), await isRefused(podfit)], [0, false]);
  const told = (await events(run, "web")).filter((event) => event.includes("(LimitRange)"));
  assertEquals(told.length, 1);
  assert(told[0]?.includes('limit range "defaults" would add its default of memory.requests'), told[0]);
  await run.delete("limitranges/defaults");
  await run.advance(30);
  assertEquals((await read(run, "web")).requests.cpu, "500m");
});
