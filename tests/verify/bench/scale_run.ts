/**
 * One size of the scale bench: API server, hollow kubelets and daemon as three processes, metrics-server as a fourth
 * where there is one; what the last two use in a window, and in the warm-up before it, which begins when all pods are
 * tracked. No pod comes or goes, and some are resized. A window in which a read failed, too few were made or no pod was
 * resized is an error and not a result.
 */
import {
  bundleDaemon,
  endOnSignals,
  readAddress,
  readMetrics,
  readSeries,
  startDaemon,
  waitUntilReady,
} from "./daemon.ts";
import { startRealCluster } from "./scale_real.ts";
import { startMetricsServer } from "./scale_metrics_server.ts";
import type { Cost, ReplicaFigures, SizeResult } from "./scale_table.ts";
import { type ProcessUsage, readUsage } from "./scale_usage.ts";
import { startWorker } from "./scale_worker.ts";
import { newWorld, POLL_MS, type Punctuality, type World } from "./scale_world.ts";

export interface SizeOptions {
  readonly nodes: number;
  readonly podsPerNode: number;
  readonly scaledObjects: number;
  /** V8 compiles what is often used, and pods that were always too large become smaller. */
  readonly warmUpMs: number;
  readonly windowMs: number;
  /** Path of its program; `null` = without it. */
  readonly metricsServer: string | null;
  /** Of a real API server; `null` for the embedded one. */
  readonly kubeconfig: string | null;
  readonly say: (text: string) => void;
}

/** What is measured in, whoever serves its API. */
export interface BenchCluster {
  /** Of its kubeconfig. */
  readonly path: string;
  /** Of somebody who may ask metrics-server. */
  readonly token: string;
  /** Of podfit, to reach its kubelets. */
  readonly args: readonly string[];
  /** Since it was asked last; absent where its kubelets do not tell. */
  readonly askPunctuality?: () => Promise<Punctuality>;
}

const SYNC_MS = 180_000;
const SAMPLE_MS = 5_000;

export async function measureSize(
  { nodes, podsPerNode, scaledObjects, warmUpMs, windowMs, metricsServer, kubeconfig, say }: SizeOptions,
): Promise<SizeResult> {
  await using stack = new AsyncDisposableStack();
  endOnSignals(stack);
  const directory = await Deno.makeTempDir();
  stack.defer(() => Deno.remove(directory, { recursive: true }));
  const bundle = await bundleDaemon(directory);
  const world = newWorld({ nodes, podsPerNode, scaledObjects });
  const { path, token, args, askPunctuality } = kubeconfig === null
    ? await startEmbeddedCluster(world, { directory, stack })
    : await startRealCluster(world, { kubeconfig, directory, stack });
  const other = metricsServer === null
    ? null
    : stack.use(await startMetricsServer({ program: metricsServer, kubeconfig: path, directory, token }));

  const began = performance.now();
  const daemon = startDaemon(bundle, ["--kubeconfig", path, ...args], toEnv(scaledObjects));
  const complaints: string[] = [];
  let drained = Promise.resolve();
  stack.defer(async () => {
    daemon.kill("SIGTERM");
    await Promise.all([daemon.status, drained]);
  });
  const address = await readAddress(daemon.stderr);
  drained = drain(daemon.stderr, complaints);
  await waitUntilReady(address, SYNC_MS);
  const pods = nodes * podsPerNode;
  await waitUntilTracked(address, pods);
  const syncSeconds = (performance.now() - began) / 1000;

  const readBoth = async () =>
    [await readUsage(daemon.pid), other === null ? null : await readUsage(other.pid)] as const;
  const measure = async (ms: number) => {
    const began = performance.now();
    const seen = [await readBoth()];
    while (performance.now() - began < ms) {
      await new Promise((resolve) => setTimeout(resolve, Math.min(SAMPLE_MS, ms)));
      seen.push(await readBoth());
    }
    return {
      seconds: (performance.now() - began) / 1000,
      podfit: toCost(seen.map(([one]) => one)),
      metricsServer: other === null ? null : toCost(seen.flatMap(([, one]) => one ?? [])),
    };
  };
  const { cpuSeconds } = await readUsage(daemon.pid);
  say(
    `${nodes} nodes, ${pods} pods: tracked after ${syncSeconds.toFixed(1)} s and ${cpuSeconds.toFixed(1)} s of CPU`,
  );
  const warmUp = await measure(warmUpMs);
  const before = readFigures(await readMetrics(address));
  await askPunctuality?.();
  const window = await measure(windowMs);
  const punctuality = await askPunctuality?.() ?? null;
  const windowSeconds = window.seconds;
  const page = await readMetrics(address);
  const after = readFigures(page);
  const [reads, evaluations] = [after.reads - before.reads, after.evaluations - before.evaluations];
  const resizes = after.resizes - before.resizes;
  checkWindow({
    reads,
    evaluations,
    resizes,
    failedReads: after.failedReads,
    nodes,
    podsPerNode,
    windowSeconds,
    complaints,
  });
  const scraped = other === null ? "" : `, metrics-server knows ${await other.countPods()} pods`;
  say(
    `  ${reads} reads, ${evaluations} evaluations, ${resizes} resizes in ${windowSeconds.toFixed(0)} s` +
      `, ${before.resizes} resizes before it${scraped}`,
  );
  return {
    nodes,
    pods,
    windowSeconds,
    resizes,
    warmUp,
    blockMs: (readSeries(page, "podfit_loop_block_seconds") || 0) * 1000,
    punctuality,
    replicas: scaledObjects === 0 ? null : readReplicaFigures(page),
    podfit: window.podfit,
    metricsServer: window.metricsServer,
  };
}

function toEnv(scaledObjects: number): Readonly<Record<string, string>> {
  return scaledObjects > 0 ? { PODFIT_SCALED_OBJECTS: "true" } : {};
}

/** Since the start: the first passes are the slowest. */
function readReplicaFigures(metrics: string): ReplicaFigures {
  const name = "podfit_replica_evaluation_seconds";
  const evaluations = readSeries(metrics, `${name}_count`) || 0;
  const within = [...metrics.matchAll(new RegExp(`^${name}_bucket\\{[^}]*le="0\\.005"\\} (\\d+)$`, "gm"))]
    .reduce((sum, [, count]) => sum + Number(count), 0);
  return {
    evaluations,
    meanMs: ((readSeries(metrics, `${name}_sum`) || 0) * 1000) / Math.max(1, evaluations),
    above5Ms: evaluations - within,
    writes: readSeries(metrics, "podfit_replica_writes_total") || 0,
  };
}

/** The server first says what kubelets serve with, then learns where they do. */
export async function startEmbeddedCluster(
  world: World,
  { directory, stack }: { directory: string; stack: AsyncDisposableStack },
): Promise<BenchCluster & { readonly ports: readonly number[] }> {
  const server = stack.use(startWorker("scale_server.ts"));
  const { kubelets: credentials } = await server.hear() as { kubelets: { cert: string; key: string } };
  const kubelets = stack.use(startWorker("scale_kubelets.ts"));
  await kubelets.tell({ world, ...credentials });
  const { ports } = await kubelets.hear() as { ports: readonly number[] };
  await server.tell({ world, ports });
  const { kubeconfig, token } = await server.hear() as { kubeconfig: string; token: string };
  const path = `${directory}/kubeconfig`;
  await Deno.writeTextFile(path, kubeconfig);
  const askPunctuality = async () => {
    await kubelets.tell({});
    return await kubelets.hear() as Punctuality;
  };
  return { path, token, args: [], askPunctuality, ports };
}

async function waitUntilTracked(address: string, pods: number): Promise<void> {
  let tracked = NaN;
  for (const endsAt = performance.now() + SYNC_MS; performance.now() < endsAt;) {
    tracked = readSeries(await readMetrics(address), "podfit_tracked_pods");
    if (tracked === pods) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error(`Cannot measure: podfit tracks ${tracked} of ${pods} pods`);
}

/** What podfit says of its own work. */
interface Figures {
  readonly reads: number;
  readonly failedReads: number;
  readonly evaluations: number;
  readonly resizes: number;
}

function readFigures(metrics: string): Figures {
  // A series that has not been used is not there.
  const read = (name: string) => readSeries(metrics, name) || 0;
  const reads = read("podfit_kubelet_reads_total");
  const good = Number(/^podfit_kubelet_reads_total\{result="ok"\} (\d+)$/m.exec(metrics)?.[1] ?? 0);
  return {
    reads,
    failedReads: reads - good,
    evaluations: read("kedify_agent_pra_evaluation_duration_seconds_count"),
    resizes: read("kedify_agent_pra_resource_updates"),
  };
}

interface Window extends Pick<SizeOptions, "nodes" | "podsPerNode"> {
  readonly reads: number;
  readonly evaluations: number;
  readonly resizes: number;
  readonly failedReads: number;
  readonly windowSeconds: number;
  readonly complaints: readonly string[];
}

function checkWindow(window: Window): void {
  const { reads, evaluations, resizes, failedReads, nodes, podsPerNode, windowSeconds, complaints } = window;
  // A poll may fall just outside of the window.
  const expected = Math.floor(nodes * Math.max(0, (windowSeconds * 1000) / POLL_MS - 1) * 0.9);
  const isBusy = reads >= expected && evaluations >= expected * podsPerNode && resizes > 0;
  if (isBusy && failedReads === 0 && complaints.length === 0) return;
  throw new Error(
    `Cannot use this run: ${reads} reads (at least ${expected} expected, ${failedReads} failed), ` +
      `${evaluations} evaluations, ${resizes} resizes\n${complaints.slice(0, 5).join("\n")}`,
  );
}

/** Reads the daemon's log to its end, and keeps what is a warning or worse. */
async function drain(stderr: ReadableStream<Uint8Array>, complaints: string[]): Promise<void> {
  let text = "";
  for await (const part of stderr.pipeThrough(new TextDecoderStream())) {
    const lines = `${text}${part}`.split("\n");
    text = lines.pop() ?? "";
    complaints.push(...lines.filter((line) => /"level":"(warn|error)"/.test(line)));
  }
}

/** Of two or more looks. */
function toCost(seen: readonly ProcessUsage[]): Cost {
  const [first, last] = [seen[0], seen.at(-1)];
  return {
    cpuSeconds: (last?.cpuSeconds ?? NaN) - (first?.cpuSeconds ?? NaN),
    rssMiB: seen.reduce((sum, { rssMiB }) => sum + rssMiB, 0) / seen.length,
    peakMiB: last?.peakMiB ?? NaN,
  };
}
