/**
 * Writes the statuses where each podfit covers one node or one pod: the holder of the Lease writes them for all. It
 * watches all pods and resizes none.
 */
import type { ApiClient } from "../../kube/client.ts";
import type { Term } from "../../kube/leader_election.ts";
import type { Transport } from "../../kube/transport.ts";
import type { OperatorLimits } from "../../resources/pod_resource_autoscaler/parse.ts";
import { UNLIMITED } from "../../resources/pod_resource_autoscaler/status.ts";
import { CircuitBreaker } from "../../runtime/backoff.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { Log } from "../../runtime/log.ts";
import { type Scope, toMode, toReporterScope } from "../cluster/facts.ts";
import { createObserver, type ObserverListener } from "../cluster/observer.ts";
import { EventRecorder } from "../events/recorder.ts";
import type { CheckResult, FailureLog, OnFailure, Runnable } from "../health.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { isStatusOurs } from "./facts.ts";
import { type LastScales, WatchedScales } from "./last_scales.ts";
import { createStatusOutputs } from "./listeners.ts";
import { StatusLoop, StatusSweep } from "./sweep.ts";

// Writes the statuses of autoscalers where each podfit looks after a part of their pods (C51): the one that holds the
// Lease runs a reporter for as long as it does. It watches all the pods there are, beside what its podfit watches to
// resize its own, and writes what follows from what the API shows. No resize waits for it.

/** What a reporter is built of. */
interface ReporterOptions {
  readonly origin: string;
  /** To watch by. */
  readonly transport: Transport;
  /** To write by, while the Lease is held. */
  readonly client: ApiClient;
  readonly term: Pick<Term, "isLeading">;
  /** Of this podfit: its statuses are about the pods of all nodes, or of the namespace. */
  readonly scope: Scope;
  readonly requiresAnnotation: boolean;
  readonly limits?: OperatorLimits;
  readonly maxContenders?: number;
  /** Which podfit this is, in events. */
  readonly instance: string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
  /** What this podfit has resized itself; what it sees others resize is added. */
  readonly lastScales: LastScales;
  /** This podfit looks after the pod with this uid. */
  readonly isOwn: (uid: string) => boolean;
  readonly onTrouble: OnFailure;
  readonly troubleLog: Pick<FailureLog, "report">;
}

/** Builds a reporter for one time of holding the Lease; nothing is watched or written before `run` is called. */
export function createReporter({ metrics, ...options }: ReporterOptions): Runnable {
  const { clock, random, scope, lastScales, isOwn, term, onTrouble } = options;
  const statusLoop = new StatusLoop(clock);
  const onProgress = statusLoop.recordProgress;
  const observer = createObserver({
    ...options,
    scope: toReporterScope(scope),
    isForStatus: true,
    // The ages that people look at are of what this podfit decides by.
    metrics: { ...metrics, setListAges() {} },
  });
  const { cache } = observer;
  const mode = toMode(scope);
  const brake = new CircuitBreaker({ clock, random });
  const recorder = new EventRecorder({ ...options, metrics, brake, onNotice: options.troubleLog.report });
  const status = new StatusSweep({
    clock,
    random,
    metrics,
    cache,
    findUnread: null,
    limits: () => UNLIMITED,
    recommended: () => null,
    isNodeLocal: true,
    isOurs: (autoscaler) => isStatusOurs(mode, cache.resolve(autoscaler).tracked.values()),
    lastScales,
    canReport: observer.canReportStatus,
    findStale: observer.findStale,
    ...createStatusOutputs({ ...options, metrics, cache, brake, recorder, isNodeLocal: true, onProgress }),
    onTrouble,
  });
  const scales = new WatchedScales({ lastScales, isOwn });
  const listener: ObserverListener = {
    onTracked: (tracked) => scales.put(tracked),
    onDropped: (pod) => scales.remove(pod),
    onHeadroom() {},
    onAutoscalerGone: ({ uid }) => status.forget(uid),
  };

  function isAlive(): CheckResult {
    return statusLoop.isStuck
      ? { ok: false, message: "the status loop of all nodes does not turn" }
      : { ok: true, message: "ok" };
  }

  async function run(signal: AbortSignal): Promise<void> {
    using _subscription = observer.subscribe(listener);
    const failing = new AbortController();
    // Ends after everything else, so that the last events are still written.
    const closing = new AbortController();
    const recording = recorder.run(closing.signal);
    const ending = AbortSignal.any([signal, failing.signal]);
    try {
      await Promise.all([observer.run(ending), statusLoop.run(status, { signal: ending })]);
    } finally {
      failing.abort();
      if (term.isLeading()) await statusLoop.writeLast(status);
      closing.abort();
      await recording;
    }
  }

  return { isAlive, run };
}
