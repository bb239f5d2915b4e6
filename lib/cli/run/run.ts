/**
 * The daemon command: serves health and metrics, connects, waits until a start makes sense, and runs until a signal.
 *
 * A start makes sense when the API server answers and knows the kinds that podfit needs. An error that nothing catches
 * ends the process with one line in the log.
 */
import type { Scope } from "../../daemon/cluster/facts.ts";
import type { DaemonOptions } from "../../daemon/daemon.ts";
import type { CheckResult } from "../../daemon/health.ts";
import { createMetrics, type Metrics } from "../../daemon/metrics/metrics.ts";
import type { FlightRecorder } from "../../daemon/recorder.ts";
import { NO_API_SERVER } from "../../daemon/server/reader_access.ts";
import { createFindPodAt, type FindPodAt } from "../../daemon/server/records_access.ts";
import { type ApiClient, createClient, type UntypedAnswer } from "../../kube/client.ts";
import { isLasting, toApiError } from "../../kube/errors.ts";
import type { ApiServer } from "../../kube/transport.ts";
import { backoffMs } from "../../runtime/backoff.ts";
import { type Clock, systemClock } from "../../runtime/clock.ts";
import { LoopLag } from "../../runtime/event_loop.ts";
import { createLog, type Log, openLogWriter } from "../../runtime/log.ts";
import { abortable, untilAborted } from "../../runtime/tasks.ts";
import { hostOf } from "../../units/address.ts";
import { COMMIT, EXIT, listenForSignals, toStartError, VERSION } from "../command/process.ts";
import { connectTo, createReplicasOptions } from "../connection/api_server.ts";
import { listen, openReaderCheck } from "./listen.ts";
import type { RunOptions } from "./options.ts";

/** Resolves when the daemon has ended by a signal; rejects with a StartError where it cannot start. */
export async function run(options: RunOptions): Promise<void> {
  const lag = new LoopLag(systemClock);
  const { agentId, isEnabled } = options.environment;
  const metrics = createMetrics({ version: VERSION, commit: COMMIT, agentId, takeLoopBlockMs: () => lag.takeMaxMs() });
  await using lines = openLogWriter({
    onDropped: metrics.logLineDropped,
    onRoom: (count) => log.warn("Log lines are missing here: stderr was not read in time", { lines: count }),
  });
  const log: Log = createLog({ level: options.logLevel, format: options.logFormat, write: lines.write });
  using _crashes = listenForCrashes({ log, flush: lines.flush });
  using ending = listenForSignals(() => log.info("Stopping"));
  log.info("Starting", {
    version: VERSION,
    commit: COMMIT,
    dryRun: options.dryRun,
    namespaces: options.namespaces ?? "all",
  });
  const shell: RunContext = { options, log, metrics, clock: lag.clock, signal: ending.signal };
  await (isEnabled ? runEnabled(shell) : runDisabled(shell));
  log.info("Stopped");
}

interface RunContext {
  readonly options: RunOptions;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

interface Verdicts {
  readonly isAlive: () => CheckResult;
  readonly isReady: () => CheckResult;
}

/** Listens first: the kubelet needs liveness and people need the reason of unreadiness, also in a long start. */
async function runEnabled(shell: RunContext): Promise<void> {
  const { options, log, metrics, clock, signal } = shell;
  let verdicts = createStartingVerdicts("no API server is asked yet");
  let checkReader = NO_API_SERVER;
  let findPodAt: FindPodAt = findNoPod;
  const flightRecorder = options.debugListen === null ? null : await openFlightRecorder(clock);
  await using _http = await listen(options, {
    ...shell,
    records: flightRecorder,
    verdicts: { isAlive: () => verdicts.isAlive(), isReady: () => verdicts.isReady() },
    checkReader: (authorization, path) => checkReader(authorization, path),
    findPodAt: (address) => findPodAt(address),
  });
  // To load the daemon takes as long as the start until now: requests that have come are answered first.
  await clock.sleep(0);
  const { createDaemon, createEgress, createTriggerClient, openSource } = await loadDaemon();
  await using server = await orNullIfAborted(connectTo(options, signal), signal);
  if (server === null) return;
  findPodAt = createFindPodAt({ client: createClient(server), clock, namespaces: options.namespaces });
  if (options.metricsAuth) checkReader = await openReaderCheck(server, shell);
  const scaledObjects = options.scaledObjects !== "off";
  const checked = waitForCluster(() => checkCluster(server, options.namespaces, { signal, scaledObjects }), {
    clock,
    random: Math.random,
    signal,
    onFailure(reason, waitMs) {
      verdicts = createStartingVerdicts(reason);
      log.warn("Cannot start yet", { reason, retryInSeconds: Math.round(waitMs / 1000) });
    },
  });
  await orNullIfAborted(checked, signal);
  if (signal.aborted) return;
  const scope: Scope = { namespaces: options.namespaces, node: options.node, pod: options.pod };
  using source = await orNullIfAborted(openSource(options, { server, scope, log, metrics, clock }), signal);
  if (source === null) return;
  const findDestination = createEgress({
    allow: options.triggerAllow,
    deny: options.triggerDeny,
    own: options.environment.podIps,
    apiServer: hostOf(new URL(server.origin)),
    monotonic: () => clock.monotonic(),
  });
  using triggers = createTriggerClient({ findDestination });
  const daemon = createDaemon({
    server,
    watchUsage: source.watchUsage,
    scope,
    dryRun: options.dryRun,
    pace: options.pace,
    requiresAnnotation: options.environment.requiresAnnotation,
    limits: options.limits,
    maxContenders: options.maxContenders,
    ignoresDisruptionBudgets: options.ignoreDisruptionBudgets,
    instance: getOwnName(options),
    ...createLeaseOptions(options, server),
    ...await createReplicasOptions(options, { clock, send: triggers.send }),
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

/** Most of the code. */
async function loadDaemon() {
  const [{ createDaemon }, { createEgress }, { createTriggerClient }, { openSource }] = await Promise.all([
    import("../../daemon/daemon.ts"),
    import("../../triggers/egress.ts"),
    import("../../triggers/http_client.ts"),
    import("./open_source.ts"),
  ]);
  return { createDaemon, createEgress, createTriggerClient, openSource };
}

/** Used before the API server is known. */
const findNoPod: FindPodAt = () => Promise.reject(new Error("it was not asked yet"));

async function openFlightRecorder(clock: Clock): Promise<FlightRecorder> {
  const { createFlightRecorder } = await import("../../daemon/recorder.ts");
  return createFlightRecorder(clock);
}

/** `null` when the signal aborts first. A pending request or file is abandoned then. */
async function orNullIfAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | null> {
  try {
    return await abortable(work, signal);
  } catch (error) {
    if (signal.aborted) return null;
    throw error;
  }
}

function createStartingVerdicts(reason: string): Verdicts {
  return {
    isAlive: () => ({ ok: true, message: "ok" }),
    isReady: () => ({ ok: false, message: `starting: ${reason}`, reason: "starting" }),
  };
}

/** Disabled: no watch, no poll, no write. Readers of metrics are checked all the same. Clauses: C14. */
async function runDisabled(shell: RunContext): Promise<void> {
  const { options, log, signal } = shell;
  log.warn("podfit is disabled and does nothing: set PRA_ENABLED=true to enable it");
  const reason = "disabled: PRA_ENABLED is not true";
  const ok = () => ({ ok: true, message: reason, reason });
  let checkReader = NO_API_SERVER;
  await using _http = await listen(options, {
    ...shell,
    records: null,
    verdicts: { isAlive: ok, isReady: ok },
    checkReader: (authorization, path) => checkReader(authorization, path),
    findPodAt: findNoPod,
  });
  await using server = options.metricsAuth ? await orNullIfAborted(connectTo(options, signal), signal) : null;
  if (server !== null) checkReader = await openReaderCheck(server, shell);
  await untilAborted(signal);
}

/** The name of podfit's pod. The admission policies compare it with the pod that the token names. */
function getOwnName({ pod, environment: { hostname } }: Pick<RunOptions, "pod" | "environment">): string {
  return pod?.name ?? hostname ?? "podfit";
}

/** A name that no other process has had, also not this container before a restart. */
function createLeaseOptions(
  { leaderElection: { isOn, name, namespace }, ...options }: RunOptions,
  server: Pick<ApiServer, "namespace" | "source">,
): Pick<DaemonOptions, "lease"> {
  if (!(isOn ?? server.source === "in-cluster")) return {};
  const identity = `${getOwnName(options)}_${crypto.randomUUID()}`;
  return { lease: { namespace: namespace ?? server.namespace, name, identity } };
}

/** How long to wait, and the callback for each failure. */
interface WaitOptions {
  readonly clock: Pick<Clock, "sleep">;
  readonly random: () => number;
  /** Ends the wait. */
  readonly signal: AbortSignal;
  /** Gets the reason of the wait, and the ms until the next try. */
  readonly onFailure: (reason: string, waitMs: number) => void;
}

/** Never sooner than the server asks. */
const BACKOFF = { baseMs: 1_000, maxMs: 30_000 };

/** Resolves when the check finds nothing. Rejects with the error of the check, and with the signal's reason. */
export async function waitForCluster(
  check: () => Promise<ClusterNotReady | null>,
  options: WaitOptions,
): Promise<void> {
  const { clock, random, signal, onFailure } = options;
  for (let attempt = 0;; attempt++) {
    const found = await check();
    if (found === null) return;
    signal.throwIfAborted();
    const waitMs = Math.max(backoffMs(attempt, { ...BACKOFF, random }), found.retryAfterMs ?? 0);
    onFailure(found.reason, waitMs);
    await clock.sleep(waitMs, signal);
  }
}

/** Why the cluster is not ready, where it may be ready later. */
export interface ClusterNotReady {
  /** One line with what to check. */
  readonly reason: string;
  /** How long the server asks to wait; `null` without such a header. */
  readonly retryAfterMs: number | null;
}

/** The timeout of the request. */
interface CheckOptions {
  readonly timeoutMs?: number;
  /** Whether podfit sets replicas, too. */
  readonly scaledObjects?: boolean;
  readonly signal?: AbortSignal;
}

/** `null` when the cluster is ready. Throws a StartError where a retry would not help, and the signal's reason. */
export async function checkCluster(
  server: ApiServer,
  namespaces: readonly string[] | null,
  options: CheckOptions = {},
): Promise<ClusterNotReady | null> {
  const namespace = namespaces?.[0];
  const { scaledObjects = false, ...asking } = options;
  return await checkKind(server, AUTOSCALERS, { ...asking, namespace }) ??
    (scaledObjects ? await checkKind(server, SCALED_OBJECTS, { ...asking, namespace }) : null);
}

/** A kind that podfit needs: how to ask for one object of it, and what to do where the server lacks the kind. */
interface RequiredKind {
  readonly list: (client: ApiClient, where: ListScope) => Promise<ListAnswer>;
  readonly missing: string;
}

interface ListScope {
  readonly namespace: string | undefined;
  readonly signal: AbortSignal;
}

type ListAnswer = Pick<UntypedAnswer, "response" | "error">;

const LIST_QUERY = { limit: 1 };

const AUTOSCALERS: RequiredKind = {
  list: ({ autoscalers }, { namespace, signal }) =>
    namespace === undefined
      ? autoscalers.GET("/apis/keda.kedify.io/v1alpha1/podresourceautoscalers", {
        params: { query: LIST_QUERY },
        signal,
      })
      : autoscalers.GET("/apis/keda.kedify.io/v1alpha1/namespaces/{namespace}/podresourceautoscalers", {
        params: { path: { namespace }, query: LIST_QUERY },
        signal,
      }),
  missing: "PodResourceAutoscalers; install them with `kubectl apply -f crds/podresourceautoscaler.yaml`",
};

const SCALED_OBJECTS: RequiredKind = {
  list: ({ scaledObjects }, { namespace, signal }) =>
    namespace === undefined
      ? scaledObjects.GET("/apis/keda.sh/v1alpha1/scaledobjects", { params: { query: LIST_QUERY }, signal })
      : scaledObjects.GET("/apis/keda.sh/v1alpha1/namespaces/{namespace}/scaledobjects", {
        params: { path: { namespace }, query: LIST_QUERY },
        signal,
      }),
  missing: "ScaledObjects, which --scaled-objects is about; install them with `kubectl apply --server-side " +
    "-f crds/scaledobject.yaml -f crds/triggerauthentication.yaml -f crds/clustertriggerauthentication.yaml`, or leave " +
    "--scaled-objects out (or PODFIT_SCALED_OBJECTS)",
};

async function checkKind(server: ApiServer, kind: RequiredKind, options: KindOptions): Promise<ClusterNotReady | null> {
  const { origin } = server;
  let answer: ListAnswer;
  try {
    answer = await listOne(server, kind, options);
  } catch (cause) {
    options.signal?.throwIfAborted();
    const error = toStartError(cause, `; the server is named by ${describeSource(server)}`);
    if (isLasting(cause)) throw error;
    return { reason: error.message, retryAfterMs: null };
  }
  const { response, error } = answer;
  if (response.ok || response.status === 403) return null;
  if (response.status === 404) {
    throw toStartError(`Cannot start: ${origin} does not know ${kind.missing}`);
  }
  const { message, retryAfterMs } = toApiError(response, error);
  if (response.status === 401) {
    throw toStartError(
      `Cannot start: ${origin} does not accept the credentials of ${describeSource(server)} (${message})`,
      "; check them with `kubectl auth whoami`",
    );
  }
  const { message: reason } = toStartError(
    `${origin} answered ${response.status}: ${message}`,
    "; try `kubectl get --raw /readyz`",
  );
  if (RETRIED_STATUSES.has(response.status) || response.status >= 500) return { reason, retryAfterMs };
  throw toStartError(`Cannot start: ${reason}`);
}

/** Statuses below 500 that ask for a retry: a request that took too long, or too many requests. */
const RETRIED_STATUSES: ReadonlySet<number> = new Set([408, 429]);

interface KindOptions extends Omit<CheckOptions, "scaledObjects"> {
  readonly namespace: string | undefined;
}

async function listOne(
  server: ApiServer,
  { list }: RequiredKind,
  { namespace, timeoutMs = 15_000, signal: ending }: KindOptions,
): Promise<ListAnswer> {
  using timeout = systemClock.timeout(timeoutMs);
  const signal = ending === undefined ? timeout.signal : AbortSignal.any([timeout.signal, ending]);
  return await list(createClient(server), { namespace, signal });
}

function describeSource({ source }: ApiServer): string {
  return source === "in-cluster" ? "the pod's own service account" : source;
}

/** Where the line is written, and how the process ends. */
interface CrashOptions {
  readonly log: Pick<Log, "error">;
  /** Resolves when the log is written, or when it has taken too long. Never rejects. */
  readonly flush: () => Promise<void>;
  /** Ends the process with an exit code. */
  readonly exit?: (code: number) => void;
}

/** Listens until disposed of. Deno would print several lines and end otherwise. */
function listenForCrashes({ log, flush, exit = Deno.exit }: CrashOptions): Disposable {
  const onRejection = (event: PromiseRejectionEvent) => {
    event.preventDefault();
    end("a rejection", event.reason);
  };
  const onError = (event: ErrorEvent) => {
    event.preventDefault();
    end("an exception", event.error ?? event.message);
  };
  addEventListener("unhandledrejection", onRejection);
  addEventListener("error", onError);
  return {
    [Symbol.dispose]() {
      removeEventListener("unhandledrejection", onRejection);
      removeEventListener("error", onError);
    },
  };

  function end(what: string, error: unknown): void {
    const stack = error instanceof Error ? error.stack : undefined;
    log.error(`Ending with exit code ${EXIT.failed}: nothing has caught ${what}`, { error, stack });
    void flush().then(() => exit(EXIT.failed));
  }
}
