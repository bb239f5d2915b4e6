/**
 * A pod's QoS class may not change in place (C35): what would change it is reported, never sent, and reported once;
 * a pod whose sides move together stays Guaranteed and is resized.
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { assertAccountsAgree, readSum } from "./support/accounts.ts";
import { applyManifests, type PodRef, readEvents, readPod, waitFor } from "./support/cluster.ts";
import { findPod } from "./support/pods.ts";
import { scenario } from "./support/needs.ts";
import { recordPod } from "./support/patches.ts";
import { type Podfit, startPodfit } from "./support/podfit.ts";
import { isBlocked, waitForBlocked } from "./support/blocks.ts";
import { autoscaler, deployment } from "./support/workloads.ts";

const TIMES = { pollInterval: "5s", consecutiveSamples: 1, cooldown: "5s", delay: "0s" };
const THRESHOLDS = { scaleUpThreshold: 80, scaleDownThreshold: 40, targetUtilization: 60 };
const EVENT = "PodResourceAutoscalerQoSInvariantBlocked";
const SIZE = { cpu: "100m", memory: "64Mi" };

/** What they use and what is managed of them; all are Guaranteed. */
const CASES = {
  idle: { load: {}, sides: { cpu: { requests: THRESHOLDS } }, action: "scaleDown" },
  full: { load: { memoryMiB: 50 }, sides: { memory: { limits: THRESHOLDS } }, action: "scaleUp" },
  both: { load: { memoryMiB: 50 }, sides: { memory: { requests: THRESHOLDS, limits: THRESHOLDS } }, action: null },
} as const;

scenario("C35 C53 a Guaranteed pod is never made Burstable, and one that stays so is resized", {
  needs: { images: "load", kubelet: "signed", pods: 3, freeMillicores: 300 },
  async run({ namespace }) {
    const manifests = Object.entries(CASES).flatMap(([name, { load, sides }]) => [
      deployment(name, { containers: [{ ...load, requests: SIZE, limits: SIZE }] }),
      autoscaler(name, {
        target: { kind: "deployment", name },
        containerName: "main",
        policy: { ...TIMES, ...sides },
      }),
    ]);
    await applyManifests(namespace, manifests);
    const [idle, full, both] = await Promise.all([
      findPod(namespace, "idle"),
      findPod(namespace, "full"),
      findPod(namespace, "both"),
    ]);
    await using idleRecorder = await recordPod(idle);
    await using fullRecorder = await recordPod(full);
    await using bothRecorder = await recordPod(both);
    await using podfit = await startPodfit({ namespaces: [namespace] });

    await Promise.all([assertBlocked(podfit, idle, "idle"), assertBlocked(podfit, full, "full")]);
    await waitFor('the resize of "both"', async () => {
      return readSum(await podfit.metrics(), "time_to_apply_seconds_count", { namespace, name: "both" });
    });
    assertEquals([await idleRecorder.patches(), await fullRecorder.patches()], [[], []]);
    const patches = await assertAccountsAgree(podfit, { autoscaler: "both", pod: both, recorder: bothRecorder });
    for (const { changes } of patches) {
      assertEquals(changes.map(({ key }) => key), ["memory.requests", "memory.limits"]);
      assertEquals(changes[0]?.to, changes[1]?.to);
    }
    assert(patches.length > 0);
    for (const pod of [idle, full, both]) assertEquals((await readPod(pod)).status.qosClass, "Guaranteed");
    const failed = await readEvents(namespace, { reason: "PodResourceAutoscalerScaleFailed" });
    assertEquals(failed, []);
    await podfit.stop();
  },
});

/** It is blocked again and again, and reported once. */
async function assertBlocked(podfit: Podfit, pod: PodRef, name: "idle" | "full"): Promise<void> {
  const self = { namespace: pod.namespace, name };
  await waitForBlocked(podfit, { ...self, reason: "QoSInvariantBlocked", count: 3, everyMs: 1000 });
  const first = podfit.decisions({ pod }).find(isBlocked);
  assertEquals([first?.reason, first?.action], ["QoSInvariantBlocked", CASES[name].action]);
  const [event, ...more] = await readEvents(pod.namespace, { about: name, reason: EVENT });
  assertEquals(more, []);
  assertEquals([event?.type, event?.count, event?.related?.name], ["Warning", 1, pod.name]);
  assertMatch(event?.message ?? "", /from Guaranteed into Burstable/);
  const samples = await podfit.metrics();
  assert((readSum(samples, "scale_decisions_total", self) ?? 0) >= 3, "a blocked candidate counts as a decision");
  assertEquals(readSum(samples, "scale_delta_absolute_count", self), null);
}
