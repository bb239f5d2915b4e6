/**
 * When objects start that appear at the same time.
 * Clauses: R7.
 */
import { assert, assertEquals } from "#assert";
import { WHOLE_CLUSTER } from "../../../lib/daemon/cluster/facts.ts";
import { createReplicasManager, createStartDelays } from "../../../lib/daemon/replicas/manager.ts";
import { deployment } from "../../e2e/support/workloads.ts";
import { ClusterRun } from "../../support/cluster_run.ts";
import { replicasBy, scaledObject, workloadTrigger } from "../../support/replicas_run.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";

Deno.test("an object that appears by itself begins at once", async () => {
  const clock = new VirtualClock();
  const readWait = createStartDelays(clock);
  assertEquals(readWait(), 0);
  await clock.advance(1_000);
  assertEquals(readWait(), 0);
});

Deno.test("objects that appear together begin one after the other, all within the period of ticks (R7)", () => {
  const readWait = createStartDelays(new VirtualClock());
  const waits = Array.from({ length: 4_000 }, readWait);
  assertEquals(waits.slice(0, 3), [0, 10, 20]);
  assert(waits.every((ms) => ms >= 0 && ms < 15_000));
  const begun = new Map<number, number>();
  for (const ms of waits) begun.set(ms, (begun.get(ms) ?? 0) + 1);
  assertEquals([...begun.values()].toSorted().at(-1), 3);
});

Deno.test("an object whose controller failed starts again within a minute, though the wall clock was set back by an hour (R7)", async () => {
  await using cluster = await ClusterRun.start();
  await cluster.defineKeda();
  const size = { containers: [{ requests: { cpu: "100m" } }] };
  await cluster.create(
    deployment("web", { ...size, replicas: 1 }),
    deployment("jobs", { ...size, replicas: 3 }),
    scaledObject("web", [workloadTrigger("app=jobs")], { spec: { minReplicaCount: 1 } }),
  );
  await cluster.advance(10);
  let failures = 0;
  const create: typeof createReplicasManager = (options) => {
    const isLeading = () => {
      if (failures > 0) return options.isLeading();
      failures++;
      cluster.clock.setNow(cluster.clock.now() - 3_600_000);
      throw new Error("a defect");
    };
    return createReplicasManager({ ...options, isLeading });
  };
  const replicas = { ...replicasBy(() => Promise.reject(new Error("nobody is there"))), create };
  await using podfit = cluster.startPodfit(WHOLE_CLUSTER, { replicas });
  await cluster.advance(90);
  assertEquals(podfit.lines("ScaledObject controller failed, restarting it").length, 1);
  assertEquals((await cluster.get("deployments/web")).spec.replicas, 3);
});
