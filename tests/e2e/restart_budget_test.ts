/**
 * Resizes that restart containers take few pods of a workload at a time, and no more than a PodDisruptionBudget allows
 * (L70, L71).
 */
import { assert, assertEquals } from "#assert";
import { applyManifests, readEvents, waitFor, waitForPods } from "./support/cluster.ts";
import { scenario } from "./support/needs.ts";
import { recordOutages } from "./support/outages.ts";
import { startPodfit } from "./support/podfit.ts";
import { autoscaler, deployment, type Manifest } from "./support/workloads.ts";

const RESTARTING = {
  resizePolicy: [{ resourceName: "memory", restartPolicy: "RestartContainer" }],
  // Ready seconds after its start, so that a pod that does not wait for the others is seen.
  readinessProbe: { httpGet: { path: "/", port: 8080 }, initialDelaySeconds: 4, periodSeconds: 1 },
};

/** Needs more than it has, and gets one larger size. */
function workload(name: string, replicas: number, policy: Manifest = {}): readonly Manifest[] {
  return [
    deployment(name, {
      replicas,
      containers: [{ requests: { memory: "16Mi" }, memoryMiB: 30, fields: RESTARTING }],
    }),
    autoscaler(name, {
      target: { kind: "deployment", name },
      containerName: "main",
      policy: {
        pollInterval: "5s",
        consecutiveSamples: 1,
        cooldown: "5s",
        delay: "0s",
        memory: { requests: { scaleUpThreshold: 60, scaleDownThreshold: 0, targetUtilization: 50 } },
        ...policy,
      },
      bounds: { memory: { requests: { max: "24Mi" } } },
    }),
  ];
}

scenario("L70 ten replicas whose resize restarts them are never down more than three at once, and all are resized", {
  needs: { images: "load", kubelet: "signed", pods: 10 },
  async run({ namespace }) {
    await applyManifests(namespace, workload("web", 10));
    await waitForPods(namespace, "app=web", { count: 10, timeoutMs: 120_000 });
    await using outages = await recordOutages(namespace, "web", 10);
    assertEquals(outages.most(), 0);
    await using podfit = await startPodfit({ namespaces: [namespace] });
    await waitFor("ten pods to have restarted once", () => Promise.resolve(outages.restarted() === 10), {
      timeoutMs: 300_000,
    });
    const most = outages.most();
    assert(most >= 1 && most <= 3, `${most} were down at once`);
    await podfit.stop();
    const events = await readEvents(namespace, { about: "web" });
    const reasons = events.map(({ reason }) => reason);
    for (const name of ["ResizeMayRestart", "RestartWaiting", "ScaleUp"]) {
      assert(reasons.includes(`PodResourceAutoscaler${name}`), `${name} in ${reasons.join(" ")}`);
    }
  },
});

scenario("L71 where a PodDisruptionBudget allows one, replicas are restarted one after the other", {
  realOnly: "the embedded cluster computes no status of PodDisruptionBudgets",
  needs: { images: "load", kubelet: "signed", pods: 4 },
  async run({ namespace }) {
    await applyManifests(namespace, [
      ...workload("web", 4, { maxUnavailable: "100%" }),
      {
        apiVersion: "policy/v1",
        kind: "PodDisruptionBudget",
        metadata: { name: "web" },
        spec: { maxUnavailable: 1, selector: { matchLabels: { app: "web" } } },
      },
    ]);
    await waitForPods(namespace, "app=web", { count: 4, timeoutMs: 120_000 });
    await using outages = await recordOutages(namespace, "web", 4);
    await using podfit = await startPodfit({ namespaces: [namespace] });
    await waitFor("four pods to have restarted once", () => Promise.resolve(outages.restarted() === 4), {
      timeoutMs: 240_000,
    });
    assertEquals(outages.most(), 1);
    await podfit.stop();
  },
});
