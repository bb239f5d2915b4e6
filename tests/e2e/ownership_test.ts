/**
 * Two autoscalers of one container on a real cluster: the owner loses it right after its resize, in every way there is,
 * and the other one takes the next step, when the cooldown is over and not before (C12, C13).
 */
import { assertEquals } from "#assert";
import { waitForLastChange } from "./support/autoscalers.ts";
import { applyManifests, deleteObject, patchObject, waitFor, waitForPods } from "./support/cluster.ts";
import { scenario } from "./support/needs.ts";
import { recordPod } from "./support/patches.ts";
import { startPodfit } from "./support/podfit.ts";
import { assertCooldown, climbing, readSteps } from "./support/steps.ts";
import { autoscaler, type Manifest, pod } from "./support/workloads.ts";

const COOLDOWN_MS = 20_000;

type Change = { readonly of: "first" | "second"; readonly spec: Readonly<Record<string, unknown>> | null };

/** What ends the first one's ownership, by the name of the pod it happens to; `null` = deleted. */
const HANDOVERS: Readonly<Record<string, Change>> = {
  paused: { of: "first", spec: { paused: true } },
  deleted: { of: "first", spec: null },
  lowered: { of: "first", spec: { priority: -1 } },
  outranked: { of: "second", spec: { priority: 9 } },
  // The server refuses an invalid spec; one that matches other pods contends for this one as little.
  retargeted: { of: "first", spec: { selector: { matchLabels: { app: "nobody" } } } },
};

scenario("C12 C13 an owner that is paused, deleted, outranked or retargeted hands over without a double resize", {
  needs: { images: "load", pods: 5, freeMillicores: 100 },
  async run({ namespace }) {
    const names = Object.keys(HANDOVERS);
    await applyManifests(namespace, names.flatMap(contended));
    for (const name of names) await waitForPods(namespace, `app=${name}`);
    await using podfit = await startPodfit({ namespaces: [namespace] });
    await Promise.all(
      Object.entries(HANDOVERS).map(async ([name, { of, spec }]) => {
        await using recorder = await recordPod({ namespace, name });
        const waitForResizes = (count: number) =>
          waitFor(`${count} resizes of "${name}"`, async () => {
            const patches = await recorder.patches();
            return patches.length >= count ? patches : null;
          }, { timeoutMs: 90_000, everyMs: 50 });
        await waitForResizes(1);
        if (spec === null) await deleteObject(namespace, `PodResourceAutoscaler/${name}-${of}`);
        else await patchObject({ namespace, object: `PodResourceAutoscaler/${name}-${of}` }, { spec });

        const patches = await waitForResizes(2);
        assertEquals(readSteps(patches), [[10, 13], [13, 20]], `${name}: 3m by the first, 7m by the second`);
        assertCooldown(patches, COOLDOWN_MS);
        await waitForLastChange({ namespace, name: `${name}-second` }, "cpu.requests 13m -> 20m");
        if (spec !== null) await waitForLastChange({ namespace, name: `${name}-first` }, "cpu.requests 10m -> 13m");
      }),
    );
    await podfit.stop();
  },
});

/** A pod that two want to resize, each in steps of its own. */
function contended(name: string): readonly Manifest[] {
  const spec = (step: string, priority: number) => ({
    ...climbing({ app: name }, { cooldownMs: COOLDOWN_MS, step }),
    priority,
  });
  return [
    pod(name, { containers: [{ requests: { cpu: "10m" }, cpuMillicores: 60 }] }),
    autoscaler(`${name}-first`, spec("3m", 5)),
    autoscaler(`${name}-second`, spec("7m", 0)),
  ];
}
