/**
 * Runs one controller for each ScaledObject while this podfit acts, with its events, log, metrics and statuses. This
 * file is loaded only where replicas are set.
 */
import { listHeldFields } from "../../horizontal/joint/pod_readings.ts";
import { SCALING_LOOP_MS } from "../../horizontal/pod_metrics.ts";
import type { ScaledObjectStatus } from "../../horizontal/status.ts";
import type { ApiClient } from "../../kube/client.ts";
import type { SizeInput } from "../../model/decision.ts";
import type { PodFacts } from "../../model/pod.ts";
import { listResourceTriggers, type ScaledObjectFacts } from "../../model/scaled_object.ts";
import type { ReadableState } from "../../model/state.ts";
import type { CircuitBreaker } from "../../runtime/backoff.ts";
import type { Clock } from "../../runtime/clock.ts";
import { getComputeQueue, queueCalls } from "../../runtime/event_loop.ts";
import { Semaphore } from "../../runtime/limits.ts";
import type { Log } from "../../runtime/log.ts";
import { TaskSet, untilAborted } from "../../runtime/tasks.ts";
import { createTriggerReader, type TriggerReader } from "../../triggers/reader.ts";
import type { AskTrigger } from "../../triggers/value.ts";
import { formatName } from "../cluster/facts.ts";
import type { Observer } from "../cluster/observer.ts";
import type { ScaledObjectListener } from "../cluster/scaled_objects.ts";
import { HpaPodSets, type OnMovedInSet, PodSetScope } from "../cluster/selector_index.ts";
import type { EventRecorder } from "../events/recorder.ts";
import type { OnFailure } from "../health.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { AcquirePermit } from "../permits.ts";
import type { NodePoller } from "../pods/poller.ts";
import { StatusLoop } from "../status/sweep.ts";
import { createScaledObjectPatch, StatusWriter } from "../status/writer.ts";
import { createDeleteHpa, createSetFinalizer } from "./conflicts.ts";
import { type ControllerParts, ScaledObjectController } from "./controller.ts";
import { createCheckBlockers, createFetchReadings, findCurrentConflict } from "./reconcile.ts";
import {
  combineReplicasSinks,
  createReplicasEvents,
  createReplicasLog,
  createReplicasMetrics,
  type ReplicasSink,
  ReplicasSweep,
  type ScaledObjectSnapshot,
} from "./reports.ts";
import { createScaleClient } from "./scale_client.ts";
import { createComputeUsage, createCountPods, createGetWorkloadPod, MeteredPods, TargetPods } from "./target_pods.ts";
import { createTemplates } from "./templates.ts";
import { createFetchCredentials, createQueryLimits } from "./triggers.ts";

// Sets replicas and tells of it: the part of an actor that is about ScaledObjects, with its events, log, metrics and
// statuses.

/** How replicas are set. */
export interface ReplicasSettings {
  /** This module's: it is loaded where replicas are set, and nowhere else. */
  readonly create: typeof createReplicasManager;
  /** Where the secrets of ClusterTriggerAuthentications are. */
  readonly clusterObjectNamespace: string;
  /** How triggers are asked over the network. */
  readonly ask: AskTrigger;
  /** Who else takes every pass of a ScaledObject. */
  readonly sinks?: readonly ReplicasSink[];
}

interface ReplicasManagerOptions extends Omit<ScaledObjectControllersOptions, keyof ReplicasSettings> {
  readonly settings: ReplicasSettings;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly brake: CircuitBreaker;
  readonly recorder: Pick<EventRecorder, "publish">;
}

export interface ReplicasManager extends ScaledObjectControllers {
  /** Its statuses have made no progress for a minute. */
  readonly isStuck: () => boolean;
  /** Writes the statuses that the last passes left. */
  readonly writeLast: () => Promise<void>;
}

/** Nothing runs before `run` is called. */
export function createReplicasManager(options: ReplicasManagerOptions): ReplicasManager {
  const { clock, log, metrics, recorder, observer, settings } = options;
  const loop = new StatusLoop(clock);
  const known = new Set<string>();
  const replicas: ScaledObjectControllers = createScaledObjectControllers({
    ...options,
    ...settings,
    sinks: [
      { onObject: ({ uid }) => void known.add(uid), onGone: ({ uid }) => void known.delete(uid) },
      createReplicasEvents(recorder),
      createReplicasLog(log),
      createReplicasMetrics({ metrics: metrics.replicas, isKnown: (uid) => known.has(uid) }),
      { onGone: ({ uid }) => sweep.forget(uid) },
      ...settings.sinks ?? [],
    ],
  });
  const writer = new StatusWriter<ScaledObjectStatus>({
    ...options,
    patch: createScaledObjectPatch(options.client),
    isKnown: () => true,
    rivals: "KEDA, or another podfit: let one of them alone have ScaledObjects",
    isNodeLocal: false,
    onProgress: loop.recordProgress,
  });
  const sweep = new ReplicasSweep({
    compute: getComputeQueue(clock),
    list: replicas.list,
    writer,
    metrics: metrics.replicas,
    isKnown: observer.canScale,
  });
  // In a dry run statuses are written, as they are for autoscalers.
  return {
    ...replicas,
    isStuck: () => loop.isStuck,
    writeLast: () => loop.writeLast(sweep),
    async run(signal) {
      await Promise.all([replicas.run(signal), loop.run(sweep, { signal })]);
    },
  };
}

// Sets the replicas of all ScaledObjects there are, one runner for each, for as long as this podfit acts. It stands on
// what an observer knows, and takes what it remembers with it when it ends.

/** What replicas are set by, and who hears of it. */
interface ScaledObjectControllersOptions {
  readonly observer: Observer;
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: () => number;
  readonly dryRun: boolean;
  /** Where the secrets of ClusterTriggerAuthentications are. */
  readonly clusterObjectNamespace: string;
  readonly ask: AskTrigger;
  /** Shared with resizes. */
  readonly acquirePermit: AcquirePermit;
  readonly nodes: Pick<NodePoller, "meter" | "unmeter">;
  /** How vertical stands with a pod. */
  readonly findPodState: (uid: string) => ReadableState | null;
  readonly isLeading: () => boolean;
  readonly sinks: readonly ReplicasSink[];
  readonly onTrouble: OnFailure;
}

/** The replicas' half of an actor. */
interface ScaledObjectControllers extends Pick<MeteredPods, "recordReading"> {
  /** What is so of every object now. */
  readonly list: () => Iterable<ScaledObjectSnapshot>;
  /** What vertical is told of a pod (R86). */
  readonly getContext: (pod: PodFacts, now: number) => Pick<SizeInput, "scaleInPending" | "scaledInAt">;
  readonly movePodInSet: OnMovedInSet;
  /** Runs until the signal aborts, and until what was sent is answered. */
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/** For so many objects at once, what triggers and pods depend on is fetched. */
const MAX_CONCURRENT_FETCHES = 16;

interface ControllerRow {
  readonly runner: ScaledObjectController;
  readonly pods: TargetPods;
  readonly reader: TriggerReader;
}

/** Nothing runs before `run` is called. */
function createScaledObjectControllers(options: ScaledObjectControllersOptions): ScaledObjectControllers {
  const { observer, clock, random, onTrouble } = options;
  const { scaledObjects: objects, cache } = observer;
  const fail = (message: string, facts: ScaledObjectFacts | null, error: unknown) => {
    const fields = { error, ...(facts !== null && { scaledObject: formatName(facts) }) };
    onTrouble({ kind: "failure", level: "error", message, autoscaler: null, fields });
  };
  const sink = combineReplicasSinks(options.sinks, (error) => fail("Cannot report on ScaledObject", null, error));
  const metered: MeteredPods = new MeteredPods({
    clock,
    nodes: options.nodes,
    getCapacity: (node) => observer.nodes.get(node)?.capacity ?? { cpuMillicores: null, memoryBytes: null },
    onFresh: ({ holders }) => holders.forEach((holder) => rows.get(holder)?.runner.onFreshUsage()),
  });
  const sets = new PodSetScope(cache.podSets);
  const hpaPods = new HpaPodSets({ clock, objects, sets, findSelector: (workload) => cache.findSelector(workload) });
  const fetches = new Semaphore(MAX_CONCURRENT_FETCHES);
  const templates = createTemplates(options);
  const readWorkloadPod = createGetWorkloadPod({ ...options, metered, templates, tracked: cache.trackedPods });
  const compute = getComputeQueue(clock);
  const readUsage = createComputeUsage({ compute, getWorkloadPod: readWorkloadPod });
  const scales = createScaleClient(options);
  const parts: ControllerParts = {
    clock,
    dryRun: options.dryRun,
    scales,
    checkBlockers: createCheckBlockers({
      ...options,
      scales,
      objects,
      sets,
      hpaPods,
      deleteHpa: createDeleteHpa(options),
    }),
    fetchReadings: createFetchReadings({ templates, metered, computeUsage: readUsage, fetches }),
    computeUsage: readUsage,
    metered,
    setFinalizer: createSetFinalizer({
      ...options,
      onError: (facts, error) => fail("Cannot change the finalizer of ScaledObject", facts, error),
    }),
    onUnrestored: (facts, cause) =>
      fail("Cannot restore replicas, letting ScaledObject go", facts, new Error(`${cause}; set them by hand`)),
    sink,
    mayWrite: (object, { pods, transferredUid }) =>
      options.isLeading() && observer.canScale(object.namespace) &&
      findCurrentConflict({ object, set: pods.set, transferredUid }, { objects, sets }).blocker === null,
    isKnown: observer.canScale,
  };
  const countPods = createCountPods(sets);
  const toAsk = createQueryLimits(queueCalls(compute, options.ask));
  const readWait = createStartDelays(clock);
  const rows = new Map<string, ControllerRow>();
  const tasks = new TaskSet({
    clock,
    random,
    onError: (uid, error) => fail("ScaledObject failed, starting it again", rows.get(uid)?.runner.facts ?? null, error),
  });

  function start(facts: ScaledObjectFacts): void {
    const { uid } = facts;
    const pods = new TargetPods({ index: sets, metered, uid });
    const readPlace = () => rows.get(uid)?.runner.facts.scaledObject ?? null;
    const own = toAsk();
    const readCredentials = createFetchCredentials({ ...options, objects, findTarget: readPlace });
    const reader = createTriggerReader({
      ...options,
      ask: own,
      countPods,
      fetchCredentials: async (wanted, signal) => {
        using _slot = await fetches.acquire(signal);
        return await readCredentials(wanted, signal);
      },
      onAsked: (asked) => sink.onAsked({ ...asked, object: rows.get(uid)?.runner.facts ?? facts }),
    });
    const startAt = clock.now() + readWait();
    const runner = new ScaledObjectController({ ...parts, facts, pods, reader, startAt });
    rows.set(uid, { runner, pods, reader });
    sink.onObject(facts);
    tasks.start(uid, async (signal) => {
      const waitMs = startAt - clock.now();
      if (waitMs > 0) await clock.sleep(waitMs, signal);
      await runner.run(signal);
    });
  }

  const listener: ScaledObjectListener = {
    onObject(facts) {
      const row = rows.get(facts.uid);
      if (row === undefined) start(facts);
      else if (row.runner.put(facts)) sink.onObject(facts);
    },
    onObjectGone(facts) {
      const row = rows.get(facts.uid);
      if (row === undefined) return;
      row.runner.onDeleted();
      rows.delete(facts.uid);
      tasks.stop(facts.uid);
      row.pods[Symbol.dispose]();
      sink.onGone(facts);
    },
    onRelatedChange({ uid }) {
      const row = rows.get(uid);
      // It may have been an authentication that changed.
      row?.reader.forgetCredentials();
      row?.runner.reconcileNow();
    },
  };

  return {
    recordReading: (reading) => metered.recordReading(reading),
    movePodInSet: (set, before, after) => metered.move(set, before, after),
    *list() {
      for (const { runner: { facts, state } } of rows.values()) yield { facts, state };
    },
    getContext(pod, now) {
      for (const { holders } of sets.setsOf(pod.uid)) {
        for (const holder of holders) {
          const runner = rows.get(holder)?.runner;
          const object = runner?.facts.scaledObject ?? null;
          if (runner === undefined || object === null || runner.state === null || !runner.hasCoupledTrigger) continue;
          const { isScaleInPending, scaledInAt } = runner.state;
          const sides = () => listHeldFields(listResourceTriggers(object), readWorkloadPod(object, pod), now);
          return { ...(isScaleInPending && { scaleInPending: sides() }), ...(scaledInAt !== null && { scaledInAt }) };
        }
      }
      return {};
    },
    async run(signal) {
      using _sets = sets;
      await using _tasks = tasks;
      using _subscription = objects.subscribe(listener);
      await untilAborted(signal);
    },
  };
}

// When does each object begin? Those that appear together begin one after the other: what they do each 15 s would else
// fall on one moment for ever.

/** So far apart, ms, over the period of ticks: of more objects some begin together. */
const START_INTERVAL_MS = 10;

/** Gives how long, ms, the next object is to wait; 0 for one that appears by itself. */
export function createStartDelays(clock: Pick<Clock, "monotonic">): () => number {
  let lastMs = -Infinity;
  return () => {
    const now = clock.monotonic();
    lastMs = Math.max(now, lastMs + START_INTERVAL_MS);
    if (lastMs - now >= SCALING_LOOP_MS) lastMs = now;
    return lastMs - now;
  };
}
