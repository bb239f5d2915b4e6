/**
 * What an autoscaler acts on is replaced on a real cluster: a pod by another of its name, and its target by one of the
 * same name with another selector (C10, C11).
 */
import { assertEquals } from "#assert";
import { quickSpec, waitForConditions } from "./support/autoscalers.ts";
import { applyManifests, deleteObject, readPod, waitFor, waitForPods } from "./support/cluster.ts";
import { isWarning } from "./support/log.ts";
import { scenario } from "./support/needs.ts";
import { type PodRecorder, recordPod } from "./support/patches.ts";
import { startPodfit } from "./support/podfit.ts";
import { findPod } from "./support/pods.ts";
import { readSteps } from "./support/steps.ts";
import { autoscaler, deployment, pod, statefulSet } from "./support/workloads.ts";

const LOADED = [{ requests: { cpu: "10m" }, cpuMillicores: 60 }];

scenario("C11 a pod that takes the name of another right after its resize is resized for itself, once", {
  needs: { images: "load", pods: 1, freeMillicores: 100 },
  async run({ namespace }) {
    const store = { namespace, name: "store-0" };
    const target = { target: { kind: "statefulset", name: "store" } } as const;
    await applyManifests(namespace, [
      statefulSet("store", { containers: LOADED }),
      autoscaler("store", quickSpec(target, { cooldown: "10m", max: "20m" })),
    ]);
    await waitForPods(namespace, "app=store");
    await using recorder = await recordPod(store);
    await using podfit = await startPodfit({ namespaces: [namespace] });
    const { uid } = (await readPod(store)).metadata;
    await waitForCount(recorder, 1);
    await deleteObject(namespace, "Pod/store-0");
    await waitFor("another pod of that name", async () => (await readPod(store)).metadata.uid !== uid);

    // The cooldown of ten minutes was the other one's.
    await waitForCount(recorder, 2);
    assertEquals(readSteps(await recorder.patches()), [[10, 20], [10, 20]]);
    await waitForConditions({ namespace, name: "store" }, { Active: { status: "True", message: "1 pod" } });
    assertEquals(podfit.log().filter(isWarning), []);
    await podfit.stop();
  },
});

scenario("C10 C11 a target that is deleted and created with another selector: other pods, and none of those before", {
  needs: { images: "load", pods: 2, freeMillicores: 100 },
  async run({ namespace }) {
    const target = { target: { kind: "deployment", name: "web" } } as const;
    const stray = { namespace, name: "stray" };
    await applyManifests(namespace, [
      deployment("web", { containers: LOADED }),
      // Not of the deployment, but it has the labels: it stays when the deployment goes.
      pod("stray", { containers: LOADED, labels: { app: "web" } }),
      autoscaler("web", quickSpec(target, { cooldown: "10s", step: "3m" })),
    ]);
    await waitForPods(namespace, "app=web", { count: 2 });
    await using strays = await recordPod(stray);
    await using podfit = await startPodfit({ namespaces: [namespace] });
    await waitForCount(strays, 1);

    await deleteObject(namespace, "Deployment/web");
    await waitForConditions({ namespace, name: "web" }, {
      Ready: { status: "False", reason: "TargetNotFound" },
      Active: { status: "False", reason: "TargetNotFound" },
    });
    const { length: before } = await strays.patches();
    await applyManifests(namespace, [{ ...deployment("other", { containers: LOADED }), metadata: { name: "web" } }]);
    const { status } = await waitForConditions({ namespace, name: "web" }, {
      Ready: { status: "True", reason: "Valid" },
      Active: { status: "True", message: "1 pod" },
    });
    assertEquals(status?.effectiveSelector, { matchLabels: { app: "other" } });
    await using others = await recordPod(await findPod(namespace, "other"));
    await waitForCount(others, 2);
    assertEquals(readSteps(await others.patches()).slice(0, 2), [[10, 13], [13, 16]]);
    // It wants as much and has cooled down for as long.
    assertEquals((await strays.patches()).length, before);
    await podfit.stop();
  },
});

async function waitForCount(recorder: PodRecorder, count: number): Promise<void> {
  await waitFor(`${count} resizes`, async () => (await recorder.patches()).length >= count, {
    timeoutMs: 90_000,
    everyMs: 50,
  });
}
