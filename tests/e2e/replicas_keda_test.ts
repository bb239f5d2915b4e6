/** KEDA's own sample manifests, on podfit's definition and on KEDA's: the same objects, the same words (R1, R2, R90, R91). */
import { assert, assertEquals } from "#assert";
import { applyManifests, waitFor, waitForPods } from "./support/cluster.ts";
import { kubectl, tryKubectl } from "./support/kubectl.ts";
import { scenario } from "./support/needs.ts";
import { startPodfit } from "./support/podfit.ts";
import { hasPrometheus, startPrometheus } from "./support/prometheus.ts";
import { readScaledObject, REPLICAS_ON, serveNumbers, waitForScaled } from "./support/scaled_objects.ts";
import { deployment } from "./support/workloads.ts";

const SAMPLES = new URL("../testdata/keda/", import.meta.url);
const OURS = new URL("../../crds/", import.meta.url).pathname;
const PLURALS = ["scaledobjects", "triggerauthentications", "clustertriggerauthentications"];

/** Where `tests/cluster/build keda-definitions` has put KEDA's. */
function readTheirFolder(): string {
  const cache = Deno.env.get("XDG_CACHE_HOME") ?? `${Deno.env.get("HOME") ?? ""}/.cache`;
  return `${Deno.env.get("CLUSTER_HOME") ?? `${cache}/podfit-cluster`}/keda`;
}

async function hasTheirs(): Promise<boolean> {
  return await Deno.stat(`${readTheirFolder()}/scaledobjects.yaml`).then(() => true, () => false);
}

/** By the name of the target, what the sample of each trigger comes to. */
const EXPECTED: Readonly<Record<string, { readonly metric: string; readonly replicas: number }>> = {
  cpu: { metric: "cpu", replicas: 1 },
  // KEDA lists no metric of a single container.
  memory: { metric: "", replicas: 1 },
  cron: { metric: "s0-cron-Asia-Kolkata-06xxx-020xxx", replicas: -1 },
  "kubernetes-workload": { metric: "s0-workload-NAMESPACE", replicas: 0 },
  "metrics-api": { metric: "s0-metric-api-components-worker-tasks", replicas: 2 },
  prometheus: { metric: "s0-prometheus", replicas: 2 },
};

for (const definition of ["podfit's", "KEDA's"]) {
  scenario(`KEDA's samples of each trigger work with ${definition} definition (R1, R2, R90, R91)`, {
    needs: { ...(definition === "KEDA's" && { alone: true }), images: "load", pods: 20 },
    realOnly: await hasTheirs() && hasPrometheus()
      ? "definitions are replaced by kubectl, and values come over real HTTP"
      : "there is no prometheus, or no definition of KEDA's: see tests/cluster/build",
    async run({ namespace }) {
      if (definition === "KEDA's") await replace(readTheirFolder(), PLURALS);
      try {
        await runSamples(namespace);
      } finally {
        if (definition === "KEDA's") await kubectl(["apply", "--server-side", "--force-conflicts", "-f", OURS]);
      }
    },
  });
}

/** A whole definition in place of the one before: its objects stay. */
async function replace(folder: string, names: readonly string[]): Promise<void> {
  for (const name of names) await kubectl(["replace", "-f", `${folder}/${name}.yaml`]);
  await kubectl(["wait", "--for=condition=Established", "--timeout=30s", ...names.map((one) => `crd/${one}.keda.sh`)]);
}

async function runSamples(namespace: string): Promise<void> {
  await using tasks = serveNumbers(14);
  await using queue = serveNumbers(150);
  await using prometheus = await startPrometheus(queue.origin);
  const places = {
    "http://api:3232/components/stats": `${tasks.origin}/value`,
    "http://<prometheus-host>:9090": prometheus.origin,
  };
  for (const name of Object.keys(EXPECTED)) {
    const requests = { cpu: "10m", memory: "16Mi" };
    await applyManifests(namespace, [
      deployment(name, { replicas: name === "cpu" || name === "memory" ? 1 : 0, containers: [{ requests }] }),
    ]);
    let sample = await Deno.readTextFile(new URL(`${name}.yaml`, SAMPLES));
    for (const [from, to] of Object.entries(places)) sample = sample.replace(from, to);
    await applyManifests(namespace, sample);
  }
  await using podfit = await startPodfit({ namespaces: [namespace], env: REPLICAS_ON });
  await waitForPods(namespace, "app=cpu");
  for (const [name, { metric, replicas }] of Object.entries(EXPECTED)) {
    const { status } = await waitForScaled({ namespace, name }, {
      Ready: { status: "True", reason: "ScaledObjectReady" },
    });
    const seen = [...status?.externalMetricNames ?? [], ...status?.resourceMetricNames ?? []];
    assertEquals(seen, metric === "" ? [] : [metric.replace("NAMESPACE", namespace)], name);
    if (replicas < 0) continue;
    await waitFor(`${replicas} replicas of "${name}"`, async () => {
      const { stdout } = await tryKubectl([
        "get",
        `deployment/${name}`,
        "-n",
        namespace,
        "-o",
        "jsonpath={.spec.replicas}",
      ]);
      if (Number(stdout) === replicas) return true;
      throw new Error(`there are ${stdout}`);
    }, { timeoutMs: 60_000 });
  }
  const table = await kubectl(["get", "so", "-n", namespace]);
  const [head = "", ...rows] = table.trim().split("\n");
  assertEquals(head.split(/ {2,}/), [
    "NAME",
    "SCALETARGETKIND",
    "SCALETARGETNAME",
    "MIN",
    "MAX",
    "READY",
    "ACTIVE",
    "FALLBACK",
    "PAUSED",
    "TRIGGERS",
    "AUTHENTICATIONS",
    "AGE",
  ]);
  assert(rows.every((row) => row.includes("apps/v1.Deployment") && /\bTrue\b/.test(row)), table);
  const { status } = await readScaledObject(namespace, "cpu");
  assertEquals(status?.originalReplicaCount, 1);
  await podfit.stop();
}
