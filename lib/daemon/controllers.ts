/**
 * Builds the part that acts on pods: the node poller, the pod controller, the status sweep and their reports. It
 * starts with a leadership and ends with it. With `replicas` set it also runs the ScaledObject controllers.
 */
import type { ApiClient } from "../kube/client.ts";
import type { Term } from "../kube/leader_election.ts";
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
import { combineSinks, type EvaluationSink, PodController, PodStates } from "./pods/controller.ts";
import { NodePoller } from "./pods/poller.ts";
import {
  createEventSink,
  createLogSink,
  createMetricsSink,
  createPodEventSink,
  createSkippedPodSink,
  RefusalReporter,
} from "./pods/reports.ts";
import { createOomFloorSink, OomFloors, SiblingIndex } from "./pods/siblings.ts";
import { UsageHealth } from "./pods/usage_health.ts";
import type { ReplicasManager, ReplicasSettings } from "./replicas/manager.ts";
import { createCountLimited, createLimitedSink, isStatusOurs, Recommendations } from "./status/facts.ts";
import { createStatusSink, type LastScales } from "./status/last_scales.ts";
import { createLimitGauges, createStatusOutputs } from "./status/listeners.ts";
import { PublishedSizes, WaitingContainers } from "./status/sizes.ts";
import { StatusLoop, StatusSweep } from "./status/sweep.ts";

interface ControllersOptions {
  readonly observer: Observer;
  readonly client: ApiClient;
  readonly watchUsage: WatchUsage;
  readonly scope: Scope;
  readonly dryRun: boolean;
  /** How many resizes may start per second. */
  readonly pace: WriteRate;
  /** `null` = ScaledObjects are left alone. */
  readonly replicas: ReplicasSettings | null;
  /** No node is read more often for metered pods, ms; `null` = no limit. */
  readonly minPollIntervalMs: number | null;
  /** Resizes are recorded here. */
  readonly lastScales: LastScales;
  /** A reporter writes the statuses, here or in another podfit. */
  readonly isStatusElsewhere: boolean;
  /** Which podfit this is, in events. */
  readonly instance: string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
  /** They receive every evaluation after events, log, metrics and status. */
  readonly sinks: readonly EvaluationSink[];
  readonly onTrouble: OnFailure;
  /** Logs failures, and warnings among notices. */
  readonly failureLog: Pick<FailureLog, "report">;
  /** The controllers run for this leadership; `null` = without leader election. */
  readonly term: Pick<Term, "isLeading"> | null;
}

const NO_SCALE_IN = {};

const NO_STATUS_WRITER = {
  findLast: () => null,
  write: () => null,
  getDueAtMs: () => 0,
  settle: async () => {},
  isIdle: true,
  forget() {},
};

/** Returns the controllers; nothing runs before `run` is called. */
export function createControllers(options: ControllersOptions): Runnable {
  const { observer, client, scope, dryRun, lastScales, instance, clock, random, log, metrics, onTrouble, term } =
    options;
  const { cache, isKnown } = observer;
  const createdMs = clock.monotonic();
  const mode = toMode(scope);
  const isLeading = () => term?.isLeading() !== false;
  const acquirePermit = createPermits({ clock, pace: options.pace, random });
  const recorder = new EventRecorder({
    client,
    clock,
    random,
    log,
    metrics,
    onNotice: options.failureLog.report,
    onTrouble,
    instance,
  });

  const states = new PodStates();
  const peekState = (uid: string) => states.peek(uid);
  const siblings = new SiblingIndex({ readStanding: peekState });
  const oomFloors = new OomFloors();
  const waiting = new WaitingContainers({ findState: peekState });
  const refusals = new RefusalReporter({ clock, recorder, onTrouble, isKnown });
  // It is created last, because it reads usage with the node poller. The parts above ask it only while they run.
  let replicas: ReplicasManager | null = null;
  const controller = new PodController({
    clock,
    states,
    acquirePermit,
    actuate: createSendResize({
      client,
      clock,
      isCurrent: (tracked) => isLeading() && observer.isCurrent(tracked),
    }),
    report: combineSinks([
      createEventSink(recorder),
      createPodEventSink(recorder),
      createLogSink(log),
      createMetricsSink({ metrics, isKnown }),
      createStatusSink({ lastScales, isKnown }),
      createOomFloorSink(oomFloors),
      waiting.sink,
      refusals.sink,
      createLimitedSink((uid) => status.touch(uid)),
      createSkippedPodSink(log),
      ...options.sinks,
    ], (pod, error) => fail("Cannot report evaluation", { pod: formatName(pod), error })),
    findSiblings: (tracked, input) => siblings.find(tracked, input),
    getContext(pod, now) {
      const floors = oomFloors.find(pod, now);
      return {
        ...(floors !== undefined && { killFloors: floors }),
        ...(observer.nodes.get(pod.nodeName ?? "")?.memoryPressure === true && { memoryPressure: true }),
        ...(mode === "sidecar" && { isSidecar: true }),
        ...(term !== null && { ledSince: now - (clock.monotonic() - createdMs) }),
        ...replicas?.getContext(pod, now),
      };
    },
    getScaleIn: (pod, now) => replicas?.getContext(pod, now) ?? NO_SCALE_IN,
    dryRun,
    canDecide: observer.canDecide,
    findCurrent: ({ pod }) => cache.findTracked(pod.uid),
    surroundings: observer.surroundings,
    onError({ pod }, error) {
      metrics.failed(pod.namespace, "Evaluation");
      fail("Cannot evaluate pod", { pod: formatName(pod), error });
    },
  });
  const health = new UsageHealth({ readStanding: peekState, clock });
  const nodes = new NodePoller({
    clock,
    random,
    log,
    metrics,
    watchUsage: options.watchUsage,
    controller,
    facts: observer.nodes,
    areListed: observer.areNodesListed,
    health,
    onTrouble,
    minPollIntervalMs: options.minPollIntervalMs,
    onReading: (reading) => replicas?.recordReading(reading),
  });
  if (options.replicas !== null) {
    replicas = options.replicas.create({
      settings: options.replicas,
      observer,
      client,
      clock,
      random,
      log,
      metrics,
      dryRun,
      recorder,
      acquirePermit,
      nodes,
      findPodState: peekState,
      isLeading,
      seesCluster: scope.namespaces === null,
      onTrouble,
    });
  }

  const statusLoop = new StatusLoop(clock);
  const recommendations = new Recommendations({ readState: (uid) => states.find(uid) });
  const isNodeLocal = isPartial(scope);
  const outputs = options.isStatusElsewhere ? null : createStatusOutputs({
    client,
    clock,
    random,
    metrics,
    cache,
    recorder,
    isNodeLocal,
    onProgress: statusLoop.recordProgress,
    onTrouble,
  });
  const status = new StatusSweep({
    clock,
    random,
    metrics,
    cache,
    findUnread: health.findUnread,
    limits: createCountLimited(peekState),
    recommended: recommendations.compute,
    // The sizes of only some of the pods are meaningless.
    sizes: isNodeLocal ? null : new PublishedSizes({ findWaiting: waiting.find }),
    isNodeLocal,
    lastScales,
    canReport: observer.canReportStatus,
    findStale: observer.findStale,
    isOurs: (autoscaler) => isStatusOurs(mode, cache.resolve(autoscaler).tracked.values()),
    writer: outputs?.writer ?? NO_STATUS_WRITER,
    listeners: [
      createLimitGauges({ metrics, cache, scaledObjects: observer.scaledObjects }),
      ...outputs?.listeners ?? [],
    ],
    onTrouble,
  });

  const listener: ObserverListener = {
    onTracked(tracked) {
      siblings.put(tracked);
      nodes.put(tracked);
    },
    onDropped(pod) {
      nodes.remove(pod.uid, pod.nodeName);
      siblings.remove(pod.uid);
      controller.drop(pod.uid);
      health.forgetPod(pod.uid);
      waiting.forgetPod(pod.uid);
    },
    onMovedInSet: (set, before, after) => replicas?.movePodInSet(set, before, after),
    onHeadroom: (node) => nodes.evaluateNow(node, controller.waitingForHeadroom),
    onAutoscalerGone(autoscaler) {
      status.forget(autoscaler.uid);
      refusals.forget(autoscaler);
      recommendations.forget(autoscaler.uid);
      metrics.forget(autoscaler);
    },
  };

  function isAlive(): CheckResult {
    const stuck = nodes.listStuck();
    const problems = stuck.length < nodes.size ? [] : stuck.map((node) => `the loop of node "${node}" is stuck`);
    if (statusLoop.isStuck || replicas?.isStuck() === true) problems.push("the status loop is stuck");
    return problems.length === 0
      ? { ok: true, message: "ok" }
      : { ok: false, message: problems.join("\n"), reason: "a loop is stuck" };
  }

  async function run(signal: AbortSignal): Promise<void> {
    using _subscription = observer.subscribe(listener);
    // Ends last, so that the last events are still written.
    const closing = new AbortController();
    const recording = recorder.run(closing.signal);
    try {
      // Ends after the nodes, when the state has every answer.
      await using _controller = controller;
      await using _nodes = nodes;
      const sweeping = statusLoop.run(status, {
        signal,
        before() {
          nodes.restartStuck();
          metrics.setTracked({ pods: cache.trackedPods.size, nodePollers: nodes.size });
        },
        after: () => refusals.sweep((forMs) => controller.listQueued(forMs)),
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
