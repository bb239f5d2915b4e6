/**
 * An autoscaler's life on a real cluster: paused, unpaused, deleted; and those that cannot work yet (C8, C10, C13, C15,
 * C51), beside one that can.
 */
import { assertEquals } from "#assert";
import { quickSpec, waitForConditions } from "./support/autoscalers.ts";
import {
  applyManifests,
  deleteObject,
  patchObject,
  readEvents,
  readPod,
  waitFor,
  waitForPods,
} from "./support/cluster.ts";
import { scenario } from "./support/needs.ts";
import { readSpecSize, recordPod } from "./support/patches.ts";
import { startPodfit } from "./support/podfit.ts";
import { autoscaler, deployment } from "./support/workloads.ts";

scenario("C13 a paused autoscaler resizes nothing, an unpaused one goes on, a deleted one leaves no trace", {
  needs: { images: "load", pods: 2, freeMillicores: 100 },
  async run({ namespace }) {
    // Under this load the request has many steps to climb, one per new sample.
    const climber = (name: string) => [
      deployment(name, { containers: [{ requests: { cpu: "10m" }, cpuMillicores: 120 }] }),
      autoscaler(name, quickSpec({ target: { kind: "deployment", name } }, { cooldown: "10s", step: "5m" })),
    ];
    await using podfit = await startPodfit({ namespaces: [namespace] });
    await applyManifests(namespace, [...climber("web"), ...climber("control")]);
    const [web] = await waitForPods(namespace, "app=web");
    const [control] = await waitForPods(namespace, "app=control");
    await using webPod = await recordPod({ namespace, name: web?.metadata.name ?? "" });
    await using controlPod = await recordPod({ namespace, name: control?.metadata.name ?? "" });
    const countOf = async (recorder: typeof webPod) => (await recorder.patches()).length;
    await waitFor("the first resize of each", async () => await countOf(webPod) > 0 && await countOf(controlPod) > 0);

    await patchSpec(namespace, { paused: true });
    await waitForConditions({ namespace, name: "web" }, {
      Ready: { status: "True", reason: "Paused" },
      Active: { status: "False", reason: "Paused" },
      Scaling: { status: "False", reason: "Paused" },
    });
    const [webPaused, controlPaused] = [await countOf(webPod), await countOf(controlPod)];
    await waitFor("two more resizes of the other pod", async () => await countOf(controlPod) >= controlPaused + 2, {
      timeoutMs: 120_000,
    });
    assertEquals(await countOf(webPod), webPaused);

    await patchSpec(namespace, { paused: false });
    await waitForConditions({ namespace, name: "web" }, { Ready: { status: "True" }, Active: { status: "True" } });
    await waitFor("a resize after the pause", async () => await countOf(webPod) > webPaused, { timeoutMs: 90_000 });
    await waitFor("series of both", async () => {
      const names = await seriesNames();
      return names.has("web") && names.has("control");
    });

    await deleteObject(namespace, "PodResourceAutoscaler/web");
    await waitFor("the series of the deleted one to go", async () => !(await seriesNames()).has("web"));
    const webDeleted = await countOf(webPod);
    await podfit.waitForEvaluations({ namespace, name: "control" }, { count: 3 });
    assertEquals(await countOf(webPod), webDeleted);
    const last = (await webPod.changes("main", "cpu.requests")).at(-1)?.to;
    const size = readSpecSize(await readPod({ namespace, name: web?.metadata.name ?? "" }), "main");
    assertEquals(size["cpu.requests"], last);
    assertEquals((await seriesNames()).has("control"), true);
    await podfit.stop();

    async function seriesNames(): Promise<ReadonlySet<string | undefined>> {
      return new Set((await podfit.metrics()).map(({ labels }) => labels.name));
    }
  },
});

scenario("C10 C15 autoscalers that cannot work say why, heal by themselves, and disturb no other", {
  needs: { images: "load", pods: 2, freeMillicores: 100 },
  async run({ namespace }) {
    const target = (name: string) => ({ target: { kind: "deployment" as const, name } });
    const containers = [{ requests: { cpu: "10m" }, cpuMillicores: 60 }];
    await using podfit = await startPodfit({ namespaces: [namespace] });
    await applyManifests(namespace, [
      deployment("web", { containers }),
      autoscaler("early", quickSpec(target("late"), { max: "20m" })),
      autoscaler("lost", quickSpec(target("web"), { containerName: "nobody" })),
      autoscaler("good", quickSpec(target("web"), { max: "20m" })),
    ]);
    const missing = { status: "False", reason: "TargetNotFound", message: 'deployment "late" does not exist' };
    await waitForConditions({ namespace, name: "early" }, { Ready: missing, Active: missing });
    await waitForConditions({ namespace, name: "lost" }, {
      Ready: { status: "True" },
      Active: { status: "False", reason: "ContainerNotFound", message: '"nobody"' },
      Metrics: { status: "Unknown" },
    });
    await waitForResize(namespace, "web");

    await applyManifests(namespace, [deployment("late", { containers })]);
    const healed = await waitForConditions({ namespace, name: "early" }, {
      Ready: { status: "True", reason: "Valid" },
      Active: { status: "True" },
    });
    assertEquals(healed.status?.effectiveSelector, { matchLabels: { app: "late" } });
    await waitForResize(namespace, "late");
    await deleteObject(namespace, "Deployment/late");
    const gone = await waitForConditions({ namespace, name: "early" }, { Ready: missing, Active: missing });
    assertEquals(gone.status?.effectiveSelector, undefined);

    for (const [name, reason, count] of TOLD) {
      const events = await waitFor(`${count} events ${reason} of "${name}"`, async () => {
        const events = await readEvents(namespace, { about: name, reason: `PodResourceAutoscaler${reason}` });
        return events.reduce((sum, event) => sum + (event.count ?? 1), 0) >= count ? events : null;
      }, { timeoutMs: 10_000 });
      assertEquals(events.map(({ type }) => type), events.map(() => "Warning"));
      assertEquals(events.reduce((sum, event) => sum + (event.count ?? 1), 0), count, `${name} ${reason}`);
    }
    await podfit.stop();
  },
});

/** "early" has lost its target twice. */
const TOLD = [["early", "TargetNotFound", 2], ["lost", "ContainerNotFound", 1]] as const;

async function patchSpec(namespace: string, spec: Readonly<Record<string, unknown>>): Promise<void> {
  await patchObject({ namespace, object: "PodResourceAutoscaler/web" }, { spec });
}

async function waitForResize(namespace: string, app: string): Promise<void> {
  const [pod] = await waitForPods(namespace, `app=${app}`);
  const name = pod?.metadata.name ?? "";
  await waitFor(`pod "${name}" to ask for 20m`, async () => {
    return readSpecSize(await readPod({ namespace, name }), "main")["cpu.requests"] === 20;
  }, { timeoutMs: 90_000 });
}
