/**
 * podfit on each node, and podfit beside the container that it sizes, as the chart installs them: with their rights and
 * no others, and with a policy by which the API server keeps a token to its node or its pod (C54).
 */
import { assert, assertEquals, assertMatch } from "#assert";
import { quickSpec, waitForConditions, waitForLastChange } from "./support/autoscalers.ts";
import { enter, resize } from "./support/bound_tokens.ts";
import { applyManifests, readAutoscaler, readPod, waitFor, waitForPods } from "./support/cluster.ts";
import { kubectl } from "./support/kubectl.ts";
import { scenario } from "./support/needs.ts";
import { readSpecSize } from "./support/patches.ts";
import {
  assertRightsAreUsed,
  installRelease,
  SIDECAR_LABELS,
  sidecarFields,
  tellTwice,
  waitForLeader,
  waitForNothingLeft,
} from "./support/release.ts";
import { autoscaler, deployment, pod } from "./support/workloads.ts";

const NEEDS = {
  images: "load",
  podfitImage: true,
  auditLog: true,
  cgroups: true,
  pods: 4,
  freeMillicores: 300,
} as const;
const REAL_ONLY = "podfit runs in a pod of its image";
const LOAD = { requests: { cpu: "10m" }, cpuMillicores: 60 };

scenario("C54 the chart's node-local mode resizes on each node with exactly its rights, and no token beyond its node", {
  needs: { ...NEEDS, node: "own" },
  realOnly: REAL_ONLY,
  async run({ namespace, nodeName }) {
    assert(nodeName !== null, "needs a spare node");
    await applyManifests(namespace, [
      pod("here", { containers: [LOAD], labels: { app: "web" } }),
      pod("there", { containers: [LOAD], labels: { app: "web" }, fields: { nodeName } }),
      autoscaler("web", quickSpec({ selector: { matchLabels: { app: "web" } } }, { max: "20m" })),
    ]);
    await waitForPods(namespace, "app=web", { count: 2 });
    await using release = await installRelease(namespace, { mode: "node-local", statsSource: "cgroup" });
    for (const name of ["here", "there"]) await waitForSize({ namespace, name }, 20);
    // One of them writes for both.
    const { status } = await waitForLastChange({ namespace, name: "web" }, "cpu.requests 10m -> 20m");
    assertEquals(status?.lastScaleAction, "scaleUp");
    await waitForConditions({ namespace, name: "web" }, {
      Active: { status: "True" },
      Metrics: { status: "Unknown", reason: "NodeLocal" },
    });
    await tellTwice(namespace);
    // Somebody may delete what they share: it is made again.
    await kubectl(["delete", "lease", release.name, "-n", namespace]);
    await waitForLeader(release);
    await assertRightsAreUsed(release, [release.name]);

    const agents = await release.listPods();
    const agent = agents.find(({ spec }) => spec.nodeName === nodeName);
    assert(agent !== undefined && agents.length === 2, `${agents.length} agents`);
    await using token = await enter({ namespace, name: release.name, pod: agent.metadata.name });
    const foreign = await resize(token, namespace, "here");
    assertEquals(foreign.status, 403);
    assertMatch(foreign.message, new RegExp(`the token is of node "${nodeName}" and the pod on node`));
    assertEquals((await resize(token, namespace, "there")).status, 200);
    await release.uninstall();
    await waitForNothingLeft(release);
  },
});

scenario("C54 a sidecar resizes its own pod with exactly its rights, and no token beyond its pod", {
  needs: { ...NEEDS, kubelet: "signed" },
  realOnly: REAL_ONLY,
  async run({ namespace }) {
    await applyManifests(namespace, [
      { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "podfit-sidecar", namespace } },
    ]);
    const sidecars = { serviceAccounts: [{ namespace, name: "podfit-sidecar" }] };
    await using release = await installRelease(namespace, {
      mode: "sidecar",
      statsSource: "cgroup",
      sidecar: sidecars,
    });
    const web = deployment("web", {
      containers: [LOAD],
      replicas: 2,
      labels: SIDECAR_LABELS,
      fields: sidecarFields("podfit-sidecar"),
    });
    await applyManifests(namespace, [
      web,
      autoscaler("web", quickSpec({ target: { kind: "deployment", name: "web" } }, { max: "20m" })),
    ]);
    const pods = await waitForPods(namespace, "app=web", { count: 2 });
    for (const { metadata: { name }, spec } of pods) {
      // The API server adds no token, and the app mounts none.
      assertEquals(spec.containers.map(({ volumeMounts = [] }) => volumeMounts), [[]]);
      await waitForSize({ namespace, name }, 20);
    }
    await waitForLastChange({ namespace, name: "web" }, "cpu.requests 10m -> 20m");
    assertEquals((await readAutoscaler(namespace, "web")).status?.lastScaleAction, "scaleUp");
    await tellTwice(namespace);
    await kubectl(["delete", "lease", "podfit-sidecar", "-n", namespace]);
    await waitForLeader({ namespace, name: "podfit-sidecar" });
    await assertRightsAreUsed(release, ["podfit-sidecar"]);

    const [one = "", other = ""] = pods.map(({ metadata: { name } }) => name);
    await using token = await enter({ namespace, name: "podfit-sidecar", pod: one });
    assertMatch((await resize(token, namespace, other)).message, /is resized by its own podfit alone/);
    assertEquals((await resize(token, namespace, one)).status, 200);
    await release.uninstall();
    await waitForNothingLeft(release);
  },
});

async function waitForSize(pod: { readonly namespace: string; readonly name: string }, wanted: number): Promise<void> {
  await waitFor(`pod "${pod.name}" to have ${wanted}m`, async () => {
    return readSpecSize(await readPod(pod), "main")["cpu.requests"] === wanted;
  }, { timeoutMs: 90_000 });
}
