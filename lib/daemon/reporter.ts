/**
 * Writes the statuses of autoscalers where each podfit looks after a part of their pods (C51): the one that holds the Lease runs
 * a reporter for as long as it does. It watches all the pods there are, beside what its podfit watches to resize its own, and
 * writes what follows from what the API shows. No resize waits for it.
 */
import type { OperatorLimits } from "../autoscaler/operator_limits.ts";
import { UNLIMITED } from "../autoscaler/limited.ts";
import type { ApiClient } from "../kube/client.ts";
import type { Term } from "../kube/lease.ts";
import type { Transport } from "../kube/transport.ts";
import { Brake } from "../runtime/brake.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Log } from "../runtime/log.ts";
import type { Actor } from "./actor.ts";
import { readMode, type Scope, toStatusScope } from "./inventory/scope.ts";
import type { Metrics } from "./metrics/metrics.ts";
import { createObserver, type ObserverListener } from "./observer.ts";
import type { LastScales } from "./report/last_scales.ts";
import { Recorder } from "./report/recorder.ts";
import { createStatusOutlets } from "./report/status_outlets.ts";
import { isStatusOurs } from "./report/status_owner.ts";
import { StatusLoop } from "./report/status_loop.ts";
import { StatusSweep } from "./report/status_sweep.ts";
import type { OnTrouble } from "./report/trouble.ts";
import type { TroubleLog } from "./report/trouble_log.ts";
import { WatchedScales } from "./report/watched_scales.ts";
import type { Verdict } from "./verdict.ts";

/** What a reporter is built of. */
export interface ReporterOptions {
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
  readonly onTrouble: OnTrouble;
  readonly troubleLog: Pick<TroubleLog, "take">;
}

/** Builds a reporter for one time of holding the Lease; nothing is watched or written before `run` is called. */
export function createReporter({ metrics, ...options }: ReporterOptions): Actor {
  const { clock, random, scope, lastScales, isOwn, term, onTrouble } = options;
  const statusLoop = new StatusLoop(clock);
  const onProgress = statusLoop.noteProgress;
  const observer = createObserver({
    ...options,
    scope: toStatusScope(scope),
    isForStatus: true,
    // The ages that people look at are of what this podfit decides by.
    metrics: { ...metrics, setContactAges() {} },
  });
  const { inventory } = observer;
  const mode = readMode(scope);
  const brake = new Brake({ clock, random });
  const recorder = new Recorder({ ...options, metrics, brake, onNotice: options.troubleLog.take });
  const status = new StatusSweep({
    clock,
    random,
    metrics,
    inventory,
    unread: null,
    limits: () => UNLIMITED,
    recommended: () => null,
    isNodeLocal: true,
    isOurs: (autoscaler) => isStatusOurs(mode, inventory.resolve(autoscaler).tracked.values()),
    lastScales,
    canReport: observer.canReportStatus,
    findStale: observer.findStale,
    ...createStatusOutlets({ ...options, metrics, inventory, brake, recorder, isNodeLocal: true, onProgress }),
    onTrouble,
  });
  const scales = new WatchedScales({ lastScales, isOwn });
  const listener: ObserverListener = {
    onTracked: (tracked) => scales.put(tracked),
    onDropped: (pod) => scales.remove(pod),
    onRoom() {},
    onAutoscalerGone: ({ uid }) => status.forget(uid),
  };

  function isAlive(): Verdict {
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
