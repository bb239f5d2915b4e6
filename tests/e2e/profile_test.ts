/**
 * The shortest useful manifest is a target and a profile (L50): each container of the pod is resized by itself, what the
 * profile came to is there to read, and nothing is said of amounts that the template has not.
 */
import { assert, assertEquals } from "#assert";
import { toEffectivePolicy } from "../../lib/resources/pod_resource_autoscaler/profiles.ts";
import { parseAutoscaler } from "../../lib/resources/pod_resource_autoscaler/parse.ts";
import { waitForConditions } from "./support/autoscalers.ts";
import { applyManifests, readAutoscaler, readEvents, readPod, waitFor } from "./support/cluster.ts";
import { scenario } from "./support/needs.ts";
import { readActualSize } from "./support/patches.ts";
import { startPodfit } from "./support/podfit.ts";
import { findPod, readRun } from "./support/pods.ts";
import { autoscaler, deployment, type LoadContainer } from "./support/workloads.ts";

const SHORT = { target: { kind: "deployment", name: "web" }, profile: "balanced" };

scenario("a target and a profile resize each container of a pod, and say what they came to (L50)", {
  needs: { images: "load", pods: 1, freeMillicores: 400 },
  async run({ namespace }) {
    const load = (name: string, port: number): LoadContainer => ({
      name,
      port,
      cpuMillicores: 60,
      requests: { cpu: "10m" },
      limits: { cpu: "200m" },
    });
    await applyManifests(namespace, [
      deployment("web", { containers: [load("main", 8080), load("aux", 8081)], sidecars: [load("proxy", 8082)] }),
      autoscaler("web", { ...SHORT, excludeContainers: ["proxy"] }),
    ]);
    const web = { namespace, name: (await findPod(namespace, "web")).name };
    const containers = ["main", "aux"];
    const readRuns = () => Promise.all(containers.map((container) => readRun(web, container)));
    const before = await readRuns();
    await using podfit = await startPodfit({ namespaces: [namespace] });
    for (const container of containers) {
      await waitFor(`container "${container}" to have what it uses`, async () => {
        return (readActualSize(await readPod(web), container)?.["cpu.requests"] ?? 0) >= 40;
      }, { timeoutMs: 120_000 });
    }
    await waitForConditions({ namespace, name: "web" }, {
      Ready: { status: "True", message: "the spec is valid" },
      Active: { status: "True", message: "1 pod" },
      Metrics: { status: "True" },
    });
    const size = readActualSize(await readPod(web), "proxy");
    assertEquals([size?.["cpu.requests"], size?.["memory.requests"]], [10, null]);
    const { status } = await readAutoscaler(namespace, "web");
    const parsed = parseAutoscaler(autoscaler("web", SHORT));
    assert(parsed.ok);
    assertEquals(status?.effectivePolicy, toEffectivePolicy(parsed.autoscaler));
    await podfit.stop();
    const missed = await readEvents(namespace, { about: "web", reason: "PodResourceAutoscalerBaselineUnavailable" });
    assertEquals(missed, []);
    assertEquals(await readRuns(), before);
  },
});
