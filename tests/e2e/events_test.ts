/**
 * Events as a real API server stores them (C50): where `kubectl describe` looks for them, with the times that users sort
 * by, and counted where the same happens again.
 */
import { assert, assertEquals } from "#assert";
import { quickSpec } from "./support/autoscalers.ts";
import { backend } from "./support/backend.ts";
import { applyManifests, deleteObject, readAutoscaler, readEvents, waitFor } from "./support/cluster.ts";
import { scenario } from "./support/needs.ts";
import type { EventJson } from "./support/objects.ts";
import { startPodfit } from "./support/podfit.ts";
import { autoscaler, deployment } from "./support/workloads.ts";

scenario("C10 C50 an event stands on its autoscaler with its times, and is counted when it is told again", {
  async run({ namespace }) {
    await applyManifests(namespace, [autoscaler("web", quickSpec({ target: { kind: "deployment", name: "web" } }))]);
    await using podfit = await startPodfit({ namespaces: [namespace] });
    const startedAt = backend().clock.now();
    const first = await waitForTold(namespace, 1);
    const { uid } = (await readAutoscaler(namespace, "web")).metadata;
    const { kind, name, uid: about } = first.involvedObject;
    assertEquals([kind, name, about], ["PodResourceAutoscaler", "web", uid]);
    assertEquals([first.type, first.message, first.related], ["Warning", 'deployment "web" does not exist', undefined]);
    assertEquals(first.firstTimestamp, first.lastTimestamp);
    const apartMs = Math.abs(Date.parse(first.lastTimestamp ?? "") - startedAt);
    assert(apartMs < 30_000, `lastTimestamp ${first.lastTimestamp}`);

    await applyManifests(namespace, [deployment("web", { replicas: 0 })]);
    await waitFor("the target to be found", async () => {
      return (await readAutoscaler(namespace, "web")).status?.effectiveSelector !== undefined;
    });
    await deleteObject(namespace, "Deployment/web");
    const again = await waitForTold(namespace, 2);
    assertEquals([again.metadata.name, again.firstTimestamp], [first.metadata.name, first.firstTimestamp]);
    assert(Date.parse(again.lastTimestamp ?? "") > Date.parse(first.lastTimestamp ?? ""), `${again.lastTimestamp}`);
    await podfit.stop();
  },
});

function waitForTold(namespace: string, count: number): Promise<EventJson> {
  const filter = { about: "web", reason: "PodResourceAutoscalerTargetNotFound" };
  return waitFor(`one event ${filter.reason} with count ${count}`, async () => {
    const events = await readEvents(namespace, filter);
    const [event] = events;
    if (events.length === 1 && event?.count === count) return event;
    throw new Error(`there are ${events.length}, count ${event?.count}`);
  }, { timeoutMs: 20_000 });
}
