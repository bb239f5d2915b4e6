/**
 * The example policy of the document that podfit implements, as published, on a Burstable pod whose load rises (C34):
 * requests reach their limits and stop short of them, the QoS class stays, and the next rise still gets through.
 */
import { EXAMPLE } from "../support/manifests.ts";
import { assert, assertEquals } from "#assert";
import { assertAccountsAgree } from "./support/accounts.ts";
import { applyManifests, readEvents, readPod, setLoad } from "./support/cluster.ts";
import { findPod, readRun, waitForActual } from "./support/pods.ts";
import { scenario } from "./support/needs.ts";
import { type Patch, readActualSize, recordPod } from "./support/patches.ts";
import { startPodfit } from "./support/podfit.ts";
import { deployment } from "./support/workloads.ts";
import type { Resources } from "../../lib/units/resources.ts";

const NAME = "load-generator";

/** All as published but for `cooldown`: three actions would take over six minutes. */
const FASTER = EXAMPLE.replace("cooldown: 2m", "cooldown: 5s");
const MI = 1024 ** 2;

/**
 * Three samples in a row, and the kubelet has a new one of a container every 5 to 20 s. A resize of the other resource in
 * between begins a new warm-up: memory waited for four resizes of CPU in one run of five.
 */
const LONG_MS = 300_000;

scenario("C33 C34 C35 the published example keeps working as load rises", {
  needs: { images: "load", kubelet: "signed", freeMillicores: 500 },
  async run({ namespace }) {
    // Both requests are so near their limits that the first action would meet them, and make the pod Guaranteed.
    const sizes = { requests: { cpu: "180m", memory: "260Mi" }, limits: { cpu: "200m", memory: "300Mi" } };
    await applyManifests(namespace, [
      deployment(NAME, { containers: [{ name: NAME, cpuMillicores: 160, memoryMiB: 235, ...sizes }] }),
    ]);
    await applyManifests(namespace, FASTER);
    const pod = await findPod(namespace, NAME);
    assertEquals((await readPod(pod)).status.qosClass, "Burstable");
    const before = await readRun(pod, NAME);
    await using recorder = await recordPod(pod);
    await using podfit = await startPodfit({ namespaces: [namespace] });

    await waitForActual(pod, "memory.requests", {
      container: NAME,
      fits: (bytes) => bytes >= 299 * MI,
      timeoutMs: LONG_MS,
    });
    await setLoad(pod, { cpuMillicores: 600, memoryMiB: 275 });
    await waitForActual(pod, "memory.limits", {
      container: NAME,
      fits: (bytes) => bytes > 300 * MI,
      timeoutMs: LONG_MS,
    });
    // Beyond one step of 25 %: the limit has moved twice.
    await waitForActual(pod, "cpu.limits", {
      container: NAME,
      fits: (millicores) => millicores > 250,
      timeoutMs: LONG_MS,
    });

    const patches = await assertAccountsAgree(podfit, { autoscaler: NAME, pod, container: NAME, recorder });
    assert(patches.length >= 3, `${patches.length} actions`);
    const start = { "cpu.requests": 180, "cpu.limits": 200, "memory.requests": 260 * MI, "memory.limits": 300 * MI };
    for (const size of listSizes(start, patches)) {
      assert((size["cpu.requests"] ?? 0) <= (size["cpu.limits"] ?? 0), `cpu of ${JSON.stringify(size)}`);
      assert((size["memory.requests"] ?? 0) <= (size["memory.limits"] ?? 0), `memory of ${JSON.stringify(size)}`);
    }
    const after = await readPod(pod);
    assertEquals(after.status.qosClass, "Burstable");
    assertEquals(readActualSize(after, NAME), listSizes(start, patches).at(-1) ?? null);
    assertEquals(await readRun(pod, NAME), before);
    for (const reason of ["ScaleFailed", "QoSInvariantBlocked", "ScaleDown"]) {
      assertEquals(await readEvents(namespace, { reason: `PodResourceAutoscaler${reason}` }), []);
    }
    await podfit.stop();
  },
});

/** The container's sizes after each PATCH. */
function listSizes(start: Resources, patches: readonly Patch[]): readonly Resources[] {
  const sizes: Resources[] = [];
  let size = start;
  for (const { changes } of patches) {
    size = { ...size, ...Object.fromEntries(changes.map(({ key, to }) => [key, to])) };
    sizes.push(size);
  }
  return sizes;
}
