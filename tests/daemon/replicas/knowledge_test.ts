/** The lists that podfit needs before it sets replicas, also those of autoscalers of the same pods. */
import { assert, assertEquals } from "#assert";
import { autoscaler, deployment } from "../../e2e/support/workloads.ts";
import { WHOLE_CLUSTER } from "../../../lib/daemon/cluster/facts.ts";
import { ClusterRun } from "../../support/cluster_run.ts";
import { CPU_50, replicasBy, scaledObject } from "../../support/replicas_run.ts";

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

async function readReplicas(run: ClusterRun): Promise<number> {
  return (await run.get("deployments/web")).spec.replicas;
}
