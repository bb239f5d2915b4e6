/**
 * What a new pod is given by its siblings (L40), and what podfit recommends where it may not resize (L51), with the rights of
 * a role without pods/resize in mind: not one PATCH of a pod.
 */
import { assert, assertEquals } from "#assert";
import {
  applyManifests,
  patchObject,
  readAutoscaler,
  readEvents,
  readPod,
  waitFor,
  waitForPods,
} from "./support/cluster.ts";
import { quickSpec, waitForConditions } from "./support/autoscalers.ts";
import { scenario } from "./support/needs.ts";
import { readSpecSize, recordPod } from "./support/patches.ts";
import { findPod, waitForActual } from "./support/pods.ts";
import { startPodfit } from "./support/podfit.ts";
import { autoscaler, deployment } from "./support/workloads.ts";

const TARGET = { target: { kind: "deployment", name: "web" } } as const;
/** Wants six times what it has: on a busy machine it gets enough of it to be scaled up to its bound. */
const BUSY = { cpuMillicores: 300, requests: { cpu: "50m", memory: "32Mi" } };
const QUICK = quickSpec(TARGET, { max: "100m" });

scenario("L40 a new pod has its siblings' size within seconds, by one PATCH", {
  needs: { images: "load", kubelet: "signed", pods: 2, freeMillicores: 200 },
  async run({ namespace }) {
    await applyManifests(namespace, [
      deployment("web", { containers: [BUSY] }),
      autoscaler("web", { ...QUICK, newPods: "inherit" }),
    ]);
    const first = await findPod(namespace, "web");
    await using podfit = await startPodfit({ namespaces: [namespace] });
    await waitForActual(first, "cpu.requests", { fits: (millicores) => millicores === 100 });

    await patchObject({ namespace, object: "Deployment/web" }, { spec: { replicas: 2 } }, { type: "strategic" });
    const name = await waitFor("the second pod", async () => {
      const pods = await waitForPods(namespace, "app=web", { count: 2 });
      return pods.map(({ metadata }) => metadata.name).find((one) => one !== first.name) ?? null;
    });
    const second = { namespace, name };
    await waitForActual(second, "cpu.requests", { fits: (millicores) => millicores === 100, timeoutMs: 30_000 });
    // With its last events.
    await podfit.stop();
    const events = await readEvents(namespace, { about: "web" });
    const inherited = events.filter(({ reason }) => reason === "PodResourceAutoscalerInherited");
    assertEquals(inherited.length, 1);
    assert(inherited[0]?.message.includes(`container "main" of pod "${name}": cpu.requests 50m -> 100m`));
  },
});

scenario("L51 mode recommend tells sizes in status and sends no PATCH to a pod", {
  needs: { images: "load", kubelet: "signed", pods: 1, freeMillicores: 100 },
  async run({ namespace }) {
    await applyManifests(namespace, [
      deployment("web", { containers: [BUSY] }),
      autoscaler("web", { ...QUICK, mode: "recommend" }),
    ]);
    const pod = await findPod(namespace, "web");
    const before = readSpecSize(await readPod(pod), "main");
    await using recorder = await recordPod(pod);
    await using podfit = await startPodfit({ namespaces: [namespace] });
    const self = { namespace, name: "web" };
    const found = await waitFor("a recommendation of 100m", async () => {
      const { status } = await readAutoscaler(namespace, "web");
      const [one] = (status as { recommendations?: readonly Recommendation[] } | undefined)?.recommendations ?? [];
      return one?.median.requests?.cpu === "100m" ? one : null;
    }, { timeoutMs: 90_000 });
    assertEquals(found, {
      container: "main",
      min: { requests: { cpu: "100m", memory: "32Mi" } },
      median: { requests: { cpu: "100m", memory: "32Mi" } },
      max: { requests: { cpu: "100m", memory: "32Mi" } },
      template: { requests: { cpu: "50m", memory: "32Mi" } },
    });
    // At the bound the shadow wants more still (L53).
    await waitForConditions(self, { Limited: { status: "True", reason: "AtBound" }, Metrics: { status: "True" } });
    assertEquals(await recorder.patches(), []);
    assertEquals(readSpecSize(await readPod(pod), "main"), before);
    await podfit.stop();
    const reasons = (await readEvents(namespace, { about: "web" })).map(({ reason }) => reason)
      .filter((reason) => reason.startsWith("PodResourceAutoscaler"));
    assertEquals(reasons, ["PodResourceAutoscalerLimited"]);
  },
});

interface Size {
  readonly requests?: Readonly<Record<string, string>>;
}

interface Recommendation {
  readonly container: string;
  readonly min: Size;
  readonly median: Size;
  readonly max: Size;
  readonly template?: Size;
}
