/** The lists that podfit needs before it sets replicas, also those of autoscalers of the same pods. */
import { assert, assertEquals } from "#assert";
import { autoscaler, deployment } from "../../e2e/support/workloads.ts";
import { WHOLE_CLUSTER } from "../../../lib/daemon/cluster/facts.ts";
import type { Json } from "../../support/api_objects.ts";
import { ClusterRun } from "../../support/cluster_run.ts";
import {
  CPU_50,
  refuseList,
  replicasBy,
  ReplicasRun,
  scaledObject,
  workloadTrigger,
} from "../../support/replicas_run.ts";

const NOBODY = () => Promise.resolve({ kind: "failed", message: "nobody is there", isEmpty: false } as const);

Deno.test("nothing is scaled while it is not known who resizes the pods: their size would be the wrong yardstick (R80, R81)", async () => {
  await using run = await ClusterRun.start();
  await run.defineKeda();
  await run.create(
    deployment("web", { containers: [{ requests: { cpu: "100m" } }], replicas: 2 }),
    autoscaler("web", {
      target: { kind: "deployment", name: "web" },
      profile: "balanced",
      containerName: "*",
      bounds: { cpu: { requests: { min: "100m", max: "1" } } },
    }),
    scaledObject("web", [CPU_50], { spec: { minReplicaCount: 1, maxReplicaCount: 20 } }),
  );
  run.cluster.setWorkloadLoad({ namespace: "default", labels: { app: "web" } }, { cpuMillicores: 600 });
  await run.advance(60);
  const fault = { path: /podresourceautoscalers/, effect: { kind: "refuse", code: 500, message: "etcd" } } as const;
  const refusal = run.cluster.api.faults.add(fault);
  await using podfit = run.startPodfit(WHOLE_CLUSTER, { replicas: replicasBy(NOBODY) });
  await run.advance(180);
  assertEquals(await readReplicas(run), 2);
  assertEquals(podfit.requests.filter((one) => one.startsWith("PUT ")), []);
  refusal[Symbol.dispose]();
  await run.advance(180);
  const sized = await run.get("podresourceautoscalers/web");
  assert(sized.status?.lastScaleTime !== undefined, "sizes follow once it is known");
  assertEquals(await readReplicas(run), 2, "vertical first");
});

Deno.test("a scale that podfit watches is asked for at the start, after each write and every 5 min, and changes by hand are seen (R30)", async () => {
  await using run = await ReplicasRun.start([
    deployment("web", { containers: [{ requests: { cpu: "100m" } }], replicas: 2 }),
    deployment("jobs", { containers: [{ requests: { cpu: "100m" } }], replicas: 3 }),
    scaledObject("web", [workloadTrigger("app=jobs")], { spec: { minReplicaCount: 1, maxReplicaCount: 9 } }),
  ]);
  await run.advance(90);
  assertEquals(await run.replicas(), 3);
  const countReads = () => run.podfit.requests.filter((one) => /^GET .*\/deployments\/web\/scale/.test(one)).length;
  const settled = countReads();
  assert(settled <= 4, `${settled}`);
  // 25 checks of two loops.
  await run.advance(280);
  assert(countReads() <= settled + 1, `${countReads()} after ${settled}`);
  // A change by hand is seen at the next check.
  await run.cluster.patch("deployments/web", { spec: { replicas: 6 } });
  await run.advance(30);
  assertEquals(run.writes.length, 2);
});

for (const list of ["podresourceautoscalers", "horizontalpodautoscalers", "scaledobjects"]) {
  Deno.test(`conditions say that the list of ${list} is stale, and are as before once it is fresh (R91)`, async () => {
    let isRefused = false;
    await using run = await ReplicasRun.start([
      deployment("web", { containers: [{ requests: { cpu: "100m" } }], replicas: 2 }),
      deployment("jobs", { containers: [{ requests: { cpu: "100m" } }], replicas: 2 }),
      scaledObject("web", [workloadTrigger("app=jobs")], { spec: { minReplicaCount: 1, maxReplicaCount: 9 } }),
    ], { answer: (request) => isRefused ? refuseList(request, list) : null });
    await run.advance(120);
    const readConditions = async () => (await run.cluster.get("scaledobjects/web")).status.conditions;
    const before = await readConditions();
    isRefused = true;
    run.cluster.cluster.api.faults.closeWatches(new RegExp(`/${list}$`));
    await run.advance(240);
    assertEquals(await readConditions(), before, "not stale yet");
    await run.cluster.patch("deployments/jobs", { spec: { replicas: 8 } });
    await run.advance(20);
    await run.cluster.patch("deployments/jobs", { spec: { replicas: 2 } });
    for (let minute = 0; minute < 10; minute++) await run.advance(60);
    const message = `nothing was heard of ${list} from the API server for minutes, and replicas are left as they are ` +
      "until something is: podfit's log says why";
    const unknown = { status: "Unknown", reason: "UnknownState", message };
    assertEquals(await readConditions(), [
      { type: "Ready", ...unknown },
      { type: "Active", ...unknown },
      ...before.filter(({ type }: Json) => type === "Fallback" || type === "Paused"),
      { type: "HPAActive", ...unknown },
    ]);
    isRefused = false;
    await run.advance(120);
    assertEquals([await run.condition("web", "Ready"), await run.condition("web", "Active")], [
      "True ScaledObjectReady",
      "True ScalerActive",
    ]);
    assertEquals(await run.condition("web", "HPAActive"), "True HPAActive");
  });
}

async function readReplicas(run: ClusterRun): Promise<number> {
  return (await run.get("deployments/web")).spec.replicas;
}

Deno.test("an object that took the name of another while its list was stale gets no status of the other (R57, R91)", async () => {
  let isRefused = false;
  const spec = { minReplicaCount: 5, advanced: { restoreToOriginalReplicaCount: true } };
  const toObject = () => scaledObject("web", [workloadTrigger("app=none")], { spec });
  await using run = await ReplicasRun.start([
    deployment("web", { containers: [{ requests: { cpu: "100m" } }], replicas: 3 }),
    toObject(),
  ], { answer: (request) => isRefused ? refuseList(request, "scaledobjects") : null });
  await run.advance(60);
  const { status: old } = await run.cluster.get("scaledobjects/web");
  assertEquals(old.originalReplicaCount, 3);
  isRefused = true;
  run.cluster.cluster.api.faults.closeWatches(/\/scaledobjects$/);
  await run.advance(270);
  await run.cluster.patch("scaledobjects/web", { metadata: { finalizers: null } });
  await run.cluster.delete("scaledobjects/web");
  await run.cluster.create(toObject());
  for (let minute = 0; minute < 8; minute++) await run.advance(60);
  const refused = run.podfit.log.filter(({ message }) => String(message).includes("Cannot write status"));
  const { status = {} } = await run.cluster.get("scaledobjects/web");
  assertEquals([status.originalReplicaCount, status.conditions, refused], [undefined, undefined, []]);
});
