/**
 * The metric types of an HPA on a real cluster, with the adapters of others: prometheus-adapter over a real Prometheus, and
 * KEDA's. The HPA itself scales a twin by the same metrics.
 */
import { assertEquals } from "#assert";
import { applyManifests, find, waitFor } from "./support/cluster.ts";
import { startKeda } from "./support/keda.ts";
import { kubectl, kubectlJson } from "./support/kubectl.ts";
import { scenario } from "./support/needs.ts";
import type { List, PodJson } from "./support/objects.ts";
import { startPodfit } from "./support/podfit.ts";
import { startPrometheusAdapter } from "./support/prometheus_adapter.ts";
import {
  hpa,
  readReplicas,
  readScaledObject,
  scaledObject,
  waitForReplicas,
  waitForScaled,
} from "./support/scaled_objects.ts";
import { deployment, type Manifest } from "./support/workloads.ts";

const AT_ONCE = { scaleDown: { stabilizationWindowSeconds: 0 } };

const SERVICE = { apiVersion: "v1", kind: "Service", name: "main" };

const average = (averageValue: string) => ({ type: "AverageValue", averageValue });

/** Of the HPA. */
const METRICS: readonly Manifest[] = [
  { type: "Pods", pods: { metric: { name: "requests" }, target: average("10") } },
  { type: "Object", object: { metric: { name: "load" }, describedObject: SERVICE, target: average("10") } },
  {
    type: "External",
    external: {
      metric: {
        name: "external_depth",
        selector: { matchExpressions: [{ key: "queue", operator: "In", values: ["a", "b"] }] },
      },
      target: average("10"),
    },
  },
];

/** The same of a ScaledObject. */
const TRIGGERS: readonly Manifest[] = [
  { type: "pods-metric", metadata: { metricName: "requests", value: "10" } },
  { type: "object-metric", metadata: { metricName: "load", value: "10", ...SERVICE } },
  {
    type: "external-metric",
    metadata: { metricName: "external_depth", selector: "queue in (a,b)", value: "10" },
  },
];

function toObject(name: string, triggers: readonly Manifest[], annotations: Readonly<Record<string, string>> = {}) {
  const horizontalPodAutoscalerConfig = { name, behavior: AT_ONCE };
  const spec = { minReplicaCount: 1, maxReplicaCount: 8, advanced: { horizontalPodAutoscalerConfig }, triggers };
  return scaledObject(name, spec, annotations);
}

function toTarget(name: string): Manifest {
  return deployment(name, { replicas: 2, containers: [{ requests: { cpu: "1m" } }] });
}

scenario("podfit and the HPA come to the same replicas by the metrics of prometheus-adapter (M17, M20)", {
  needs: { alone: true, images: "load", pods: 16, prometheusAdapter: true },
  realOnly: "Prometheus and prometheus-adapter run next to it",
  async run({ namespace }) {
    const now = { requests: 10, load: 0, a: 0, b: 0 };
    const readSeries = async () => {
      const { items } = await kubectlJson<List<PodJson>>(["get", "pods", "-n", namespace]);
      return [
        ...items.map(({ metadata: { name } }) => `requests{namespace="${namespace}",pod="${name}"} ${now.requests}`),
        `load{namespace="${namespace}",service="main"} ${now.load}`,
        ...["a", "b"].map((queue) =>
          `external_depth{namespace="${namespace}",queue="${queue}"} ${now[queue as "a" | "b"]}`
        ),
        `external_depth{namespace="${namespace}",queue="other"} 1000`,
        "",
      ].join("\n");
    };
    await applyManifests(namespace, [
      toTarget("by-hpa"),
      toTarget("by-podfit"),
      { apiVersion: "v1", kind: "Service", metadata: { name: "main" }, spec: { ports: [{ port: 80 }] } },
    ]);
    await using _prometheus = await startPrometheusAdapter(readSeries);
    await applyManifests(namespace, [
      hpa("by-hpa", { maxReplicas: 8, metrics: METRICS, behavior: AT_ONCE }),
      toObject("by-podfit", TRIGGERS),
    ]);
    await using podfit = await startPodfit({ namespaces: [namespace], args: ["--scaled-objects", "--metrics-apis"] });
    const expectBoth = async (values: Partial<typeof now>, wanted: number) => {
      Object.assign(now, values);
      for (const name of ["by-hpa", "by-podfit"]) {
        await waitForReplicas({ namespace, name }, wanted, { timeoutMs: 120_000 });
      }
    };
    await waitForScaled({ namespace, name: "by-podfit" }, { Ready: { status: "True" } });
    await expectBoth({ load: 35 }, 4);
    await expectBoth({ a: 25, b: 35 }, 6);
    await expectBoth({ load: 0, a: 0, b: 0, requests: 5 }, 1);
    await expectBoth({ requests: 30 }, 8);
    await expectBoth({ requests: 0, load: 30 }, 3);

    await applyManifests(namespace, [
      toObject("by-hpa", TRIGGERS, { "scaledobject.keda.sh/transfer-hpa-ownership": "true" }),
    ]);
    const path = `/apis/autoscaling/v2/namespaces/${namespace}/horizontalpodautoscalers/by-hpa`;
    await waitFor("the HPA to be taken over", async () => {
      if (await find(path) === null) return true;
      throw new Error("it is there");
    });
    assertEquals(await readReplicas(namespace, "by-hpa"), 3, "replicas at the change of hands");
    await expectBoth({ load: 50 }, 5);
    await podfit.stop();
  },
});

scenario("external-metric reads a metric of KEDA's adapter (M17)", {
  needs: { alone: true, images: "load", keda: true },
  realOnly: "KEDA's own operator and metrics adapter run next to it",
  async run({ namespace }) {
    const [queue, name] = ["queue", "reader"];
    await applyManifests(namespace, [
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "numbers" }, data: { queue: "30" } },
      ...[queue, name].map(toIdleTarget),
    ]);
    await using _keda = await startKeda(namespace);
    await applyManifests(namespace, [
      scaledObject(queue, { triggers: [FROM_MAP], minReplicaCount: 1, maxReplicaCount: 8 }),
    ]);
    const metricName = await waitFor("KEDA's name of the metric", async () => {
      const { status } = await readScaledObject(namespace, queue);
      const [first] = status?.externalMetricNames ?? [];
      if (first !== undefined) return first;
      throw new Error("there is none");
    });
    const trigger = {
      type: "external-metric",
      metadata: { metricName, selector: `scaledobject.keda.sh/name=${queue}`, value: "10" },
    };
    // KEDA does not know the type, and leaves a paused object alone.
    const annotations = { "podfit.dev/scale": "true", "autoscaling.keda.sh/paused": "true" };
    await applyManifests(namespace, [toObject(name, [trigger], annotations)]);
    const args = ["--scaled-objects", "selected", "--metrics-apis"];
    await using podfit = await startPodfit({ namespaces: [namespace], args });
    await waitForReplicas({ namespace, name }, 3, { timeoutMs: 120_000 });
    await kubectl(["patch", "configmap/numbers", "-n", namespace, "--type=merge", "-p", '{"data":{"queue":"60"}}']);
    await waitForReplicas({ namespace, name }, 6, { timeoutMs: 120_000 });
    await podfit.stop();
  },
});

const FROM_MAP = {
  type: "kubernetes-resource",
  metadata: { resourceKind: "ConfigMap", resourceName: "numbers", key: "queue", targetValue: "10" },
};

/** No pod of it starts: the number alone is looked at. */
function toIdleTarget(name: string): Manifest {
  return deployment(name, {
    replicas: 2,
    containers: [{ requests: { cpu: "1m" } }],
    fields: { schedulerName: "nobody" },
  });
}
