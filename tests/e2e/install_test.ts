/**
 * podfit as its chart installs it, in pods with the rights of the chart and no others: it resizes, each of its rights is
 * used and none is missing, an upgrade costs no cooldown, and what is uninstalled leaves nothing (C54).
 */
import { assert, assertEquals } from "@std/assert";
import { quickSpec, waitForLastChange } from "./support/autoscalers.ts";
import { applyManifests, readPod, waitFor, waitForPods } from "./support/cluster.ts";
import { kubectl } from "./support/kubectl.ts";
import { scenario } from "./support/needs.ts";
import { readSpecSize, recordPod } from "./support/patches.ts";
import {
  assertRightsAreUsed,
  installRelease,
  type Release,
  tellTwice,
  waitForLeader,
  waitForNothingLeft,
} from "./support/release.ts";
import type { Values } from "../../tools/helm.ts";
import { autoscaler, deployment, pod } from "./support/workloads.ts";

const REAL_ONLY = "podfit runs in a pod of its image";
const NEEDS = { images: "load", kubelet: "signed", podfitImage: true, pods: 4, freeMillicores: 300 } as const;

scenario("C54 the chart's central mode resizes with exactly its rights, is upgraded and leaves nothing behind", {
  needs: NEEDS,
  realOnly: REAL_ONLY,
  async run({ namespace }) {
    await applyManifests(namespace, [
      pod("web", { containers: [{ requests: { cpu: "10m" }, cpuMillicores: 60 }] }),
      autoscaler("web", quickSpec({ selector: { matchLabels: { app: "web" } } }, { max: "20m" })),
    ]);
    await using release = await installRelease(namespace, {});
    await waitForResize(namespace, "web");
    await waitForLastChange({ namespace, name: "web" }, "cpu.requests 10m -> 20m");
    await tellTwice(namespace);
    // Somebody may delete what podfit leads by: it is made again.
    await kubectl(["delete", "lease", release.name, "-n", namespace]);
    await waitForLeader(release);
    await assertRightsAreUsed(release, [release.name, "podfit-kubelet"]);

    await release.upgrade({ log: { level: "debug" } });
    assertEquals((await release.listPods()).length, 2);
    await release.uninstall();
    await waitForNothingLeft(release);
  },
});

const MODES: Readonly<Record<string, Values>> = {
  "the central mode": {},
  "the node-local mode": { mode: "node-local", statsSource: "cgroup" },
};

for (const [mode, values] of Object.entries(MODES)) {
  scenario(`C54 an upgrade of ${mode} resizes nothing inside of a cooldown, and goes on after it`, {
    needs: { ...NEEDS, cgroups: true },
    realOnly: REAL_ONLY,
    async run({ namespace }) {
      // Under this load the request has many steps to climb, one each half minute.
      await applyManifests(namespace, [
        deployment("web", { containers: [{ requests: { cpu: "10m" }, cpuMillicores: 150 }] }),
        autoscaler("web", quickSpec({ target: { kind: "deployment", name: "web" } }, { cooldown: "30s", step: "5m" })),
      ]);
      const [{ metadata: { name } } = { metadata: { name: "" } }] = await waitForPods(namespace, "app=web");
      await using web = await recordPod({ namespace, name });
      const count = async () => (await web.patches()).length;
      await using release = await installRelease(namespace, values);
      await waitFor("the first resize", async () => await count() === 1, { timeoutMs: 60_000 });
      const before = await listNames(release);
      await release.upgrade({ log: { level: "debug" } });
      await waitFor("all pods of podfit to be others", async () => {
        const after = await listNames(release);
        return after.length === before.length && after.every((one) => !before.includes(one));
      }, { timeoutMs: 30_000 });
      await waitFor("two more resizes", async () => await count() >= 3, { timeoutMs: 120_000 });
      const times = (await web.patches()).map(({ seenAt }) => seenAt);
      const gaps = times.slice(1).map((at, index) => at - (times[index] ?? at));
      // What the recorder sees, and the API server's whole seconds.
      assert(gaps.every((gap) => gap >= 28_000), `ms between resizes: ${gaps}`);
      await release.uninstall();
    },
  });
}

async function listNames({ listPods }: Pick<Release, "listPods">): Promise<readonly string[]> {
  return (await listPods()).map(({ metadata }) => metadata.name);
}

async function waitForResize(namespace: string, name: string): Promise<void> {
  await waitFor(`the resize of "${name}"`, async () => {
    return readSpecSize(await readPod({ namespace, name }), "main")["cpu.requests"] === 20;
  }, { timeoutMs: 90_000 });
}
