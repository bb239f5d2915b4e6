/** A pod with `spec.resources`: its containers are resized within it, and never beyond. */
import { assertEquals } from "#assert";
import { countErrors } from "./support/accounts.ts";
import { QUICK_TIMES, waitForConditions } from "./support/autoscalers.ts";
import { applyManifests, readEvents, readPod, setLoad, waitFor } from "./support/cluster.ts";
import { scenario } from "./support/needs.ts";
import { readActualSize } from "./support/patches.ts";
import { startPodfit } from "./support/podfit.ts";
import { readRun, waitForActual, waitForRun } from "./support/pods.ts";
import { resizeByHand } from "./support/resizes.ts";
import { autoscaler, pod } from "./support/workloads.ts";

const SIDE = { scaleUpThreshold: 80, scaleDownThreshold: 20, targetUtilization: 50 };

scenario("L36 C35 L53 containers grow within the resources of their pod, and podfit says when these hold them", {
  needs: { images: "load", pods: 1, freeMillicores: 400, sinceMinor: "1.36" },
  async run({ namespace }) {
    const web = { namespace, name: "web" };
    const own = { requests: { cpu: "300m", memory: "64Mi" }, limits: { cpu: "350m", memory: "128Mi" } };
    await applyManifests(namespace, [
      pod("web", {
        containers: [
          { cpuMillicores: 20, requests: { cpu: "50m" }, limits: { cpu: "250m" } },
          { name: "aux", port: 8081, requests: { cpu: "150m" } },
        ],
        fields: { resources: own },
      }),
    ]);
    const [run, { status: { qosClass } }] = [await waitForRun(web), await readPod(web)];
    await using podfit = await startPodfit({ namespaces: [namespace] });
    await applyManifests(namespace, [
      autoscaler("web", {
        selector: { matchLabels: { app: "web" } },
        containerName: "main",
        policy: { ...QUICK_TIMES, cpu: { requests: SIDE, limits: SIDE } },
      }),
    ]);
    // More than it may use, so that a busy machine leaves it enough.
    await setLoad(web, { cpuMillicores: 600 });
    await waitForActual(web, "cpu.requests", { fits: (millicores) => millicores === 150 });
    await waitForActual(web, "cpu.limits", { fits: (millicores) => millicores === 350 });
    await waitForConditions(web, { Limited: { status: "True", reason: "PodResources" } });
    await waitFor("an event that names the pod's own resources", async () => {
      const events = await readEvents(namespace, { about: "web", reason: "PodResourceAutoscalerScaleFailed" });
      return events.some(({ message }) => message?.includes("the pod's own"));
    });
    // What another container gives back is there for this one.
    await resizeByHand(web, { requests: { cpu: "50m" } }, "aux");
    await waitForActual(web, "cpu.requests", { fits: (millicores) => millicores === 250 });
    await setLoad(web, { cpuMillicores: 20 });
    await waitForConditions(web, { Limited: { status: "False", reason: "NotLimited" } });
    await waitForActual(web, "cpu.requests", { fits: (millicores) => millicores < 150 });
    const after = await readPod(web);
    assertEquals([after.spec.resources, after.status.qosClass], [own, qosClass]);
    assertEquals(readActualSize(after, "aux")?.["cpu.requests"], 50);
    assertEquals(await readRun(web), run, "nothing restarted");
    assertEquals(countErrors(await podfit.metrics(), namespace), {}, "no size was refused");
    await podfit.stop();
  },
});
