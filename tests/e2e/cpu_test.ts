/**
 * CPU on a real kubelet: a container at 50m that suddenly wants 600m gets it without a restart, gives it back when the
 * load ends, and every place that podfit reports in agrees with what the API server and the kernel saw.
 */
import { assert, assertEquals } from "#assert";
import { assertAccountsAgree, readSum } from "./support/accounts.ts";
import { waitForConditions } from "./support/autoscalers.ts";
import { applyManifests, type PodRef, readLimits, readPod, setLoad, waitFor } from "./support/cluster.ts";
import { scenario } from "./support/needs.ts";
import { readActualSize, recordPod } from "./support/patches.ts";
import { findPod, readRun, waitForActual } from "./support/pods.ts";
import { startPodfit } from "./support/podfit.ts";
import { autoscaler, deployment } from "./support/workloads.ts";

const MI = 1024 ** 2;
const WEB = deployment("web", {
  containers: [{
    cpuMillicores: 50,
    requests: { cpu: "100m", memory: "32Mi" },
    limits: { cpu: "300m", memory: "64Mi" },
  }],
});
const POLICY = {
  pollInterval: "5s",
  consecutiveSamples: 1,
  cooldown: "10s",
  delay: "0s",
  cpu: {
    requests: { scaleUpThreshold: 80, scaleDownThreshold: 20, targetUtilization: 60 },
    limits: { scaleUpThreshold: 60, scaleDownThreshold: 5, targetUtilization: 50 },
  },
};
const BOUNDS = { cpu: { requests: { min: "50m", max: "700m" }, limits: { min: "250m", max: "1200m" } } };

scenario("C30 C40 C45 C50 C51 C52 cpu follows a step of load up and down in place", {
  needs: { images: "load", kubelet: "signed", freeMillicores: 700 },
  async run({ namespace }) {
    const target = { kind: "deployment", name: "web" };
    await applyManifests(namespace, [
      WEB,
      autoscaler("web", { target, containerName: "main", policy: POLICY, bounds: BOUNDS }),
    ]);
    const pod = await findPod(namespace, "web");
    const before = await readRun(pod);
    await using recorder = await recordPod(pod);
    await using podfit = await startPodfit({ namespaces: [namespace] });

    const idle = await waitForConditions({ namespace, name: "web" }, {
      Ready: { status: "True", reason: "Valid" },
      Active: { status: "True", reason: "Tracking" },
      Scaling: { status: "False", reason: "Idle" },
      Metrics: { status: "True", reason: "Available" },
    });
    assertEquals(idle.status?.effectiveSelector, { matchLabels: { app: "web" } });
    assertEquals(idle.status?.lastScaleTime, undefined);
    // The first sample warms up, and the kubelet's next one may take three polls.
    await waitFor(
      "a decision on two samples",
      () => Promise.resolve(podfit.decisions({ pod }).at(-1)?.reason === "InBand"),
      { timeoutMs: 60_000 },
    );
    assertEquals(await recorder.patches(), []);

    await setLoad(pod, { cpuMillicores: 600 });
    // With 600m in use the limit rests at 1200m, on a busy machine below.
    await waitFor("the first resize", async () => (await recorder.changes("main", "cpu.limits")).length > 0, {
      timeoutMs: 90_000,
    });
    await assertScalingIsShown(namespace);
    await waitForActual(pod, "cpu.limits", { fits: (millicores) => millicores > 500 });
    await assertEnforced(pod);

    await setLoad(pod, { cpuMillicores: 0 });
    await waitForActual(pod, "cpu.limits", { fits: (millicores) => millicores === 250 });
    await waitForActual(pod, "cpu.requests", { fits: (millicores) => millicores === 50 });
    await assertEnforced(pod);

    const patches = await assertAccountsAgree(podfit, { autoscaler: "web", pod, recorder });
    assert(patches.length >= 2 && patches.length <= 10, `${patches.length} PATCHes`);
    const metrics = await podfit.metrics();
    assertEquals(readSum(metrics, "resource_updates", {}), patches.length);
    assertEquals(readSum(metrics, "total", { namespace }), 1);
    const active = metrics.find(({ name }) => name === "kedify_agent_pod_resource_autoscaler_active");
    assertEquals([active?.labels, active?.value], [{ namespace, name: "web" }, 1]);
    assertEquals(await readRun(pod), before);
    assertEquals(before.restartCount, 0);
    await assertScalingClears(namespace);
    await podfit.stop();
  },
});

/** For the cooldown of 10 s after an action. */
async function assertScalingIsShown(namespace: string): Promise<void> {
  const wanted = { Scaling: { status: "True", reason: "ScaleUp", message: "cpu.limits" } };
  const shown = await waitForConditions({ namespace, name: "web" }, wanted, { timeoutMs: 8_000 });
  assertEquals(shown.status?.scaling, true);
  assertEquals(shown.status?.lastScaleAction, "scaleUp");
}

async function assertScalingClears(namespace: string): Promise<void> {
  const wanted = { Scaling: { status: "False", reason: "Idle" } };
  const shown = await waitForConditions({ namespace, name: "web" }, wanted, { timeoutMs: 20_000 });
  assertEquals(shown.status?.scaling, false);
}

/** What the kernel enforces is what the status reports. */
async function assertEnforced(pod: PodRef): Promise<void> {
  await waitFor(`the kernel to enforce the size of pod "${pod.name}"`, async () => {
    const [limits, actual] = [await readLimits(pod), readActualSize(await readPod(pod), "main")];
    assertEquals(limits.cpuMillicores, actual?.["cpu.limits"]);
    assertEquals(limits.memoryBytes, 64 * MI);
    const shares = Math.max(2, Math.floor((actual?.["cpu.requests"] ?? 0) * 1024 / 1000));
    if (limits.cgroupVersion === 1) assertEquals(limits.cpuShares, shares);
    return true;
  }, { timeoutMs: 15_000 });
}
