/**
 * What a kubelet writes arrives at its API server as a real one's does: the checks that recorded watches and summaries
 * pass hold for the watch of its pods, and for its polled summaries, over all that can happen to them.
 */
import { assert, assertEquals } from "#assert";
import { watchList } from "../../../lib/kube/watch.ts";
import { checkPodWatch, type PodEvent } from "../../support/embedded/check_pod_watch.ts";
import { checkSummaries, type SeenSummary } from "../../support/embedded/check_summaries.ts";
import type { Pod } from "../../../lib/api/kubernetes.ts";
import { KubeletRun, load, PODS } from "../../support/kubelet_run.ts";
import { ORIGIN } from "../../support/sim_server.ts";

const SIZE = { requests: { cpu: "100m", memory: "64Mi" }, limits: { cpu: "500m", memory: "128Mi" } };
const ref = (name: string) => ({ namespace: "default", name, port: 8080 });

Deno.test("the checks of recorded kubelets find nothing in what a kubelet tells its API server (C21, C22, C41)", async () => {
  await using run = new KubeletRun();
  await using recording = record(run);
  await run.create("web", { containers: [load({ cpu: 50, memory: 20, resources: SIZE })] });
  await run.create("other", { containers: [load({ resources: { requests: { cpu: "1500m" } } })] });
  await run.create("job", { restartPolicy: "Never", containers: [load({ port: 0 })] });
  await recording.poll(40);
  await run.resize("web", { requests: { cpu: "200m" }, limits: { cpu: "600m" } });
  await recording.poll(20);
  await run.resize("web", { requests: { cpu: "600m" } });
  await recording.poll(20);
  await run.server.call("DELETE", `${PODS}/other`);
  await recording.poll(20);
  // Below what is in use, then above it.
  run.loads.set(ref("web"), { memoryMiB: 100 });
  await recording.poll(30);
  await run.resize("web", { limits: { memory: "80Mi" }, requests: { memory: "40Mi" } });
  await recording.poll(40);
  await run.resize("web", { limits: { memory: "200Mi" } });
  await recording.poll(20);
  for (let kill = 0; kill < 2; kill++) {
    try {
      run.loads.set(ref("web"), { memoryMiB: 500 });
    } catch {
      // It is meant to die of it.
    }
    await recording.poll(40);
  }
  await run.server.call("DELETE", `${PODS}/web`);
  await recording.poll(10);

  const { events, summaries } = recording;
  const seen = new Set(events.flatMap(({ object }) => object.status?.conditions?.map(({ type }) => type) ?? []));
  assert(seen.has("PodResizePending") && seen.has("PodResizeInProgress"), [...seen].join());
  const reasons = new Set(
    events.flatMap(({ object }) => object.status?.containerStatuses?.map((one) => one.lastState?.terminated?.reason)),
  );
  assert(reasons.has("OOMKilled"), [...reasons].join());
  assert(events.length > 40, `${events.length} events`);
  assertEquals(checkPodWatch(events), []);
  assert(summaries.length === 280);
  assertEquals(checkSummaries(summaries, { hasCadvisor: true }), []);
});

/** Each second its summary, and its pods as they change. */
function record(run: KubeletRun) {
  const events: PodEvent[] = [];
  const summaries: SeenSummary[] = [];
  const ending = new AbortController();
  const { clock, api } = run.server;
  const watching = (async () => {
    const options = { origin: ORIGIN, path: "/api/v1/pods", clock, random: () => 0.5, signal: ending.signal };
    const project = (object: unknown) => object as Pod;
    for await (const change of watchList(api.handle, { ...options, project, onError: () => {} })) {
      const at = clock.now();
      if (change.kind !== "listed") events.push({ at, type: change.kind.toUpperCase(), object: change.object });
    }
  })();
  return {
    events,
    summaries,
    async poll(seconds: number): Promise<void> {
      for (let second = 0; second < seconds; second++) {
        await run.advance(1);
        summaries.push({ at: clock.now(), summary: await run.summary() });
      }
    },
    async [Symbol.asyncDispose]() {
      ending.abort();
      await watching;
    },
  };
}
