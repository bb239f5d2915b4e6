/** The daemon command: connects, checks what a start needs, serves health and metrics, runs until a signal ends it. */
import { createDaemon } from "../../daemon/daemon.ts";
import { createMetrics, type Metrics } from "../../daemon/metrics/metrics.ts";
import type { Scope } from "../../daemon/inventory/scope.ts";
import { createHandler } from "../../daemon/http/handler.ts";
import { healthRoutes } from "../../daemon/http/health_routes.ts";
import { metricsRoutes } from "../../daemon/http/metrics_routes.ts";
import { serve } from "../../daemon/http/serve.ts";
import type { Verdict } from "../../daemon/verdict.ts";
import { connect } from "../../kube/connect.ts";
import { type CgroupFiles, openCgroupFiles } from "../../usage/cgroup/files.ts";
import { watchCgroups } from "../../usage/cgroup/watch_cgroups.ts";
import { watchKubelets } from "../../usage/watch_kubelets.ts";
import type { WatchUsage } from "../../usage/watch_usage.ts";
import { SERVICE_ACCOUNT_ROOT } from "../../kube/config/in_cluster.ts";
import type { ApiServer } from "../../kube/transport.ts";
import { type Clock, systemClock } from "../../runtime/clock.ts";
import { createLog, type Log } from "../../runtime/log.ts";
import { LoopLag } from "../../runtime/loop_lag.ts";
import { checkCluster } from "./check_cluster.ts";
import { openSummaries } from "./open_summaries.ts";
import type { RunOptions } from "./options.ts";
import { listenForSignals } from "../signals.ts";
import { toStartError } from "./start_error.ts";
import { VERSION } from "../version.ts";

/** Resolves when the daemon has ended by a signal; rejects with a StartError where it cannot start. */
export async function run(options: RunOptions): Promise<void> {
  const log = createLog({ level: options.logLevel, format: options.logFormat });
  const lag = new LoopLag(systemClock);
  const { agentId, isEnabled } = options.environment;
  const metrics = createMetrics({ version: VERSION, agentId, takeLoopBlockMs: () => lag.takeMs() });
  using ending = listenForSignals(() => log.info("Stopping"));
  const { signal } = ending;
  log.info("Starting", { version: VERSION, dryRun: options.dryRun, namespaces: options.namespaces ?? "all" });
  if (!isEnabled) return await idle({ options, log, metrics, signal });

  await using server = await connectTo(options);
  await checkCluster(server, options.namespaces);
  using source = await openSource(options, { server, log, metrics, clock: lag.clock });
  const scope: Scope = { namespaces: options.namespaces, node: options.node, pod: null };
  const daemon = createDaemon({
    server,
    watchUsage: source.watchUsage,
    scope,
    dryRun: options.dryRun,
    requiresAnnotation: options.environment.requiresAnnotation,
    instance: options.environment.hostname ?? "podfit",
    clock: lag.clock,
    random: Math.random,
    log,
    metrics,
    signal,
  });
  await using _http = listen({ options, log, metrics, signal }, daemon);
  await daemon.run();
  log.info("Stopped");
}

interface Shell {
  readonly options: RunOptions;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly signal: AbortSignal;
}

/** Disabled: no watch, no poll, no write (C14). */
async function idle(shell: Shell): Promise<void> {
  shell.log.warn("podfit is disabled and does nothing: set PRA_ENABLED=true to enable it");
  const ok = () => ({ ok: true, message: "disabled: PRA_ENABLED is not true" });
  await using _http = listen(shell, { isAlive: ok, isReady: ok });
  await new Promise<void>((resolve) => {
    if (shell.signal.aborted) resolve();
    else shell.signal.addEventListener("abort", () => resolve(), { once: true });
  });
  shell.log.info("Stopped");
}

function listen(
  { options, log, metrics, signal }: Shell,
  verdicts: { readonly isAlive: () => Verdict; readonly isReady: () => Verdict },
): AsyncDisposable {
  try {
    const handler = createHandler([healthRoutes(verdicts), metricsRoutes(metrics)]);
    const http = serve(handler, { ...options.listen, signal });
    const host = http.hostname.includes(":") ? `[${http.hostname}]` : http.hostname;
    log.info("Listening", { address: `${host}:${http.port}` });
    return http;
  } catch (error) {
    throw toStartError(error, "; choose another with --listen");
  }
}

async function connectTo({ kubeconfigPaths, context, environment }: RunOptions): Promise<ApiServer> {
  const { serviceHost, servicePort, home, kubeconfig } = environment;
  try {
    return await connect({
      version: VERSION,
      kubeconfigPaths,
      kubeconfigVariable: kubeconfig,
      context,
      inCluster: serviceHost === null || servicePort === null
        ? null
        : { host: serviceHost, port: servicePort, root: SERVICE_ACCOUNT_ROOT },
      defaultPath: home === null ? null : `${home}/.kube/config`,
    });
  } catch (error) {
    throw toStartError(error);
  }
}

interface Source extends Disposable {
  readonly watchUsage: WatchUsage;
}

/** Which source serves is never silent (C54). */
async function openSource(
  options: RunOptions,
  { clock, ...shell }: { server: ApiServer; log: Log; metrics: Metrics; clock: Clock },
): Promise<Source> {
  const { statsSource, node, cgroupRoot } = options;
  shell.metrics.setUsageSource(statsSource);
  if (node !== null && cgroupRoot !== null) {
    shell.log.info("Reading usage", { source: statsSource, node, root: cgroupRoot });
    const files = openCgroups(cgroupRoot);
    return {
      watchUsage: watchCgroups(files, { node, root: cgroupRoot, clock }),
      [Symbol.dispose]: () => files[Symbol.dispose](),
    };
  }
  const summaries = await openSummaries(options, { ...shell, clock: systemClock });
  return {
    watchUsage: watchKubelets(summaries, { clock, random: Math.random }),
    [Symbol.dispose]: () => summaries[Symbol.dispose](),
  };
}

function openCgroups(root: string): CgroupFiles & Disposable {
  try {
    return openCgroupFiles(root);
  } catch (error) {
    throw toStartError(error);
  }
}
