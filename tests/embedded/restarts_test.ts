/**
 * podfit's daemon on a whole embedded cluster under virtual time: a resize that restarts containers takes only some pods
 * of a workload at one time.
 * Clauses: L70, L71.
 */
import { assert, assertEquals } from "#assert";
import { autoscaler, deployment } from "../e2e/support/workloads.ts";
import type { Json } from "../support/api_objects.ts";
import { ClusterRun } from "../support/cluster_run.ts";

const REPLICAS = 10;
const TIMES = { pollInterval: "5s", consecutiveSamples: 1, cooldown: "30s", delay: "0s" };
const SIDE = { scaleUpThreshold: 80, scaleDownThreshold: 20, targetUtilization: 60 };
const RESTARTING = {
  resizePolicy: [{ resourceName: "cpu", restartPolicy: "RestartContainer" }],
  readinessProbe: { httpGet: { path: "/", port: 8080 }, initialDelaySeconds: 8 },
};

async function start(policy: Json = {}): Promise<ClusterRun> {
  const run = await ClusterRun.start({ nodes: [{ cpuMillicores: 8000 }] });
  await run.create(
    deployment("web", {
      replicas: REPLICAS,
      containers: [{ requests: { cpu: "50m" }, cpuMillicores: 100, fields: RESTARTING }],
    }),
    autoscaler("web", {
      target: { kind: "deployment", name: "web" },
      containerName: "main",
      policy: { ...TIMES, cpu: { requests: SIDE }, ...policy },
      bounds: { cpu: { requests: { max: "150m" } } },
    }),
  );
  for (let second = 0; await countReady(run) < REPLICAS; second++) {
    assert(second < 60, "the pods do not become Ready");
    await run.advance(1);
  }
  return run;
}

function isReady({ status }: Json): boolean {
  return status.conditions?.some((one: Json) => one.type === "Ready" && one.status === "True") === true;
}

/** It has the new size in its spec, and the kubelet has yet to restart it. */
function isPending({ spec, status }: Json): boolean {
  return spec.containers[0].resources.requests.cpu !== status.containerStatuses?.[0]?.resources?.requests?.cpu;
}

async function countReady(run: ClusterRun): Promise<number> {
  return (await run.list("pods")).filter(isReady).length;
}

interface Course {
  /** How many pods were down or about to restart at one time, at most. */
  most: number;
  /** How many have restarted with their new size, and are Ready. */
  done: number;
}

/** Looks every half second, until every pod is done or the time is over. */
async function watch(
  run: ClusterRun,
  seconds: number,
  onLook: (pods: readonly Json[]) => Promise<void> = async () => {},
) {
  const course: Course = { most: 0, done: 0 };
  for (let look = 0; look < 2 * seconds && course.done < REPLICAS; look++) {
    const pods = await run.list("pods");
    course.most = Math.max(course.most, pods.filter((one) => !isReady(one) || isPending(one)).length);
    course.done = pods.filter((one) =>
      isReady(one) && !isPending(one) && one.spec.containers[0].resources.requests.cpu === "150m" &&
      one.status.containerStatuses[0].restartCount === 1
    ).length;
    await onLook(pods);
    await run.advance(0.5);
  }
  return course;
}

Deno.test("ten replicas whose resize restarts them are restarted two at a time, each once, and say that they wait (L70)", async () => {
  await using run = await start();
  await using podfit = run.startPodfit();
  assertEquals(await watch(run, 300), { most: 2, done: REPLICAS });
  const told = await run.events("web");
  for (const name of ["ResizeMayRestart", "RestartWaiting", "ScaleUp"]) {
    assert(told.includes(`PodResourceAutoscaler${name}`), `${name} in ${told.join(" ")}`);
  }
  const blocked = await podfit.series("kedify_agent_pra_scale_blocked_total");
  assert(blocked.some((line) => line.includes('reason="MaxUnavailable"')), blocked.join("\n"));
});

Deno.test("policy.maxUnavailable sets how many of ten replicas are restarted at one time (L70)", async () => {
  await using run = await start({ maxUnavailable: 5 });
  await using _podfit = run.startPodfit();
  assertEquals(await watch(run, 300), { most: 5, done: REPLICAS });
});

Deno.test('with policy.maxUnavailable "100%" no replica waits for another (L70)', async () => {
  await using run = await start({ maxUnavailable: "100%" });
  await using podfit = run.startPodfit();
  const { most, done } = await watch(run, 300);
  assert(most > 5, `${most} at one time`);
  assertEquals([done, (await podfit.series("kedify_agent_pra_scale_blocked_total")).length], [REPLICAS, 0]);
});

/** As the controller of PodDisruptionBudgets: it knows of a change a look later. */
async function updateBudget(run: ClusterRun, pods: readonly Json[]): Promise<void> {
  const healthy = pods.filter(isReady).length;
  const status = {
    observedGeneration: 1,
    expectedPods: REPLICAS,
    desiredHealthy: REPLICAS - 1,
    currentHealthy: healthy,
    disruptionsAllowed: Math.max(0, healthy - (REPLICAS - 1)),
  };
  await run.cluster.client.patch("/apis/policy/v1/namespaces/default/poddisruptionbudgets/web/status", "merge", {
    status,
  });
}

/** A budget that allows one of the pods to be down, with its status. */
async function allowOne(run: ClusterRun): Promise<void> {
  await run.create({
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name: "web", generation: 1 },
    spec: { maxUnavailable: 1, selector: { matchLabels: { app: "web" } } },
  });
  await updateBudget(run, await run.list("pods"));
}

Deno.test("a PodDisruptionBudget that allows one has ten replicas restarted one after the other (L71)", async () => {
  await using run = await start();
  await allowOne(run);
  await using podfit = run.startPodfit();
  assertEquals(await watch(run, 600, (pods) => updateBudget(run, pods)), { most: 1, done: REPLICAS });
  const blocked = await podfit.series("kedify_agent_pra_scale_blocked_total");
  assert(blocked.some((line) => line.includes('reason="DisruptionBudget"')), blocked.join("\n"));
});

Deno.test("a PodDisruptionBudget without a status has nothing restarted, unless budgets are ignored (L71)", async () => {
  await using run = await start();
  await run.create({
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name: "web" },
    spec: { minAvailable: 1, selector: { matchLabels: { app: "web" } } },
  });
  {
    await using _podfit = run.startPodfit();
    assertEquals(await watch(run, 60), { most: 0, done: 0 });
  }
  await using podfit = run.startPodfit(undefined, { ignoresDisruptionBudgets: true });
  assertEquals(await watch(run, 300), { most: 2, done: REPLICAS });
  assertEquals(podfit.requests.filter((one) => one.includes("poddisruptionbudgets")), []);
});

Deno.test("without the right to PodDisruptionBudgets nothing is restarted, and podfit says so once (L71)", async () => {
  await using run = await start();
  await using podfit = run.startPodfit(undefined, {
    answer: ({ url }) =>
      url.includes("/poddisruptionbudgets")
        ? Response.json({ kind: "Status", code: 403, reason: "Forbidden", message: "no" }, { status: 403 })
        : null,
  });
  assertEquals(await watch(run, 120), { most: 0, done: 0 });
  assertEquals(podfit.isReady().ok, true);
  const told = podfit.log.filter(({ resource, level }) => resource === "poddisruptionbudgets" && level !== "DEBUG");
  assertEquals(told.map(({ message }) => message), [
    "Not watched, because the right is missing: no resize restarts a container, unless --ignore-disruption-budgets is given",
  ]);
});

Deno.test("a PodDisruptionBudget of which podfit has received nothing for five minutes has nothing restarted (L71)", async () => {
  await using run = await start({ delay: "7m" });
  await allowOne(run);
  let lists = 0;
  await using podfit = run.startPodfit(undefined, {
    answer: ({ url }) =>
      url.includes("/poddisruptionbudgets") && (url.includes("watch=") || ++lists > 1)
        ? Response.json({ kind: "Status", code: 503, message: "down" }, { status: 503 })
        : null,
  });
  assertEquals(await watch(run, 600), { most: 0, done: 0 });
  assertEquals(podfit.isReady().ok, true, "budgets are not needed for the rest");
});
