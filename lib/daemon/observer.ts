/**
 * What is so in the cluster: the watches, the inventory that follows from them, and whether enough is known to judge.
 * It changes nothing anywhere and runs by itself, so that a standby can observe before it may act.
 */
import type { Autoscaler } from "../autoscaler/autoscaler.ts";
import { NO_LIMITS, type OperatorLimits } from "../autoscaler/operator_limits.ts";
import type { NamespaceLimits } from "../core/pod/namespace_limits.ts";
import type { PodFacts } from "../core/pod/pod_facts.ts";
import type { Transport } from "../kube/transport.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Log } from "../runtime/log.ts";
import type { AutoscalerFacts, NodeFacts } from "./inventory/facts.ts";
import { Feed, type FeedOptions } from "./inventory/feed.ts";
import { Inventory } from "./inventory/inventory.ts";
import { canDecide, canReportStatus, findStale } from "./inventory/knowledge.ts";
import { Namespaces } from "./inventory/namespaces.ts";
import { Rooms } from "./inventory/rooms.ts";
import { type Scope, seesWholeNodes } from "./inventory/scope.ts";
import type { Tracked } from "./inventory/tracked.ts";
import { fetchServerVersion, lowersMemoryLimits } from "./inventory/version.ts";
import { Objects } from "./replicas/objects.ts";
import type { OnTrouble } from "./report/trouble.ts";
import type { Verdict } from "./verdict.ts";

/** What is observed, and by what means. */
export interface ObserverOptions {
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
  readonly metrics: FeedOptions["metrics"];
  readonly onTrouble: OnTrouble;
}

/** What a decision looks at beside the pod and its contenders. */
export interface Surroundings {
  readonly rooms: Pick<Rooms, "read" | "command" | "accept" | "release">;
  /** `null` = none are known. */
  readonly readLimits: (namespace: string) => NamespaceLimits | null;
  readonly lowersMemoryLimits: (node: string | null) => boolean;
}

/** Hears what changes in the inventory. Must not throw. */
export interface ObserverListener {
  /** A tracked pod is new, has changed, or has other contenders. */
  onTracked(tracked: Tracked): void;
  /** A pod is no longer tracked. */
  onDropped(pod: PodFacts): void;
  onAutoscalerGone(autoscaler: AutoscalerFacts): void;
  /** A node has more room than before. */
  onRoom(node: string): void;
  /** A pod came, changed or went, tracked or not; `null` = it was not there, or is not any more. */
  onMoved?(before: PodFacts | null, after: PodFacts | null): void;
}

/** The cluster as it is known at this moment. */
export interface Observer {
  readonly inventory: Pick<Inventory, "tracked" | "autoscalers" | "resolve" | "pods" | "findSelector">;
  /** ScaledObjects and what stands beside them; none where they are not watched. */
  readonly scaledObjects: Objects;
  /** False while not everything is known that decisions about replicas depend on in the namespace. */
  readonly canScale: (namespace: string) => boolean;
  /** By name: the nodes there are. */
  readonly nodes: ReadonlyMap<string, NodeFacts>;
  /** What surrounds a pod: the room of its node, the limits of its namespace, the versions above and below it. */
  readonly surroundings: Surroundings;
  /** Ready once every list has come, and while none is too old. */
  readonly isReady: () => Verdict;
  /** False until `nodes` has all nodes there are. */
  readonly areNodesListed: () => boolean;
  /** False for an autoscaler that was deleted. */
  readonly isKnown: (autoscaler: Pick<Autoscaler, "uid" | "namespace">) => boolean;
  /** False once the pod, or who contends for it, is no longer as given, or not known any more. */
  readonly isCurrent: (tracked: Tracked) => boolean;
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
  { requiresAnnotation, maxContenders, limits = NO_LIMITS, seesReplicas = false, ...options }: ObserverOptions,
): Observer {
  const listeners = new Set<ObserverListener>();
  const nodes = new Map<string, NodeFacts>();
  const namespaces = new Namespaces();
  const rooms = new Rooms({
    nodes,
    seesAll: seesWholeNodes(options.scope),
    onRoom(node) {
      for (const listener of listeners) listener.onRoom(node);
    },
  });
  let serverVersion: string | null = null;
  const inventory = new Inventory({
    requiresAnnotation,
    ...(maxContenders !== undefined && { maxContenders }),
    onMoved(before, after) {
      rooms.movePod(before, after);
      for (const listener of listeners) listener.onMoved?.(before, after);
    },
    onChanged(tracked) {
      for (const listener of listeners) listener.onTracked(tracked);
    },
    onDropped(pod) {
      for (const listener of listeners) listener.onDropped(pod);
    },
  });
  const scaledObjects = new Objects();
  const feed = new Feed({
    ...options,
    ...(seesReplicas && { scaledObjects }),
    limits,
    inventory,
    nodes,
    rooms,
    namespaces,
    onAutoscalerGone(autoscaler) {
      for (const listener of listeners) listener.onAutoscalerGone(autoscaler);
    },
  });
  const { contacts } = feed;
  const isListed = (resource: string, namespace: string) => contacts.isListed(resource, namespace);
  const isKnown = (resource: string, namespace: string) => contacts.isKnown(resource, namespace);
  const mayDecide = (namespace: string) => canDecide(namespace, { inventory, isKnown });
  return {
    inventory,
    scaledObjects,
    // Whoever is not known may resize the same pods (R80).
    canScale: (namespace) => REPLICA_LISTS.every((resource) => isKnown(resource, namespace)) && mayDecide(namespace),
    nodes,
    surroundings: {
      rooms: {
        // A node may be another by now: what is not known refusals tell.
        read: (pod) => isKnown("nodes", "") ? rooms.read(pod) : null,
        command: (pod, growth) => rooms.command(pod, growth),
        accept: (pod, generation) => rooms.accept(pod, generation),
        release: (uid) => rooms.release(uid),
      },
      readLimits: (namespace) => namespaces.read(namespace),
      lowersMemoryLimits: (node) => lowersMemoryLimits(serverVersion, nodes.get(node ?? "")?.kubeletVersion ?? null),
    },
    isReady() {
      const { unlisted, stale } = contacts;
      const problems = stale.map(({ path, ageSeconds }) => `${path} was not heard of for ${ageSeconds} s`);
      if (unlisted.length > 0) problems.unshift(`waiting for the first list of ${unlisted.join(", ")}`);
      return problems.length === 0 ? { ok: true, message: "ok" } : { ok: false, message: problems.join("\n") };
    },
    areNodesListed: () => isListed("nodes", ""),
    isKnown: ({ uid, namespace }) => inventory.findAutoscaler(uid, namespace) !== null,
    // Each change of a pod, and of who contends for it, is tracked anew.
    isCurrent: (tracked) => inventory.tracked.get(tracked.pod.uid) === tracked && mayDecide(tracked.pod.namespace),
    canDecide: mayDecide,
    canReportStatus: (autoscaler) => canReportStatus(autoscaler, isListed),
    findStale: (namespace) => findStale(namespace, { inventory, isKnown, isListed }),
    subscribe(listener) {
      listeners.add(listener);
      for (const tracked of inventory.tracked.values()) listener.onTracked(tracked);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
    async run(signal) {
      const asked = fetchServerVersion(options, signal).then((version) => serverVersion = version);
      await Promise.all([asked, feed.run(signal)]);
    },
  };
}
