/**
 * The watches that keep the caches up to date: one list and watch per resource and namespace. Failures are logged with
 * the missing right and retried for ever.
 */
import type { PodResourceAutoscaler } from "../../api/autoscaler.ts";
import type { Deployment, HorizontalPodAutoscaler, Node, Pod } from "../../api/kubernetes.ts";
import { CollectionFailure } from "../../kube/list.ts";
import type { Transport } from "../../kube/transport.ts";
import { watchList } from "../../kube/watch.ts";
import type { WorkloadKind } from "../../model/autoscaler.ts";
import type { ScaledObjectFacts } from "../../model/scaled_object.ts";
import type { OperatorLimits } from "../../resources/pod_resource_autoscaler/parse.ts";
import { isSelected } from "../../resources/scaled_object/adoption.ts";
import { parseWithoutRun, refuseScaledObject } from "../../resources/scaled_object/scaled_object.ts";
import {
  type AuthenticationFacts,
  parseAuthentication,
} from "../../resources/trigger_authentication/trigger_authentication.ts";
import type { Clock } from "../../runtime/clock.ts";
import { getLoopSlice } from "../../runtime/event_loop.ts";
import type { Log } from "../../runtime/log.ts";
import type { OnFailure } from "../health.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { ClusterCache } from "./cache.ts";
import {
  type LimitRange,
  type NamespaceLimitsCache,
  type NamespaceRule,
  type NodeHeadroom,
  parseLimitRange,
  parseQuota,
  type ResourceQuota,
} from "./capacity.ts";
import { type BudgetFacts, type Disruptions, parseDisruptionBudget } from "./disruptions.ts";
import {
  type AutoscalerFacts,
  listPrefixes,
  type NodeFacts,
  type Scope,
  toPodFieldSelector,
  type WorkloadFacts,
} from "./facts.ts";
import { ListFreshness, type WatchedList } from "./freshness.ts";
import { type HpaFacts, parseAutoscalerFacts, parseHpa, parseNode, parseWorkload } from "./parse_objects.ts";
import { parsePod } from "./parse_pod.ts";
import { createLimitedSource, Readmissions, type Seen, type WaitingObjects } from "./limited_source.ts";
import { ObjectLimits } from "./object_limits.ts";
import { limitScaledObject, type ScaledObjectCache } from "./scaled_objects.ts";
import { replaceAllObjects, WORKLOAD_KINDS, WORKLOAD_PLURALS } from "./tables.ts";

export interface WatchesOptions extends SourceTargets {
  readonly origin: string;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly metrics: Pick<Metrics, "watchEvent" | "watchFailed" | "setListAges" | "setObjectBytes">;
  readonly onTrouble: OnFailure;
}

/** The watches of one scope. */
export class Watches {
  /** The ages of the lists. */
  readonly freshness: Pick<ListFreshness, "unlisted" | "stale" | "isListed" | "isKnown" | "isRecent" | "isOutdated">;
  readonly #options: WatchesOptions;
  readonly #sources: readonly WatchSource<unknown>[];
  readonly #freshness: ListFreshness;
  readonly #objects: ObjectLimits;

  constructor(options: WatchesOptions) {
    this.#options = options;
    this.#objects = new ObjectLimits(options.limits.objects);
    this.#sources = listSources(options, this.#objects);
    this.freshness = this.#freshness = new ListFreshness({ ...options, lists: this.#sources });
  }

  async run(signal: AbortSignal): Promise<void> {
    const readmissions = new Readmissions({ ...this.#options, objects: this.#objects, sources: this.#sources });
    await Promise.all([
      this.#freshness.run(signal),
      readmissions.run(signal),
      ...this.#sources.map((source) => this.#watch(source, signal)),
    ]);
  }

  async #watch(source: WatchSource<unknown>, signal: AbortSignal): Promise<void> {
    const { origin, transport, clock, random, log, metrics, onTrouble } = this.#options;
    const { resource, path, fieldSelector, project } = source;
    const slice = getLoopSlice(clock);
    let listed = 0;
    let isListed = false;
    let isForbidden = false;
    let isFailing = false;
    const recordSync = () => {
      this.#freshness.recordSync(source);
      if (isFailing) onTrouble({ kind: "recovered", what: WHAT, subject: path });
      isFailing = false;
    };
    const replaceAll = async (objects: readonly unknown[], begunMs: number) => {
      const steps = slice.measure(() => source.replaceAll(objects, begunMs)[Symbol.iterator]());
      while (slice.measure(() => steps.next()).done !== true) {
        if (slice.isOver) await slice.wait();
      }
    };
    const recordRight = () => {
      if (isForbidden) log.info("Watched, because the right is there now", { resource, path });
      isForbidden = false;
    };
    const onCurrent = () => {
      recordRight();
      recordSync();
    };
    // A kind without changes gets no bookmark, but its watch was accepted.
    const onQuiet = () => {
      recordRight();
      log.debug("The watch has received nothing since it began, listing again", { resource, path });
    };
    const onError = async (error: Error, failures: number) => {
      if (source.isOptional === true && isRightMissing(error)) {
        // First, because a list that is half empty must not count as known.
        this.#freshness.forget(source);
        source.listing?.begin();
        await replaceAll([], clock.monotonic());
        const message = `Not watched, because the right is missing: ${source.without ?? "podfit relies on refusals"}`;
        if (!isForbidden) log.info(message, { resource, path });
        isForbidden = true;
        return "relist";
      }
      metrics.watchFailed(resource);
      isFailing = true;
      const fields = { resource, path, failures, error };
      const topic = { what: WHAT, reason: toReason(error), subject: path };
      onTrouble({ kind: "failure", level: "warn", message: `${WHAT}, retrying`, autoscaler: null, fields, topic });
      return undefined;
    };
    const events = watchList(transport, {
      origin,
      path,
      ...(fieldSelector === null ? {} : { fieldSelector }),
      clock,
      random,
      signal,
      project,
      ...(source.listing !== undefined && {
        onListing: {
          begin() {
            listed = 0;
            source.listing?.begin();
          },
          add(object) {
            listed++;
            source.listing?.add(object);
          },
        },
      }),
      onCurrent,
      onQuiet,
      onError,
    });
    for await (const event of events) {
      metrics.watchEvent({ resource, type: event.kind });
      if (event.kind === "listed") {
        await replaceAll(event.objects, event.begunMs);
        recordSync();
        if (!isListed && source.isOptional !== true) {
          log.info("In sync", { resource, path, objects: listed + event.objects.length });
        }
        isListed = true;
        continue;
      }
      this.#freshness.recordChange(source);
      if (slice.isOver) await slice.wait();
      slice.measure(() => event.kind === "deleted" ? source.remove(event.object) : source.set(event.object));
    }
  }
}

/** A watch and what it updates. An optional watch may be forbidden: then the cache has none of its objects. */
export interface WatchSource<T> extends WatchedList {
  /** What follows from a missing right, for the log; by default podfit relies on refusals. */
  readonly without?: string;
  readonly fieldSelector: string | null;
  readonly project: (object: unknown) => T;
  /** Takes a list object by object; `replaceAll` is then called at its end, without objects. */
  readonly listing?: { readonly begin: () => void; readonly add: (object: T) => void };
  /** Of limited kinds only. */
  readonly waiting?: WaitingObjects;
  /**
   * Returns the steps that have to be done. The event loop may turn between them. `begunMs`: when the list was asked for,
   * monotonic.
   */
  readonly replaceAll: (objects: readonly T[], begunMs: number) => Iterable<unknown>;
  readonly set: (object: T) => void;
  readonly remove: (object: T) => void;
}

/** Returns the namespace of a path prefix; `null` = all. */
function toNamespace(prefix: string): string | null {
  return prefix === "" ? null : prefix.slice("/namespaces/".length);
}

const WHAT = "Cannot watch";

function toReason(error: Error): string {
  return error instanceof CollectionFailure ? String(error.code ?? error.kind) : "Unreadable";
}

function isRightMissing(error: Error): boolean {
  return error instanceof CollectionFailure && error.code === 403;
}

/** The scope, and the caches that the watches fill. */
interface SourceTargets {
  readonly scope: Scope;
  /** Only statuses are computed: neither nodes nor limits are watched. */
  readonly isForStatus?: boolean;
  readonly limits: OperatorLimits;
  readonly cache: ClusterCache;
  readonly nodes: Map<string, NodeFacts>;
  readonly headroom: Pick<NodeHeadroom, "moveNode">;
  readonly namespaces: NamespaceLimitsCache;
  /** `null` = PodDisruptionBudgets are not watched. */
  readonly disruptions: Pick<Disruptions, "setBudget" | "removeBudget" | "replaceBudgets"> | null;
  /** Absent if podfit does not scale replicas. */
  readonly scaledObjects?: ScaledObjectCache;
  /** KEDA runs: only selected ScaledObjects are podfit's. */
  readonly isNextToKeda?: boolean;
  /** Triggers may ask external.metrics.k8s.io and custom.metrics.k8s.io. */
  readonly usesMetricsApis?: boolean;
  readonly onAutoscalerGone: (facts: AutoscalerFacts) => void;
}

/** Returns the watches in the order in which they start. */
function listSources(options: SourceTargets, counted: ObjectLimits): readonly WatchSource<unknown>[] {
  const { scope, isForStatus = false } = options;
  const prefixes = listPrefixes(scope);
  // A sidecar has the rights of a Role, and a Role gives no right to nodes.
  const isOfNodes = !isForStatus && scope.pod === null;
  // An autoscaler needs its target's selector, so workloads come before autoscalers. Pods come last.
  return [
    ...(isOfNodes ? [nodeSource(options)] : []),
    ...prefixes.flatMap((prefix) => WORKLOAD_KINDS.map((kind) => workloadSource(options, { prefix, kind }))),
    ...prefixes.map((prefix) => autoscalerSource(options, counted, prefix)),
    ...(isForStatus ? [] : prefixes.flatMap((prefix) => limitSources(options, prefix))),
    ...prefixes.flatMap((prefix) => budgetSources(options, prefix)),
    ...(options.scaledObjects === undefined ? [] : listReplicaSources(options.scaledObjects, {
      prefixes,
      limits: options.limits,
      isNextToKeda: options.isNextToKeda ?? false,
      usesMetricsApis: options.usesMetricsApis ?? false,
      counted,
    })),
    ...prefixes.map((prefix) => podSource(options, prefix)),
  ] as readonly WatchSource<unknown>[];
}

function nodeSource({ nodes, headroom, scope }: SourceTargets): WatchSource<NodeFacts> {
  const set = (node: NodeFacts) => {
    const before = nodes.get(node.name);
    nodes.set(node.name, node);
    headroom.moveNode(node.name, before);
  };
  const remove = ({ name }: NodeFacts) => {
    const before = nodes.get(name);
    nodes.delete(name);
    headroom.moveNode(name, before);
  };
  return {
    resource: "nodes",
    namespace: null,
    path: "/api/v1/nodes",
    fieldSelector: scope.node === null ? null : `metadata.name=${scope.node}`,
    project: (object) => parseNode(object as Node),
    replaceAll: (all) =>
      replaceAllObjects({ known: [...nodes.values()], all }, { toKey: ({ name }) => name, set, remove }),
    set,
    remove,
  };
}

function workloadSource(
  { cache }: SourceTargets,
  { prefix, kind }: { prefix: string; kind: WorkloadKind },
): WatchSource<WorkloadFacts> {
  const namespace = toNamespace(prefix);
  return {
    resource: WORKLOAD_PLURALS[kind],
    namespace,
    path: `/apis/apps/v1${prefix}/${WORKLOAD_PLURALS[kind]}`,
    fieldSelector: null,
    project: (object) => parseWorkload(object as Deployment, kind),
    replaceAll: (all) => cache.replaceWorkloads({ kind, namespace }, all),
    set: (one) => cache.setWorkload(one),
    remove: (one) => cache.removeWorkload(one),
  };
}

function autoscalerSource(
  { cache, limits, onAutoscalerGone }: SourceTargets,
  counted: ObjectLimits,
  prefix: string,
): WatchSource<Seen<AutoscalerFacts>> {
  const namespace = toNamespace(prefix);
  return createLimitedSource<AutoscalerFacts>({
    kind: "PodResourceAutoscaler",
    resource: "podresourceautoscalers",
    namespace,
    path: `/apis/keda.kedify.io/v1alpha1${prefix}/podresourceautoscalers`,
    counted,
    parse: (object) => parseAutoscalerFacts(object as PodResourceAutoscaler, limits),
    refuse: (facts, problems) => ({ ...facts, autoscaler: null, problems, warnings: [] }),
    find: (key) => cache.findAutoscaler(key.uid, key.namespace),
    list: () => cache.listAutoscalers(),
    set: (one) => cache.setAutoscaler(one),
    remove(one) {
      cache.removeAutoscaler(one);
      onAutoscalerGone(one);
    },
  });
}

/** Limit ranges and quotas. Without the right to watch them, podfit relies on refusals. Clauses: L32. */
function limitSources({ namespaces }: SourceTargets, prefix: string): readonly WatchSource<NamespaceRule>[] {
  const namespace = toNamespace(prefix);
  const toSource = (
    resource: string,
    kind: NamespaceRule["kind"],
    project: (object: unknown) => NamespaceRule,
  ): WatchSource<NamespaceRule> => ({
    resource,
    namespace,
    path: `/api/v1${prefix}/${resource}`,
    fieldSelector: null,
    project,
    replaceAll: (all) => namespaces.replace({ kind, namespace }, all),
    set: (one) => namespaces.set(one),
    remove: (one) => namespaces.remove(one),
    isOptional: true,
  });
  return [
    toSource("limitranges", "limitRange", (object) => parseLimitRange(object as LimitRange)),
    toSource("resourcequotas", "quota", (object) => parseQuota(object as ResourceQuota)),
  ];
}

/** Without the right to watch them, no resize restarts a container. Clauses: L71. */
function budgetSources({ disruptions }: SourceTargets, prefix: string): readonly WatchSource<BudgetFacts>[] {
  if (disruptions === null) return [];
  const namespace = toNamespace(prefix);
  return [{
    resource: "poddisruptionbudgets",
    namespace,
    path: `/apis/policy/v1${prefix}/poddisruptionbudgets`,
    fieldSelector: null,
    project: parseDisruptionBudget,
    replaceAll: (all) => disruptions.replaceBudgets(namespace, all),
    set: (one) => disruptions.setBudget(one),
    remove: (one) => disruptions.removeBudget(one),
    isOptional: true,
    without: "no resize restarts a container, unless --ignore-disruption-budgets is given",
  }];
}

function podSource({ cache, scope }: SourceTargets, prefix: string): WatchSource<ReturnType<typeof parsePod>> {
  const namespace = toNamespace(prefix);
  return {
    resource: "pods",
    namespace,
    path: `/api/v1${prefix}/pods`,
    fieldSelector: toPodFieldSelector(scope),
    project: (object) => parsePod(object as Pod),
    replaceAll: (all, begunMs) => cache.replacePods(namespace, all, begunMs),
    set: (pod) => cache.setPod(pod),
    remove: (pod) => cache.removePod(pod),
  };
}

const KEDA_API_PATH = "/apis/keda.sh/v1alpha1";

interface ReplicaSourcesContext {
  /** Of namespaced lists. */
  readonly prefixes: readonly string[];
  readonly limits: OperatorLimits;
  readonly isNextToKeda: boolean;
  readonly usesMetricsApis: boolean;
  readonly counted: ObjectLimits;
}

/** Authentications and HPAs come before the ScaledObjects that depend on them. */
function listReplicaSources(
  objects: ScaledObjectCache,
  { prefixes, ...context }: ReplicaSourcesContext,
): readonly WatchSource<unknown>[] {
  return [
    authenticationSource(objects, { kind: "ClusterTriggerAuthentication", prefix: "", counted: context.counted }),
    ...prefixes.flatMap((prefix) => [
      authenticationSource(objects, { kind: "TriggerAuthentication", prefix, counted: context.counted }),
      hpaSource(objects, prefix),
      objectSource(objects, { ...context, prefix }),
    ]),
  ] as readonly WatchSource<unknown>[];
}

function objectSource(
  objects: ScaledObjectCache,
  { prefix, limits, isNextToKeda, usesMetricsApis, counted }: Omit<ReplicaSourcesContext, "prefixes"> & {
    readonly prefix: string;
  },
): WatchSource<Seen<ScaledObjectFacts>> {
  const namespace = toNamespace(prefix);
  return createLimitedSource<ScaledObjectFacts>({
    kind: "ScaledObject",
    resource: "scaledobjects",
    namespace,
    path: `${KEDA_API_PATH}${prefix}/scaledobjects`,
    counted,
    parse: (object) => limitScaledObject(parseWithoutRun(object, { isNextToKeda, usesMetricsApis }), limits),
    isForeign: (object) => isNextToKeda && !isSelected(object),
    refuse: (facts, problems) => ({ ...refuseScaledObject(facts, problems), warnings: [] }),
    find: (key) => objects.find(key),
    list: () => objects.listObjects(namespace),
    set: (one) => objects.setObject(one),
    remove: (one) => objects.removeObject(one),
  });
}

function hpaSource(objects: ScaledObjectCache, prefix: string): WatchSource<HpaFacts> {
  const namespace = toNamespace(prefix);
  return {
    resource: "horizontalpodautoscalers",
    namespace,
    path: `/apis/autoscaling/v2${prefix}/horizontalpodautoscalers`,
    fieldSelector: null,
    project: (object) => parseHpa(object as HorizontalPodAutoscaler),
    replaceAll: (all) => objects.replaceHpas(namespace, all),
    set: (one) => objects.setHpa(one),
    remove: (one) => objects.removeHpa(one),
  };
}

/**
 * ClusterTriggerAuthentications may be forbidden, because a Role gives no right to them. Then there are none to use.
 */
function authenticationSource(
  objects: ScaledObjectCache,
  { kind, prefix, counted }: {
    readonly kind: AuthenticationFacts["kind"];
    readonly prefix: string;
    readonly counted: ObjectLimits;
  },
): WatchSource<Seen<AuthenticationFacts>> {
  const isOfCluster = kind === "ClusterTriggerAuthentication";
  const namespace = toNamespace(prefix);
  const resource = isOfCluster ? "clustertriggerauthentications" : "triggerauthentications";
  return {
    ...createLimitedSource<AuthenticationFacts>({
      kind: "TriggerAuthentication",
      resource,
      namespace,
      path: `${KEDA_API_PATH}${prefix}/${resource}`,
      // Those of the cluster are the operator's own.
      counted: isOfCluster ? null : counted,
      parse: (object) => ({ ...parseAuthentication(object), kind }),
      refuse: (facts, problems) => ({ ...facts, authentication: null, problems, warnings: [] }),
      find: (key) => objects.findAuthentication({ kind, ...key }),
      list: () => objects.listAuthentications(kind, namespace),
      set: (one) => objects.setAuthentication(one),
      remove: (one) => objects.removeAuthentication(one),
    }),
    ...(isOfCluster && { isOptional: true }),
  };
}
