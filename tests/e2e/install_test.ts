/**
 * podfit as its chart installs it, in pods with the rights of the chart and no others: it resizes, each of its rights is
 * used and none is missing, an upgrade costs no cooldown, what it decides can be asked for through the API server, and what is uninstalled leaves
 * nothing (C54).
 */
import { assert, assertEquals, assertMatch } from "#assert";
import { runPodfit } from "../support/podfit_process.ts";
import { quickSpec, waitForLastChange } from "./support/autoscalers.ts";
import { runCommand } from "./support/commands.ts";
import { applyManifests, readPod, waitFor, waitForPods } from "./support/cluster.ts";
import { PODFIT_IMAGE } from "./support/facts.ts";
import { kubectl } from "./support/kubectl.ts";
import { type Needs, scenario } from "./support/needs.ts";
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
/** Pod "web" goes from 10m to 20m, and no further. */
const ONE_RESIZE = [
  pod("web", { containers: [{ requests: { cpu: "10m" }, cpuMillicores: 60 }] }),
  autoscaler("web", quickSpec({ selector: { matchLabels: { app: "web" } } }, { max: "20m" })),
];
const NEEDS = { images: "load", kubelet: "signed", podfitImage: true, pods: 4, freeMillicores: 300 } as const;

scenario("C54 the chart's central mode resizes with exactly its rights, is upgraded and leaves nothing behind", {
  needs: { ...NEEDS, auditLog: true },
  realOnly: REAL_ONLY,
  async run({ namespace }) {
    await applyManifests(namespace, ONE_RESIZE);
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

// Longer than whatever limits an answer of podfit's server, and with an evaluation each 5 s.
const RECORDED = "25s";

scenario("what the chart's leader decides is recorded through the API server's pods/proxy, and replays", {
  needs: NEEDS,
  realOnly: REAL_ONLY,
  async run({ namespace }) {
    await applyManifests(namespace, ONE_RESIZE);
    await using release = await installRelease(namespace, { nameOverride: "sizer" });
    await waitForResize(namespace, "web");
    const ask = (...args: readonly string[]) =>
      runCommand([...args, "-n", namespace, "--podfit-namespace", release.namespace]);
    // Its kubelet may not have answered at once.
    const words =
      /^web has cpu\.requests 20m\. .*\nIt has this size because podfit changed cpu\.requests 10m -> 20m \S+ ago/;
    await waitFor("the size to be explained", async () => {
      const { code, complaints, stdout } = await ask("explain", "pod/web");
      assertEquals([code, complaints], [0, []]);
      return words.test(stdout);
    });
    await assertPodsAreRefused(release);
    const recorded = await ask("record", "pod/web", "--for", RECORDED);
    assertEquals(recorded.code, 0, recorded.complaints.join("\n"));
    const lines = recorded.stdout.trim().split("\n").length;
    assert(lines >= 4, `${lines} lines, ${recorded.complaints}`);
    const replayed = await runPodfit({ args: ["replay", "-"], permissions: "lint", stdin: recorded.stdout });
    assertEquals([replayed.code, replayed.stdout], [
      0,
      `${lines} records of ${lines} evaluations: all decided the same\n`,
    ]);
    await release.uninstall();
  },
});

/** A pod that even knows the UID of podfit's pod, and asks it directly. Its address is in its status by then. */
async function assertPodsAreRefused({ namespace, listPods }: Release): Promise<void> {
  const [podfit] = await listPods();
  assert(podfit !== undefined);
  const { podIP } = podfit.status as { readonly podIP?: string };
  const script = `await new Promise((resolve) => setTimeout(resolve, 10_000));
  const response = await fetch("http://${podIP}:8081/debug/records?latest=true", {
    headers: { "podfit-pod-uid": "${podfit.metadata.uid}" },
  });
  console.log(response.status, await response.text());`;
  const flags = `--image ${PODFIT_IMAGE} --image-pull-policy Never --restart Never --rm --attach --quiet --command`;
  const args = ["run", "outsider", "-n", namespace, ...flags.split(" "), "--", "/podfit/deno", "eval", script];
  const answer = await kubectl(args, { timeoutMs: 60_000 });
  assertMatch(answer, new RegExp(`^403 Forbidden: the request comes from pod "${namespace}/outsider"`, "m"));
}

interface Mode {
  readonly values: Values;
  readonly needs: Needs;
}

const MODES: Readonly<Record<string, Mode>> = {
  "the central mode": { values: {}, needs: { ...NEEDS, cgroups: true } },
  // Its agents go to every node: on one that another scenario has filled the agent waits for room, and the upgrade for that agent.
  "the node-local mode": {
    values: { mode: "node-local", statsSource: "cgroup" },
    needs: { images: "load", podfitImage: true, cgroups: true, node: "own", pods: 4, freeMillicores: 300 },
  },
};

for (const [mode, { values, needs }] of Object.entries(MODES)) {
  scenario(`C54 an upgrade of ${mode} resizes nothing inside of a cooldown, and goes on after it`, {
    needs,
    realOnly: REAL_ONLY,
    async run({ namespace, nodeName }) {
      const fields = nodeName === null ? {} : { nodeName };
      // Under this load the request has many steps to climb, one each half minute.
      await applyManifests(namespace, [
        deployment("web", { containers: [{ requests: { cpu: "10m" }, cpuMillicores: 150 }], fields }),
        autoscaler("web", quickSpec({ target: { kind: "deployment", name: "web" } }, { cooldown: "30s", step: "5m" })),
      ]);
      const [{ metadata: { name } } = { metadata: { name: "" } }] = await waitForPods(namespace, "app=web");
      await using web = await recordPod({ namespace, name });
      const count = async () => (await web.patches()).length;
      await using release = await installRelease(namespace, values);
      // Where the installation takes long, there may be more than one by now.
      await waitFor("the first resize", async () => await count() > 0, { timeoutMs: 60_000 });
      const before = await listNames(release);
      await release.upgrade({ log: { level: "debug" } });
      await waitFor("all pods of podfit to be others", async () => {
        const after = await listNames(release);
        return after.length === before.length && after.every((one) => !before.includes(one));
      }, { timeoutMs: 30_000 });
      const soFar = await count();
      await waitFor("two more resizes", async () => await count() >= soFar + 2, { timeoutMs: 120_000 });
      // By the API server, as a busy machine sees them late: a cooldown begins when it has taken the one before.
      const times = (await web.patches()).map(({ takenAt }) => takenAt);
      const gaps = times.slice(1).map((at, index) => at - (times[index] ?? at));
      assert(gaps.every((gap) => gap >= 30_000), `ms between resizes: ${gaps}`);
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
