/**
 * Usage from the cgroups of podfit's own node (L61): the same pods, sizes and accounts as with a kubelet's summary, within
 * seconds of a change.
 */
import { assert, assertEquals } from "#assert";
import { assertAccountsAgree } from "./support/accounts.ts";
import { waitForConditions } from "./support/autoscalers.ts";
import { backend } from "./support/backend.ts";
import { applyManifests, readPod, setLoad, waitFor } from "./support/cluster.ts";
import { scenario } from "./support/needs.ts";
import { recordPod } from "./support/patches.ts";
import { findPod, readRun, waitForActual } from "./support/pods.ts";
import { type Podfit, startPodfit } from "./support/podfit.ts";
import { autoscaler, deployment } from "./support/workloads.ts";

const POLICY = {
  pollInterval: "1s",
  consecutiveSamples: 2,
  cooldown: "5s",
  delay: "0s",
  cpu: { requests: { scaleUpThreshold: 80, scaleDownThreshold: 20, targetUtilization: 60 } },
  memory: { requests: { scaleUpThreshold: 90, scaleDownThreshold: 1, targetUtilization: 60 } },
};
const BOUNDS = { cpu: { requests: { min: "50m" } } };

scenario("L61 a step of load is seen in the node's cgroups within seconds, and memory with it", {
  needs: { calm: true, images: "load", cgroups: true, freeMillicores: 1100 },
  async run({ namespace }) {
    const target = { kind: "deployment", name: "web" };
    await applyManifests(namespace, [
      deployment("web", { containers: [{ cpuMillicores: 50, requests: { cpu: "100m", memory: "64Mi" } }] }),
      autoscaler("web", { target, containerName: "main", policy: POLICY, bounds: BOUNDS }),
    ]);
    const pod = await findPod(namespace, "web");
    const before = await readRun(pod);
    const { spec: { nodeName = "" } } = await readPod(pod);
    await using cgroups = await backend().mountCgroups();
    await using recorder = await recordPod(pod);
    const args = ["--stats-source", "cgroup", "--node", nodeName, "--cgroup-root", cgroups.root];
    await using podfit = await startPodfit({ namespaces: [namespace], args });
    await waitForConditions({ namespace, name: "web" }, { Metrics: { status: "True", reason: "Available" } });
    await waitForReasons(podfit, { pod, count: 3 });
    assertEquals(await recorder.patches(), []);

    await setLoad(pod, { cpuMillicores: 600 });
    const { clock } = backend();
    const stepAt = clock.monotonic();
    const request = await waitForActual(pod, "cpu.requests", { fits: (millicores) => millicores > 800 });
    const tookMs = clock.monotonic() - stepAt;
    // Half of what a kubelet's summary needs for its next look alone.
    assert(tookMs < 9_000, `${Math.round(tookMs)} ms to ${request}m`);
    await setLoad(pod, { cpuMillicores: 0, memoryMiB: 100 });
    await waitForActual(pod, "cpu.requests", { fits: (millicores) => millicores === 50 });
    await waitForActual(pod, "memory.requests", { fits: (bytes) => bytes > 150 * 2 ** 20 });

    const patches = await assertAccountsAgree(podfit, { autoscaler: "web", pod, recorder });
    assert(patches.length >= 3 && patches.length <= 5, `${patches.length} PATCHes`);
    assertEquals(await readRun(pod), before);
    assertEquals(podfit.log("Reading usage").map(({ source }) => source), ["cgroup"]);
    await podfit.stop();
  },
});

scenario("L20 L21 L22 L61 demand that a limit hides is met in at most two resizes", {
  needs: { calm: true, images: "load", cgroups: true, freeMillicores: 1300 },
  async run({ namespace }) {
    const target = { kind: "deployment", name: "web" };
    const { cpu: { requests }, memory: _memory, ...times } = POLICY;
    const cpu = { requests, limits: { scaleUpThreshold: 90, scaleDownThreshold: 10, targetUtilization: 55 } };
    const container = { cpuMillicores: 50, requests: { cpu: "84m" }, limits: { cpu: "168m" } };
    await applyManifests(namespace, [
      deployment("web", { containers: [container] }),
      autoscaler("web", { target, containerName: "main", policy: { ...times, cpu } }),
    ]);
    const pod = await findPod(namespace, "web");
    const { spec: { nodeName = "" } } = await readPod(pod);
    await using cgroups = await backend().mountCgroups();
    await using recorder = await recordPod(pod);
    const args = ["--stats-source", "cgroup", "--node", nodeName, "--cgroup-root", cgroups.root];
    await using podfit = await startPodfit({ namespaces: [namespace], args });
    await waitForReasons(podfit, { pod, count: 3 });
    assertEquals(await recorder.patches(), []);
    await setLoad(pod, { cpuMillicores: 600 });
    await waitForActual(pod, "cpu.limits", { fits: (millicores) => millicores >= 600 });
    await waitForActual(pod, "cpu.requests", { fits: (millicores) => millicores >= 540 });
    const patches = await recorder.patches();
    assert(patches.length <= 2, JSON.stringify(patches.map(({ changes }) => changes)));
    await podfit.stop();
  },
});

scenario("L61 a container that restarts is found again in its new cgroup", {
  needs: { calm: true, images: "load", cgroups: true, freeMillicores: 300 },
  async run({ namespace }) {
    const target = { kind: "deployment", name: "web" };
    const container = { cpuMillicores: 5, requests: { cpu: "100m", memory: "16Mi" }, limits: { memory: "40Mi" } };
    const { memory: _memory, ...policy } = POLICY;
    await applyManifests(namespace, [
      deployment("web", { containers: [container] }),
      autoscaler("web", { target, containerName: "main", policy: { ...policy, cooldown: "2s" }, bounds: BOUNDS }),
    ]);
    const pod = await findPod(namespace, "web");
    const { spec: { nodeName = "" } } = await readPod(pod);
    await using cgroups = await backend().mountCgroups();
    const args = ["--stats-source", "cgroup", "--node", nodeName, "--cgroup-root", cgroups.root];
    await using podfit = await startPodfit({ namespaces: [namespace], args });
    await waitForActual(pod, "cpu.requests", { fits: (millicores) => millicores === 50 });
    // Killed before it answers.
    await setLoad(pod, { memoryMiB: 100 }).catch(() => {});
    await waitFor("the restart", async () => {
      const { restartCount, startedAt } = await readRun(pod);
      return restartCount === 1 && startedAt !== null;
    }, { timeoutMs: 60_000 });
    await setLoad(pod, { cpuMillicores: 150 });
    // On a busy machine the load gets a part of what it wants: more than the size before is enough to show that it is read.
    await waitForActual(pod, "cpu.requests", { fits: (millicores) => millicores > 100 });
    await podfit.stop();
  },
});

/** So many evaluations of new samples, none of which wants anything. */
async function waitForReasons(
  podfit: Podfit,
  { pod, count }: { readonly pod: { readonly namespace: string; readonly name: string }; readonly count: number },
): Promise<void> {
  await waitFor(`${count} evaluations in the band`, () => {
    return Promise.resolve(podfit.decisions({ pod }).filter(({ reason }) => reason === "InBand").length >= count);
  }, { timeoutMs: 30_000, everyMs: 200 });
}
