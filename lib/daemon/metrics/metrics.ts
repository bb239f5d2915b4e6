/**
 * What `/metrics` shows: one method per thing that is counted or measured. `forget` removes all series of one
 * autoscaler. `countRequests` counts the answers of the API server.
 */
import type { FailureReason } from "../../api/usage.ts";
import type { Transport } from "../../kube/transport.ts";
import type { Direction } from "../../model/decision.ts";
import type { BlockReason } from "../../model/reasons.ts";
import type { ReplicasReason } from "../../model/replicas_decision.ts";
import { isTimeoutError } from "../../runtime/clock.ts";
import type { RequestOrLimit, Resource } from "../../units/resources.ts";
import { type ErrorReason, FAMILIES, type FamilyRow, REPLICA_FAMILIES } from "./families.ts";
import { CONTENT_TYPE, Family } from "./family.ts";

/** The autoscaler that a series belongs to. */
export interface AutoscalerName {
  readonly namespace: string;
  readonly name: string;
}

/** A resource field of an autoscaler's container and the direction of its change. */
export interface FieldChange extends AutoscalerName {
  readonly resource: Resource;
  readonly side: RequestOrLimit;
  readonly direction: Direction;
}

/** The number of autoscalers in one namespace. */
export interface Totals {
  readonly total: number;
  readonly scalingActive: number;
}

interface MetricsOptions {
  readonly version: string;
  /** The commit of the build. Default: `unknown`. */
  readonly commit?: string;
  /** Label `kedify_agent_id` of every `kedify_` family; absent or empty = no label. */
  readonly agentId?: string;
  /** Returns the longest block of the event loop since the last call, ms. */
  readonly takeLoopBlockMs?: () => number;
  /** Epoch ms. */
  readonly startedAt?: number;
}

/**
 * Records what `/metrics` shows. A series appears when it is first recorded. No method throws, because a metric must
 * not stop a resize: values that are not finite are dropped. Label values come from closed lists, never from messages
 * of servers or kubelets.
 */
export interface Metrics {
  readonly contentType: string;
  /** Yields the page in pieces, so that the caller can let other work run in between. */
  render(): Iterable<string>;

  reconciled(): void;
  /** A resize was sent and accepted. */
  resourceUpdated(): void;
  failed(namespace: string, reason: ErrorReason): void;
  decided(change: FieldChange): void;
  blocked(what: AutoscalerName & { readonly reason: BlockReason }): void;
  /** `absolute` in millicores or MiB. Both are counted without their sign. */
  resized(change: FieldChange & { readonly absolute: number; readonly percent: number }): void;
  evaluated(autoscaler: AutoscalerName, seconds: number): void;
  enacted(what: AutoscalerName & { readonly direction: Direction }, seconds: number): void;
  /** Takes all namespaces; the series of the others disappear. */
  setTotals(totals: ReadonlyMap<string, Totals>): void;
  /** Takes all namespaces with autoscalers, ScaledObjects or authentications; the errors of the others disappear. */
  keepErrors(namespaces: ReadonlySet<string>): void;
  setActive(autoscaler: AutoscalerName, isActive: boolean): void;
  /** Removes the gauges of statuses. The podfit that writes the statuses shows them. */
  forgetStatuses(): void;
  /** The number of pods whose scale-ups are held, by reason; reasons that are not given disappear. */
  setLimited(autoscaler: AutoscalerName, pods: ReadonlyMap<string, number>): void;
  /** Call it after the last outcome of a deleted autoscaler, because a later record makes its series appear again. */
  forget(autoscaler: AutoscalerName): void;

  /** `code` 0 = no answer. */
  apiAnswered(request: { readonly verb: string; readonly resource: string; readonly code: number }): void;
  watchEvent(event: { readonly resource: string; readonly type: "listed" | "added" | "modified" | "deleted" }): void;
  watchFailed(resource: string): void;
  /** In seconds. Takes all resources; the others disappear. */
  setListAges(ages: ReadonlyMap<string, number>): void;
  /** By namespace, of the largest ones; the others disappear. */
  setObjectBytes(bytes: ReadonlyMap<string, number>): void;
  /** `seconds`: of a successful read, otherwise `null`. */
  kubeletRead(result: "ok" | FailureReason, seconds: number | null): void;
  usageSkipped(reason: "implausible" | "malformed", count: number): void;
  setUsageSource(source: "kubelet" | "proxy" | "cgroup" | "metrics-api" | "auto"): void;
  /** The number of nodes by source, if several sources are in use. */
  setNodesBySource(counts: ReadonlyMap<string, number>): void;
  eventPublished(result: "ok" | "failed" | "dropped" | "rate_limited"): void;
  setTracked(count: { readonly pods: number; readonly nodePollers: number }): void;
  /** Whether this process holds the Lease of that name. */
  setLeading(lease: string, isLeading: boolean): void;
  /** Removes the gauges of autoscalers, pods and nodes. The leader shows them. */
  standBy(): void;
  logLineDropped(): void;
  /** The metrics of ScaledObjects. */
  readonly replicas: ReplicaMetrics;
}

/** Returns metrics without any series of an autoscaler. */
export function createMetrics(options: MetricsOptions): Metrics {
  const families = createFamilies(FAMILIES, options.agentId);
  const ofReplicas = createFamilies(REPLICA_FAMILIES);
  const replicas = createReplicaMetrics(ofReplicas);
  const { version, commit = "unknown" } = options;
  families.buildInfo.record({ version, commit, deno: Deno.version.deno }, 1);
  families.startTime.record({}, (options.startedAt ?? performance.timeOrigin) / 1000);
  let cpuSeconds = 0;

  function forgetStatuses(): void {
    const { total, scalingActive, active } = families;
    for (const family of [total, scalingActive, active]) family.keep([]);
  }

  return {
    contentType: CONTENT_TYPE,
    *render() {
      const { rss, heapUsed } = Deno.memoryUsage();
      // Not imported: Deno loads node:process when it is first asked for, so that a start does not wait for it.
      const { user, system } = globalThis.process.cpuUsage();
      families.cpu.record({}, (user + system) / 1e6 - cpuSeconds);
      cpuSeconds = (user + system) / 1e6;
      families.residentMemory.record({}, rss);
      families.heap.record({}, heapUsed);
      if (options.takeLoopBlockMs) families.loopBlock.record({}, options.takeLoopBlockMs() / 1000);
      yield* toPieces([...Object.values(families), ...Object.values(ofReplicas).filter((family) => family.size > 0)]);
    },

    reconciled: () => families.reconciles.recordAgain(NO_LABELS, 1),
    resourceUpdated: () => families.resourceUpdates.record({}, 1),
    failed: (namespace, reason) => families.errors.record({ namespace, reason }, 1),
    decided: (change) => families.decisions.recordAgain(change, 1),
    blocked: (what) => families.blocked.recordAgain(what, 1),
    resized(change) {
      families.deltaAbsolute.record(change, Math.abs(change.absolute));
      families.deltaPercent.record(change, Math.abs(change.percent));
    },
    evaluated: (autoscaler, seconds) => families.evaluation.recordAgain(autoscaler, seconds),
    enacted: (what, seconds) => families.timeToApply.record(what, seconds),
    setTotals(totals) {
      const namespaces = Array.from(totals.keys(), (namespace) => ({ namespace }));
      families.total.keep(namespaces);
      families.scalingActive.keep(namespaces);
      for (const [namespace, { total, scalingActive }] of totals) {
        families.total.record({ namespace }, total);
        families.scalingActive.record({ namespace }, scalingActive);
      }
    },
    keepErrors(namespaces) {
      families.errors.keep([...Array.from(namespaces, (namespace) => ({ namespace })), NO_NAMESPACE]);
    },
    forgetStatuses,
    setActive: (autoscaler, isActive) => families.active.record(autoscaler, isActive ? 1 : 0),
    setLimited({ namespace, name }, pods) {
      families.limitedPods.forget({ namespace, name });
      for (const [reason, count] of pods) families.limitedPods.record({ namespace, name, reason }, count);
    },
    forget(autoscaler) {
      for (const family of Object.values(families)) if (family.hasOwner) family.forget(autoscaler);
    },

    apiAnswered: ({ verb, resource, code }) => families.apiRequests.record({ verb, resource, code: String(code) }, 1),
    watchEvent: (event) => families.watchEvents.record(event, 1),
    watchFailed: (resource) => families.watchErrors.record({ resource }, 1),
    setListAges(ages) {
      families.watchContactAge.keep([]);
      for (const [resource, seconds] of ages) families.watchContactAge.record({ resource }, seconds);
    },
    setObjectBytes(bytes) {
      families.objectBytes.keep([]);
      for (const [namespace, count] of bytes) families.objectBytes.record({ namespace }, count);
    },
    kubeletRead(result, seconds) {
      families.kubeletReads.record({ result }, 1);
      if (seconds !== null) families.kubeletReadDuration.record({}, seconds);
    },
    usageSkipped: (reason, count) => families.usageSkipped.record({ reason }, count),
    setUsageSource(source) {
      families.usageSource.keep([]);
      families.usageSource.record({ source }, 1);
    },
    setNodesBySource(counts) {
      for (const [source, count] of counts) families.nodesBySource.record({ source }, count);
    },
    eventPublished: (result) => families.events.record({ result }, 1),
    setTracked({ pods, nodePollers }) {
      families.trackedPods.record({}, pods);
      families.nodePollers.record({}, nodePollers);
    },
    setLeading(lease, isLeading) {
      families.leading.record({ name: lease }, isLeading ? 1 : 0);
      families.leaderTransitions.record({}, isLeading ? 1 : 0);
    },
    standBy() {
      forgetStatuses();
      replicas.standBy();
      const { limitedPods, trackedPods, nodePollers, nodesBySource } = families;
      for (const family of [limitedPods, trackedPods, nodePollers, nodesBySource]) family.keep([]);
    },
    logLineDropped: () => families.logLinesDropped.record({}, 1),
    replicas,
  };
}

const NO_LABELS = {};

/** The label of errors that belong to no namespace, such as those of a node's loop. */
const NO_NAMESPACE = { namespace: "" };

type Families<Rows extends Record<string, FamilyRow>> = {
  readonly [K in keyof Rows]: Family<Rows[K]["labels"][number]>;
};

function createFamilies<Rows extends Record<string, FamilyRow>>(rows: Rows, agentId = ""): Families<Rows> {
  const entries = Object.entries<FamilyRow>(rows).map(([key, row]) => {
    const isInherited = agentId !== "" && row.name.startsWith("kedify_");
    return [key, new Family(row, isInherited ? { kedify_agent_id: agentId } : {})];
  });
  return Object.fromEntries(entries) as Families<Rows>;
}

/**
 * A piece takes half a millisecond, and ten times as much while the garbage collector marks. A page of 200,000 lines
 * still has few pieces.
 */
const PIECE_LENGTH = 2 ** 14;

function* toPieces(families: readonly Family[]): Generator<string> {
  let piece = "";
  for (const family of families) {
    for (const text of family.write()) {
      piece += text;
      if (piece.length < PIECE_LENGTH) continue;
      yield piece;
      piece = "";
    }
  }
  yield piece;
}

/** The ScaledObject that a series belongs to. */
interface ScaledObjectName {
  readonly namespace: string;
  readonly name: string;
}

/** One trigger of a ScaledObject. */
export interface TriggerName extends ScaledObjectName {
  /** `s0-prometheus`, `cpu`. */
  readonly metric: string;
  /** The trigger's own name, or else KEDA's name for its type. */
  readonly scaler: string;
  readonly index: number;
}

/** An answer without a value. */
interface EmptyAnswer extends ScaledObjectName {
  readonly triggerName: string;
  readonly metric: string;
  readonly ignoresNullValues: boolean;
}

/** Records the metrics of ScaledObjects. No method throws. */
export interface ReplicaMetrics {
  /** A field that is `null` keeps its last value. */
  setTrigger(trigger: TriggerName, seen: { readonly value: number | null; readonly isActive: boolean | null }): void;
  /** An evaluation of the trigger. */
  triggerEvaluated(trigger: TriggerName, isFailed: boolean): void;
  asked(trigger: TriggerName, seconds: number): void;
  /** A query waited for its turn. */
  waited(namespace: string, seconds: number): void;
  answeredEmpty(answer: EmptyAnswer): void;
  /** An error of the object that is not one of its triggers'. */
  failed(object: ScaledObjectName): void;
  setPaused(object: ScaledObjectName, isPaused: boolean): void;
  /** Takes all namespaces and trigger types; the others disappear. */
  setRegistered(registered: {
    readonly triggers: ReadonlyMap<string, number>;
    readonly objects: ReadonlyMap<string, number>;
  }): void;
  began(object: ScaledObjectName, lateSeconds: number): void;
  /** `need`: `null` = no metric was computed, and the last value stays. */
  setReplicas(
    object: ScaledObjectName,
    replicas: { readonly current: number; readonly desired: number; readonly need: number | null },
  ): void;
  wrote(object: ScaledObjectName, what: { readonly direction: "up" | "down"; readonly half: string }): void;
  held(object: ScaledObjectName, reason: ReplicasReason): void;
  /** The number of objects whose deactivation waits for its turn. */
  setDeactivationsHeld(count: number): void;
  evaluated(object: ScaledObjectName, seconds: number): void;
  /** The triggers have changed. The series of the old ones disappear. */
  forgetTriggers(object: ScaledObjectName): void;
  /** Call it after the last evaluation of a deleted object. */
  forget(object: ScaledObjectName): void;
  /** Removes all series. The leader shows them. */
  standBy(): void;
}

/** The families of `REPLICA_FAMILIES`. */
type ReplicaFamilies = {
  readonly [K in keyof typeof REPLICA_FAMILIES]: Family<(typeof REPLICA_FAMILIES)[K]["labels"][number]>;
};

const TYPE = "scaledobject";

/** KEDA writes the same kind in two ways. */
const KIND = "ScaledObject";

/** Returns metrics that record into the families. Clauses: R93. */
function createReplicaMetrics(families: ReplicaFamilies): ReplicaMetrics {
  const { scalerActive, scalerValue, scalerLatency, scalerErrors, objectErrors } = families;
  return {
    setTrigger(trigger, { value, isActive }) {
      if (value !== null) scalerValue.record(toLabels(trigger), value);
      if (isActive !== null) scalerActive.record(toLabels(trigger), isActive ? 1 : 0);
    },
    triggerEvaluated(trigger, isFailed) {
      scalerErrors.record(toLabels(trigger), isFailed ? 1 : 0);
      objectErrors.record(toObject(trigger), isFailed ? 1 : 0);
    },
    waited: (namespace, seconds) => families.triggerWait.record({ namespace }, seconds),
    asked: (trigger, seconds) => scalerLatency.record(toLabels(trigger), seconds),
    answeredEmpty({ namespace, name, triggerName, metric, ignoresNullValues }) {
      const of = { namespace, scaledResource: name, triggerName, metricName: metric, resourceType: KIND };
      families.emptyResponses.record({ ...of, ignoreNullValues: String(ignoresNullValues) }, 1);
    },
    failed: (object) => objectErrors.record(toObject(object), 1),
    setPaused: (object, isPaused) => families.paused.record(toObject(object), isPaused ? 1 : 0),
    setRegistered({ triggers, objects }) {
      const { triggersRegistered, resourcesRegistered } = families;
      triggersRegistered.keep([]);
      for (const [type, count] of triggers) triggersRegistered.record({ type }, count);
      resourcesRegistered.keep([]);
      families.triggerWait.keep(Array.from(objects.keys(), (namespace) => ({ namespace })));
      for (const [namespace, count] of objects) resourcesRegistered.record({ type: "scaled_object", namespace }, count);
    },
    began({ namespace, name }, lateSeconds) {
      families.loopLatency.record({ namespace, type: TYPE, resource: name }, lateSeconds);
    },
    setReplicas({ namespace, name }, { current, desired, need }) {
      families.current.record({ namespace, name }, current);
      families.desired.record({ namespace, name }, desired);
      if (need !== null) families.need.record({ namespace, name }, need);
    },
    wrote: ({ namespace, name }, what) => families.writes.record({ namespace, name, ...what }, 1),
    held: ({ namespace, name }, reason) => families.holds.record({ namespace, name, reason }, 1),
    setDeactivationsHeld: (count) => families.deactivationsHeld.record({}, count),
    evaluated: ({ namespace, name }, seconds) => families.evaluation.record({ namespace, name }, seconds),
    forgetTriggers(object) {
      for (const family of [scalerActive, scalerValue, scalerLatency, scalerErrors]) family.forget(object);
      families.emptyResponses.forget(object);
    },
    forget(object) {
      for (const family of Object.values(families)) if (family.hasOwner) family.forget(object);
    },
    standBy() {
      for (const family of Object.values(families)) family.keep([]);
    },
  };
}

function toObject({ namespace, name }: ScaledObjectName): { namespace: string; scaledObject: string } {
  return { namespace, scaledObject: name };
}

function toLabels({ metric, scaler, index, ...object }: TriggerName) {
  return { ...toObject(object), metric, scaler, triggerIndex: String(index), type: TYPE };
}

/**
 * Returns a transport that counts the answers of the API server by verb and resource. It resolves and rejects as the
 * given one does.
 */
export function countRequests(transport: Transport, metrics: Pick<Metrics, "apiAnswered">): Transport {
  return async (request, options) => {
    const { pathname, searchParams } = new URL(request.url);
    const verb = searchParams.get("watch") ? "watch" : request.method.toLowerCase();
    const resource = toResource(pathname);
    try {
      const response = await transport(request, options);
      metrics.apiAnswered({ verb, resource, code: response.status });
      return response;
    } catch (error) {
      // Where an API server hangs, podfit's own timeouts end the requests.
      const { aborted, reason } = request.signal;
      if (!aborted || isTimeoutError(reason)) metrics.apiAnswered({ verb, resource, code: 0 });
      throw error;
    }
  };
}

/** The path may have a prefix, for example behind a proxy for many clusters. */
const API_PATH = /\/(?:api\/v1|apis\/([^/]+)\/[^/]+)\/(.*)/;

/** The resources of these groups are metrics, and tenants choose their names. */
const METRIC_GROUPS: ReadonlySet<string> = new Set(["custom.metrics.k8s.io", "external.metrics.k8s.io"]);

/** `/api/v1/namespaces/x/pods/y/resize` -> `pods/resize`; names of objects and of metrics never become label values. */
function toResource(pathname: string): string {
  const [, group = "", path = ""] = API_PATH.exec(pathname) ?? [];
  if (METRIC_GROUPS.has(group)) return group;
  const rest = path.split("/").filter((part) => part !== "");
  const own = rest[0] === "namespaces" && rest.length > 2 ? rest.slice(2) : rest;
  const [resource = "none", , subresource] = own;
  return subresource === undefined ? resource : `${resource}/${subresource}`;
}
