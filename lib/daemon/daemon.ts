/**
 * Builds and runs the whole daemon: the observer of the cluster, the controllers, leader election and their shared
 * parts. It ends when the signal aborts or when a part fails in a way that a retry cannot fix.
 */
import { createClient } from "../kube/client.ts";
import type { Term } from "../kube/leader_election.ts";
import type { ApiServer, Transport } from "../kube/transport.ts";
import { NO_OPERATOR_LIMITS, type OperatorLimits } from "../resources/pod_resource_autoscaler/parse.ts";
import type { Clock } from "../runtime/clock.ts";
import { getComputeQueue, queueCalls } from "../runtime/event_loop.ts";
import type { Log } from "../runtime/log.ts";
import { TaskSet, untilAborted } from "../runtime/tasks.ts";
import type { WatchUsage } from "../usage/source.ts";
import { isPartial, type Scope } from "./cluster/facts.ts";
import { DEFAULT_MAX_AUTOSCALERS } from "./cluster/matching.ts";
import { createObserver, type ObserverListener } from "./cluster/observer.ts";
import { createControllers } from "./controllers.ts";
import { type CheckResult, FailureLog, type FailureReport, type OnFailure } from "./health.ts";
import { createLeadership, type LeaseName } from "./leadership.ts";
import { countRequests, type Metrics } from "./metrics/metrics.ts";
import { DEFAULT_WRITE_RATE, requireLeadership, type WriteRate } from "./permits.ts";
import type { EvaluationSink } from "./pods/controller.ts";
import type { FlightRecorder } from "./recorder.ts";
import type { ReplicasSettings } from "./replicas/manager.ts";
import { LastScales } from "./status/last_scales.ts";
import { createReporter } from "./status/reporter.ts";

/** The API server, the part of the cluster that this podfit covers, and what the process provides. */
export interface DaemonOptions {
  readonly server: ApiServer;
  readonly watchUsage: WatchUsage;
  readonly scope: Scope;
  readonly dryRun: boolean;
  /** How many resizes may start per second. */
  readonly pace?: WriteRate;
  /** Set = ScaledObjects are scaled too, except where this podfit covers one node or one pod only. Clauses: R1. */
  readonly replicas?: ReplicasSettings;
  readonly requiresAnnotation: boolean;
  /** Limits that apply to every manifest. Default: none. */
  readonly limits?: OperatorLimits;
  /** How many autoscalers may match one container. The ones with the highest priority are kept. */
  readonly maxContenders?: number;
  /** PodDisruptionBudgets are neither watched nor respected. */
  readonly ignoresDisruptionBudgets?: boolean;
  /** Which podfit this is, in events. */
  readonly instance: string;
  /**
   * Only the holder of this Lease runs controllers. Where podfit covers one node or one pod, only the holder writes the
   * statuses. Without a Lease this podfit always runs controllers.
   */
  readonly lease?: LeaseName;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
  /** They receive every evaluation after events, log, metrics and status. */
  readonly sinks?: readonly EvaluationSink[];
  /** Keeps the decisions of the last hour. Default: none are kept. */
  readonly flightRecorder?: FlightRecorder;
  /** Receives every failure after the log. Must not throw. */
  readonly onTrouble?: OnFailure;
  readonly signal: AbortSignal;
}

/** A daemon. It runs once. */
export interface Daemon {
  readonly isAlive: () => CheckResult;
  readonly isReady: () => CheckResult;
  /** Resolves at most 12 s after the signal aborts. Rejects when a part fails in a way that a retry cannot fix. */
  readonly run: () => Promise<void>;
}

/** Returns a daemon; nothing runs before `run` is called. */
export function createDaemon(options: DaemonOptions): Daemon {
  const { server: { origin }, watchUsage, scope, dryRun, requiresAnnotation, instance, lease, flightRecorder } =
    options;
  const { clock, random, log, metrics, signal } = options;
  const { pace = DEFAULT_WRITE_RATE, limits = NO_OPERATOR_LIMITS, maxContenders = DEFAULT_MAX_AUTOSCALERS } = options;
  const sinks = [...options.sinks ?? [], ...(flightRecorder ? [flightRecorder.sink] : [])];
  const transport = countRequests(options.server.transport, metrics);
  // Requests of the controllers wait for their turn in the queue of work. Leases, lists and watches do not wait.
  const queued = queueCalls(getComputeQueue(clock), transport);
  const failureLog = new FailureLog({ log, clock });
  const onTrouble = combineListeners([failureLog.report, ...(options.onTrouble ? [options.onTrouble] : [])]);
  const replicas = findReplicasSettings(options);
  const observer = createObserver({
    origin,
    transport,
    scope,
    requiresAnnotation,
    limits,
    maxContenders,
    seesReplicas: replicas !== null,
    isNextToKeda: replicas?.isNextToKeda ?? false,
    usesMetricsApis: replicas?.usesMetricsApis ?? false,
    ignoresDisruptionBudgets: options.ignoresDisruptionBudgets ?? false,
    clock,
    random,
    log,
    metrics,
    onTrouble,
  });
  // A podfit for a part of the pods resizes them without the Lease. The Lease is for the statuses, which all parts share.
  const isOfPart = isPartial(scope);
  const sharedScales = new LastScales(clock);
  const newControllers = (send: Transport, term: Term | null) =>
    createControllers({
      observer,
      client: createClient({ origin, transport: send }),
      watchUsage,
      scope,
      dryRun,
      pace,
      replicas,
      minPollIntervalMs: limits.minPollIntervalMs,
      lastScales: isOfPart ? sharedScales : new LastScales(clock),
      isStatusElsewhere: isOfPart && lease !== undefined,
      instance,
      clock,
      random,
      log,
      metrics,
      sinks,
      onTrouble,
      failureLog,
      term,
    });
  const newReporter = (term: Term) =>
    createReporter({
      origin,
      transport,
      client: createClient({ origin, transport: requireLeadership(queued, term) }),
      term,
      scope,
      requiresAnnotation,
      limits,
      maxContenders,
      instance,
      clock,
      random,
      log,
      metrics,
      lastScales: sharedScales,
      isOwn: (uid) => observer.cache.trackedPods.has(uid),
      onTrouble,
      troubleLog: failureLog,
    });
  const leadership = lease === undefined ? null : createLeadership({
    lease,
    client: createClient({ origin, transport }),
    clock,
    random,
    log,
    metrics: isOfPart ? { setLeading: metrics.setLeading, standBy: metrics.forgetStatuses } : metrics,
    onTrouble,
    createRunnable: (term) => isOfPart ? newReporter(term) : newControllers(requireLeadership(queued, term), term),
  });
  const parts = [leadership, leadership === null || isOfPart ? newControllers(queued, null) : null]
    .filter((part) => part !== null);
  const isReady = (): CheckResult => {
    const result = observer.isReady();
    return result.ok && leadership !== null && !isOfPart ? leadership.isReady() : result;
  };
  const sweepFailures = async (ending: AbortSignal) => {
    // A standby watches too. Controllers forget a deleted autoscaler themselves.
    using _subscription = observer.subscribe({
      ...EMPTY_LISTENER,
      onDropped: (pod) => flightRecorder?.dropPod(pod),
      onAutoscalerGone: (gone) => metrics.forget(gone),
    });
    let wasReady: boolean | null = null;
    while (!ending.aborted) {
      failureLog.sweep();
      const { ok, message } = isReady();
      if (ok !== wasReady) log.info(ok ? "Ready" : "Not ready", ok ? {} : { reasons: message });
      wasReady = ok;
      await clock.sleep(SWEEP_MS, ending).catch(() => {});
    }
  };
  // Records are an aid: pods are resized without them too.
  const keepRecording = async (ending: AbortSignal) => {
    await using tasks = new TaskSet({ clock, random, onError: (_, error) => onTrouble(toRecorderFailure(error)) });
    if (flightRecorder !== undefined) tasks.start("flight recorder", flightRecorder.run);
    await untilAborted(ending);
  };
  return {
    isAlive: () => parts.map((part) => part.isAlive()).find(({ ok }) => !ok) ?? { ok: true, message: "ok" },
    isReady,
    run() {
      const others = [sweepFailures, ...(flightRecorder ? [keepRecording] : [])];
      return endInTime(runTogether([observer.run, ...parts.map(({ run }) => run), ...others], signal), options);
    },
  };
}

/** `null` where ScaledObjects are left alone. A flight recorder records their decisions too. */
function findReplicasSettings({ replicas, scope, flightRecorder, log }: DaemonOptions): ReplicasSettings | null {
  if (replicas === undefined) return null;
  if (isPartial(scope)) {
    log.warn("Replicas are set by a podfit for the whole cluster or for namespaces only: ScaledObjects are left alone");
    return null;
  }
  if (flightRecorder === undefined) return replicas;
  return { ...replicas, sinks: [...replicas.sinks ?? [], flightRecorder.replicasSink] };
}

function toRecorderFailure(error: unknown): FailureReport {
  const what = "Flight recorder failed";
  const topic = { what, reason: error instanceof Error ? error.name : "Unknown", subject: "flight recorder" };
  const message = `${what}, starting it again: decisions may be missing in explain and /debug/records, and pods are ` +
    "resized as before; this is a defect of podfit, please report it";
  return { kind: "failure", level: "warn", message, autoscaler: null, fields: { error }, topic };
}

const SWEEP_MS = 1_000;

const EMPTY_LISTENER: ObserverListener = { onTracked() {}, onDropped() {}, onAutoscalerGone() {}, onHeadroom() {} };

/**
 * 10 s for the answers to PATCH requests, which is their timeout, and 2 s to write the last events and statuses. An API
 * server that answers needs less than one second for these. A kubelet kills a pod 30 s after it has sent SIGTERM.
 */
const SHUTDOWN_MS = 12_000;

/** Resolves without the work that has not ended in time: the process exits next. */
async function endInTime(
  work: Promise<void>,
  { signal, clock, log }: Pick<DaemonOptions, "signal" | "clock" | "log">,
): Promise<void> {
  const over = new AbortController();
  const ended = work.finally(() => over.abort());
  const tooLate = untilAborted(AbortSignal.any([signal, over.signal]))
    .then(() => clock.sleep(SHUTDOWN_MS, over.signal))
    .then(() => log.warn("Ending without the answers of the API server", { seconds: SHUTDOWN_MS / 1000 }))
    .catch(() => ended);
  await Promise.race([ended, tooLate]);
}

function combineListeners(listeners: readonly OnFailure[]): OnFailure {
  return (trouble) => {
    for (const listener of listeners) listener(trouble);
  };
}

/** Rejects with the first failure, after it has ended the other parts. */
async function runTogether(
  parts: readonly ((signal: AbortSignal) => Promise<void>)[],
  signal: AbortSignal,
): Promise<void> {
  const failing = new AbortController();
  const all = AbortSignal.any([signal, failing.signal]);
  const ended = await Promise.allSettled(parts.map((part) =>
    part(all).catch((error) => {
      failing.abort();
      throw error;
    })
  ));
  for (const one of ended) if (one.status === "rejected") throw one.reason;
}
