/**
 * The observer: all watches, the caches that they fill, and the answers to "is enough known to decide?". It writes
 * nothing, so a standby runs it too. It also fetches the version of the API server.
 */
import { createClient } from "../../kube/client.ts";
import type { ApiServer, Transport } from "../../kube/transport.ts";
import type { Autoscaler } from "../../model/autoscaler.ts";
import type { PodFacts } from "../../model/pod.ts";
import type { NamespaceLimits } from "../../model/pod_amounts.ts";
import { NO_OPERATOR_LIMITS, type OperatorLimits } from "../../resources/pod_resource_autoscaler/parse.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { Log } from "../../runtime/log.ts";
import type { CheckResult, OnFailure } from "../health.ts";
import { ClusterCache } from "./cache.ts";
import { NamespaceLimitsCache, NodeHeadroom } from "./capacity.ts";
import { type AutoscalerFacts, type NodeFacts, type Scope, seesWholeNodes, type TrackedPod } from "./facts.ts";
import { Watches, type WatchesOptions } from "./feeds.ts";
import { findStaleResource, isEnoughForStatus, isEnoughToDecide } from "./freshness.ts";
import { ScaledObjectCache } from "./scaled_objects.ts";
import type { OnMovedInSet } from "./selector_index.ts";

// What is so in the cluster: the watches, the inventory that follows from them, and whether enough is known to judge.
// It changes nothing anywhere and runs by itself, so that a standby can observe before it may act.

/** What is observed, and by what means. */
interface ObserverOptions {
  readonly origin: string;
  readonly transport: Transport;
  readonly scope: Scope;
  /** Nothing is decided about pods: neither nodes nor limits are watched. */
  readonly isForStatus?: boolean;
  readonly requiresAnnotation: boolean;
  /** What no manifest goes beyond; none unless given. */
  readonly limits?: OperatorLimits;
  /** As for the inventory. */
  readonly maxContenders?: number;
  /** ScaledObjects are watched, and what they have to do with (R1). */
  readonly seesReplicas?: boolean;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly metrics: WatchesOptions["metrics"];
  readonly onTrouble: OnFailure;
}

/** What a decision looks at beside the pod and its contenders. */
export interface Surroundings {
  readonly headroom: Pick<NodeHeadroom, "find" | "reserve" | "confirm" | "release">;
  /** `null` = none are known. */
  readonly findLimits: (namespace: string) => NamespaceLimits | null;
  readonly lowersMemoryLimits: (node: string | null) => boolean;
}

/** Hears what changes in the inventory. Must not throw. */
export interface ObserverListener {
  /** A tracked pod is new, has changed, or has other contenders. */
  onTracked(tracked: TrackedPod): void;
  /** A pod is no longer tracked. */
  onDropped(pod: PodFacts): void;
  onAutoscalerGone(autoscaler: AutoscalerFacts): void;
  /** A node has more room than before. */
  onHeadroom(node: string): void;
  /** A pod of one of the cache's pod sets was added to it, has changed or has left it. */
  readonly onMovedInSet?: OnMovedInSet;
}

/** The cluster as it is known at this moment. */
export interface Observer {
  readonly cache: Pick<
    ClusterCache,
    "trackedPods" | "listAutoscalers" | "resolve" | "listPods" | "findSelector" | "podSets"
  >;
  /** ScaledObjects and what stands beside them; none where they are not watched. */
  readonly scaledObjects: ScaledObjectCache;
  /** False while not everything is known that decisions about replicas depend on in the namespace. */
  readonly canScale: (namespace: string) => boolean;
  /** By name: the nodes there are. */
  readonly nodes: ReadonlyMap<string, NodeFacts>;
  /** What surrounds a pod: the room of its node, the limits of its namespace, the versions above and below it. */
  readonly surroundings: Surroundings;
  /** Ready once every list has come, and while none is too old. */
  readonly isReady: () => CheckResult;
  /** False until `nodes` has all nodes there are. */
  readonly areNodesListed: () => boolean;
  /** False for an autoscaler that was deleted. */
  readonly isKnown: (autoscaler: Pick<Autoscaler, "uid" | "namespace">) => boolean;
  /** False once the pod, or who contends for it, is no longer as given, or not known any more. */
  readonly isCurrent: (tracked: TrackedPod) => boolean;
  /** False while not everybody is known who may contend for the namespace's pods, as they are by now. */
  readonly canDecide: (namespace: string) => boolean;
  /** False while a list is missing from which the autoscaler's status would follow. */
  readonly canReportStatus: (autoscaler: AutoscalerFacts) => boolean;
  /** The resource that was not heard of for so long that nobody acts in the namespace; `null` = none. */
  readonly findStale: (namespace: string) => string | null;
  /** Calls the listener for each pod that is tracked, then for each change until the subscription is disposed of. */
  readonly subscribe: (listener: ObserverListener) => Disposable;
  /** Watches until the signal aborts. Rejects only where a part is broken. */
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/** Who is not known may set the same replicas. */
const REPLICA_LISTS = ["scaledobjects", "horizontalpodautoscalers", "triggerauthentications"] as const;

/** Builds an observer; nothing is asked of the API server before `run` is called. */
export function createObserver(
  { requiresAnnotation, maxContenders, limits = NO_OPERATOR_LIMITS, seesReplicas = false, ...options }: ObserverOptions,
): Observer {
  const listeners = new Set<ObserverListener>();
  const nodes = new Map<string, NodeFacts>();
  const namespaces = new NamespaceLimitsCache();
  const rooms = new NodeHeadroom({
    nodes,
    seesAll: seesWholeNodes(options.scope),
    onHeadroom(node) {
      for (const listener of listeners) listener.onHeadroom(node);
    },
  });
  let serverVersion: string | null = null;
  const inventory = new ClusterCache({
    requiresAnnotation,
    ...(maxContenders !== undefined && { maxContenders }),
    onMoved: (before, after) => rooms.movePod(before, after),
    onMovedInSet(set, before, after) {
      for (const listener of listeners) listener.onMovedInSet?.(set, before, after);
    },
    onChanged(tracked) {
      for (const listener of listeners) listener.onTracked(tracked);
    },
    onDropped(pod) {
      for (const listener of listeners) listener.onDropped(pod);
    },
  });
  const scaledObjects = new ScaledObjectCache();
  const feed = new Watches({
    ...options,
    ...(seesReplicas && { scaledObjects }),
    limits,
    cache: inventory,
    nodes,
    headroom: rooms,
    namespaces,
    onAutoscalerGone(autoscaler) {
      for (const listener of listeners) listener.onAutoscalerGone(autoscaler);
    },
  });
  const { freshness } = feed;
  const isListed = (resource: string, namespace: string) => freshness.isListed(resource, namespace);
  const isKnown = (resource: string, namespace: string) => freshness.isKnown(resource, namespace);
  const mayDecide = (namespace: string) => isEnoughToDecide(namespace, { cache: inventory, isKnown });
  return {
    cache: inventory,
    scaledObjects,
    // Whoever is not known may resize the same pods (R80).
    canScale: (namespace) => REPLICA_LISTS.every((resource) => isKnown(resource, namespace)) && mayDecide(namespace),
    nodes,
    surroundings: {
      headroom: {
        // A node may be another by now: what is not known refusals tell.
        find: (pod) => isKnown("nodes", "") ? rooms.find(pod) : null,
        reserve: (pod, growth) => rooms.reserve(pod, growth),
        confirm: (pod, generation) => rooms.confirm(pod, generation),
        release: (uid) => rooms.release(uid),
      },
      findLimits: (namespace) => namespaces.find(namespace),
      lowersMemoryLimits: (node) => lowersMemoryLimits(serverVersion, nodes.get(node ?? "")?.kubeletVersion ?? null),
    },
    isReady() {
      const { unlisted, stale } = freshness;
      const problems = stale.map(({ path, ageSeconds }) =>
        `${path} is stale: the last report came ${ageSeconds} s ago`
      );
      if (unlisted.length > 0) problems.unshift(`waiting for the first list of ${unlisted.join(", ")}`);
      return problems.length === 0 ? { ok: true, message: "ok" } : { ok: false, message: problems.join("\n") };
    },
    areNodesListed: () => isListed("nodes", ""),
    isKnown: ({ uid, namespace }) => inventory.findAutoscaler(uid, namespace) !== null,
    // Each change of a pod, and of who contends for it, is tracked anew.
    isCurrent: (tracked) => inventory.trackedPods.get(tracked.pod.uid) === tracked && mayDecide(tracked.pod.namespace),
    canDecide: mayDecide,
    canReportStatus: (autoscaler) => isEnoughForStatus(autoscaler, isListed),
    findStale: (namespace) => findStaleResource(namespace, { cache: inventory, isKnown, isListed }),
    subscribe(listener) {
      listeners.add(listener);
      for (const tracked of inventory.trackedPods.values()) listener.onTracked(tracked);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
    async run(signal) {
      const asked = fetchServerVersion(options, signal).then((version) => serverVersion = version);
      await Promise.all([asked, feed.run(signal)]);
    },
  };
}

// Which Kubernetes this is, and what its version cannot do yet (L33).

/** Who is asked. */
interface VersionOptions extends Pick<ApiServer, "origin" | "transport"> {
  readonly clock: Clock;
}

const VERSION_TIMEOUT_MS = 10_000;

/** The API server's version as `v1.36.3`; `null` where it does not say. Never rejects. */
async function fetchServerVersion(options: VersionOptions, signal: AbortSignal): Promise<string | null> {
  try {
    using timeout = options.clock.timeout(VERSION_TIMEOUT_MS);
    const { data } = await createClient(options).core.GET("/version/", {
      signal: AbortSignal.any([signal, timeout.signal]),
    });
    return data?.gitVersion ?? null;
  } catch {
    // It is asked once: without an answer, refusals are believed.
    return null;
  }
}

/** In place, memory limits go down since this minor of Kubernetes 1 (KEP-1287). */
const LOWERS_MEMORY_SINCE_MINOR = 34;

/** Whether API server and kubelet of these versions (`v1.36.3`) lower a memory limit; an unknown one is believed to. */
export function lowersMemoryLimits(...versions: readonly (string | null)[]): boolean {
  return versions.every((version) => {
    const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(version ?? "") ?? [];
    return major === undefined || Number(major) > 1 || Number(minor) >= LOWERS_MEMORY_SINCE_MINOR;
  });
}
