/** Two podfits of one chart: when the one that leads is harmed the other takes over, and no pod is resized by both. */
import { assert, assertEquals } from "#assert";
import { quickSpec } from "./support/autoscalers.ts";
import { applyManifests, waitFor, waitForPods } from "./support/cluster.ts";
import { scenario } from "./support/needs.ts";
import { recordPod } from "./support/patches.ts";
import { cutPod, type Fault, killPod, pausePod, type PodName } from "./support/pod_faults.ts";
import { installRelease, readLeader, waitForLeader } from "./support/release.ts";
import { autoscaler, deployment } from "./support/workloads.ts";

const HARMS: Readonly<Record<string, (pod: PodName) => Promise<Fault>>> = {
  "is killed": killPod,
  "is paused and goes on": pausePod,
  "is cut off from the API server for a while": cutPod,
};

for (const [what, harm] of Object.entries(HARMS)) {
  scenario(`C54 a leader ${what}: the other takes over, and nothing is resized twice`, {
    needs: { images: "load", kubelet: "signed", podfitImage: true, cgroups: true, pods: 3, freeMillicores: 250 },
    realOnly: "podfit runs in a pod of its image",
    async run({ namespace }) {
      // Under this load the request has many steps to climb.
      await applyManifests(namespace, [
        deployment("web", { containers: [{ requests: { cpu: "10m" }, cpuMillicores: 150 }] }),
        autoscaler("web", quickSpec({ target: { kind: "deployment", name: "web" } }, { cooldown: "10s", step: "5m" })),
      ]);
      const [{ metadata: { name } } = { metadata: { name: "" } }] = await waitForPods(namespace, "app=web");
      await using web = await recordPod({ namespace, name });
      const count = async () => (await web.patches()).length;
      await using release = await installRelease(namespace, {});
      await waitFor("the first resize", async () => await count() > 0, { timeoutMs: 60_000 });
      const before = await readLeader(namespace, release.name);
      assert(before !== null, "nobody leads");
      {
        await using _harm = await harm({ namespace, name: before });
        await waitForLeader(release, { not: before });
      }
      // One that comes back may have had something to say.
      const seen = await count();
      await waitFor("two more resizes", async () => await count() >= seen + 2, { timeoutMs: 90_000 });
      const patches = await web.patches();
      const times = patches.map(({ seenAt }) => seenAt);
      const gaps = times.slice(1).map((at, index) => at - (times[index] ?? at));
      assert(gaps.every((gap) => gap >= 8_500), `ms between resizes: ${gaps}`);
      assertEquals(patches.filter(({ overtakes }) => overtakes), []);
    },
  });
}
