/**
 * Builds the part that acts on pods: the node poller, the pod controller, the status sweep and their reports. It
 * starts with a leadership and ends with it. With `replicas` set it also runs the ScaledObject controllers.
 */
import type { ApiClient } from "../kube/client.ts";
import type { Term } from "../kube/leader_election.ts";
import type { OperatorLimits } from "../resources/pod_resource_autoscaler/parse.ts";
import { CircuitBreaker } from "../runtime/backoff.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Log, LogFields } from "../runtime/log.ts";
import type { WatchUsage } from "../usage/source.ts";
import { formatName, isPartial, type Scope, toMode } from "./cluster/facts.ts";
import type { Observer, ObserverListener } from "./cluster/observer.ts";
import { EventRecorder } from "./events/recorder.ts";
import type { CheckResult, FailureLog, OnFailure, Runnable } from "./health.ts";
import type { Metrics } from "./metrics/metrics.ts";
import { createPermits, type WriteRate } from "./permits.ts";
import { createSendResize } from "./pods/actuator.ts";
import { combineSinks, type EvaluationSink, PodController } from "./pods/controller.ts";
import { NodePoller } from "./pods/poller.ts";
import {
  createEventSink,
  createLogSink,
  createMetricsSink,
  createSkippedPodSink,
  RefusalReporter,
} from "./pods/reports.ts";
import { createOomFloorSink, OomFloors, SiblingIndex } from "./pods/siblings.ts";
import { UsageHealth } from "./pods/usage_health.ts";
import type { ReplicasManager, ReplicasSettings } from "./replicas/manager.ts";
import { createCountLimited, isStatusOurs, Recommendations } from "./status/facts.ts";
import { createStatusSink, LastScales } from "./status/last_scales.ts";
import { createLimitGauges, createStatusOutputs } from "./status/listeners.ts";
import { StatusLoop, StatusSweep } from "./status/sweep.ts";

// What is done about it: usage is polled, pods are evaluated and resized, and people hear of it in events, status, log
// and metrics. An actor stands on an observer, runs once, and takes what it remembers of pods with it when it ends.

/** What an actor is built of, and whom it notifies. */
interface ControllersOptions {
  readonly observer: Observer;
  readonly client: ApiClient;
  readonly watchUsage: WatchUsage;
  readonly dryRun: boolean;
  /** How many resizes may begin. */
  readonly pace: WriteRate;
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
  readonly sinks: readonly EvaluationSink[];
  readonly onTrouble: OnFailure;
  /** Logs what `onTrouble` is told, and warnings among notices. */
  readonly troubleLog: Pick<FailureLog, "report">;
  /** The leadership that it acts by; without one nobody else acts. */
  readonly term?: Pick<Term, "isLeading">;
}

const NO_STATUS_WRITER = { findLast: () => null, write: () => null, forget() {} };

/** Builds an actor; nothing runs before `run` is called. */
export function createControllers(options: ControllersOptions): Runnable {
  const { observer, client, clock, random, log, metrics, onTrouble, troubleLog, term } = options;
  const { lastScales = new LastScales(clock), isStatusElsewhere = false } = options;
  const { cache, isKnown } = observer;
  const madeMs = clock.monotonic();
  const statusLoop = new StatusLoop(clock);
  const brake = new CircuitBreaker({ clock, random });
  const { instance } = options;
  const onNotice = troubleLog.report;
  const recorder = new EventRecorder({ client, clock, random, log, metrics, brake, onNotice, onTrouble, instance });
  const refusals = new RefusalReporter({ clock, recorder, onTrouble, isKnown });
  const mode = toMode(options.scope);
  const peekState = (uid: string) => evaluator.peekState(uid);
  const siblings = new SiblingIndex({ readStanding: peekState });
  const killFloors = new OomFloors();
  const takeTurn = createPermits({ clock, pace: options.pace, brake });
  const isLeading = () => term?.isLeading() !== false;
  const evaluator: PodController = new PodController({
    clock,
    acquirePermit: takeTurn,
    actuate: createSendResize({
      client,
      clock,
      isCurrent: (tracked) => isLeading() && observer.isCurrent(tracked),
    }),
    report: combineSinks([
      createEventSink(recorder),
      createLogSink(log),
      createMetricsSink({ metrics, isKnown }),
      createStatusSink({ lastScales, isKnown }),
      createOomFloorSink(killFloors),
      refusals.sink,
      createSkippedPodSink(log),
      ...options.sinks,
    ], ({ input: { pod } }, error) => fail("Cannot report evaluation", { pod: formatName(pod), error })),
    findSiblings: (tracked, now) => siblings.find(tracked, now),
    getContext(pod, now) {
      const { revision, nodeName } = pod;
      const floors = killFloors.find(revision, now);
      return {
        ...(floors !== undefined && { killFloors: floors }),
        ...(observer.nodes.get(nodeName ?? "")?.memoryPressure === true && { memoryPressure: true }),
        ...(mode === "sidecar" && { isSidecar: true }),
        ...(term !== undefined && { ledSince: now - (clock.monotonic() - madeMs) }),
        ...replicas?.getContext(pod, now),
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
  const health = new UsageHealth({ readStanding: peekState, clock });
  const recommendations = new Recommendations({ readState: (uid) => evaluator.findState(uid) });
  const isNodeLocal = isPartial(options.scope);
  const onProgress = statusLoop.recordProgress;
  const outlets = isStatusElsewhere
    ? null
    : createStatusOutputs({ ...options, cache, brake, recorder, isNodeLocal, onProgress });
  const status = new StatusSweep({
    clock,
    random,
    metrics,
    cache,
    findUnread: health.findUnread,
    limits: createCountLimited(peekState),
    recommended: recommendations.compute,
    isNodeLocal,
    lastScales,
    canReport: observer.canReportStatus,
    findStale: observer.findStale,
    isOurs: (autoscaler) => isStatusOurs(mode, cache.resolve(autoscaler).tracked.values()),
    writer: outlets?.writer ?? NO_STATUS_WRITER,
    listeners: [createLimitGauges({ metrics, cache }), ...outlets?.listeners ?? []],
    onTrouble,
  });
  const nodes = new NodePoller({
    clock,
    random,
    log,
    metrics,
    watchUsage: options.watchUsage,
    controller: evaluator,
    facts: observer.nodes,
    areListed: observer.areNodesListed,
    health,
    onTrouble,
    minPollIntervalMs: options.limits?.minPollIntervalMs ?? null,
    onReading: (reading) => replicas?.recordReading(reading),
  });
  const replicas: ReplicasManager | null = options.replicas === undefined ? null : options.replicas.create({
    ...options,
    settings: options.replicas,
    brake,
    recorder,
    acquirePermit: takeTurn,
    nodes,
    findPodState: peekState,
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
    onMovedInSet: (set, before, after) => replicas?.movePodInSet(set, before, after),
    onHeadroom: (node) => nodes.evaluateNow(node, evaluator.waitingForHeadroom),
    onAutoscalerGone(autoscaler) {
      status.forget(autoscaler.uid);
      refusals.forget(autoscaler);
      recommendations.forget(autoscaler.uid);
      metrics.forget(autoscaler);
    },
  };

  function isAlive(): CheckResult {
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
        before: () => metrics.setTracked({ pods: cache.trackedPods.size, nodePollers: nodes.size }),
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
