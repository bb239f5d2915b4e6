/**
 * podfit in this process beside the embedded cluster: the options of its command line, its daemon, its server's handler
 * and its log, as the command puts them together, but for sockets (and so certificates) and signals.
 */
// Who asks about readers loads it, and under virtual time nobody waits for that.
import "node:crypto";
import { openReaderCheck } from "../../../lib/cli/run/listen.ts";
import { createProgram, type RunOptions } from "../../../lib/cli/run/options.ts";
import { checkCluster } from "../../../lib/cli/run/run.ts";
import { createDaemon } from "../../../lib/daemon/daemon.ts";
import { createMetrics } from "../../../lib/daemon/metrics/metrics.ts";
import {
  createHandler,
  type Handler,
  healthRoutes,
  type HealthRoutesOptions,
  metricsRoutes,
} from "../../../lib/daemon/server/routes.ts";
import type { Cluster } from "../../../lib/embedded/cluster.ts";
import type { ApiServer } from "../../../lib/kube/transport.ts";
import type { Clock } from "../../../lib/runtime/clock.ts";
import { createLog } from "../../../lib/runtime/log.ts";
import { draw } from "../../../lib/simulate/model/random.ts";
import type { AskTrigger } from "../../../lib/triggers/value.ts";
import { watchCgroups } from "../../../lib/usage/cgroup/watch.ts";
import { createProxySource } from "../../../lib/usage/kubelet/fetch_summary.ts";
import { watchKubelets } from "../../../lib/usage/kubelet/watch.ts";
import { openMetricsApi } from "../../../lib/usage/metrics_api/watch.ts";
import type { WatchUsage } from "../../../lib/usage/source.ts";
import { createCgroupFiles } from "../../support/embedded/cgroup_files.ts";
import { replicasBy } from "../../support/replicas_run.ts";
import { type Process, type ProcessOptions, type Question, type Reply, toHeaders } from "./backend.ts";
import type { VirtualTime } from "./virtual_time.ts";

export interface EmbeddedPodfitOptions extends ProcessOptions {
  readonly cluster: Cluster;
  /** The API server as the user of a kubeconfig; `null`: as its administrator. */
  readonly connectAs: (kubeconfig: string | null) => ApiServer;
  readonly time: VirtualTime;
  readonly seed: string;
}

const STOP_MS = 15_000;

/** What a process that is killed leaves with. */
const KILLED = 137;

export function startEmbeddedPodfit(options: EmbeddedPodfitOptions): Process {
  const { time, args, env, onLine } = options;
  const ending = new AbortController();
  const life: Life = { isKilled: false, handler: null, signal: ending.signal };
  let code: number | null = null;
  const program = createProgram((name) => env[name], {
    run: (given) => run(given, life, options),
  }).exitOverride();
  const over = program.parseAsync(["run", ...args], { from: "user" }).then(() => code = 0, (error: unknown) => {
    if (!life.isKilled) onLine(`podfit: ${error instanceof Error ? error.message : error}`);
    code = 1;
  });
  return {
    ended: () => code === null ? null : `exit code ${code}`,
    async get(_address, path) {
      const { status, body } = await ask({ path });
      if (status !== 200) throw new Error(`Cannot get "${path}" of podfit: ${status} ${body.slice(0, 500)}`);
      return body;
    },
    ask: (_address, question) => ask(question),
    async end(signal) {
      if (signal === "SIGKILL") {
        life.isKilled = true;
        life.handler = null;
        ending.abort();
        return code ??= KILLED;
      }
      ending.abort();
      for (let waitedMs = 0; code === null && waitedMs < STOP_MS; waitedMs += 100) await time.sleep(100);
      if (code !== null) await over;
      return code;
    },
  };

  async function ask(question: Question): Promise<Reply> {
    const { path } = question;
    const { handler } = life;
    if (handler === null) throw new Error(`Cannot get "${path}" of podfit: it does not listen`);
    const request = new Request(`http://podfit${path}`, { headers: toHeaders(question) });
    const response = await time.hold(async () => await handler(request));
    return { status: response.status, body: await response.text() };
  }
}

interface Life {
  /** Nothing of it is heard any more. */
  isKilled: boolean;
  handler: Handler | null;
  readonly signal: AbortSignal;
}

async function run(
  options: RunOptions,
  life: Life,
  { cluster, connectAs, time, onLine, seed }: EmbeddedPodfitOptions,
): Promise<void> {
  const { clock } = time;
  let drawn = 0;
  const { signal } = life;
  const { isEnabled, agentId, requiresAnnotation, hostname } = options.environment;
  const metrics = createMetrics({ version: "embedded", agentId });
  const write = (line: string) => life.isKilled ? undefined : onLine(line.trimEnd());
  const log = createLog({ level: options.logLevel, format: options.logFormat, clock, write });
  log.info("Starting", { version: "embedded", dryRun: options.dryRun, namespaces: options.namespaces ?? "all" });
  signal.addEventListener("abort", () => log.info("Stopping"), { once: true });
  const listen = async (verdicts: HealthRoutesOptions, server: ApiServer | null) => {
    const checkReader = options.metricsAuth && server !== null ? await openReaderCheck(server, { log, clock }) : null;
    life.handler = createHandler([healthRoutes(verdicts), metricsRoutes(metrics, { checkReader })]);
    log.info("Listening", { address: "embedded:0" });
  };
  if (!isEnabled) {
    log.warn("podfit is disabled and does nothing: set PRA_ENABLED=true to enable it");
    const ok = () => ({ ok: true, message: "disabled: PRA_ENABLED is not true" });
    await listen({ isAlive: ok, isReady: ok }, null);
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  } else {
    const server = mortal(connectAs(options.kubeconfigPaths?.[0] ?? null), life);
    await checkCluster(server, options.namespaces);
    const random = () => draw([seed, "podfit", drawn++]);
    metrics.setUsageSource(options.statsSource);
    log.info("Reading usage", { source: options.statsSource });
    const file = options.kubeletTokenFile;
    const readCredential = (file === null ? server : connectAs(file)).getCredential;
    using source = openSource(options, {
      server: { ...server, getCredential: readCredential },
      cluster,
      clock,
      random,
    });
    const daemon = createDaemon({
      server,
      clock,
      log,
      metrics,
      signal,
      requiresAnnotation,
      dryRun: options.dryRun,
      watchUsage: source.watchUsage,
      scope: { namespaces: options.namespaces, node: options.node, pod: null },
      instance: hostname ?? "podfit",
      ...(options.scaledObjects !== "off" && { replicas: replicasBy(askNobody) }),
      random,
    });
    await listen(daemon, server);
    await daemon.run();
  }
  life.handler = null;
  log.info("Stopped");
}

/** Real HTTP has no place under virtual time. */
const askNobody: AskTrigger = () => {
  return Promise.resolve({ kind: "failed", message: "Cannot ask over a network that is not there", isEmpty: false });
};

interface SourceContext {
  readonly server: ApiServer;
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly random: () => number;
}

/** The node's cgroups are served in process, wherever they are said to be mounted. */
function openSource(
  { statsSource, node, cgroupRoot, namespaces }: RunOptions,
  { server, cluster, clock, random }: SourceContext,
): Disposable & { readonly watchUsage: WatchUsage } {
  const kubelet = cluster.nodes.get(node ?? "")?.kubelet;
  if (node !== null && cgroupRoot !== null && kubelet !== undefined) {
    const files = createCgroupFiles({
      getState: kubelet.getState,
      now: () => clock.now(),
      version: 2,
      driver: "systemd",
    });
    return { watchUsage: watchCgroups(files, { node, root: cgroupRoot, clock }), [Symbol.dispose]() {} };
  }
  if (statsSource === "metrics-api") {
    return openMetricsApi({ server, clock, random, scope: { namespaces, node, pod: null } });
  }
  const source = statsSource === "proxy" ? createProxySource(server, { clock }) : cluster.openSource(server);
  return { watchUsage: watchKubelets(source, { clock, random }), [Symbol.dispose]: () => source[Symbol.dispose]() };
}

/** A process that was killed sends nothing any more. */
function mortal(server: ApiServer, life: Life): ApiServer {
  return {
    ...server,
    transport: (request) => life.isKilled ? Promise.reject(new TypeError("killed")) : server.transport(request),
  };
}
