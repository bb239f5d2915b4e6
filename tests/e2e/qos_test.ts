/**
 * A pod's QoS class may not change in place (C35): what would change it is reported, never sent, and reported once;
 * a pod whose sides move together stays Guaranteed and is resized.
 */
import { assert, assertEquals, assertMatch } from "#assert";
import { QUICK_TIMES } from "./support/autoscalers.ts";
import { assertAccountsAgree, readSum } from "./support/accounts.ts";
import { applyManifests, type PodRef, readEvents, readPod, setLoad, waitFor } from "./support/cluster.ts";
import { findPod } from "./support/pods.ts";
import { scenario } from "./support/needs.ts";
import { type Change, type PodRecorder, recordPod } from "./support/patches.ts";
import { type Podfit, startPodfit } from "./support/podfit.ts";
import { isBlocked, waitForBlocked } from "./support/blocks.ts";
import { autoscaler, deployment } from "./support/workloads.ts";

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
        policy: { ...QUICK_TIMES, ...sides },
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

/** The document's bands, in which each side by itself would go to and fro: 133m, 143m, 133m, 143m. */
/** Wider than the document's, in which the noise of a busy machine would not rest. */
const REQUESTS = { scaleUpThreshold: 85, scaleDownThreshold: 35, targetUtilization: 55 };
const LIMITS = { scaleUpThreshold: 90, scaleDownThreshold: 45, targetUtilization: 65 };
const QUICK = { ...QUICK_TIMES, consecutiveSamples: 2 };

scenario("L35 C35 the request and the limit of a Guaranteed pod move as one, up and down, and come to rest", {
  // Each sample counts to the millicore: other scenarios would be seen in it.
  needs: { calm: true, images: "load", kubelet: "signed", pods: 1, freeMillicores: 300 },
  async run({ namespace }) {
    const name = "pair";
    await applyManifests(namespace, [
      // On a busy machine it gets a part of what it wants, and still all that its limit allows.
      deployment(name, { containers: [{ cpuMillicores: 600, requests: SIZE, limits: SIZE }] }),
      autoscaler(name, {
        target: { kind: "deployment", name },
        containerName: "main",
        policy: { ...QUICK, cpu: { requests: REQUESTS, limits: LIMITS } },
      }),
    ]);
    const pod = await findPod(namespace, name);
    await using recorder = await recordPod(pod);
    await using podfit = await startPodfit({ namespaces: [namespace] });
    const up = await waitForPatches(recorder, 1);
    for (const changes of up) {
      assertPaired(changes);
      assert((changes[0]?.to ?? 0) > (changes[0]?.from ?? 0), "up first");
    }
    await setLoad(pod, { cpuMillicores: 20 });
    const both = await waitForPatches(recorder, up.length + 1);
    const last = both.at(-1) ?? [];
    assertPaired(last);
    assert((last[0]?.to ?? 0) < (last[0]?.from ?? 0), "down again");
    // At rest: evaluations go on, and no PATCH comes any more.
    await waitForDecisions(podfit, pod, 6);
    const settled = (await recorder.patches()).length;
    await waitForDecisions(podfit, pod, 12);
    assertEquals((await recorder.patches()).length, settled);
    assertEquals((await readPod(pod)).status.qosClass, "Guaranteed");
    assertEquals(await readEvents(namespace, { reason: EVENT }), []);
    await podfit.stop();
  },
});

/** So many more of them than there are now. */
async function waitForDecisions(podfit: Podfit, pod: PodRef, more: number): Promise<void> {
  const before = podfit.decisions({ pod }).length;
  await waitFor(`${more} decisions`, () => Promise.resolve(podfit.decisions({ pod }).length >= before + more), {
    timeoutMs: 180_000,
  });
}

function assertPaired(changes: readonly Change[]): void {
  assertEquals(changes.map(({ key }) => key), ["cpu.requests", "cpu.limits"]);
  assertEquals(changes[0]?.to, changes[1]?.to);
}

/** The changes of each PATCH, once there are so many. */
function waitForPatches(recorder: PodRecorder, count: number): Promise<readonly (readonly Change[])[]> {
  return waitFor(`${count} PATCHes`, async () => {
    const patches = await recorder.patches();
    return patches.length >= count ? patches.map(({ changes }) => changes) : null;
  });
}
