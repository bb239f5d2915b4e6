/**
 * `--dry-run` on a real cluster: podfit decides and says what it would do, in the log and in metrics, and changes
 * nothing.
 */
import { assert, assertEquals } from "#assert";
import { readSum } from "./support/accounts.ts";
import { waitForConditions } from "./support/autoscalers.ts";
import { applyManifests, readEvents, readPod } from "./support/cluster.ts";
import { findPod } from "./support/pods.ts";
import { scenario } from "./support/needs.ts";
import { readSpecSize, recordPod } from "./support/patches.ts";
import { startPodfit } from "./support/podfit.ts";
import { isBlocked, waitForBlocked } from "./support/blocks.ts";
import { autoscaler, deployment } from "./support/workloads.ts";

scenario("C53 --dry-run says what it would do and resizes nothing", {
  needs: { images: "load", kubelet: "signed" },
  async run({ namespace }) {
    await applyManifests(namespace, [
      deployment("web", { containers: [{ memoryMiB: 100, requests: { memory: "64Mi" } }] }),
      autoscaler("web", {
        target: { kind: "deployment", name: "web" },
        containerName: "main",
        policy: {
          pollInterval: "5s",
          consecutiveSamples: 1,
          cooldown: "5s",
          delay: "0s",
          memory: { requests: { scaleUpThreshold: 80, scaleDownThreshold: 40, targetUtilization: 50 } },
        },
        bounds: { memory: { requests: { step: "32Mi" } } },
      }),
    ]);
    const pod = await findPod(namespace, "web");
    const before = readSpecSize(await readPod(pod), "main");
    await using recorder = await recordPod(pod);
    await using podfit = await startPodfit({ namespaces: [namespace], args: ["--dry-run"] });

    const self = { namespace, name: "web" };
    await waitForBlocked(podfit, { ...self, reason: "DryRun", count: 3, everyMs: 1000 });
    const blocked = podfit.decisions({ autoscaler: self }).filter(isBlocked);
    assertEquals(blocked.length, podfit.log("Blocked").length);
    for (const { reason, action, why } of blocked) {
      assertEquals([reason, action, why], ["DryRun", "scaleUp", "would resize: memory.requests 64Mi -> 96Mi"]);
    }
    const samples = await podfit.metrics();
    const decided = readSum(samples, "scale_decisions_total", { ...self, resource: "memory", direction: "up" });
    assert(decided !== null && decided >= 3, `${decided} decisions`);
    assertEquals(readSum(samples, "resource_updates", {}), null);
    assertEquals(readSum(samples, "scale_delta_absolute_count", self), null);

    assertEquals(await recorder.patches(), []);
    assertEquals(readSpecSize(await readPod(pod), "main"), before);
    assertEquals(podfit.log("Resized pod"), []);
    const shown = await waitForConditions(self, {
      Ready: { status: "True" },
      Active: { status: "True" },
      Scaling: { status: "False" },
      Metrics: { status: "True" },
    });
    assertEquals([shown.status?.lastScaleTime, shown.status?.scaling], [undefined, false]);
    await podfit.stop();
    const events = await readEvents(namespace, { about: "web" });
    assertEquals(events.filter(({ involvedObject }) => involvedObject.kind === "PodResourceAutoscaler"), []);
  },
});
