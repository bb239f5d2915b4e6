/**
 * Who writes the statuses of autoscalers where each podfit looks after a part of their pods (C51)? One that holds the Lease, for
 * as long as it does: it watches all the pods there are beside its own, and writes what follows from what the API shows.
 * Nothing here resizes, and what the others do does not wait for it.
 */
import type { OperatorLimits } from "../autoscaler/operator_limits.ts";
import type { ApiClient } from "../kube/client.ts";
import type { Term } from "../kube/lease.ts";
import type { Transport } from "../kube/transport.ts";
import { Brake } from "../runtime/brake.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Log } from "../runtime/log.ts";
import { UNLIMITED } from "../autoscaler/limited.ts";
import { readMode, type Scope, toStatusScope } from "./inventory/scope.ts";
import type { Metrics } from "./metrics/metrics.ts";
import { createObserver, type Observer } from "./observer.ts";
import type { LastScales } from "./report/last_scales.ts";
import { Recorder } from "./report/recorder.ts";
import { StatusEvents } from "./report/status_events.ts";
import { StatusGauges } from "./report/status_gauges.ts";
import { isStatusOurs } from "./report/status_owner.ts";
import { StatusSweep } from "./report/status_sweep.ts";
import { StatusWriter } from "./report/status_writer.ts";
import type { OnTrouble } from "./report/trouble.ts";
import type { TroubleLog } from "./report/trouble_log.ts";
import { WatchedScales } from "./report/watched_scales.ts";
import type { Verdict } from "./verdict.ts";

/** What a reporter is built of. */
export interface ReporterOptions {
  readonly origin: string;
  readonly transport: Transport;
  readonly client: ApiClient;
  /** Of this podfit: its statuses are about all nodes, or all pods of the namespace. */
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
  /** What this podfit resized itself, and what it has seen others resize. */
  readonly lastScales: LastScales;
  /** This podfit looks after the pod with this uid. */
  readonly isOwn: (uid: string) => boolean;
  readonly onTrouble: OnTrouble;
  readonly troubleLog: Pick<TroubleLog, "take">;
}

/** A part of the daemon that works while this podfit holds the Lease. */
export interface Reporter {
  /** Not alive when its loop is stuck. */
  readonly isAlive: () => Verdict;
  /** Ends with the term; rejects where a part is broken. */
  readonly lead: (term: Term) => Promise<void>;
}

const SWEEP_MS = 1_000;
const STUCK_MS = 60_000;
const LAST_STATUS_MS = 5_000;

/** Builds a reporter; nothing is watched or written before `lead` is called. */
export function createReporter(options: ReporterOptions): Reporter {
  const { clock, metrics } = options;
  /** Monotonic ms; `null` = it has nothing to do. */
  let progressAtMs: number | null = null;

  function isAlive(): Verdict {
    return progressAtMs === null || clock.monotonic() - progressAtMs <= STUCK_MS
      ? { ok: true, message: "ok" }
      : { ok: false, message: "the loop that writes the statuses of all nodes does not turn" };
  }

  function onProgress(): void {
    progressAtMs = clock.monotonic();
  }

  async function lead(term: Term): Promise<void> {
    const observer = createStatusObserver(options);
    const { status, scales, recorder } = createParts(options, { observer, term, onProgress });
    const closing = new AbortController();
    const ending = new AbortController();
    const signal = AbortSignal.any([term.signal, ending.signal]);
    using _subscription = observer.subscribe({
      onTracked: (tracked) => scales.put(tracked),
      onDropped: (pod) => scales.remove(pod),
      onRoom() {},
      onAutoscalerGone: ({ uid }) => status.forget(uid),
    });
    const recording = recorder.run(closing.signal);
    try {
      await Promise.all(
        [observer.run(signal), sweep(status, signal)].map((part) => part.finally(() => ending.abort())),
      );
    } finally {
      // The resizes of the last second, where the Lease is still this podfit's to give back.
      using timeout = clock.timeout(LAST_STATUS_MS);
      await status.sweep(AbortSignal.any([timeout.signal, term.lost]), { isLast: true });
      closing.abort();
      await recording;
      metrics.forgetStatuses();
      progressAtMs = null;
    }
  }

  async function sweep(status: StatusSweep, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      onProgress();
      await status.sweep(signal);
      await clock.sleep(SWEEP_MS, signal).catch(() => {});
    }
  }

  return { isAlive, lead };
}

function createStatusObserver({ scope, metrics, ...options }: ReporterOptions): Observer {
  return createObserver({
    ...options,
    scope: toStatusScope(scope),
    isForStatus: true,
    // The ages of lists are those of what this podfit decides by.
    metrics: { watchEvent: metrics.watchEvent, watchFailed: metrics.watchFailed, setContactAges() {} },
  });
}

interface Parts {
  readonly status: StatusSweep;
  readonly scales: WatchedScales;
  readonly recorder: Recorder;
}

function createParts(
  options: ReporterOptions,
  { observer, term, onProgress }: {
    readonly observer: Observer;
    readonly term: Term;
    readonly onProgress: () => void;
  },
): Parts {
  const { clock, metrics, client, random, onTrouble, lastScales, isOwn, troubleLog } = options;
  const { inventory } = observer;
  const mode = readMode(options.scope);
  const brake = new Brake({ clock, random });
  const recorder = new Recorder({ ...options, brake, onNotice: troubleLog.take });
  const { isLeading } = term;
  const writer = new StatusWriter({
    client,
    clock,
    random,
    metrics,
    brake,
    isNodeLocal: true,
    mayWrite: isLeading,
    onProgress,
    onTrouble,
  });
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
    writer,
    listeners: [new StatusEvents({ recorder, onTrouble }), new StatusGauges({ metrics, inventory })],
    onTrouble,
  });
  return { status, scales: new WatchedScales({ lastScales, isOwn }), recorder };
}
