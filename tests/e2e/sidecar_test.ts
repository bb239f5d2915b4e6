/**
 * A pod of several containers, each resized by an autoscaler of its own: a native sidecar under initContainers too, one
 * resize in flight at a time, and no container restarted (C12, C15, C41).
 */
import { assertEquals } from "#assert";
import { quickSpec, waitForConditions, waitForLastChange } from "./support/autoscalers.ts";
import { applyManifests, readPod, waitFor, waitForPods } from "./support/cluster.ts";
import { scenario } from "./support/needs.ts";
import { readActualSize, readSpecSize, recordPod } from "./support/patches.ts";
import { startPodfit } from "./support/podfit.ts";
import { readRun } from "./support/pods.ts";
import { autoscaler, type LoadContainer, pod } from "./support/workloads.ts";

/** Where each container is to end; all have the same load. */
const MAXIMA = { main: 19, aux: 18, proxy: 17 } as const;

scenario("C12 C15 two containers and a native sidecar are resized by three autoscalers, one after the other", {
  needs: { images: "load", pods: 1, freeMillicores: 100 },
  async run({ namespace }) {
    const load = (name: string, port: number): LoadContainer => ({
      name,
      port,
      cpuMillicores: 60,
      requests: { cpu: "10m" },
      limits: { cpu: "200m" },
    });
    const web = { namespace, name: "web" };
    await applyManifests(namespace, [
      pod("web", { containers: [load("main", 8080), load("aux", 8081)], sidecars: [load("proxy", 8082)] }),
    ]);
    await waitForPods(namespace, "app=web");
    const containers = Object.keys(MAXIMA);
    const readRuns = () => Promise.all(containers.map((container) => readRun(web, container)));
    const before = await readRuns();
    await using recorder = await recordPod(web);
    await using podfit = await startPodfit({ namespaces: [namespace] });
    const pods = { selector: { matchLabels: { app: "web" } } };
    await applyManifests(
      namespace,
      Object.entries(MAXIMA).map(([containerName, max]) =>
        autoscaler(containerName, quickSpec(pods, { containerName, max: `${max}m` }))
      ),
    );

    for (const [container, max] of Object.entries(MAXIMA)) {
      await waitFor(`container "${container}" to have ${max}m`, async () => {
        return readActualSize(await readPod(web), container)?.["cpu.requests"] === max;
      }, { timeoutMs: 90_000 });
      await waitForConditions({ namespace, name: container }, { Active: { status: "True", message: "1 pod" } });
      await waitForLastChange({ namespace, name: container }, `cpu.requests 10m -> ${max}m`);
    }
    const patches = await recorder.patches();
    assertEquals(
      patches.flatMap(({ changes }) => changes).sort((a, b) => a.container < b.container ? -1 : 1),
      Object.entries(MAXIMA).sort().map(([container, to]) => ({ container, key: "cpu.requests", from: 10, to })),
    );
    assertEquals(patches.map(({ changes, overtakes }) => [changes.length, overtakes]), patches.map(() => [1, false]));
    assertEquals([...patches.at(-1)?.managers ?? []].sort(), ["podfit.aux", "podfit.main", "podfit.proxy"]);
    assertEquals(await readRuns(), before);
    for (const container of containers) {
      assertEquals(readSpecSize(await readPod(web), container)["cpu.limits"], 200);
    }
    await podfit.stop();
  },
});
