// deno-lint-ignore-file no-console
/**
 * `deno task bench:scale-keda [--objects 1000] [--minutes 4]`: what do podfit, KEDA and the HPA controller use for the same
 * ScaledObjects, one after the other in one run, on the cluster of KUBECONFIG? Start it with
 * `KEDA=1 KUBE_API_QPS=1000 tests/cluster/up`: with the default limit of 20 requests in a second the HPA controller asks for
 * 2,000 metrics in 100 s and not in 15. Each value asks for the replicas that are there, so that nothing is written.
 */
import { parseArgs } from "node:util";
import { createObjectsClient, type ObjectsClient } from "../../../lib/embedded/objects_client.ts";
import { type JsonObject, listAt, textAt } from "../../../lib/embedded/json.ts";
import { connect } from "../../../lib/kube/http_transport.ts";
import { systemClock } from "../../../lib/runtime/clock.ts";
import { scaledObject } from "../../e2e/support/scaled_objects.ts";
import { kubectl, readKubeconfigFolder, runProgram } from "../../e2e/support/kubectl.ts";
import { waitUntil } from "../../e2e/support/wait.ts";
import { deployment } from "../../e2e/support/workloads.ts";
import { bundleDaemon, endOnSignals, readAddress, readSeries, startDaemon } from "./daemon.ts";
import { type Phase, type PhaseName, type ProcessName, writeKedaReport } from "./scale_keda_table.ts";
import { readUsage } from "./scale_usage.ts";

const PER_NAMESPACE = 50;

/** Of requests to the API server. */
const AT_ONCE = 16;

/** Of the cluster's programs, which note their process ids. */
const PID_FILES = {
  "KEDA's operator": "keda-operator",
  "KEDA's adapter": "keda-adapter",
  "kube-controller-manager": "kcm",
  "kube-apiserver": "apiserver",
} as const;

const { values } = parseArgs({
  args: Deno.args,
  options: { objects: { type: "string", default: "1000" }, minutes: { type: "string", default: "4" } },
});
const objects = Number(values.objects);
const windowMs = Number(values.minutes) * 60_000;
const kubeconfig = Deno.env.get("KUBECONFIG") ?? "";
const namespaces = Array.from({ length: Math.ceil(objects / PER_NAMESPACE) }, (_, index) => `keda-bench-${index}`);
const names = Array.from({ length: objects }, (_, index) => `app-${index}`);

await using stack = new AsyncDisposableStack();
endOnSignals(stack);
const directory = await Deno.makeTempDir();
stack.defer(() => Deno.remove(directory, { recursive: true }));
const server = stack.use(await connect({ version: "bench", kubeconfigPaths: [kubeconfig] }));
const { signal } = new AbortController();
const client = createObjectsClient({ server, clock: systemClock, agent: "bench", signal });
const bundle = await bundleDaemon(directory);
const definition = new URL("../../../crds/podresourceautoscaler.yaml", import.meta.url).pathname;
await kubectl(["apply", "--server-side", "-f", definition]);
stack.defer(() => endObjects(client));
await createObjects(client);
console.error(`${objects} objects are there`);
await waitForAll("KEDA's HPAs", async (namespace) => {
  const hpas = listAt(
    await client.get(`/apis/autoscaling/v2/namespaces/${namespace}/horizontalpodautoscalers`) ?? {},
    "items",
  );
  return hpas.filter((hpa) =>
    listAt(hpa, "status", "conditions").some(({ type, status }) => type === "ScalingActive" && status === "True")
  ).length;
});
const phases: Partial<Record<PhaseName, Phase>> = {};
phases["HPA"] = await measure(null);

const daemon = startDaemon(bundle, ["--kubeconfig", kubeconfig], { PODFIT_SCALED_OBJECTS: "selected" });
const complaints: string[] = [];
let drained = Promise.resolve();
stack.defer(async () => {
  daemon.kill("SIGTERM");
  await Promise.all([daemon.status, drained]);
});
await readAddress(daemon.stderr);
drained = drain(daemon.stderr);
await annotateAll({ "podfit.dev/scale": "true", "podfit.dev/metrics": "keda" });
await waitForAll(
  "the records",
  (namespace) =>
    countObjects(
      namespace,
      ({ metadata }) => textAt(metadata as JsonObject, "annotations", "podfit.dev/keda-metrics") !== "",
    ),
);
await annotateAll({ "autoscaling.keda.sh/paused": "true" });
await waitForAll(
  "podfit to scale",
  (namespace) =>
    countObjects(
      namespace,
      (object) =>
        listAt(object, "status", "conditions").some(({ type, status }) =>
          type === "PodfitScaling" && status === "True"
        ),
    ),
);
phases["podfit, KEDA measures"] = await measure(daemon.pid);
await annotateAll({ "podfit.dev/metrics": "podfit" });
phases["podfit alone"] = await measure(daemon.pid);
console.log(writeKedaReport(objects, phases as Record<PhaseName, Phase>));
if (complaints.length > 0) {
  console.error(
    `Not to be used: podfit has complained ${complaints.length} times:\n${complaints.slice(0, 10).join("\n")}`,
  );
  Deno.exitCode = 1;
}

async function measure(podfit: number | null): Promise<Phase> {
  await systemClock.sleep(Math.min(45_000, windowMs / 2));
  const pids: Partial<Record<ProcessName, number>> = { ...(podfit !== null && { podfit }) };
  for (const [name, file] of Object.entries(PID_FILES)) {
    pids[name as ProcessName] = Number(await Deno.readTextFile(`${readKubeconfigFolder()}/${file}.pid`));
  }
  const read = async () => ({
    questions: await countQuestions(),
    usages: await Promise.all(Object.entries(pids).map(async ([name, pid]) => [name, await readUsage(pid)] as const)),
  });
  const startedMs = systemClock.monotonic();
  const before = await read();
  await systemClock.sleep(windowMs);
  const after = await read();
  const costs = after.usages.map(([name, { cpuSeconds, rssMiB }], index) => {
    return [name, { cpuSeconds: cpuSeconds - (before.usages[index]?.[1].cpuSeconds ?? 0), rssMiB }] as const;
  });
  const windowSeconds = (systemClock.monotonic() - startedMs) / 1000;
  const phase = { windowSeconds, questions: after.questions - before.questions, costs: Object.fromEntries(costs) };
  console.error(JSON.stringify(phase));
  return phase;
}

/** That KEDA's operator has answered since its start. Its metrics are in the network of the cluster. */
async function countQuestions(): Promise<number> {
  const curl = ["curl", "-s", "http://127.0.0.1:18080/metrics"];
  const text = await runProgram("nsenter", ["--net=/run/netns/podfit", ...curl]);
  const lines = text.split("\n").filter((line) => line.includes(`grpc_method="GetMetrics"`)).join("\n");
  return readSeries(lines, "keda_internal_metricsservice_grpc_server_handled_total");
}

async function createObjects(client: ObjectsClient): Promise<void> {
  await inTurn(namespaces, async (name) => {
    await client.create("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  });
  await waitUntil("the service accounts", async () => {
    const paths = namespaces.map((name) => `/api/v1/namespaces/${name}/serviceaccounts/default`);
    return (await Promise.all(paths.map(client.get))).every((account) => account !== null);
  }, { clock: systemClock, timeoutMs: 120_000 });
  await inTurn(names, async (name, index) => {
    const namespace = toNamespace(index);
    // No pod of it starts: the number alone counts.
    const target = deployment(name, { containers: [{ requests: { cpu: "1m" } }], fields: { schedulerName: "nobody" } });
    await client.create(`/apis/apps/v1/namespaces/${namespace}/deployments`, target as JsonObject);
    const triggers = [
      { type: "kubernetes-workload", metadata: { podSelector: `app=${name}`, value: "1" } },
      { type: "cron", metadata: { timezone: "UTC", start: "0 0 * * *", end: "59 23 * * *", desiredReplicas: "1" } },
    ];
    const object = scaledObject(name, { pollingInterval: 15, minReplicaCount: 0, maxReplicaCount: 3, triggers });
    await client.create(`/apis/keda.sh/v1alpha1/namespaces/${namespace}/scaledobjects`, object as JsonObject);
  });
}

/** While KEDA runs, because its finalizer keeps them. */
async function endObjects(client: ObjectsClient): Promise<void> {
  await inTurn(names, async (name, index) => {
    await client.delete(`/apis/keda.sh/v1alpha1/namespaces/${toNamespace(index)}/scaledobjects/${name}`);
  });
  await inTurn(namespaces, async (name) => void await client.delete(`/api/v1/namespaces/${name}`));
}

async function annotateAll(annotations: Readonly<Record<string, string>>): Promise<void> {
  await inTurn(names, async (name, index) => {
    const path = `/apis/keda.sh/v1alpha1/namespaces/${toNamespace(index)}/scaledobjects/${name}`;
    await client.patch(path, "merge", { metadata: { annotations } });
  });
}

async function countObjects(namespace: string, isIt: (object: JsonObject) => boolean): Promise<number> {
  const list = await client.get(`/apis/keda.sh/v1alpha1/namespaces/${namespace}/scaledobjects`);
  return listAt(list ?? {}, "items").filter(isIt).length;
}

async function waitForAll(what: string, count: (namespace: string) => Promise<number>): Promise<void> {
  await waitUntil(what, async () => {
    const counts = await Promise.all(namespaces.map(count));
    const sum = counts.reduce((total, one) => total + one, 0);
    if (sum === objects) return true;
    throw new Error(`there are ${sum} of ${objects}`);
  }, { clock: systemClock, timeoutMs: 600_000, everyMs: 5_000 });
}

function toNamespace(index: number): string {
  return namespaces[Math.floor(index / PER_NAMESPACE)] ?? "";
}

async function inTurn<T>(all: readonly T[], act: (one: T, index: number) => Promise<void>): Promise<void> {
  for (let from = 0; from < all.length; from += AT_ONCE) {
    await Promise.all(all.slice(from, from + AT_ONCE).map((one, index) => act(one, from + index)));
  }
}

/** Reads the daemon's log to its end, and keeps what is a warning or worse. */
async function drain(stderr: ReadableStream<Uint8Array>): Promise<void> {
  let text = "";
  for await (const part of stderr.pipeThrough(new TextDecoderStream())) {
    const lines = `${text}${part}`.split("\n");
    text = lines.pop() ?? "";
    complaints.push(...lines.filter((line) => /"level":"(warn|error)"/.test(line)));
  }
}
