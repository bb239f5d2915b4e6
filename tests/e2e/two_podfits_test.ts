/**
 * Two podfits on one namespace, as during a rollout: together they resize a pod as often as one alone does, and what
 * both count adds up to what was done (C40, C42).
 */
import { assertEquals } from "#assert";
import { applyManifests, createNamespace, waitFor } from "./support/cluster.ts";
import { sumOf } from "./support/metrics.ts";
import { scenario } from "./support/needs.ts";
import { type PodRecorder, recordPod } from "./support/patches.ts";
import { GATE, openGate } from "./support/pods.ts";
import { type Podfit, startPodfit } from "./support/podfit.ts";
import { assertCooldown, climbing, readSteps } from "./support/steps.ts";
import { waitForBlocked } from "./support/blocks.ts";
import { autoscaler, pod } from "./support/workloads.ts";

/** Long enough that by the third resize of one pod no other can have had its fourth. */
const COOLDOWN_MS = 25_000;
const RESIZES = 3;

scenario("C40 C42 two podfits that see the same cause at the same moment resize as one alone does", {
  needs: { images: "load", pods: 3, freeMillicores: 100 },
  async run({ namespace }) {
    await using stack = new AsyncDisposableStack();
    const lone = stack.use(await createNamespace("one podfit alone"));
    const pods = [
      { namespace, name: "one" },
      { namespace, name: "two" },
      { namespace: lone.name, name: "alone" },
    ];
    // The gate is opened by hand: all hear of it from the watch, and all have been wanting to resize.
    const fields = { readinessGates: [{ conditionType: GATE }] };
    const containers = [{ requests: { cpu: "10m" }, cpuMillicores: 60 }];
    for (const { namespace, name } of pods) {
      await applyManifests(namespace, [
        pod(name, { containers, fields }),
        autoscaler(name, climbing({ app: name }, { cooldownMs: COOLDOWN_MS, after: "podReady" })),
      ]);
    }
    const podfits = await Promise.all([[namespace], [namespace, lone.name]].map(async (namespaces) => {
      const podfit = stack.use(await startPodfit({ namespaces }));
      for (const one of pods.filter(({ namespace }) => namespaces.includes(namespace))) {
        await waitForBlocked(podfit, { ...one, reason: "NotReady" });
      }
      return podfit;
    }));
    const recorders = await Promise.all(pods.map(async (ref) => stack.use(await recordPod(ref))));
    await Promise.all(pods.map(openGate));

    await waitFor(`${RESIZES} resizes of each`, async () => {
      return (await countEach(recorders)).every((count) => count >= RESIZES);
    }, { timeoutMs: 120_000 });
    assertEquals(await countEach(recorders), pods.map(() => RESIZES), "as often as one alone");
    for (const recorder of recorders) {
      const patches = await recorder.patches();
      assertEquals(readSteps(patches), [[10, 15], [15, 20], [20, 25]]);
      assertCooldown(patches, COOLDOWN_MS);
      assertEquals(patches.map(({ overtakes }) => overtakes), [false, false, false]);
    }
    // What one of them took for done, the other did not count too.
    await waitFor("as many counted as done", async () => {
      const counts = await Promise.all(podfits.map(readUpdates));
      return sum(counts) === sum(await countEach(recorders));
    }, { timeoutMs: 5_000 });
    await Promise.all(podfits.map((podfit) => podfit.stop()));
  },
});

scenario("C31 C40 two podfits without a cooldown answer no sample twice", {
  needs: { images: "load", pods: 1, freeMillicores: 100 },
  async run({ namespace }) {
    await applyManifests(namespace, [
      pod("web", { containers: [{ requests: { cpu: "10m" }, cpuMillicores: 60 }] }),
      autoscaler("web", climbing({ app: "web" }, { cooldownMs: 0, step: "3m", throttling: "ignore" })),
    ]);
    await using recorder = await recordPod({ namespace, name: "web" });
    await using first = await startPodfit({ namespaces: [namespace] });
    await using second = await startPodfit({ namespaces: [namespace] });
    const patches = await waitFor("four resizes", async () => {
      const patches = await recorder.patches();
      return patches.length >= 4 ? patches : null;
    }, { timeoutMs: 100_000 });
    assertEquals(readSteps(patches).slice(0, 4), [[10, 13], [13, 16], [16, 19], [19, 22]]);
    // A sample counts when half of its interval, 4 s at least, lies after the size that it is compared with.
    assertCooldown(patches, 4_000);
    assertEquals(patches.filter(({ overtakes }) => overtakes), []);
    await Promise.all([first, second].map((podfit) => podfit.stop()));
  },
});

async function countEach(recorders: readonly PodRecorder[]): Promise<readonly number[]> {
  return (await Promise.all(recorders.map((each) => each.patches()))).map(({ length }) => length);
}

async function readUpdates(podfit: Podfit): Promise<number> {
  return sumOf(await podfit.metrics(), "kedify_agent_pra_resource_updates") ?? 0;
}

function sum(counts: readonly number[]): number {
  return counts.reduce((all, count) => all + count, 0);
}
