/**
 * Runs one controller for each ScaledObject while this podfit acts, with its events, log, metrics and statuses. This
 * file is loaded only where replicas are set.
 */
import { listHeldFields } from "../../horizontal/joint/pod_readings.ts";
import { SCALING_LOOP_MS } from "../../horizontal/pod_metrics.ts";
import type { ApiClient } from "../../kube/client.ts";
import type { SizeInput } from "../../model/decision.ts";
import type { PodFacts } from "../../model/pod.ts";
import {
  type ExternalTrigger,
  type KedaSource,
  listResourceTriggers,
  type MetricSource,
  type ObjectSource,
  type ScaledObjectFacts,
} from "../../model/scaled_object.ts";
import type { ReadableState } from "../../model/state.ts";
import { WorkBudget } from "../../runtime/budget.ts";
import type { Clock } from "../../runtime/clock.ts";
import { getComputeQueue } from "../../runtime/event_loop.ts";
import { Semaphore } from "../../runtime/limits.ts";
import type { Log } from "../../runtime/log.ts";
import { TaskSet, untilAborted } from "../../runtime/tasks.ts";
import { createTriggerReader, type TriggerReader } from "../../triggers/reader.ts";
import type { AskedSource, AskTrigger, HttpTriggerSource, ListedPods } from "../../triggers/value.ts";
import { listIpKeys } from "../../units/address.ts";
import { formatName, type NodeFacts } from "../cluster/facts.ts";
import type { Observer } from "../cluster/observer.ts";
import type { ScaledObjectListener } from "../cluster/scaled_objects.ts";
import { HpaPodSets, type OnMovedInSet, type PodSet, PodSetScope } from "../cluster/selector_index.ts";
import type { EventRecorder } from "../events/recorder.ts";
import { type OnFailure, toFailureReason } from "../health.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { AcquirePermit } from "../permits.ts";
import type { NodePoller } from "../pods/poller.ts";
import { StatusLoop } from "../status/sweep.ts";
import {
  createAuthenticationPatch,
  createScaledObjectPatch,
  StatusWriter,
  type StatusWriterOptions,
} from "../status/writer.ts";
import { createKeepRecord, createRemoveConditions } from "./adoption.ts";
import { createDeleteHpa, createSetFinalizer } from "./conflicts.ts";
import { type ControllerParts, ScaledObjectController } from "./controller.ts";
import { DeactivationLimit, getDefaultDeactivations } from "./deactivations.ts";
import { createAskMetrics } from "./metrics_apis.ts";
import {
  AuthenticationUsers,
  combineReplicasSinks,
  createReplicasEvents,
  createReplicasLog,
  createReplicasMetrics,
  type ReplicasSink,
  ReplicasSweep,
  type ScaledObjectSnapshot,
} from "./reports.ts";
import { createQueryLimits, createRunPaid, TRIGGER_BUDGET } from "./query_limits.ts";
import { createFindPlural, createScaleClient, createWatchedScales, REQUEST_TIMEOUT_MS } from "./scale_client.ts";
import { createComputeUsage, createCountPods, createGetWorkloadPod, MeteredPods, TargetPods } from "./target_pods.ts";
import { createTemplates } from "./templates.ts";
import {
  createAskEndpoints,
  createAskObject,
  createFetchCredentials,
  type DaemonCredentialRules,
  SAFE_CREDENTIAL_RULES,
} from "./triggers.ts";

/** How replicas are set. */
export interface ReplicasSettings {
  /** `createReplicasManager` itself: this file is loaded where replicas are set, and nowhere else. */
  readonly create: typeof createReplicasManager;
  /** Where the secrets of ClusterTriggerAuthentications are. */
  readonly clusterObjectNamespace: string;
  /** The safe ones by default. */
  readonly credentialRules?: DaemonCredentialRules;
  /** How triggers are asked over the network. */
  readonly ask: AskTrigger<HttpTriggerSource>;
  /** `--scaled-objects=selected`: KEDA runs too. False unless given. Clauses: M1. */
  readonly isNextToKeda?: boolean;
  /** `--metrics-apis`; false unless given. Clauses: M15. */
  readonly usesMetricsApis?: boolean;
  /** `--keda-deactivation`; false unless given. */
  readonly kedaDeactivation?: boolean;
  /** `--max-deactivations-per-minute`; without it there is a default. */
  readonly maxDeactivationsPerMinute?: number | null;
  /** They receive every decision after events, log and metrics. */
  readonly sinks?: readonly ReplicasSink[];
}

interface ReplicasManagerOptions {
  readonly settings: ReplicasSettings;
  readonly observer: Observer;
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly dryRun: boolean;
  readonly recorder: Pick<EventRecorder, "publish">;
  /** Shared with resizes. */
  readonly acquirePermit: AcquirePermit;
  readonly nodes: Pick<NodePoller, "meter" | "unmeter">;
  readonly findPodState: (uid: string) => ReadableState | null;
  readonly isLeading: () => boolean;
  /** podfit watches all namespaces. */
  readonly seesCluster: boolean;
  readonly onTrouble: OnFailure;
}

export interface ReplicasManager extends Pick<MeteredPods, "recordReading"> {
  /** What the decision about a pod's size takes from its ScaledObject. */
  readonly getContext: (pod: PodFacts, now: number) => Pick<SizeInput, "scaleInPending" | "scaledInAt">;
  /** A pod entered or left a pod set, or changed in it. */
  readonly movePodInSet: OnMovedInSet;
  /** The statuses have made no progress for a minute. */
  readonly isStuck: () => boolean;
  /** Runs until the signal aborts and every request is answered. */
  readonly run: (signal: AbortSignal) => Promise<void>;
  /** Writes the statuses that follow from the last decisions. */
  readonly writeLast: () => Promise<void>;
}

/**
 * For how many objects the things that triggers and pods depend on are fetched at the same time. A namespace alone has
 * half of them.
 */
const MAX_CONCURRENT_FETCHES = 32;

interface ControllerRow {
  readonly controller: ScaledObjectController;
  readonly pods: TargetPods;
  readonly reader: TriggerReader;
}

/** Returns a manager; nothing runs before `run` is called. */
export function createReplicasManager(options: ReplicasManagerOptions): ReplicasManager {
  const { settings, observer, client, clock, random, metrics, dryRun, acquirePermit, onTrouble } = options;
  const { scaledObjects: objects, cache } = observer;
  const { kedaDeactivation = false } = settings;
  const compute = getComputeQueue(clock);
  const budget = new WorkBudget(clock, TRIGGER_BUDGET);
  const rows = new Map<string, ControllerRow>();
  const fail = (message: string, facts: ScaledObjectFacts | null, error: unknown) => {
    const fields = { error, ...(facts !== null && { scaledObject: formatName(facts) }) };
    onTrouble({ kind: "failure", level: "error", message, autoscaler: null, fields });
  };

  const statusLoop = new StatusLoop(clock);
  const createWriter = <Status extends object>(
    { kind, patch }: Pick<StatusWriterOptions<Status>, "kind" | "patch">,
  ) =>
    new StatusWriter({
      kind,
      patch,
      clock,
      random,
      metrics,
      isKnown: () => true,
      rivals: "KEDA or another podfit; let only one of them control ScaledObjects",
      isNodeLocal: false,
      onProgress: statusLoop.recordProgress,
      onTrouble,
    });
  const authentications = settings.isNextToKeda === true ? null : new AuthenticationUsers({
    compute,
    list: () => objects.listAuthentications(null, null),
    writer: createWriter({ kind: "TriggerAuthentication", patch: createAuthenticationPatch(client) }),
    // A podfit for some namespaces does not see all users of a ClusterTriggerAuthentication.
    isKnown: (namespace) =>
      namespace === null ? options.seesCluster && observer.canScale("") : observer.canScale(namespace),
  });
  const sweep = new ReplicasSweep({
    clock,
    compute,
    list: () => listSnapshots(rows),
    writer: createWriter({ kind: "ScaledObject", patch: createScaledObjectPatch(client, (key) => objects.find(key)) }),
    authentications,
    metrics: metrics.replicas,
    isKnown: observer.canScale,
    findStale: observer.findStaleToScale,
  });
  const known = new Set<string>();
  const sink = combineReplicasSinks([
    { onObject: ({ uid }) => void known.add(uid), onGone: ({ uid }) => void known.delete(uid) },
    createReplicasEvents(options.recorder),
    createReplicasLog(options.log),
    createReplicasMetrics({ metrics: metrics.replicas, isKnown: (uid) => known.has(uid) }),
    { onGone: ({ uid }) => sweep.forget(uid) },
    ...settings.sinks ?? [],
  ], (error) => fail("Cannot report on ScaledObject", null, error));

  const metered = new MeteredPods({
    nodes: options.nodes,
    getCapacity: (node) => observer.nodes.get(node)?.capacity ?? { cpuMillicores: null, memoryBytes: null },
    onFresh: (uid, before, after) => rows.get(uid)?.controller.onFreshUsage(before, after),
  });
  const sets = new PodSetScope(cache.podSets);
  const hpaPods = new HpaPodSets({ clock, objects, sets, findSelector: (workload) => cache.findSelector(workload) });
  const fetches = new Semaphore(MAX_CONCURRENT_FETCHES, { isShared: true });
  const templates = createTemplates({ client, clock });
  const getWorkloadPod = createGetWorkloadPod({
    metered,
    templates,
    findTracked: (uid) => cache.findTracked(uid),
    findPodState: options.findPodState,
  });
  const parts: ControllerParts = {
    clock,
    compute,
    budget,
    dryRun,
    scales: createWatchedScales(createScaleClient({ client, clock, acquirePermit }), {
      clock,
      findScale: observer.findScale,
    }),
    objects,
    sets,
    isInvalid: (uid) => rows.get(uid)?.controller.facts.scaledObject === null,
    hpaPods,
    deleteHpa: createDeleteHpa({ client, clock }),
    keepRecord: createKeepRecord({
      client,
      clock,
      onError: (facts, error) => fail("Cannot write the adoption record of ScaledObject", facts, error),
    }),
    setFinalizer: createSetFinalizer({
      client,
      clock,
      onAnswer(facts, error) {
        const [what, subject] = ["Cannot change the finalizer of ScaledObject", formatName(facts)];
        if (error === null) return onTrouble({ kind: "recovered", what, subject });
        const fields = { error, scaledObject: subject };
        const topic = { what, reason: toFailureReason(error), subject };
        onTrouble({ kind: "failure", level: "error", message: `${what}, retrying`, autoscaler: null, fields, topic });
      },
    }),
    deactivations: new DeactivationLimit({
      clock,
      getMax: () =>
        settings.maxDeactivationsPerMinute ?? (kedaDeactivation ? Infinity : getDefaultDeactivations(rows.size)),
      onHeld: (count) => metrics.replicas.setDeactivationsHeld(count),
    }),
    kedaDeactivation,
    computeUsage: createComputeUsage({ compute, getWorkloadPod }),
    metered,
    templates,
    fetches,
    sink,
    onUnrestored: (facts, cause) =>
      fail(
        "Cannot restore replicas, removing the finalizer of ScaledObject",
        facts,
        new Error(`${cause}; set them by hand`),
      ),
    isLeading: options.isLeading,
    canScale: observer.canScale,
    findStale: observer.findStaleToScale,
  };
  const countPods = createCountPods(sets);
  const isNodeAddress = createIsNodeAddress(observer.nodes, clock);
  const findPlural = createFindPlural({ client, clock, timeoutMs: REQUEST_TIMEOUT_MS });
  const askMetrics = createAskMetrics({ client, clock, findPlural });
  const { credentialRules = SAFE_CREDENTIAL_RULES } = settings;
  const askObject = createAskObject({ client, clock, credentialRules });
  const removeConditions = createRemoveConditions({
    client,
    clock,
    onError: (facts, error) => fail("Cannot remove podfit's conditions of ScaledObject", facts, error),
  });
  const removals = new Set<Promise<void>>();
  const ended = new AbortController();
  const limitQueries = createQueryLimits({
    ask: (trigger, asked) => {
      if (isHttp(trigger)) return settings.ask(trigger, { ...asked, isNodeAddress });
      return isOfObject(trigger) ? askObject(trigger, asked) : askMetrics(trigger as MetricsApiTrigger, asked);
    },
    clock,
    random,
    compute,
    budget,
    onWaited: metrics.replicas.waited,
  });
  const runPaid = createRunPaid({ clock, compute, budget });
  const getStartDelay = createStartDelays(clock);
  const tasks = new TaskSet({
    clock,
    random,
    onError: (uid, error) =>
      fail("ScaledObject controller failed, restarting it", rows.get(uid)?.controller.facts ?? null, error),
  });

  function start(facts: ScaledObjectFacts): void {
    const { uid } = facts;
    const fetchCredentials = createFetchCredentials({
      client,
      clock,
      objects,
      clusterObjectNamespace: settings.clusterObjectNamespace,
      credentialRules,
      findTarget: () => rows.get(uid)?.controller.facts.scaledObject ?? null,
    });
    const pods = new TargetPods({ index: sets, metered, uid });
    const ask = createAskEndpoints({ ask: limitQueries(facts.namespace), client, clock, budget });
    const reader = createTriggerReader({
      clock,
      ask: (trigger, asked) =>
        ask(trigger, pods.set !== null && asksForPods(trigger) ? { ...asked, pods: toListedPods(pods.set) } : asked),
      countPods,
      run: runPaid(facts.namespace),
      fetchCredentials: async (wanted, signal) => {
        using _slot = await fetches.acquire(signal, { lane: wanted.namespace });
        return await fetchCredentials(wanted, signal);
      },
      onAsked: (asked) => sink.onAsked({ ...asked, object: rows.get(uid)?.controller.facts ?? facts }),
    });
    const startAt = clock.steady() + getStartDelay();
    const controller = new ScaledObjectController(parts, { facts, pods, reader, startAt });
    rows.set(uid, { controller, pods, reader });
    sink.onObject(facts);
    tasks.start(uid, async (signal) => {
      const waitMs = startAt - clock.steady();
      if (waitMs > 0) await clock.sleep(waitMs, signal);
      await controller.run(signal);
    });
  }

  const listener: ScaledObjectListener = {
    onObject(facts) {
      const row = rows.get(facts.uid);
      if (row === undefined) start(facts);
      else if (row.controller.put(facts)) sink.onObject(facts);
    },
    onObjectGone(facts) {
      const row = rows.get(facts.uid);
      if (row === undefined) return;
      row.controller.onDeleted();
      rows.delete(facts.uid);
      tasks.stop(facts.uid);
      row.pods[Symbol.dispose]();
      sink.onGone(facts);
      hpaPods.refresh(facts.namespace);
      if (facts.adoption === null || facts.isDeleting || dryRun) return;
      const removal = removeConditions(facts, ended.signal).finally(() => removals.delete(removal));
      removals.add(removal);
    },
    onRelatedChange({ uid }) {
      const row = rows.get(uid);
      // The change may be in an authentication.
      row?.reader.forgetCredentials();
      row?.controller.reconcileNow();
    },
  };

  async function runControllers(signal: AbortSignal): Promise<void> {
    using _sets = sets;
    metrics.replicas.setDeactivationsHeld(0);
    await using _tasks = tasks;
    using _subscription = objects.subscribe(listener);
    await untilAborted(signal);
    ended.abort();
    await Promise.all(removals);
  }

  // A dry run writes statuses too, as it does for autoscalers.
  return {
    recordReading: (reading) => metered.recordReading(reading),
    movePodInSet: (set, before, after) => metered.move(set, before, after),
    getContext(pod, now) {
      // A coupled trigger reads the usage of the pods, so its object meters them.
      const controller = metered.findUser(pod.uid, (uid) => {
        const one = rows.get(uid)?.controller;
        return one?.hasCoupledTrigger === true && one.facts.scaledObject !== null && one.replicasState !== null
          ? one
          : null;
      });
      const { facts: { scaledObject: object = null } = {}, replicasState: state = null } = controller ?? {};
      if (object === null || state === null) return NO_CONTEXT;
      const { isScaleInPending, scaledInAt } = state;
      if (!isScaleInPending && scaledInAt === null) return NO_CONTEXT;
      const fields = () => listHeldFields(listResourceTriggers(object), getWorkloadPod(object, pod), now);
      return { ...(isScaleInPending && { scaleInPending: fields() }), ...(scaledInAt !== null && { scaledInAt }) };
    },
    isStuck: () => statusLoop.isStuck,
    writeLast: () => statusLoop.writeLast(sweep),
    async run(signal) {
      await Promise.all([runControllers(signal), statusLoop.run(sweep, { signal })]);
    },
  };
}

const NO_CONTEXT: ReturnType<ReplicasManager["getContext"]> = {};

/** Only these questions need the list of pods: it is long, and copied each time. */
function asksForPods({ source }: ExternalTrigger): boolean {
  return source.kind === "metric" && source.of.kind === "pods";
}

function toListedPods({ selector, pods }: PodSet): ListedPods {
  return { selector, pods: [...pods.values()] };
}

/** How long the addresses of nodes are kept; a new node is known after this time. */
const NODE_ADDRESSES_MS = 5000;

/** Returns a function that says whether an address is a known node's. */
export function createIsNodeAddress(
  nodes: ReadonlyMap<string, Pick<NodeFacts, "addresses">>,
  clock: Pick<Clock, "monotonic">,
): (address: string) => boolean {
  let known: ReadonlySet<string> = new Set();
  let untilMs = -Infinity;
  return (address) => {
    if (clock.monotonic() >= untilMs) {
      known = new Set([...nodes.values()].flatMap((node) => node.addresses.flatMap((one) => listIpKeys(one.address))));
      untilMs = clock.monotonic() + NODE_ADDRESSES_MS;
    }
    return listIpKeys(address).some((key) => known.has(key));
  };
}

type HttpTrigger = ExternalTrigger & { readonly source: HttpTriggerSource };

type MetricsApiTrigger = ExternalTrigger & { readonly source: KedaSource | MetricSource };

function isHttp(trigger: ExternalTrigger & { readonly source: AskedSource }): trigger is HttpTrigger {
  return trigger.source.kind === "prometheus" || trigger.source.kind === "metrics-api";
}

function isOfObject(
  trigger: ExternalTrigger & { readonly source: AskedSource },
): trigger is ExternalTrigger & { readonly source: ObjectSource } {
  return trigger.source.kind === "kubernetes-resource";
}

function* listSnapshots(rows: ReadonlyMap<string, ControllerRow>): Generator<ScaledObjectSnapshot> {
  for (const { controller: { facts, replicasState } } of rows.values()) yield { facts, state: replicasState };
}

/** The distance between two starts, ms. When all 15 s are used, some objects start together. */
const START_INTERVAL_MS = 10;

/**
 * Returns a function that gives the delay of the next object, ms. An object that appears alone has no delay.
 * Otherwise objects that appear together would run their loops at the same moment, every 15 s.
 */
export function createStartDelays(clock: Pick<Clock, "monotonic">): () => number {
  let lastMs = -Infinity;
  return () => {
    const now = clock.monotonic();
    lastMs = Math.max(now, lastMs + START_INTERVAL_MS);
    if (lastMs - now >= SCALING_LOOP_MS) lastMs = now;
    return lastMs - now;
  };
}
