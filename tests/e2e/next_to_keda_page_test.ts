/** Do the five commands of the page "next to KEDA" do what it says, next to KEDA's own operator and metrics adapter? */
import { assertEquals, assertMatch } from "#assert";
import { listSteps } from "../../tools/docs/commands.ts";
import { CHART } from "../../tools/helm.ts";
import { applyManifests, waitFor } from "./support/cluster.ts";
import { startKeda } from "./support/keda.ts";
import { kubectl, runProgram } from "./support/kubectl.ts";
import { scenario } from "./support/needs.ts";
import { readReplicas, readScaledObject, scaledObject } from "./support/scaled_objects.ts";
import { getOutput, runPage } from "./support/shell.ts";
import { deployment } from "./support/workloads.ts";

const PAGE = "docs/how-to/next-to-keda.md";

const SHOP = "shop";

/** 30 jobs, 10 for each pod. */
const JOBS = {
  type: "kubernetes-resource",
  metadata: { resourceKind: "ConfigMap", resourceName: "jobs", key: "open", targetValue: "10" },
};

scenario("the commands of the page about KEDA adopt an object, explain it, and give it back (M6)", {
  // Its podfit looks after all namespaces.
  needs: {
    alone: true,
    images: "load",
    podfitImage: true,
    keda: true,
    kubelet: "signed",
    freeMillicores: 300,
    pods: 5,
  },
  realOnly: "podfit runs in a pod of its image",
  async run() {
    const end = ["delete", "--ignore-not-found", "namespace", SHOP, "podfit"];
    await using stack = new AsyncDisposableStack();
    stack.defer(async () => void await kubectl(end, { timeoutMs: 120_000 }));
    await kubectl(["create", "namespace", SHOP]);
    stack.use(await startKeda(SHOP));
    await applyManifests(SHOP, [
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "jobs" }, data: { open: "30" } },
      deployment("web", { replicas: 3, containers: [{ requests: { cpu: "10m" } }] }),
      scaledObject("web", { minReplicaCount: 1, triggers: [JOBS] }, { "podfit.dev/metrics": "keda" }),
    ]);
    await waitFor("KEDA's HPA", async () => {
      return await kubectl(["get", "hpa", "keda-hpa-web", "-n", SHOP, "--ignore-not-found"]) !== "";
    }, { timeoutMs: 60_000 });
    const release = ["podfit", CHART, "--namespace", "podfit"];
    const wait = ["--create-namespace", "--wait", "--timeout", "90s", "--set", "crds.install=false"];
    await runProgram("helm", ["install", ...release, ...wait], { timeoutMs: 100_000 });
    const steps = await runPage({
      page: PAGE,
      steps: listSteps(await Deno.readTextFile(new URL(`../../${PAGE}`, import.meta.url))),
      functions: [`export PATH="$PWD/bin:$PATH"`],
      // A round of the scaling loop.
      change: (command) => command.replace(/^podfit explain/, "sleep 20; $&"),
      atEnd: ["helm uninstall podfit --namespace podfit --ignore-not-found --wait"],
    });
    assertEquals(steps.length, 5);
    assertMatch(getOutput(steps, "podfit explain"), /^deployment\/web has 3 replicas\..*\(WithinTolerance\)\.$/m);
    assertEquals(await readReplicas(SHOP, "web"), 3);
    await waitFor("podfit's conditions to be gone", async () => {
      const { status } = await readScaledObject(SHOP, "web");
      return !(status?.conditions ?? []).some(({ type }) => type.startsWith("Podfit"));
    });
  },
});
