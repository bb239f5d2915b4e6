/**
 * What is done about it: usage is polled, pods are evaluated and resized, and people hear of it in events, status, log
 * and metrics. An actor stands on an observer, runs once, and takes what it remembers of pods with it when it ends.
 */
import type { OperatorLimits } from "../autoscaler/operator_limits.ts";
import type { ApiClient } from "../kube/client.ts";
import type { Term } from "../kube/lease.ts";
import { Brake } from "../runtime/brake.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Log, LogFields } from "../runtime/log.ts";
import type { WatchUsage } from "../usage/watch_usage.ts";
import { createActuator } from "./act/actuator.ts";
import { createTurns, type Pace } from "./act/turns.ts";
import { Evaluator } from "./evaluator.ts";
import { formatName } from "./inventory/facts.ts";
import { createKillSink, KillFloors } from "./inventory/kill_floors.ts";
import { isPartial, readMode, type Scope } from "./inventory/scope.ts";
import { SiblingIndex } from "./inventory/sibling_index.ts";
import type { Metrics } from "./metrics/metrics.ts";
import type { Observer, ObserverListener } from "./observer.ts";
import { Nodes } from "./polling/nodes.ts";
import type { ReplicasActor, ReplicasSettings } from "./replicas/actor.ts";
import { UsageHealth } from "./polling/usage_health.ts";
import { createEventSink } from "./report/event_sink.ts";
import { createForeignSink } from "./report/foreign_sink.ts";
import { LastScales } from "./report/last_scales.ts";
import { createLimitGauges } from "./report/limit_gauges.ts";
import { createLimits } from "./report/limits.ts";
import { createLogSink } from "./report/log_sink.ts";
import { createMetricsSink } from "./report/metrics_sink.ts";
import { Recommendations } from "./report/recommendations.ts";
import { Recorder } from "./report/recorder.ts";
import { Refusals } from "./report/refusals.ts";
import { combineSinks, type Sink } from "./report/sink.ts";
import { createStatusSink } from "./report/status_sink.ts";
import { createStatusOutlets } from "./report/status_outlets.ts";
import { isStatusOurs } from "./report/status_owner.ts";
import { StatusLoop } from "./report/status_loop.ts";
import { StatusSweep } from "./report/status_sweep.ts";
import type { OnTrouble } from "./report/trouble.ts";
import type { TroubleLog } from "./report/trouble_log.ts";
import type { Verdict } from "./verdict.ts";

/** What an actor is built of, and whom it notifies. */
export interface ActorOptions {
  readonly observer: Observer;
  readonly client: ApiClient;
  readonly watchUsage: WatchUsage;
  readonly dryRun: boolean;
  /** How many resizes may begin. */
  readonly pace: Pace;
  /** Replicas are set as well (R1). */
  readonly replicas?: ReplicasSettings;
  readonly limits?: OperatorLimits;
  readonly scope: Scope;
  /** Where resizes are noted; its own by default. */
  readonly lastScales?: LastScales;
  /** A reporter writes the statuses, here or in another podfit. */
  readonly isStatusElsewhere?: boolean;
  /** Which podfit this is, in events. */
  readonly instance: string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Who takes every evaluation, after events, log, metrics and status. */
  readonly sinks: readonly Sink[];
  readonly onTrouble: OnTrouble;
  /** Logs what `onTrouble` is told, and warnings among notices. */
  readonly troubleLog: Pick<TroubleLog, "take">;
  /** The leadership that it acts by; without one nobody else acts. */
  readonly term?: Pick<Term, "isLeading">;
}

/** A part of the daemon that runs once, from its start until its signal. */
export interface Actor {
  /** Not alive when a node's loop or the status loop is stuck. */
  readonly isAlive: () => Verdict;
  /** Resolves when the signal has aborted and everything is put away; rejects where a part is broken. */
  readonly run: (signal: AbortSignal) => Promise<void>;
}

const NO_WRITER = { readLast: () => null, write: () => null, forget() {} };

/** Builds an actor; nothing runs before `run` is called. */
export function createActor(options: ActorOptions): Actor {
  const { observer, client, clock, random, log, metrics, onTrouble, troubleLog, term } = options;
  const { lastScales = new LastScales(clock), isStatusElsewhere = false } = options;
  const { inventory, isKnown } = observer;
  const madeMs = clock.monotonic();
  const statusLoop = new StatusLoop(clock);
  const brake = new Brake({ clock, random });
  const { instance } = options;
  const onNotice = troubleLog.take;
  const recorder = new Recorder({ client, clock, random, log, metrics, brake, onNotice, onTrouble, instance });
  const refusals = new Refusals({ clock, recorder, onTrouble, isKnown });
  const mode = readMode(options.scope);
  const readStanding = (uid: string) => evaluator.readStanding(uid);
  const siblings = new SiblingIndex({ readStanding });
  const killFloors = new KillFloors();
  const takeTurn = createTurns({ clock, pace: options.pace, brake });
  const isLeading = () => term?.isLeading() !== false;
  const evaluator: Evaluator = new Evaluator({
    clock,
    takeTurn,
    actuate: createActuator({
      client,
      clock,
      isCurrent: (tracked) => isLeading() && observer.isCurrent(tracked),
    }),
    report: combineSinks([
      createEventSink(recorder),
      createLogSink(log),
      createMetricsSink({ metrics, isKnown }),
      createStatusSink({ lastScales, isKnown }),
      createKillSink(killFloors),
      refusals.sink,
      createForeignSink(log),
      ...options.sinks,
    ], ({ input: { pod } }, error) => fail("Cannot report evaluation", { pod: formatName(pod), error })),
    readSiblings: (tracked, now) => siblings.read(tracked, now),
    readSigns(pod, now) {
      const { revision, nodeName } = pod;
      const floors = killFloors.read(revision, now);
      return {
        ...(floors !== undefined && { killFloors: floors }),
        ...(observer.nodes.get(nodeName ?? "")?.memoryPressure === true && { memoryPressure: true }),
        ...(mode === "sidecar" && { isSidecar: true }),
        ...(term !== undefined && { ledSince: now - (clock.monotonic() - madeMs) }),
        ...replicas?.readSigns(pod, now),
      };
    },
    dryRun: options.dryRun,
    canDecide: observer.canDecide,
    surroundings: observer.surroundings,
    onError({ pod }, error) {
      metrics.failed(pod.namespace, "Evaluation");
      fail("Cannot evaluate pod", { pod: formatName(pod), error });
    },
  });
  const health = new UsageHealth({ readStanding, clock });
  const recommendations = new Recommendations({ readState: (uid) => evaluator.readState(uid) });
  const isNodeLocal = isPartial(options.scope);
  const onProgress = statusLoop.noteProgress;
  const outlets = isStatusElsewhere
    ? null
    : createStatusOutlets({ ...options, inventory, brake, recorder, isNodeLocal, onProgress });
  const status = new StatusSweep({
    clock,
    random,
    metrics,
    inventory,
    unread: health.unread,
    limits: createLimits(readStanding),
    recommended: recommendations.read,
    isNodeLocal,
    lastScales,
    canReport: observer.canReportStatus,
    findStale: observer.findStale,
    isOurs: (autoscaler) => isStatusOurs(mode, inventory.resolve(autoscaler).tracked.values()),
    writer: outlets?.writer ?? NO_WRITER,
    listeners: [createLimitGauges({ metrics, inventory }), ...outlets?.listeners ?? []],
    onTrouble,
  });
  const nodes = new Nodes({
    clock,
    random,
    log,
    metrics,
    watchUsage: options.watchUsage,
    evaluator,
    facts: observer.nodes,
    areListed: observer.areNodesListed,
    health,
    onTrouble,
    minPollIntervalMs: options.limits?.minPollIntervalMs ?? null,
    onReading: (reading) => replicas?.note(reading),
  });
  const replicas: ReplicasActor | null = options.replicas === undefined ? null : options.replicas.create({
    ...options,
    settings: options.replicas,
    brake,
    recorder,
    takeTurn,
    nodes,
    readStanding,
    isLeading,
  });
  const listener: ObserverListener = {
    onTracked(tracked) {
      siblings.put(tracked);
      nodes.put(tracked);
    },
    onDropped(pod) {
      nodes.remove(pod.uid, pod.nodeName);
      siblings.remove(pod.uid);
      evaluator.drop(pod.uid);
      health.forgetPod(pod.uid);
    },
    onMoved: (before, after) => replicas?.movePod(before, after),
    onRoom: (node) => nodes.wake(node, evaluator.waiting),
    onAutoscalerGone(autoscaler) {
      status.forget(autoscaler.uid);
      refusals.forget(autoscaler);
      recommendations.forget(autoscaler.uid);
      metrics.forget(autoscaler);
    },
  };

  function isAlive(): Verdict {
    const problems = nodes.listStuck().map((node) => `the loop of node "${node}" does not turn`);
    if (statusLoop.isStuck || replicas?.isStuck() === true) problems.push("the status loop does not turn");
    return problems.length === 0 ? { ok: true, message: "ok" } : { ok: false, message: problems.join("\n") };
  }

  async function run(signal: AbortSignal): Promise<void> {
    using _subscription = observer.subscribe(listener);
    // Ends after everything else, so that the last events are still written.
    const closing = new AbortController();
    const recording = recorder.run(closing.signal);
    try {
      // Ends after the nodes, when every answer is folded in.
      await using _evaluator = evaluator;
      await using _nodes = nodes;
      const sweeping = statusLoop.run(status, {
        signal,
        before: () => metrics.setTracked({ pods: inventory.tracked.size, nodePollers: nodes.size }),
        after: () => refusals.sweep((forMs) => evaluator.listQueued(forMs)),
      });
      await Promise.all([sweeping, replicas?.run(signal)]);
    } finally {
      if (isLeading()) await Promise.all([statusLoop.writeLast(status), replicas?.writeLast()]);
      closing.abort();
      await recording;
    }
  }

  function fail(message: string, fields: LogFields): void {
    onTrouble({ kind: "failure", level: "error", message, autoscaler: null, fields });
  }

  return { isAlive, run };
}
