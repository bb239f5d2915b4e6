/**
 * The observer: all watches, the caches that they fill, and the answers to "is enough known to decide?". It writes
 * nothing, so a standby runs it too. It also fetches the version of the API server.
 */
import { createClient } from "../../kube/client.ts";
import type { ApiServer, Transport } from "../../kube/transport.ts";
import type { Autoscaler } from "../../model/autoscaler.ts";
import type { PodFacts } from "../../model/pod.ts";
import type { Scale } from "../../model/replicas_decision.ts";
import type { NamespaceLimits } from "../../model/pod_amounts.ts";
import { NO_OPERATOR_LIMITS, type OperatorLimits } from "../../resources/pod_resource_autoscaler/parse.ts";
import type { Clock } from "../../runtime/clock.ts";
import { getComputeQueue } from "../../runtime/event_loop.ts";
import type { Log } from "../../runtime/log.ts";
import type { CheckResult, FailureReport, OnFailure } from "../health.ts";
import { ClusterCache } from "./cache.ts";
import { NamespaceLimitsCache, NodeHeadroom } from "./capacity.ts";
import { Disruptions } from "./disruptions.ts";
import {
  type AutoscalerFacts,
  formatName,
  isPartial,
  type NodeFacts,
  type Scope,
  seesWholeNodes,
  type TrackedPod,
  type WorkloadFacts,
} from "./facts.ts";
import { Watches, type WatchesOptions } from "./feeds.ts";
import { findStaleResource, isEnoughForStatus, isEnoughToDecide, STALE_MS } from "./freshness.ts";
import { ScaledObjectCache } from "./scaled_objects.ts";
import { WORKLOAD_PLURALS } from "./tables.ts";
import type { OnMovedInSet } from "./selector_index.ts";

interface ObserverOptions {
  readonly origin: string;
  readonly transport: Transport;
  readonly scope: Scope;
  /** Only statuses are computed: neither nodes nor limits are watched. */
  readonly isForStatus?: boolean;
  readonly requiresAnnotation: boolean;
  /** The operator's limits for all manifests; none by default. */
  readonly limits?: OperatorLimits;
  /** As for `ClusterCache`. */
  readonly maxContenders?: number;
  /** ScaledObjects, their authentications and HPAs are watched. */
  readonly seesReplicas?: boolean;
  /** KEDA runs: only selected ScaledObjects are podfit's. */
  readonly isNextToKeda?: boolean;
  /** Triggers may ask external.metrics.k8s.io and custom.metrics.k8s.io. */
  readonly usesMetricsApis?: boolean;
  /** PodDisruptionBudgets are neither watched nor respected. */
  readonly ignoresDisruptionBudgets?: boolean;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly metrics: WatchesOptions["metrics"];
  readonly onTrouble: OnFailure;
}

/** The input of a decision that is neither the pod nor its autoscalers. */
export interface Surroundings {
  readonly headroom: Pick<NodeHeadroom, "find" | "reserve" | "release"> & {
    /** The resize of this version of the pod was accepted. */
    confirm(pod: PodFacts, generation: number | null): void;
  };
  readonly disruptions: Pick<Disruptions, "find" | "reserve" | "settle">;
  /** Returns `null` if none are known. */
  readonly findLimits: (namespace: string) => NamespaceLimits | null;
  readonly lowersMemoryLimits: (node: string | null) => boolean;
}

/** Receives the changes of the cache. Must not throw. */
export interface ObserverListener {
  /** A tracked pod is new, has changed, or has other autoscalers. */
  onTracked(tracked: TrackedPod): void;
  /** A pod is no longer tracked. */
  onDropped(pod: PodFacts): void;
  onAutoscalerGone(autoscaler: AutoscalerFacts): void;
  /** A node has more headroom than before. */
  onHeadroom(node: string): void;
  /** A pod of one of the cache's pod sets was added to it, has changed or has left it. */
  readonly onMovedInSet?: OnMovedInSet;
}

/** What is known about the cluster now. */
export interface Observer {
  readonly cache: Pick<
    ClusterCache,
    "trackedPods" | "findTracked" | "listAutoscalers" | "resolve" | "listPods" | "findSelector" | "podSets"
  >;
  /** ScaledObjects, HPAs and authentications; empty if they are not watched. */
  readonly scaledObjects: ScaledObjectCache;
  /** False while a list is missing or stale that decisions about replicas in the namespace depend on. */
  readonly canScale: (namespace: string) => boolean;
  /** Returns the scale of a workload as its watch shows it; `null` if there is none, or the watch is not recent. */
  readonly findScale: (workload: Pick<WorkloadFacts, "kind" | "namespace" | "name">) => Scale | null;
  /** The known nodes by name. */
  readonly nodes: ReadonlyMap<string, NodeFacts>;
  /**
   * The headroom of a pod's node, the limits of its namespace, and what the versions of API server and kubelet support.
   */
  readonly surroundings: Surroundings;
  /** Ready when every list has arrived and none is stale. */
  readonly isReady: () => CheckResult;
  /** False until `nodes` has all nodes. */
  readonly areNodesListed: () => boolean;
  /** False for an autoscaler that was deleted. */
  readonly isKnown: (autoscaler: Pick<Autoscaler, "uid" | "namespace">) => boolean;
  /** False when the pod or its autoscalers have changed since, or are no longer known. */
  readonly isCurrent: (tracked: TrackedPod) => boolean;
  /** False while a list is missing or stale that decides which autoscalers match the namespace's pods. */
  readonly canDecide: (namespace: string) => boolean;
  /** False while a list is missing that the autoscaler's status depends on. */
  readonly canReportStatus: (autoscaler: AutoscalerFacts) => boolean;
  /** Returns the stale resource that stops decisions in the namespace; `null` = none. */
  readonly findStale: (namespace: string) => string | null;
  /** The same for decisions about replicas. */
  readonly findStaleToScale: (namespace: string) => string | null;
  /** Calls the listener for each tracked pod, then for each change until the subscription is disposed. */
  readonly subscribe: (listener: ObserverListener) => Disposable;
  /** Watches until the signal aborts. Rejects only if a part of podfit itself fails. */
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/** An unknown object may scale the same workload. */
const REPLICA_LISTS = ["scaledobjects", "horizontalpodautoscalers", "triggerauthentications"] as const;

/** Lists of what limits sizes in a namespace. */
const LIMIT_LISTS = { quota: "resourcequotas", limitRange: "limitranges" } as const;

/** Returns an observer. It sends no request before `run` is called. */
export function createObserver(
  {
    requiresAnnotation,
    maxContenders,
    limits = NO_OPERATOR_LIMITS,
    seesReplicas = false,
    ignoresDisruptionBudgets = false,
    ...options
  }: ObserverOptions,
): Observer {
  const listeners = new Set<ObserverListener>();
  const nodes = new Map<string, NodeFacts>();
  const namespaces = new NamespaceLimitsCache();
  const nodeHeadroom = new NodeHeadroom({
    nodes,
    seesAll: seesWholeNodes(options.scope),
    onHeadroom(node) {
      for (const listener of listeners) listener.onHeadroom(node);
    },
  });
  let serverVersion: string | null = null;
  const cache = new ClusterCache({
    requiresAnnotation,
    compute: getComputeQueue(options.clock),
    ...(maxContenders !== undefined && { maxContenders }),
    onMoved(before, after) {
      nodeHeadroom.movePod(before, after);
      disruptions.movePod(before, after);
    },
    onMovedInSet(set, before, after) {
      disruptions.moveInSet(set, before, after);
      for (const listener of listeners) listener.onMovedInSet?.(set, before, after);
    },
    onChanged(tracked) {
      for (const listener of listeners) listener.onTracked(tracked);
    },
    onDropped(pod) {
      for (const listener of listeners) listener.onDropped(pod);
    },
    onFailed: (pod, error) => options.onTrouble(toMatchingFailure(pod, error)),
  });
  const seesBudgets = !ignoresDisruptionBudgets && !isPartial(options.scope);
  const disruptions: Disruptions = new Disruptions({
    clock: options.clock,
    podSets: cache.podSets,
    seesAll: !isPartial(options.scope),
    areBudgetsKnown: (namespace) =>
      ignoresDisruptionBudgets || (seesBudgets && freshness.isRecent("poddisruptionbudgets", namespace, STALE_MS)),
  });
  const scaledObjects = new ScaledObjectCache();
  const watches = new Watches({
    ...options,
    ...(seesReplicas && { scaledObjects }),
    limits,
    cache,
    nodes,
    headroom: nodeHeadroom,
    namespaces,
    disruptions: seesBudgets && options.isForStatus !== true ? disruptions : null,
    onAutoscalerGone(autoscaler) {
      for (const listener of listeners) listener.onAutoscalerGone(autoscaler);
    },
  });
  const { freshness } = watches;
  const isListed = (resource: string, namespace: string) => freshness.isListed(resource, namespace);
  const isKnown = (resource: string, namespace: string) => freshness.isKnown(resource, namespace);
  const mayDecide = (namespace: string) => isEnoughToDecide(namespace, { cache, isKnown });
  const findStale = (namespace: string) => findStaleResource(namespace, { cache, isKnown, isListed });
  return {
    cache,
    scaledObjects,
    // An unknown autoscaler may resize the same pods.
    canScale: (namespace) => REPLICA_LISTS.every((resource) => isKnown(resource, namespace)) && mayDecide(namespace),
    findScale: (workload) =>
      freshness.isRecent(WORKLOAD_PLURALS[workload.kind], workload.namespace) ? cache.findScale(workload) : null,
    nodes,
    surroundings: {
      headroom: {
        // Nodes that are not fresh are not used; podfit relies on refusals then.
        find: (pod) => isKnown("nodes", "") ? nodeHeadroom.find(pod) : null,
        reserve: (pod, growth) => nodeHeadroom.reserve(pod, growth),
        confirm(pod, generation) {
          nodeHeadroom.confirm(pod, generation);
          cache.expectResize(pod, { generation, atMs: options.clock.monotonic() });
        },
        release: (uid) => nodeHeadroom.release(uid),
      },
      disruptions,
      findLimits: (namespace) =>
        namespaces.find(namespace, (kind) => freshness.isOutdated(LIMIT_LISTS[kind], namespace)),
      lowersMemoryLimits: (node) => lowersMemoryLimits(serverVersion, nodes.get(node ?? "")?.kubeletVersion ?? null),
    },
    isReady() {
      const { unlisted, stale } = freshness;
      const problems = stale.map(({ path, ageSeconds }) =>
        `${path} is stale: the last report came ${ageSeconds} s ago`
      );
      if (unlisted.length > 0) problems.unshift(`waiting for the first list of ${unlisted.join(", ")}`);
      if (problems.length === 0) return { ok: true, message: "ok" };
      const reason = unlisted.length > 0 ? "waiting for the first lists" : "lists are stale";
      return { ok: false, message: problems.join("\n"), reason };
    },
    areNodesListed: () => isListed("nodes", ""),
    isKnown: ({ uid, namespace }) => cache.findAutoscaler(uid, namespace) !== null,
    // Each change of a pod or its autoscalers makes a new object.
    isCurrent: (tracked) => cache.findTracked(tracked.pod.uid) === tracked && mayDecide(tracked.pod.namespace),
    canDecide: mayDecide,
    canReportStatus: (autoscaler) => isEnoughForStatus(autoscaler, isListed),
    findStale,
    findStaleToScale: (namespace) =>
      REPLICA_LISTS.find((one) => isListed(one, namespace) && !isKnown(one, namespace)) ?? findStale(namespace),
    subscribe(listener) {
      listeners.add(listener);
      for (const tracked of cache.trackedPods.values()) listener.onTracked(tracked);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
    async run(signal) {
      const asking = watchServerVersion(options, signal, (version) => serverVersion = version);
      await Promise.all([asking, watches.run(signal)]);
    },
  };
}

const CANNOT_MATCH = "Cannot match pod with its autoscalers";

/** `error`: `null` = it works again. */
function toMatchingFailure(pod: PodFacts, error: unknown): FailureReport {
  const subject = formatName(pod);
  if (error === null) return { kind: "recovered", what: CANNOT_MATCH, subject };
  const topic = { what: CANNOT_MATCH, reason: error instanceof Error ? error.name : "Unknown", subject };
  const message = `${CANNOT_MATCH}, and it is not resized until a later change works: this is a defect of podfit, ` +
    "please report it; if it stays, restart podfit";
  return { kind: "failure", level: "error", message, autoscaler: null, fields: { pod: subject, error }, topic };
}

interface VersionOptions extends Pick<ApiServer, "origin" | "transport"> {
  readonly clock: Clock;
}

const VERSION_TIMEOUT_MS = 10_000;

/** A control plane may be upgraded or rolled back at any time. */
const VERSION_INTERVAL_MS = 600_000;

/** Gives the API server's version now and every 10 min. It keeps the last one while the server does not answer. */
async function watchServerVersion(
  options: VersionOptions,
  signal: AbortSignal,
  onVersion: (version: string) => void,
): Promise<void> {
  while (!signal.aborted) {
    const version = await fetchServerVersion(options, signal);
    if (version !== null) onVersion(version);
    await options.clock.sleep(VERSION_INTERVAL_MS, signal).catch(() => {});
  }
}

/** Returns the API server's version, such as `v1.36.3`; `null` if it does not answer. Never rejects. Clauses: L33. */
async function fetchServerVersion(options: VersionOptions, signal: AbortSignal): Promise<string | null> {
  try {
    using timeout = options.clock.timeout(VERSION_TIMEOUT_MS);
    const { data } = await createClient(options).core.GET("/version/", {
      signal: AbortSignal.any([signal, timeout.signal]),
    });
    return data?.gitVersion ?? null;
  } catch {
    // Without an answer, podfit relies on refusals.
    return null;
  }
}

/** Kubernetes 1 can lower memory limits in place since this minor version (KEP-1287). */
const LOWERS_MEMORY_SINCE_MINOR = 34;

/**
 * Returns whether API server and kubelet of these versions (`v1.36.3`) can lower a memory limit. An unknown version
 * counts as able.
 */
export function lowersMemoryLimits(...versions: readonly (string | null)[]): boolean {
  return versions.every((version) => {
    const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(version ?? "") ?? [];
    return major === undefined || Number(major) > 1 || Number(minor) >= LOWERS_MEMORY_SINCE_MINOR;
  });
}
