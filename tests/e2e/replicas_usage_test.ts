/** Replicas by what pods really use, without metrics-server: the pod's, one container's, and together with sizes that move. */
import { assert, assertEquals } from "#assert";
import { backend } from "./support/backend.ts";
import { applyManifests, readPod, setLoad, waitFor, waitForPods } from "./support/cluster.ts";
import { scenario } from "./support/needs.ts";
import { readSpecSize } from "./support/patches.ts";
import { startPodfit } from "./support/podfit.ts";
import {
  listReady,
  readReplicas,
  REPLICAS_ON,
  scaledObject,
  shareLoad,
  waitForReplicas,
  waitForScaled,
} from "./support/scaled_objects.ts";
import { autoscaler, deployment } from "./support/workloads.ts";

const AT_ONCE = {
  advanced: { horizontalPodAutoscalerConfig: { behavior: { scaleDown: { stabilizationWindowSeconds: 0 } } } },
};

/** Utilization of the pod, or of one container. */
function cpu(value: string, metadata: Readonly<Record<string, string>> = {}) {
  return { type: "cpu", metricType: "Utilization", metadata: { value, ...metadata } };
}

scenario("a container's usage counts, and that of the busy sidecar beside it does not (R10, R21, R33)", {
  needs: { images: "load", pods: 4, freeMillicores: 500 },
  async run({ namespace }) {
    const web = { namespace, name: "web" };
    const containers = [{ name: "main", requests: { cpu: "50m" } }];
    const sidecars = [{ name: "proxy", port: 8081, cpuMillicores: 100, requests: { cpu: "20m" } }];
    await applyManifests(namespace, [
      deployment("web", { containers, sidecars }),
      scaledObject("web", {
        minReplicaCount: 1,
        maxReplicaCount: 2,
        ...AT_ONCE,
        triggers: [cpu("60", { containerName: "main" })],
      }),
    ]);
    const [pod] = await waitForPods(namespace, "app=web");
    await using podfit = await startPodfit({ namespaces: [namespace], env: REPLICAS_ON });
    await waitForScaled(web, {
      Ready: { status: "True" },
      HPAActive: { status: "True" },
    }, { timeoutMs: 90_000 });
    await backend().clock.sleep(45_000);
    assertEquals(await readReplicas(namespace, "web"), 1, "the sidecar uses five times its request");
    await setLoad({ namespace, name: pod?.metadata.name ?? "" }, { cpuMillicores: 150 });
    await waitForReplicas(web, 2, { timeoutMs: 90_000 });
    await podfit.stop();
  },
});

scenario("pods grow in place first, then there are more of them, and both go back (R83, R84, R86, R87)", {
  needs: { images: "load", pods: 6, freeMillicores: 900 },
  async run({ namespace }) {
    const web = { namespace, name: "web" };
    const side = { scaleUpThreshold: 80, scaleDownThreshold: 40, targetUtilization: 60 };
    await applyManifests(namespace, [
      deployment("web", { containers: [{ requests: { cpu: "40m" } }] }),
      autoscaler("web", {
        target: { kind: "deployment", name: "web" },
        containerName: "main",
        policy: {
          pollInterval: "5s",
          consecutiveSamples: 1,
          cooldown: "10s",
          delay: "0s",
          cpu: { requests: { ...side, scaleDown: { window: "30s" } } },
        },
        bounds: { cpu: { requests: { min: "40m", max: "120m" } } },
      }),
      scaledObject("web", { minReplicaCount: 1, maxReplicaCount: 4, ...AT_ONCE, triggers: [cpu("70")] }),
    ]);
    const [first] = await waitForPods(namespace, "app=web");
    const seen: number[] = [];
    await using podfit = await startPodfit({ namespaces: [namespace], env: REPLICAS_ON });
    await using load = shareLoad({ namespace, app: "web", totalMillicores: 84 }, backend().clock);
    const readRequest = async (name: string) =>
      readSpecSize(await readPod({ namespace, name }), "main")["cpu.requests"] ?? 0;
    const firstName = first?.metadata.name ?? "";
    await waitFor("the first pod to have grown", async () => {
      seen.push(await readReplicas(namespace, "web"));
      return await readRequest(firstName) >= 80;
    }, { timeoutMs: 180_000, everyMs: 1_000 });
    assertEquals(Math.max(...seen), 1, "a full-grown pod bears this load alone");

    load.totalMillicores = 240;
    const grown = await waitForReplicas(web, (replicas) => replicas >= 3, { timeoutMs: 120_000 });
    assert(grown <= 4, `${grown}`);
    await waitFor("all pods to be ready", async () => (await listReady(namespace, "web")).length === grown, {
      timeoutMs: 60_000,
    });

    load.totalMillicores = 10;
    await waitForReplicas(web, 1, { timeoutMs: 240_000 });
    await waitFor("the last pod to have its first size again", async () => {
      const [last] = await listReady(namespace, "web");
      return last !== undefined && await readRequest(last.metadata.name) <= 45;
    }, { timeoutMs: 180_000 });
    assertEquals(await readReplicas(namespace, "web"), 1);
    await podfit.stop();
  },
});
