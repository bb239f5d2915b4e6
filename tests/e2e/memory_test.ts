/**
 * Memory on a real kubelet: a container that grows is given more in place, and what it frees is taken back; a limit
 * comes down only to a margin above what is in use, page cache included (C46), for a kubelet refuses less.
 */
import { assert, assertEquals, assertStringIncludes } from "#assert";
import { QUICK_TIMES } from "./support/autoscalers.ts";
import { assertAccountsAgree } from "./support/accounts.ts";
import { applyManifests, type PodRef, readEvents, readLimits, readPod, setLoad, waitFor } from "./support/cluster.ts";
import { findPod, readRun, waitForActual } from "./support/pods.ts";
import { scenario } from "./support/needs.ts";
import { readActualSize, recordPod } from "./support/patches.ts";
import { startPodfit } from "./support/podfit.ts";
import { autoscaler, deployment } from "./support/workloads.ts";

const MI = 1024 ** 2;
/** The letter: memory may go down as soon as it is low. */
const TIMES = { ...QUICK_TIMES, scaleDown: { window: "0s" } };
const THRESHOLDS = { scaleUpThreshold: 80, scaleDownThreshold: 40, targetUtilization: 60 };

scenario("C30 C33 C40 C45 C46 C50 C52 memory follows usage up and down in place", {
  needs: { images: "load", kubelet: "signed", pods: 2 },
  async run({ namespace }) {
    await applyManifests(namespace, [
      deployment("web", {
        containers: [{ memoryMiB: 30, requests: { memory: "64Mi" }, limits: { memory: "256Mi" } }],
      }),
      autoscaler("web", {
        selector: { matchLabels: { app: "web" } },
        containerName: "main",
        policy: {
          ...TIMES,
          memory: { requests: THRESHOLDS, limits: { ...THRESHOLDS, scaleDownThreshold: 10 } },
        },
        bounds: { memory: { limits: { min: "96Mi" } } },
      }),
      // A target of 100 % would leave no room at all: the floor has to.
      deployment("tight", {
        containers: [{ memoryMiB: 40, requests: { memory: "16Mi" }, limits: { memory: "256Mi" } }],
      }),
      autoscaler("tight", {
        target: { kind: "deployment", name: "tight" },
        containerName: "main",
        policy: {
          ...TIMES,
          memory: { limits: { scaleUpThreshold: 100, scaleDownThreshold: 50, targetUtilization: 100 } },
        },
      }),
    ]);
    const [web, tight] = await Promise.all([findPod(namespace, "web"), findPod(namespace, "tight")]);
    const before = await Promise.all([readRun(web), readRun(tight)]);
    await using recorder = await recordPod(web);
    await using tightRecorder = await recordPod(tight);
    await using podfit = await startPodfit({ namespaces: [namespace] });

    await setLoad(web, { memoryMiB: 220 });
    const grown = await waitForActual(web, "memory.limits", { fits: (bytes) => bytes > 256 * MI });
    assertEquals((await readLimits(web)).memoryBytes, grown);
    const request = readActualSize(await readPod(web), "main")?.["memory.requests"] ?? 0;
    assert(request > 220 * MI && request <= grown, `a request of ${request} bytes for 220 MiB in use`);
    assertEquals(request % MI, 0);

    await assertFloored(tight);
    const [floored, ...more] = await assertAccountsAgree(podfit, {
      autoscaler: "tight",
      pod: tight,
      recorder: tightRecorder,
    });
    assertEquals(more, [], "one action, and then it rests");
    assertEquals(floored?.changes.map(({ key }) => key), ["memory.limits"]);

    // Usage of the limit falls from 60 % to under 10 % of it, also of one that memory in use has capped on its way down:
    // both sides come down, the limit to its min.
    await setLoad(web, { memoryMiB: 10 });
    const shrunk = await waitForActual(web, "memory.requests", { fits: (bytes) => bytes < 64 * MI });
    assert(shrunk > 10 * MI, `a request of ${shrunk} bytes for 10 MiB in use`);
    // The sample in which the load falls may lie between, and the limit with it.
    const limit = await waitForActual(web, "memory.limits", { fits: (bytes) => bytes === 96 * MI });
    assertEquals((await readLimits(web)).memoryBytes, limit);

    const patches = await assertAccountsAgree(podfit, { autoscaler: "web", pod: web, recorder });
    assert(patches.length >= 2 && patches.length <= 6, `${patches.length} PATCHes`);
    assertEquals(await Promise.all([readRun(web), readRun(tight)]), before);
    assertEquals(before.map(({ restartCount }) => restartCount), [0, 0]);
    const failed = await readEvents(namespace, { reason: "PodResourceAutoscalerScaleFailed" });
    assertEquals(failed, []);
    await podfit.stop();
  },
});

/** 40 MiB are held: the limit keeps 8 MiB or more above them, and says what kept it. */
async function assertFloored(pod: PodRef): Promise<void> {
  const limit = await waitForActual(pod, "memory.limits", { fits: (bytes) => bytes < 256 * MI });
  assert(limit >= 48 * MI && limit < 96 * MI, `a limit of ${limit} bytes for 40 MiB in use`);
  assertEquals((await readLimits(pod)).memoryBytes, limit);
  const event = await waitFor("the event of the scale-down", async () => {
    const reason = "PodResourceAutoscalerScaleDown";
    return (await readEvents(pod.namespace, { about: "tight", reason }))[0];
  }, { timeoutMs: 10_000 });
  assertStringIncludes(event.message, "capped by memory in use");
}
