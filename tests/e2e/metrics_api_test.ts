/** metrics.k8s.io as a cluster serves it, real or embedded: in the shape and within the numbers that podfit reads (C54). */
import { assert, assertEquals, assertMatch } from "#assert";
import { parsePodMetricsList, type PodMetrics } from "../../lib/usage/metrics_api/parse_pod_metrics.ts";
import { backend } from "./support/backend.ts";
import { quickSpec, waitForConditions } from "./support/autoscalers.ts";
import { applyManifests, readPod, waitFor, waitForPods } from "./support/cluster.ts";
import { sumOf } from "./support/metrics.ts";
import { scenario } from "./support/needs.ts";
import { readSpecSize } from "./support/patches.ts";
import { startPodfit } from "./support/podfit.ts";
import { findPod } from "./support/pods.ts";
import { autoscaler, deployment, pod } from "./support/workloads.ts";

scenario("C54 metrics.k8s.io tells what a container used, in the shape that podfit believes", {
  needs: { images: "load", pods: 1, freeMillicores: 300, metricsServer: true },
  async run({ namespace }) {
    const containers = [{ cpuMillicores: 200, requests: { cpu: "200m", memory: "64Mi" } }];
    await applyManifests(namespace, [deployment("web", { containers })]);
    const { name } = await findPod(namespace, "web");
    const path = `/apis/metrics.k8s.io/v1beta1/namespaces/${namespace}/pods`;
    // The next answer may have a window that is too short.
    const { answer, read } = await waitFor("a whole window of load", async () => {
      const text = await backend().get(path) ?? "";
      const [read] = parseList(text);
      return (read?.containers.get("main")?.millicores ?? 0) > 150 && { answer: JSON.parse(text), read };
    }, { timeoutMs: 120_000 });
    assertEquals([answer.kind, answer.apiVersion], ["PodMetricsList", "metrics.k8s.io/v1beta1"]);
    const [{ metadata, timestamp, window, containers: [one, ...others] }] = answer.items;
    assertEquals([metadata.namespace, metadata.name, metadata.labels.app], [namespace, name, "web"]);
    assertMatch(timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    assertMatch(window, /^(\d+m)?\d+(\.\d+)?s$/);
    assertEquals([one.name, others], ["main", []]);
    assertMatch(one.usage.cpu, /^\d+[num]?$/);
    assertMatch(one.usage.memory, /^\d+([KMG]i)?$/);
    assert(
      read !== undefined && read.skipped === 0 && read.windowMs >= 5_000 && read.windowMs <= 90_000,
      JSON.stringify(read),
    );
    const { millicores = 0, workingSetBytes = 0 } = read.containers.get("main") ?? {};
    assert(
      millicores < 300 && workingSetBytes > 2 ** 16 && workingSetBytes < 2 ** 30,
      `${millicores}m, ${workingSetBytes}`,
    );
    // A pod that is not there is missing by its name.
    assertEquals(await backend().get(`${path}/nobody`), null);
  },
});

scenario("C54 --stats-source auto reads nodes by metrics.k8s.io whose kubelets it cannot believe, and resizes", {
  needs: { images: "load", kubelet: "self-signed", node: "own", pods: 1, freeMillicores: 100, metricsServer: true },
  async run({ namespace, nodeName }) {
    const web = { namespace, name: "web" };
    await applyManifests(namespace, [
      pod("web", {
        containers: [{ requests: { cpu: "10m" }, cpuMillicores: 60 }],
        fields: nodeName === null ? {} : { nodeName },
      }),
      autoscaler("web", quickSpec({ selector: { matchLabels: { app: "web" } } }, { max: "20m" })),
    ]);
    await waitForPods(namespace, "app=web");
    await using podfit = await startPodfit({ namespaces: [namespace], args: ["--stats-source", "auto"] });
    await waitFor("the resize", async () => {
      return readSpecSize(await readPod(web), "main")["cpu.requests"] === 20;
      // metrics-server has to have seen the pod twice, on a busy machine.
    }, { timeoutMs: 180_000 });
    assertEquals(sumOf(await podfit.metrics(), "podfit_nodes_by_usage_source", { source: "metrics-api" }), 1);
    await waitForConditions(web, { Metrics: { status: "True" } });
    await podfit.stop();
  },
});

function parseList(text: string): readonly PodMetrics[] {
  const now = backend().clock.now();
  const all = parsePodMetricsList(new TextEncoder().encode(text), { isWanted: () => true, now });
  return [...all].filter((one) => one !== null);
}
