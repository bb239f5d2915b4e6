/**
 * Builds and runs the whole daemon: the observer of the cluster, the controllers, leader election and their shared
 * parts. It ends when the signal aborts or when a part fails in a way that a retry cannot fix.
 */
import { createClient } from "../kube/client.ts";
import type { Term } from "../kube/leader_election.ts";
import type { ApiServer } from "../kube/transport.ts";
import type { OperatorLimits } from "../resources/pod_resource_autoscaler/parse.ts";
import type { Clock } from "../runtime/clock.ts";
import { getComputeQueue, queueCalls } from "../runtime/event_loop.ts";
import type { Log } from "../runtime/log.ts";
import { untilAborted } from "../runtime/tasks.ts";
import type { WatchUsage } from "../usage/source.ts";
import { isPartial, type Scope } from "./cluster/facts.ts";
import { createObserver, type ObserverListener } from "./cluster/observer.ts";
import { createControllers } from "./controllers.ts";
import { type CheckResult, FailureLog, type OnFailure } from "./health.ts";
import { createLeadership, type LeaseName } from "./leadership.ts";
import { countRequests, type Metrics } from "./metrics/metrics.ts";
import { DEFAULT_WRITE_RATE, requireLeadership, type WriteRate } from "./permits.ts";
import type { EvaluationSink } from "./pods/controller.ts";
import type { FlightRecorder } from "./recorder.ts";
import type { ReplicasSettings } from "./replicas/manager.ts";
import { LastScales } from "./status/last_scales.ts";
import { createReporter } from "./status/reporter.ts";

// The composition root: an observer that knows the cluster and an actor that stands on it, run together until the
// signal aborts. Ends with an error only where starting makes no sense; whatever fails later is retried where it
// failed.

/** The cluster, its part that is looked after, and what the process brings along. */
export interface DaemonOptions {
  readonly server: ApiServer;
  readonly watchUsage: WatchUsage;
  readonly scope: Scope;
  readonly dryRun: boolean;
  /** How many resizes may begin. */
  readonly pace?: WriteRate;
  /** Set, ScaledObjects are looked after too (R1), but where podfit looks after one node or pod only. */
  readonly replicas?: ReplicasSettings;
  readonly requiresAnnotation: boolean;
  /** What no manifest goes beyond; none unless given. */
  readonly limits?: OperatorLimits;
  /** So many autoscalers contend for one container; those of the highest priority. */
  readonly maxContenders?: number;
  /** Which podfit this is, in events. */
  readonly instance: string;
  /**
   * The Lease whose holder alone acts, or alone writes statuses where podfit looks after one node or pod; without one this
   * podfit does all by itself.
   */
  readonly lease?: LeaseName;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Who else takes every evaluation, beside events, log, metrics and status. */
  readonly sinks?: readonly EvaluationSink[];
  /** Remembers what was decided, for whoever asks; nobody does by default. */
  readonly flightRecorder?: FlightRecorder;
  /** Who else hears what goes wrong beside the decisions, beside the log. Must not throw. */
  readonly onTrouble?: OnFailure;
  readonly signal: AbortSignal;
}

/** podfit's daemon, which runs once. */
export interface Daemon {
  readonly isAlive: () => CheckResult;
  readonly isReady: () => CheckResult;
  /** Runs until the signal aborts and everything is put away, for which there are 12 s. */
  readonly run: () => Promise<void>;
}

/** Builds a daemon; nothing runs before `run` is called. */
export function createDaemon(options: DaemonOptions): Daemon {
  const { server: { origin, transport: plain }, metrics, signal, flightRecorder } = options;
  const sinks = [...options.sinks ?? [], ...(flightRecorder ? [flightRecorder.sink] : [])];
  const transport = countRequests(plain, metrics);
  // What an actor asks and writes is part of the work. Leases, lists and watches wait for none of it.
  const queued = queueCalls(getComputeQueue(options.clock), transport);
  const troubleLog = new FailureLog(options);
  const onTrouble = combineListeners([troubleLog.report, ...(options.onTrouble ? [options.onTrouble] : [])]);
  const { lease, scope, replicas: wanted, ...rest } = options;
  const replicas = wanted === undefined || isPartial(scope) ? undefined : wanted;
  if (wanted !== undefined && replicas === undefined) {
    options.log.warn(
      "Replicas are set by a podfit for the whole cluster or for namespaces only: ScaledObjects are left alone",
    );
  }
  const observer = createObserver({
    ...rest,
    scope,
    origin,
    transport,
    onTrouble,
    seesReplicas: replicas !== undefined,
  });
  // Who looks after a part of the pods resizes them whoever leads: the Lease is for the statuses that all parts share.
  const isOfPart = isPartial(scope);
  const lastScales = new LastScales(options.clock);
  const ofPart = isOfPart ? { lastScales, isStatusElsewhere: lease !== undefined } : {};
  const settings = replicas === undefined ? {} : { replicas: withFlightRecorder(replicas, flightRecorder) };
  const common = { ...rest, scope, observer, sinks, onTrouble, troubleLog };
  const newActor = (server: Pick<ApiServer, "transport">, term?: Term) => {
    const client = createClient({ origin, ...server });
    const led = term === undefined ? {} : { term };
    return createControllers({ pace: DEFAULT_WRITE_RATE, ...common, ...settings, ...ofPart, ...led, client });
  };
  const newReporter = (term: Term) => {
    const client = createClient({ origin, transport: requireLeadership(queued, term) });
    const isOwn = (uid: string) => observer.cache.trackedPods.has(uid);
    return createReporter({ ...common, origin, transport, client, term, lastScales, isOwn });
  };
  const leadership = lease === undefined ? null : createLeadership({
    ...common,
    lease,
    client: createClient({ origin, transport }),
    metrics: isOfPart ? { setLeading: metrics.setLeading, standBy: metrics.forgetStatuses } : metrics,
    createActor: (term) =>
      isOfPart ? newReporter(term) : newActor({ transport: requireLeadership(queued, term) }, term),
  });
  const actors = [leadership, leadership === null || isOfPart ? newActor({ transport: queued }) : null]
    .filter((actor) => actor !== null);
  const sweepTroubles = async (ending: AbortSignal) => {
    // Whoever stands by watches too. What an actor knows of a deleted autoscaler it forgets itself.
    using _subscription = observer.subscribe({
      ...EMPTY_LISTENER,
      onDropped: (pod) => flightRecorder?.dropPod(pod),
      onAutoscalerGone: (gone) => metrics.forget(gone),
    });
    while (!ending.aborted) {
      troubleLog.sweep();
      await options.clock.sleep(SWEEP_MS, ending).catch(() => {});
    }
  };
  return {
    isAlive: () => actors.map((actor) => actor.isAlive()).find(({ ok }) => !ok) ?? { ok: true, message: "ok" },
    isReady() {
      const verdict = observer.isReady();
      return verdict.ok && leadership !== null && !isOfPart ? leadership.isReady() : verdict;
    },
    run() {
      const others = [sweepTroubles, ...(flightRecorder ? [flightRecorder.run] : [])];
      return endInTime(runTogether([observer.run, ...actors.map(({ run }) => run), ...others], signal), options);
    },
  };
}

const SWEEP_MS = 1_000;

const EMPTY_LISTENER: ObserverListener = { onTracked() {}, onDropped() {}, onAutoscalerGone() {}, onHeadroom() {} };

/**
 * 10 s for the answers to PATCHes under way, as long as each may take, and 2 s to write the last events and statuses,
 * for which an API server that answers takes less than one. A kubelet kills a pod 30 s after it has asked it to end.
 */
const SHUTDOWN_MS = 12_000;

/** What has not ended by then is left behind: the process ends next. */
async function endInTime(
  work: Promise<void>,
  { signal, clock, log }: Pick<DaemonOptions, "signal" | "clock" | "log">,
): Promise<void> {
  const over = new AbortController();
  const ended = work.finally(() => over.abort());
  const tooLate = untilAborted(AbortSignal.any([signal, over.signal]))
    .then(() => clock.sleep(SHUTDOWN_MS, over.signal))
    .then(() => log.warn("Leaving behind what the API server has not answered", { seconds: SHUTDOWN_MS / 1000 }))
    .catch(() => ended);
  await Promise.race([ended, tooLate]);
}

function withFlightRecorder(replicas: ReplicasSettings, flightRecorder: FlightRecorder | undefined): ReplicasSettings {
  if (flightRecorder === undefined) return replicas;
  return { ...replicas, sinks: [...replicas.sinks ?? [], flightRecorder.replicasSink] };
}

function combineListeners(listeners: readonly OnFailure[]): OnFailure {
  return (trouble) => {
    for (const listener of listeners) listener(trouble);
  };
}

/** When one fails the others are ended before the failure is passed on: nothing runs on by itself. */
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
