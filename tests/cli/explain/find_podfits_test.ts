/** Whatever podfit is installed as, its pods are found on an embedded cluster, and asked where their listener is. */
import { assertEquals, assertRejects } from "#assert";
import { DebugError } from "../../../lib/cli/connection/records.ts";
import { openPodfits, parsePodfit } from "../../../lib/cli/connection/podfits.ts";
import { parseObjects, type Rendered, renderObjects, type Values } from "../../../tools/helm.ts";
import { pod } from "../../e2e/support/workloads.ts";
import type { Json } from "../../support/api_objects.ts";
import { ClusterRun } from "../../support/cluster_run.ts";
import { chartTest } from "../../support/needs_helm.ts";

const { signal } = new AbortController();
const WANTED = { namespace: "default", pod: null, podfitNamespace: "default" };
/** Records without a token are for named peers only. */
const NODE_LOCAL = { mode: "node-local" };

const INSTALLS: Readonly<Record<string, Values>> = {
  "the chart's own values": {},
  "nameOverride": { nameOverride: "resizer" },
  "fullnameOverride": { fullnameOverride: "resizer" },
  "both names": { nameOverride: "a", fullnameOverride: "b" },
  "podLabels of its user's": { podLabels: { "app.kubernetes.io/part-of": "platform" } },
  "another Lease": { extraArgs: ["--leader-elect-resource-name=other", "--leader-elect-resource-namespace=ops"] },
  "one replica without leader election": { replicas: 1, leaderElection: { enabled: false } },
  "HTTPS": { metrics: { tls: { secretName: "tls" } } },
  "IPv6": { ipFamily: "IPv6" },
  "the permissions of any mode": { narrowPermissions: false },
  "an agent on each node": NODE_LOCAL,
  "agents by another name": { ...NODE_LOCAL, nameOverride: "resizer" },
  "agents over HTTPS": { ...NODE_LOCAL, metrics: { tls: { secretName: "tls" } } },
};

/** What of a pod's template podfit is found by; the rest concerns others. */
function toPod({ spec: { template: { metadata, spec } } }: Json): Json {
  const { name, command, args, env } = spec.containers[0];
  const fields = { ...(command && { command }), args, env };
  const labels: Record<string, string> = metadata.labels;
  return pod("podfit-0", { labels, containers: [{ name, fields }], fields: { nodeName: "node-1" } });
}

async function withPodfit<T>(objects: readonly Rendered[], use: (found: Json, run: ClusterRun) => Promise<T>) {
  await using run = await ClusterRun.start();
  const workload = objects.find(({ kind }) => kind === "Deployment" || kind === "DaemonSet");
  await run.create(toPod(workload), pod("other", { fields: { nodeName: "node-1" } }));
  await run.advance(30);
  return await use(await run.get("pods/podfit-0"), run);
}

for (const [what, values] of Object.entries(INSTALLS)) {
  chartTest(`a podfit is found that the chart installs with ${what}`, async () => {
    const objects = await renderObjects({ values: values });
    await withPodfit(objects, async (_, run) => {
      const asked: string[] = [];
      const { origin, transport } = run.cluster.connect();
      const server = {
        origin,
        transport: (request: Request) => {
          const path = request.url.slice(origin.length);
          asked.push(path);
          return path.includes("/proxy/") ? Promise.resolve(new Response("")) : transport(request);
        },
      };
      const [source, ...others] = await openPodfits(server, WANTED, signal);
      await source?.open({ latest: true }, signal);
      assertEquals([source?.name, others], ['podfit "default/podfit-0"', []]);
      const target = JSON.stringify(values).includes("tls") ? "https:podfit-0:8081" : "podfit-0:8081";
      assertEquals(asked.at(-1), `/api/v1/namespaces/default/pods/${target}/proxy/debug/records?latest=true`);
    });
  });
}

chartTest("the Lease that a podfit is asked by is the one that the chart grants it", async () => {
  for (const values of [{}, { nameOverride: "resizer" }, { fullnameOverride: "resizer" }]) {
    const objects = await renderObjects({ name: "shop", values });
    const granted = objects.flatMap(({ kind, rules }) => kind === "Role" ? rules : [])
      .filter((rule: Json) => rule.resources.includes("leases")).flatMap((rule: Json) => rule.resourceNames ?? []);
    await withPodfit(objects, (found) => {
      assertEquals(granted, [parsePodfit(found)?.lease?.name]);
      return Promise.resolve();
    });
  }
});

for (const file of ["install", "node-local"]) {
  Deno.test(`a podfit is found that deploy/${file}.yaml installs, and it has records`, async () => {
    const text = await Deno.readTextFile(new URL(`../../../deploy/${file}.yaml`, import.meta.url));
    await withPodfit(parseObjects(text), async (_, run) => {
      const sources = await openPodfits(run.cluster.connect(), WANTED, signal);
      assertEquals(sources.map(({ name }) => name), ['podfit "default/podfit-0"']);
    });
  });
}

chartTest("a podfit without records is found, and what to set is said", async () => {
  await withPodfit(await renderObjects({ values: { debug: { enabled: false } } }), async (_, run) => {
    const { message } = await assertRejects(() => openPodfits(run.cluster.connect(), WANTED, signal), DebugError);
    assertEquals(
      message,
      'Cannot ask podfit "default/podfit-0": it has no --debug-listen; set debug.enabled of its chart, or ' +
        "--debug-listen 0.0.0.0:8081",
    );
  });
});

Deno.test("the sidecar of deploy/sidecar-example.yaml is found in its pod", async () => {
  const text = await Deno.readTextFile(new URL("../../../deploy/sidecar-example.yaml", import.meta.url));
  const { spec: { template } }: Json = parseObjects(text).find(({ kind }) => kind === "Deployment");
  const [sidecar] = template.spec.initContainers;
  assertEquals(sidecar.name, "podfit");
  const read = parsePodfit({ ...template, metadata: { ...template.metadata, name: "web-1", namespace: "default" } });
  assertEquals([read?.mode, read?.debugPort, read?.lease], ["sidecar", 10281, null]);
});
