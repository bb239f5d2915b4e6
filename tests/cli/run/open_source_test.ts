/** Which source does --stats-source open, and where is it told (C54)? */
import { assertEquals } from "#assert";
import { openSource } from "../../../lib/cli/run/open_source.ts";
import { createProgram, type RunOptions } from "../../../lib/cli/run/options.ts";
import { WHOLE_CLUSTER } from "../../../lib/daemon/cluster/facts.ts";
import { createLog } from "../../../lib/runtime/log.ts";
import type { UsagePod } from "../../../lib/usage/source.ts";
import { pod } from "../../e2e/support/workloads.ts";
import { ClusterRun } from "../../support/cluster_run.ts";

Deno.test("--stats-source metrics-api reads pods from metrics.k8s.io, and the log and a metric say so (C54)", async () => {
  await using run = await ClusterRun.start({ hasMetricsServer: true });
  await run.create(pod("web", { containers: [{ requests: { cpu: "100m" }, cpuMillicores: 300 }] }));
  await run.advance(60);
  const { source, told } = await open(run, ["--stats-source", "metrics-api"]);
  assertEquals(told, ["metric metrics-api", "Reading usage: metrics-api"]);
  assertEquals(await readOnce(run, source.watchUsage), [300, undefined]);
  source[Symbol.dispose]();
});

Deno.test("--stats-source auto reads a node by metrics.k8s.io whose kubelet has no address, after it was tried (C54)", async () => {
  await using run = await ClusterRun.start({ hasMetricsServer: true });
  await run.create(pod("web", { containers: [{ requests: { cpu: "100m" }, cpuMillicores: 300 }] }));
  await run.advance(60);
  const { source, told } = await open(run, ["--stats-source", "auto"]);
  assertEquals(told, ["metric auto", "Reading usage: auto"]);
  assertEquals(await readOnce(run, source.watchUsage), [300, "metrics-api"]);
  source[Symbol.dispose]();
});

Deno.test("--stats-source cgroup reads files of its node alone, and says which (C54, L61)", async () => {
  await using run = await ClusterRun.start();
  const root = await Deno.makeTempDir();
  try {
    const args = ["--stats-source", "cgroup", "--node", "node-1", "--cgroup-root", root];
    const { source, told } = await open(run, args);
    assertEquals(told, ["metric cgroup", "Reading usage: cgroup"]);
    source[Symbol.dispose]();
  } finally {
    await Deno.remove(root);
  }
});

async function open(run: ClusterRun, args: readonly string[]) {
  const told: string[] = [];
  const log = createLog({
    level: "info",
    format: "json",
    clock: run.clock,
    write(line) {
      const { message, source } = JSON.parse(line);
      told.push(`${message}: ${source}`);
    },
  });
  const metrics = { setUsageSource: (source: string) => void told.push(`metric ${source}`) };
  const context = { server: run.cluster.connect(), scope: WHOLE_CLUSTER, log, metrics, clock: run.clock };
  return { source: await openSource(await readOptions(args), context), told };
}

async function readOptions(args: readonly string[]): Promise<RunOptions> {
  let options: RunOptions | null = null;
  const commands = {
    run: (given: RunOptions) => Promise.resolve(void (options = given)),
  };
  await createProgram(() => undefined, commands).parseAsync(["run", ...args], { from: "user" });
  if (options === null) throw new Error("Cannot read the options");
  return options;
}

type Source = Awaited<ReturnType<typeof openSource>>;

/** Millicores of the pod, to a hundred, in the first reading that has usage, and who served it. */
async function readOnce(run: ClusterRun, watchUsage: Source["watchUsage"]): Promise<readonly unknown[]> {
  const { metadata, status } = await run.get("pods/web");
  const [{ containerID }] = status.containerStatuses;
  const wanted: UsagePod = {
    uid: metadata.uid,
    namespace: "default",
    name: "web",
    qosClass: null,
    containers: [{ name: "main", instance: containerID, runningAt: 1 }],
  };
  const ending = new AbortController();
  const node = { name: "node-1", getAddress: () => ({ addresses: null, port: 10250, maxPods: null }) };
  const options = { interval: () => 15_000, isTracked: () => true, pods: () => [wanted], signal: ending.signal };
  const read = (async () => {
    for await (const reading of watchUsage(node, options)) {
      const point = reading.kind === "usage" ? reading.pods.get(metadata.uid)?.points[0] : undefined;
      if (point?.cpu.kind === "rate") return [100 * Math.round(point.cpu.millicores / 100), reading.served?.source];
    }
    return [];
  })();
  await run.advance(120);
  ending.abort();
  return await read;
}
