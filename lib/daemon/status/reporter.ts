/**
 * Writes the statuses where each podfit covers one node or one pod: the holder of the Lease writes them for all. It
 * watches all pods and resizes none.
 */
import type { ApiClient } from "../../kube/client.ts";
import type { Term } from "../../kube/leader_election.ts";
import type { Transport } from "../../kube/transport.ts";
import type { OperatorLimits } from "../../resources/pod_resource_autoscaler/parse.ts";
import { UNLIMITED } from "../../resources/pod_resource_autoscaler/status.ts";
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
import { PublishedSizes, WAITING_ELSEWHERE } from "./sizes.ts";
import { StatusLoop, StatusSweep } from "./sweep.ts";

interface ReporterOptions {
  readonly origin: string;
  /** For the watches. */
  readonly transport: Transport;
  /** For writes, while the Lease is held. */
  readonly client: ApiClient;
  readonly term: Pick<Term, "isLeading">;
  /** The scope of this podfit. The statuses cover the pods of all nodes, or of the namespace. */
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
  /** The resizes of this podfit. Resizes of other podfits are added. */
  readonly lastScales: LastScales;
  /** Returns whether this podfit itself resizes the pod with this uid. */
  readonly isOwn: (uid: string) => boolean;
  readonly onTrouble: OnFailure;
  readonly troubleLog: Pick<FailureLog, "report">;
}

/** Returns a reporter for one term of the Lease. It watches and writes nothing before `run` is called. Clauses: C51. */
export function createReporter({ metrics, ...options }: ReporterOptions): Runnable {
  const { clock, random, scope, lastScales, isOwn, term, onTrouble } = options;
  const statusLoop = new StatusLoop(clock);
  const onProgress = statusLoop.recordProgress;
  const observer = createObserver({
    ...options,
    scope: toReporterScope(scope),
    isForStatus: true,
    // The published ages are those of the lists that this podfit's decisions use.
    metrics: { ...metrics, setListAges() {} },
  });
  const { cache } = observer;
  const mode = toMode(scope);
  const recorder = new EventRecorder({ ...options, metrics, onNotice: options.troubleLog.report });
  const status = new StatusSweep({
    clock,
    random,
    metrics,
    cache,
    findUnread: null,
    limits: () => UNLIMITED,
    recommended: () => null,
    sizes: new PublishedSizes({ findWaiting: WAITING_ELSEWHERE }),
    isNodeLocal: true,
    isOurs: (autoscaler) => isStatusOurs(mode, cache.resolve(autoscaler).tracked.values()),
    lastScales,
    canReport: observer.canReportStatus,
    findStale: observer.findStale,
    ...createStatusOutputs({ ...options, metrics, cache, recorder, isNodeLocal: true, onProgress }),
    onTrouble,
  });
  const scales = new WatchedScales({ lastScales, isOwn });
  const listener: ObserverListener = {
    onTracked: (tracked) => scales.put(tracked),
    onDropped: (pod) => scales.remove(pod),
    onHeadroom() {},
    onAutoscalerGone(gone) {
      status.forget(gone.uid);
      // The watch that forgot its series may have been ahead of this one, which has set gauges since then.
      metrics.forget(gone);
    },
  };

  function isAlive(): CheckResult {
    return statusLoop.isStuck
      ? { ok: false, message: "the status loop of all nodes does not turn", reason: "a loop is stuck" }
      : { ok: true, message: "ok" };
  }

  async function run(signal: AbortSignal): Promise<void> {
    using _subscription = observer.subscribe(listener);
    const failing = new AbortController();
    // It ends last, so that the last events are written.
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
