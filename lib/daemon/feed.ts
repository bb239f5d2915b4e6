/**
 * The watches that keep the inventory current, one task per resource and namespace; each says when it is in sync.
 * Failures are logged with the right or object they need, and retried for ever: a right that is granted later heals.
 */
import type { PodResourceAutoscaler } from "../api/autoscaler.ts";
import type { Deployment, Node, Pod } from "../api/kubernetes.ts";
import { readPod } from "../core/read_pod.ts";
import type { Transport } from "../kube/transport.ts";
import { watchList } from "../kube/watch.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Log } from "../runtime/log.ts";
import { parseSelector, type Selector } from "../units/selector.ts";
import { type AutoscalerFacts, type NodeFacts, readAutoscaler, readNode } from "./facts.ts";
import { type Inventory, workloadKey } from "./inventory.ts";
import type { Metrics } from "./metrics.ts";
import { listPrefixes, readPodFieldSelector, type Scope } from "./scope.ts";

export interface FeedOptions {
  readonly origin: string;
  readonly transport: Transport;
  readonly scope: Scope;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly inventory: Inventory;
  readonly nodes: Map<string, NodeFacts>;
  readonly onAutoscalerGone: (facts: AutoscalerFacts) => void;
}

/** What one watch does with what it learns. */
interface Source<T> {
  readonly resource: string;
  readonly path: string;
  readonly fieldSelector: string | null;
  readonly project: (object: unknown) => T;
  readonly replaceAll: (objects: readonly T[]) => void;
  readonly set: (object: T) => void;
  readonly remove: (object: T) => void;
}

export class Feed {
  readonly #options: FeedOptions;
  readonly #sources: readonly Source<unknown>[];
  readonly #unsynced = new Set<string>();

  constructor(options: FeedOptions) {
    this.#options = options;
    this.#sources = listSources(options);
    for (const { path } of this.#sources) this.#unsynced.add(path);
  }

  /** Paths that have not been listed yet: their objects are not known. */
  get unsynced(): ReadonlySet<string> {
    return this.#unsynced;
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#sources.map((source) => this.#watch(source, signal)));
  }

  async #watch(source: Source<unknown>, signal: AbortSignal): Promise<void> {
    const { origin, transport, clock, random, log, metrics } = this.#options;
    const { resource, path, fieldSelector, project } = source;
    const onError = (error: Error, failures: number) => {
      metrics.watchFailed(resource);
      log.warn("Cannot watch, retrying", { resource, path, failures, error });
    };
    const events = watchList(transport, {
      origin,
      path,
      ...(fieldSelector === null ? {} : { fieldSelector }),
      clock,
      random,
      signal,
      project,
      onError,
    });
    for await (const event of events) {
      metrics.watchEvent({ resource, type: event.kind });
      if (event.kind === "listed") {
        source.replaceAll(event.objects);
        if (this.#unsynced.delete(path)) log.info("In sync", { resource, path, objects: event.objects.length });
      } else if (event.kind === "deleted") source.remove(event.object);
      else source.set(event.object);
    }
  }
}

const WORKLOADS = [["deployments", "deployment"], ["statefulsets", "statefulset"], [
  "daemonsets",
  "daemonset",
]] as const;

function listSources(options: FeedOptions): readonly Source<unknown>[] {
  const { scope } = options;
  const prefixes = listPrefixes(scope);
  // A policy means nothing without its target's selector, so workloads come before autoscalers, and pods last.
  return [
    nodeSource(options),
    ...prefixes.flatMap((prefix) =>
      WORKLOADS.map(([plural, kind]) => workloadSource(options, { prefix, plural, kind }))
    ),
    ...prefixes.map((prefix) => autoscalerSource(options, prefix)),
    ...prefixes.map((prefix) => podSource(options, prefix)),
  ] as readonly Source<unknown>[];
}

function nodeSource({ nodes, scope }: FeedOptions): Source<NodeFacts> {
  return {
    resource: "nodes",
    path: "/api/v1/nodes",
    fieldSelector: scope.node === null ? null : `metadata.name=${scope.node}`,
    project: (object) => readNode(object as Node),
    replaceAll(all) {
      nodes.clear();
      for (const node of all) nodes.set(node.name, node);
    },
    set: (node) => void nodes.set(node.name, node),
    remove: (node) => void nodes.delete(node.name),
  };
}

interface WorkloadFacts {
  readonly namespace: string;
  readonly key: string;
  readonly selector: Selector | null;
}

function workloadSource(
  { inventory }: FeedOptions,
  { prefix, plural, kind }: { prefix: string; plural: string; kind: string },
): Source<WorkloadFacts> {
  const keyPrefix = `${kind}/${prefix === "" ? "" : `${readNamespace(prefix)}/`}`;
  return {
    resource: plural,
    path: `/apis/apps/v1${prefix}/${plural}`,
    fieldSelector: null,
    project: (object) => readWorkload(object as Deployment, kind),
    replaceAll(all) {
      const known = new Set(all.map(({ key }) => key));
      for (const key of inventory.listWorkloads(keyPrefix)) {
        if (!known.has(key)) inventory.setWorkload(key.split("/")[1] ?? "", key, null);
      }
      for (const one of all) inventory.setWorkload(one.namespace, one.key, one.selector);
    },
    set: (one) => inventory.setWorkload(one.namespace, one.key, one.selector),
    remove: (one) => inventory.setWorkload(one.namespace, one.key, null),
  };
}

function readWorkload({ metadata, spec }: Deployment, kind: string): WorkloadFacts {
  const { namespace = "", name = "" } = metadata ?? {};
  const parsed = parseSelector(spec?.selector, "spec.selector");
  return { namespace, key: workloadKey(kind, namespace, name), selector: parsed.ok ? parsed.selector : null };
}

function autoscalerSource({ inventory, onAutoscalerGone }: FeedOptions, prefix: string): Source<AutoscalerFacts> {
  const remove = (one: AutoscalerFacts) => {
    inventory.removeAutoscaler(one);
    onAutoscalerGone(one);
  };
  return {
    resource: "podresourceautoscalers",
    path: `/apis/keda.kedify.io/v1alpha1${prefix}/podresourceautoscalers`,
    fieldSelector: null,
    project: (object) => readAutoscaler(object as PodResourceAutoscaler),
    replaceAll(all) {
      const known = new Set(all.map(({ uid }) => uid));
      const namespace = readNamespace(prefix);
      for (const one of [...inventory.autoscalers()]) {
        if ((namespace === null || one.namespace === namespace) && !known.has(one.uid)) remove(one);
      }
      for (const one of all) inventory.setAutoscaler(one);
    },
    set: (one) => inventory.setAutoscaler(one),
    remove,
  };
}

function podSource({ inventory, scope }: FeedOptions, prefix: string): Source<ReturnType<typeof readPod>> {
  return {
    resource: "pods",
    path: `/api/v1${prefix}/pods`,
    fieldSelector: readPodFieldSelector(scope),
    project: (object) => readPod(object as Pod),
    replaceAll(all) {
      const known = new Set(all.map(({ uid }) => uid));
      for (const pod of [...inventory.pods(readNamespace(prefix))]) {
        if (!known.has(pod.uid)) inventory.removePod(pod);
      }
      for (const pod of all) inventory.setPod(pod);
    },
    set: (pod) => inventory.setPod(pod),
    remove: (pod) => inventory.removePod(pod),
  };
}

function readNamespace(prefix: string): string | null {
  return prefix === "" ? null : prefix.slice("/namespaces/".length);
}
