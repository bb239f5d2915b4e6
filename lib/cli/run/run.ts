/** The daemon command: serves health and metrics, connects, waits for what a start needs, runs until a signal ends it. */
import { abortable } from "@std/async/abortable";
import { createDaemon, type DaemonOptions } from "../../daemon/daemon.ts";
import { createMetrics, type Metrics } from "../../daemon/metrics/metrics.ts";
import { ASK_NOBODY } from "../../daemon/http/reader_access.ts";
import type { Scope } from "../../daemon/inventory/scope.ts";
import type { FlightRecorder } from "../../daemon/record/flight_recorder.ts";
import type { Verdict } from "../../daemon/verdict.ts";
import type { ApiServer } from "../../kube/transport.ts";
import { type Clock, systemClock } from "../../runtime/clock.ts";
import { createLog, type Log } from "../../runtime/log.ts";
import { LoopLag } from "../../runtime/loop_lag.ts";
import { openLogWriter } from "../../runtime/log_writer.ts";
import { untilAborted } from "../../runtime/waits.ts";
import { connectTo } from "../connect_to.ts";
import { checkCluster } from "./check_cluster.ts";
import { listenForCrashes } from "./crashes.ts";
import { askAboutReaders, listen } from "./listen.ts";
import { openSource } from "./open_source.ts";
import type { RunOptions } from "./options.ts";
import { listenForSignals } from "../signals.ts";
import { createTriggerClient, type SendToTrigger } from "../../triggers/trigger_client.ts";
import { VERSION } from "../version.ts";
import { waitForCluster } from "./wait_for_cluster.ts";

/** Resolves when the daemon has ended by a signal; rejects with a StartError where it cannot start. */
export async function run(options: RunOptions): Promise<void> {
  const lag = new LoopLag(systemClock);
  const { agentId, isEnabled } = options.environment;
  const metrics = createMetrics({ version: VERSION, agentId, takeLoopBlockMs: () => lag.takeMs() });
  await using lines = openLogWriter({
    onDropped: metrics.logLineDropped,
    onRoom: (count) => log.warn("Log lines are missing here: nobody has read them in time", { lines: count }),
  });
  const log: Log = createLog({ level: options.logLevel, format: options.logFormat, write: lines.write });
  using _crashes = listenForCrashes({ log, flush: lines.flush });
  using ending = listenForSignals(() => log.info("Stopping"));
  log.info("Starting", { version: VERSION, dryRun: options.dryRun, namespaces: options.namespaces ?? "all" });
  const shell: Shell = { options, log, metrics, clock: lag.clock, signal: ending.signal };
  await (isEnabled ? work(shell) : idle(shell));
  log.info("Stopped");
}

interface Shell {
  readonly options: RunOptions;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

interface Verdicts {
  readonly isAlive: () => Verdict;
  readonly isReady: () => Verdict;
}

/** Listens first: a kubelet is to see that podfit lives, and people why it is not ready, however long the start takes. */
async function work(shell: Shell): Promise<void> {
  const { options, log, metrics, clock, signal } = shell;
  let verdicts = toStarting("no API server is asked yet");
  let checkReader = ASK_NOBODY;
  const flightRecorder = options.debugListen === null ? null : await openFlightRecorder(clock);
  await using _http = await listen(options, {
    ...shell,
    records: flightRecorder,
    verdicts: { isAlive: () => verdicts.isAlive(), isReady: () => verdicts.isReady() },
    checkReader: (authorization, path) => checkReader(authorization, path),
  });
  await using server = await unlessEnded(connectTo(options, signal), signal);
  if (server === null) return;
  if (options.metricsAuth) checkReader = await askAboutReaders(server, shell);
  const { scaledObjects } = options;
  const checked = waitForCluster(() => checkCluster(server, options.namespaces, { signal, scaledObjects }), {
    clock,
    random: Math.random,
    signal,
    onFailure(reason, waitMs) {
      verdicts = toStarting(reason);
      log.warn("Cannot start yet", { reason, retryInSeconds: Math.round(waitMs / 1000) });
    },
  });
  await unlessEnded(checked, signal);
  if (signal.aborted) return;
  const scope: Scope = { namespaces: options.namespaces, node: options.node, pod: options.pod };
  using source = await unlessEnded(openSource(options, { server, scope, log, metrics, clock }), signal);
  if (source === null) return;
  using triggers = createTriggerClient();
  const daemon = createDaemon({
    server,
    watchUsage: source.watchUsage,
    scope,
    dryRun: options.dryRun,
    pace: options.pace,
    requiresAnnotation: options.environment.requiresAnnotation,
    limits: options.limits,
    maxContenders: options.maxContenders,
    instance: options.environment.hostname ?? "podfit",
    ...readLease(options, server),
    ...await readReplicas(options, { server, clock, send: triggers.send }),
    ...(flightRecorder !== null && { flightRecorder }),
    clock,
    random: Math.random,
    log,
    metrics,
    signal,
  });
  verdicts = daemon;
  await daemon.run();
}

async function openFlightRecorder(clock: Clock): Promise<FlightRecorder> {
  const { createFlightRecorder } = await import("../../daemon/record/flight_recorder.ts");
  return createFlightRecorder(clock);
}

/** `null` when the signal aborts first: what is asked then, a file that does not come too, is left behind. */
async function unlessEnded<T>(work: Promise<T>, signal: AbortSignal): Promise<T | null> {
  try {
    return await abortable(work, signal);
  } catch (error) {
    if (signal.aborted) return null;
    throw error;
  }
}

function toStarting(reason: string): Verdicts {
  return {
    isAlive: () => ({ ok: true, message: "ok" }),
    isReady: () => ({ ok: false, message: `starting: ${reason}` }),
  };
}

/** Disabled: no watch, no poll, no write (C14). Whoever reads the metrics is asked about all the same. */
async function idle(shell: Shell): Promise<void> {
  const { options, log, signal } = shell;
  log.warn("podfit is disabled and does nothing: set PRA_ENABLED=true to enable it");
  const ok = () => ({ ok: true, message: "disabled: PRA_ENABLED is not true" });
  let checkReader = ASK_NOBODY;
  await using _http = await listen(options, {
    ...shell,
    records: null,
    verdicts: { isAlive: ok, isReady: ok },
    checkReader: (authorization, path) => checkReader(authorization, path),
  });
  await using server = options.metricsAuth ? await unlessEnded(connectTo(options, signal), signal) : null;
  if (server !== null) checkReader = await askAboutReaders(server, shell);
  await untilAborted(signal);
}

/** Replicas are set only where they are asked for (R1): all that is for them alone is loaded then. */
export async function readReplicas(
  { scaledObjects, clusterObjectNamespace }: Pick<RunOptions, "scaledObjects" | "clusterObjectNamespace">,
  { server, clock, send }: {
    readonly server: Pick<ApiServer, "namespace">;
    readonly clock: Clock;
    readonly send: SendToTrigger;
  },
): Promise<Pick<DaemonOptions, "replicas">> {
  if (!scaledObjects) return {};
  const { createReplicasActor: create } = await import("../../daemon/replicas/actor.ts");
  const { createAskTrigger } = await import("../../triggers/ask_trigger.ts");
  const ask = createAskTrigger({ clock, send, version: VERSION });
  return { replicas: { create, clusterObjectNamespace: clusterObjectNamespace ?? server.namespace, ask } };
}

/** A name that no other process has had: not even this container's, before it was started again. */
function readLease(
  { leaderElection: { isOn, name, namespace }, environment }: RunOptions,
  server: Pick<ApiServer, "namespace" | "source">,
): Pick<DaemonOptions, "lease"> {
  if (!(isOn ?? server.source === "in-cluster")) return {};
  const identity = `${environment.hostname ?? "podfit"}_${crypto.randomUUID()}`;
  return { lease: { namespace: namespace ?? server.namespace, name, identity } };
}
