/**
 * Does the model's node serve the cgroups that its pods would have? What the cgroup source reads there is what the model
 * measures, in both versions and with both drivers (L61).
 */
import { assert, assertEquals } from "#assert";
import { createCgroupFiles } from "../../support/embedded/cgroup_files.ts";
import { CgroupReader } from "../../../lib/usage/cgroup/watch.ts";
import type { UsagePod } from "../../../lib/usage/source.ts";
import { pod } from "../../e2e/support/workloads.ts";
import { ClusterRun } from "../../support/cluster_run.ts";

const LAYOUTS = ([1, 2] as const).flatMap((version) =>
  (["cgroupfs", "systemd"] as const).map((driver) => ({ version, driver }))
);

for (const { version, driver } of LAYOUTS) {
  Deno.test(`the model's cgroups, version ${version} of ${driver}, are read as a node's (L61)`, async () => {
    await using run = await ClusterRun.start();
    const small = { requests: { cpu: "100m", memory: "32Mi" }, cpuMillicores: 150, memoryMiB: 20 };
    await run.create(
      pod("burst", { containers: [{ ...small, limits: { cpu: "100m" } }] }),
      pod("best", { containers: [{ cpuMillicores: 30, memoryMiB: 10 }] }),
      pod("fixed", { containers: [{ ...small, limits: { cpu: "100m", memory: "32Mi" } }] }),
    );
    await run.advance(20);
    const [node] = run.cluster.nodes.values();
    assert(node !== undefined);
    const { getState } = node.kubelet;
    const files = createCgroupFiles({ getState, now: () => run.clock.now(), version, driver });
    const reader = new CgroupReader(files, () => run.clock.now());
    const pods = await listPods(run);
    const after = reader.read(pods);
    assert(after.kind === "usage");
    const state = getState();
    for (const { name, uid, containers } of pods) {
      const model = state.pods.find(({ spec }) => spec.uid === uid);
      const meter = model?.meters["main"];
      const usage = after.pods.get(uid);
      const [point] = usage?.points ?? [];
      assert(point?.cpu.kind === "counter" && meter !== undefined && meter.cpuNs > 0);
      assert(Math.abs(point.cpu.counterNs - meter.cpuNs) < 1000, `${name}: ${point.cpu.counterNs}`);
      assertEquals(point.workingSetBytes, meter.workingSetBytes, name);
      assertEquals(point.instance, containers[0]?.instance);
      assertEquals(usage?.usageBytes, point.usageBytes);
      const throttledNs = meter.throttledNs;
      assert(Math.abs((point.pressure?.throttledNs ?? NaN) - throttledNs) < 1000, `${name}: ${throttledNs}`);
      if (version === 1) assertEquals(point.pressure?.largestCpuNs, meter.largestCpuNs);
      else assertEquals(Math.floor((point.pressure?.fullNs ?? NaN) / 1000), Math.floor(meter.psi.fullNs / 1000));
      assertEquals([point.pressure?.largestCpuNs === null, point.pressure?.fullNs === null], [
        version === 2,
        version === 1,
      ]);
    }
  });
}

Deno.test("a node that has no pods yet has their cgroup, and one that ended has none (L61)", async () => {
  await using run = await ClusterRun.start();
  const [node] = run.cluster.nodes.values();
  assert(node !== undefined);
  const options = { getState: node.kubelet.getState, now: () => run.clock.now() };
  for (const layout of LAYOUTS) {
    const reader = new CgroupReader(createCgroupFiles({ ...options, ...layout }), () => run.clock.now());
    assertEquals(reader.read([]).kind, "usage");
  }
  await run.create(pod("web", { containers: [{ cpuMillicores: 10 }] }));
  await run.advance(20);
  const pods = await listPods(run);
  const reader = new CgroupReader(createCgroupFiles({ ...options, version: 2, driver: "systemd" }), () => 0);
  const read = () => {
    const reading = reader.read(pods);
    return reading.kind === "usage" ? reading.pods.size : NaN;
  };
  assertEquals(read(), 1);
  await run.cluster.client.delete("/api/v1/namespaces/default/pods/web");
  await run.advance(40);
  assertEquals(read(), 0);
});

async function listPods(run: ClusterRun): Promise<readonly UsagePod[]> {
  return (await run.list("pods")).map(({ metadata, status }) => ({
    namespace: metadata.namespace,
    name: metadata.name,
    uid: metadata.uid,
    qosClass: status.qosClass,
    containers: status.containerStatuses.map((one: { readonly name: string; readonly containerID: string }) => ({
      name: one.name,
      instance: one.containerID,
      runningAt: 1,
    })),
  }));
}
