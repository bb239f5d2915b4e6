/** metrics.k8s.io as a cluster serves it, real or embedded: in the shape and within the numbers that podfit reads (C54). */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { parsePodMetricsList, type PodMetrics } from "../../lib/usage/metrics_api/parse_pod_metrics.ts";
import { backend } from "./support/backend.ts";
import { applyManifests, waitFor } from "./support/cluster.ts";
import { scenario } from "./support/needs.ts";
import { findPod } from "./support/pods.ts";
import { deployment } from "./support/workloads.ts";

scenario("C54 metrics.k8s.io tells what a container used, in the shape that podfit believes", {
  needs: { images: "load", pods: 1, freeMillicores: 300, metricsServer: true },
  async run({ namespace }) {
    const containers = [{ cpuMillicores: 200, requests: { cpu: "200m", memory: "64Mi" } }];
    await applyManifests(namespace, [deployment("web", { containers })]);
    const { name } = await findPod(namespace, "web");
    const path = `/apis/metrics.k8s.io/v1beta1/namespaces/${namespace}/pods`;
    await waitFor("a whole window of load", async () => {
      const [pod] = await list(path);
      return (pod?.containers.get("main")?.millicores ?? 0) > 150;
    }, { timeoutMs: 120_000 });
    const answer = JSON.parse(await backend().get(path) ?? "");
    assertEquals([answer.kind, answer.apiVersion], ["PodMetricsList", "metrics.k8s.io/v1beta1"]);
    const [{ metadata, timestamp, window, containers: [one, ...others] }] = answer.items;
    assertEquals([metadata.namespace, metadata.name, metadata.labels.app], [namespace, name, "web"]);
    assertMatch(timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    assertMatch(window, /^(\d+m)?\d+(\.\d+)?s$/);
    assertEquals([one.name, others], ["main", []]);
    assertMatch(one.usage.cpu, /^\d+[num]?$/);
    assertMatch(one.usage.memory, /^\d+([KMG]i)?$/);
    const [pod] = await list(path);
    assert(
      pod !== undefined && pod.skipped === 0 && pod.windowMs >= 5_000 && pod.windowMs <= 90_000,
      JSON.stringify(pod),
    );
    const { millicores = 0, workingSetBytes = 0 } = pod.containers.get("main") ?? {};
    assert(
      millicores < 300 && workingSetBytes > 2 ** 16 && workingSetBytes < 2 ** 30,
      `${millicores}m, ${workingSetBytes}`,
    );
    // A pod that is not there is missing by its name.
    assertEquals(await backend().get(`${path}/nobody`), null);
  },
});

async function list(path: string): Promise<readonly PodMetrics[]> {
  const bytes = new TextEncoder().encode(await backend().get(path) ?? "");
  const now = backend().clock.now();
  return [...parsePodMetricsList(bytes, { isWanted: () => true, now })].filter((one) => one !== null);
}
