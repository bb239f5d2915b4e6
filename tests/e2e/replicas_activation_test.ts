/**
 * From nothing to many and back: external triggers activate a target, say how many pods it needs, and let it go (R50 to R53,
 * R41). Values come from pages of the scenario's own, over real HTTP, or from the cluster's own pods.
 */
import { assert, assertEquals } from "#assert";
import {
  applyManifests,
  deleteObject,
  find,
  patchObject,
  readEvents,
  waitFor,
  waitForPods,
} from "./support/cluster.ts";
import { scenario } from "./support/needs.ts";
import { startPodfit } from "./support/podfit.ts";
import { hasPrometheus, startPrometheus } from "./support/prometheus.ts";
import {
  cpuUtilization,
  hpa,
  readReasons,
  readReplicas,
  readScaledObject,
  REPLICAS_ON,
  scaledObject,
  serveNumbers,
  waitForReplicas,
  waitForScaled,
} from "./support/scaled_objects.ts";
import { deployment } from "./support/workloads.ts";

const REAL_HTTP = "values come over real HTTP";

scenario("a value from a page takes a target from 0 to 1 to 3, to 1 and to 0 (R13, R41, R52, R53)", {
  needs: { images: "load", pods: 3 },
  realOnly: REAL_HTTP,
  async run({ namespace }) {
    const web = { namespace, name: "web" };
    await using tasks = serveNumbers(0);
    await applyManifests(namespace, [
      deployment("web", { replicas: 0 }),
      scaledObject("web", {
        minReplicaCount: 0,
        maxReplicaCount: 3,
        cooldownPeriod: 5,
        advanced: { horizontalPodAutoscalerConfig: { behavior: { scaleDown: { stabilizationWindowSeconds: 0 } } } },
        triggers: [{
          type: "metrics-api",
          metadata: {
            url: `${tasks.origin}/value`,
            valueLocation: "components.worker.tasks",
            targetValue: "10",
            activationTargetValue: "2",
          },
        }],
      }),
    ]);
    await using podfit = await startPodfit({ namespaces: [namespace], env: REPLICAS_ON });
    await waitForScaled(web, { Ready: { status: "True" }, Active: { status: "False", reason: "ScalerNotActive" } });
    tasks.value = 2;
    await new Promise((resolve) => setTimeout(resolve, 7_000));
    assertEquals(await readReplicas(namespace, "web"), 0, "the activation value itself activates nothing");

    tasks.value = 3;
    await waitForReplicas(web, 1, { timeoutMs: 20_000 });
    await waitForScaled(web, { Active: { status: "True" } });
    tasks.value = 28;
    await waitForReplicas(web, 3, { timeoutMs: 30_000 });
    await waitForPods(namespace, "app=web", { count: 3 });
    tasks.value = 4;
    await waitForReplicas(web, 1, { timeoutMs: 40_000 });
    tasks.value = 0;
    await waitForReplicas(web, 0, { timeoutMs: 40_000 });
    const { status } = await waitForScaled(web, { Active: { status: "False" } });
    assertEquals(status?.externalMetricNames, ["s0-metric-api-components-worker-tasks"]);
    await waitFor("an event for each step", async () => {
      const reasons = await readReasons(namespace, "web");
      return ["KEDAScaleTargetActivated", "SuccessfulRescale", "KEDAScaleTargetDeactivated"].every((one) =>
        reasons.has(one)
      );
    });
    await podfit.stop();
  },
});

scenario("pods that wait for workers bring workers, as many as they need, and send them home (R12, R52)", {
  needs: { images: "load", pods: 5 },
  async run({ namespace }) {
    const workers = { namespace, name: "workers" };
    await applyManifests(namespace, [
      deployment("workers", { replicas: 0 }),
      deployment("jobs", { replicas: 0 }),
      scaledObject("workers", {
        maxReplicaCount: 4,
        cooldownPeriod: 5,
        advanced: { horizontalPodAutoscalerConfig: { behavior: { scaleDown: { stabilizationWindowSeconds: 0 } } } },
        triggers: [{ type: "kubernetes-workload", metadata: { podSelector: "app=jobs", value: "1" } }],
      }),
    ]);
    await using podfit = await startPodfit({ namespaces: [namespace], env: REPLICAS_ON });
    await waitForScaled(workers, { Ready: { status: "True" }, Active: { status: "False" } });
    await patchObject({ namespace, object: "Deployment/jobs" }, { spec: { replicas: 2 } });
    await waitForReplicas(workers, 2);
    await patchObject({ namespace, object: "Deployment/jobs" }, { spec: { replicas: 0 } });
    await waitForReplicas(workers, 0, { timeoutMs: 90_000 });
    await podfit.stop();
  },
});

scenario("a real Prometheus is asked, its outage falls back, and what comes after it counts again (R14, R70 to R72)", {
  needs: { images: "load", pods: 4 },
  realOnly: hasPrometheus() ? REAL_HTTP : "there is no prometheus",
  async run({ namespace }) {
    const web = { namespace, name: "web" };
    await using queue = serveNumbers(20);
    const prometheus = await startPrometheus(queue.origin);
    let isUp = true;
    const stop = async () => {
      if (isUp) await prometheus[Symbol.asyncDispose]();
      isUp = false;
    };
    try {
      await applyManifests(namespace, [
        deployment("web"),
        scaledObject("web", {
          minReplicaCount: 1,
          maxReplicaCount: 6,
          fallback: { failureThreshold: 3, replicas: 4 },
          triggers: [{
            type: "prometheus",
            metadata: { serverAddress: prometheus.origin, query: "sum(queue_length)", threshold: "10" },
          }],
        }),
      ]);
      await using podfit = await startPodfit({ namespaces: [namespace], env: REPLICAS_ON });
      await waitForReplicas(web, 2);
      await waitForScaled(web, { Fallback: { status: "False" } });
      await stop();
      // Failures are counted before it is active, and until then nothing is written.
      await waitForScaled(web, { Fallback: { status: "True", reason: "FallbackExists" } }, { timeoutMs: 90_000 });
      await waitForReplicas(web, 4, { timeoutMs: 30_000 });
      const { status } = await readScaledObject(namespace, "web");
      const health = status?.health?.["s0-prometheus"];
      assert(health?.status === "Failing" && (health.numberOfFailures ?? 0) > 3, JSON.stringify(status?.health));
      await podfit.stop();
    } finally {
      await stop();
    }
  },
});

scenario("a cron trigger keeps its replicas inside of its time (R11, R18)", {
  needs: { images: "load", pods: 2 },
  async run({ namespace }) {
    const web = { namespace, name: "web" };
    // From a minute before until an hour before midnight, and the other way round: one of them is inside, whenever it runs.
    const cron = (start: string, end: string) => ({ timezone: "Etc/UTC", start, end, desiredReplicas: "2" });
    await applyManifests(namespace, [
      deployment("web", { replicas: 0 }),
      scaledObject("web", {
        maxReplicaCount: 5,
        triggers: [
          { type: "cron", metadata: cron("59 22 * * *", "59 10 * * *") },
          { type: "cron", metadata: cron("59 10 * * *", "59 22 * * *") },
        ],
      }),
    ]);
    await using podfit = await startPodfit({ namespaces: [namespace], env: REPLICAS_ON });
    await waitForReplicas(web, 2);
    const { status } = await waitForScaled(web, { Active: { status: "True" }, Ready: { status: "True" } });
    assertEquals(status?.externalMetricNames, [
      "s0-cron-Etc-UTC-5922xxx-5910xxx",
      "s1-cron-Etc-UTC-5910xxx-5922xxx",
    ]);
    await podfit.stop();
  },
});

scenario("a pause at a number writes it once, and its end lets the metrics decide again (R55)", {
  needs: { images: "load", pods: 4 },
  async run({ namespace }) {
    const web = { namespace, name: "web" };
    const of = { namespace, object: "ScaledObject/web" } as const;
    await applyManifests(namespace, [
      deployment("web"),
      deployment("jobs", { replicas: 2 }),
      scaledObject("web", {
        minReplicaCount: 1,
        maxReplicaCount: 4,
        triggers: [{ type: "kubernetes-workload", metadata: { podSelector: "app=jobs", value: "1" } }],
      }),
    ]);
    await using podfit = await startPodfit({ namespaces: [namespace], env: REPLICAS_ON });
    await waitForReplicas(web, 2);
    await patchObject(of, { metadata: { annotations: { "autoscaling.keda.sh/paused-replicas": "0" } } });
    await waitForReplicas(web, 0, { timeoutMs: 15_000 });
    const { status } = await waitForScaled(web, { Paused: { status: "True", reason: "ScaledObjectPaused" } });
    assertEquals(status?.pausedReplicaCount, 0);
    await patchObject({ namespace, object: "Deployment/web" }, { spec: { replicas: 1 } });
    await waitForPods(namespace, "app=web", { count: 1 });
    assertEquals(await readReplicas(namespace, "web"), 1, "later changes by hand stay");
    await patchObject(of, { metadata: { annotations: { "autoscaling.keda.sh/paused-replicas": null } } });
    await waitForReplicas(web, 2);
    await waitForScaled(web, { Paused: { status: "False" } });
    await podfit.stop();
  },
});

scenario("an invalid object is told by its path, another HPA by its name, and neither moves the target (R3, R75)", {
  needs: { images: "load", pods: 1 },
  async run({ namespace }) {
    const web = { namespace, name: "web" };
    await applyManifests(namespace, [
      deployment("web"),
      scaledObject("web", { minReplicaCount: 2, triggers: [{ type: "kafka", metadata: { topic: "orders" } }] }),
    ]);
    await using podfit = await startPodfit({ namespaces: [namespace], env: REPLICAS_ON });
    const { status } = await waitForScaled(web, {
      Ready: { status: "False", reason: "ScaledObjectCheckFailed", message: "InvalidSpec:" },
      Active: { status: "Unknown" },
    });
    const ready = status?.conditions?.find(({ type }) => type === "Ready")?.message ?? "";
    assert(ready.includes("kafka") && ready.includes("spec.triggers[0].type") && ready.includes("prometheus"), ready);
    await applyManifests(namespace, [
      scaledObject("web", {
        minReplicaCount: 2,
        triggers: [{ type: "kubernetes-workload", metadata: { podSelector: "app=web", value: "1" } }],
      }),
      hpa("keda-hpa-web", { deployment: "web", maxReplicas: 1, metrics: [cpuUtilization(60)] }),
    ]);
    await waitForScaled(web, { Ready: { status: "False", message: "keda-hpa-web" } });
    assertEquals(await readReplicas(namespace, "web"), 1);
    await deleteObject(namespace, "HorizontalPodAutoscaler/keda-hpa-web");
    await waitForReplicas(web, 2, { timeoutMs: 30_000 });
    await waitForScaled(web, { Ready: { status: "True" } });
    await podfit.stop();
  },
});

scenario("an HPA is taken over when both sides name it, and is gone then (R76)", {
  needs: { images: "load", pods: 2 },
  async run({ namespace }) {
    const web = { namespace, name: "web" };
    await applyManifests(namespace, [
      deployment("web", { replicas: 2 }),
      hpa("web-hpa", { deployment: "web", minReplicas: 2, maxReplicas: 3 }),
      scaledObject("web", {
        minReplicaCount: 1,
        maxReplicaCount: 3,
        advanced: { horizontalPodAutoscalerConfig: { name: "web-hpa" } },
        triggers: [{ type: "kubernetes-workload", metadata: { podSelector: "app=web", value: "1" } }],
      }, { "scaledobject.keda.sh/transfer-hpa-ownership": "true" }),
    ]);
    await using podfit = await startPodfit({ namespaces: [namespace], env: REPLICAS_ON });
    await waitForScaled(web, { Ready: { status: "True" } });
    const told = await waitFor("an event about the HPA", async () => {
      const events = await readEvents(namespace, { about: "web" });
      return events.find(({ message }) => message?.includes("web-hpa"));
    });
    assert(told.message?.includes("2") && told.message.includes("3"), told.message ?? "");
    assertEquals(await find(`/apis/autoscaling/v2/namespaces/${namespace}/horizontalpodautoscalers/web-hpa`), null);
    assertEquals(await readReplicas(namespace, "web"), 2, "it starts from the replicas of before");
    await podfit.stop();
  },
});
