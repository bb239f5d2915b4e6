/**
 * What /metrics shows, recorded in the words of the domain. The families stand in `families.ts`; a series appears when
 * it is first recorded, and every series of an autoscaler goes with `forget`.
 */

import type { FailureReason } from "../../api/usage.ts";
import type { Direction } from "../../core/decision.ts";
import type { BlockReason } from "../../core/reasons.ts";
import type { Resource, Side } from "../../units/resources.ts";
import { type ErrorReason, FAMILIES, type FamilyRow } from "./families.ts";
import { Family } from "./family.ts";
import { REPLICA_FAMILIES } from "./replica_families.ts";
import { createReplicaMetrics, type ReplicaMetrics } from "./replica_metrics.ts";
import { CONTENT_TYPE } from "./text.ts";

/** The autoscaler that a figure belongs to. */
export interface AutoscalerName {
  readonly namespace: string;
  readonly name: string;
}

/** A side of an autoscaler's container, and the way it moves. */
export interface SideChange extends AutoscalerName {
  readonly resource: Resource;
  readonly side: Side;
  readonly direction: Direction;
}

/** Numbers of autoscalers in one namespace. */
export interface Totals {
  readonly total: number;
  readonly scalingActive: number;
}

/** What the figures of the process itself are made of. */
export interface MetricsOptions {
  readonly version: string;
  /** Label `kedify_agent_id` of every `kedify_` family; none when absent or empty. */
  readonly agentId?: string;
  /** The longest block of the event loop since it was last asked. */
  readonly takeLoopBlockMs?: () => number;
  /** Epoch ms. */
  readonly startedAt?: number;
}

/**
 * No method throws, as a figure must not stop a resize: amounts that are no finite number are dropped.
 * Words are of closed lists; what a server or a kubelet says in its own has no place in a label.
 */
export interface Metrics {
  readonly contentType: string;
  /** The page, piece by piece as it is asked for: whoever reads it may let others work in between. */
  render(): Iterable<string>;

  reconciled(): void;
  /** A resize was sent and accepted. */
  resourceUpdated(): void;
  failed(namespace: string, reason: ErrorReason): void;
  decided(change: SideChange): void;
  blocked(what: AutoscalerName & { readonly reason: BlockReason }): void;
  /** `absolute` in millicores or MiB. Both sizes count without their sign. */
  resized(change: SideChange & { readonly absolute: number; readonly percent: number }): void;
  evaluated(autoscaler: AutoscalerName, seconds: number): void;
  enacted(what: AutoscalerName & { readonly direction: Direction }, seconds: number): void;
  /** Takes all namespaces: one that is missing disappears. */
  setTotals(totals: ReadonlyMap<string, Totals>): void;
  /** Takes all namespaces with autoscalers: errors of another would outlive it for ever. */
  keepErrors(namespaces: ReadonlySet<string>): void;
  setActive(autoscaler: AutoscalerName, isActive: boolean): void;
  /** Gauges that follow from statuses disappear: the podfit that writes them shows them. */
  forgetStatuses(): void;
  /** Pods whose scale-ups are held, by reason (L53); a reason that is missing disappears. */
  setLimited(autoscaler: AutoscalerName, pods: ReadonlyMap<string, number>): void;
  /** Call it after the last outcome of a deleted autoscaler: a figure recorded later shows again. */
  forget(autoscaler: AutoscalerName): void;

  /** `code` 0 when no answer came. */
  apiAnswered(request: { readonly verb: string; readonly resource: string; readonly code: number }): void;
  watchEvent(event: { readonly resource: string; readonly type: "listed" | "added" | "modified" | "deleted" }): void;
  watchFailed(resource: string): void;
  /** In seconds. Takes all resources: one that is missing disappears. */
  setContactAges(ages: ReadonlyMap<string, number>): void;
  /** `seconds` of a read that succeeded. */
  kubeletRead(result: "ok" | FailureReason, seconds: number | null): void;
  usageSkipped(reason: "implausible" | "malformed", count: number): void;
  setUsageSource(source: "kubelet" | "proxy" | "cgroup" | "metrics-api" | "auto"): void;
  /** Nodes by the source that serves them, where there are several. */
  setNodesBySource(counts: ReadonlyMap<string, number>): void;
  eventPublished(result: "ok" | "failed" | "dropped" | "rate_limited"): void;
  setTracked(count: { readonly pods: number; readonly nodePollers: number }): void;
  /** Whether this process leads, by the Lease of that name. */
  setLeading(lease: string, isLeading: boolean): void;
  /** Gauges of what is looked after disappear: the one who leads shows them. */
  standBy(): void;
  logLineDropped(): void;
  /** Of ScaledObjects. */
  readonly replicas: ReplicaMetrics;
}

/** Metrics without any series of an autoscaler yet. */
export function createMetrics(options: MetricsOptions): Metrics {
  const families = createFamilies(FAMILIES, options.agentId);
  const ofReplicas = createFamilies(REPLICA_FAMILIES);
  const replicas = createReplicaMetrics(ofReplicas);
  families.buildInfo.record({ version: options.version, deno: Deno.version.deno }, 1);
  families.startTime.record({}, (options.startedAt ?? performance.timeOrigin) / 1000);

  function forgetStatuses(): void {
    const { total, scalingActive, active } = families;
    for (const family of [total, scalingActive, active]) family.keep([]);
  }

  return {
    contentType: CONTENT_TYPE,
    *render() {
      const { rss, heapUsed } = Deno.memoryUsage();
      families.residentMemory.record({}, rss);
      families.heap.record({}, heapUsed);
      if (options.takeLoopBlockMs) families.loopBlock.record({}, options.takeLoopBlockMs() / 1000);
      yield* toPieces([...Object.values(families), ...Object.values(ofReplicas).filter((family) => family.size > 0)]);
    },

    reconciled: () => families.reconciles.record({}, 1),
    resourceUpdated: () => families.resourceUpdates.record({}, 1),
    failed: (namespace, reason) => families.errors.record({ namespace, reason }, 1),
    decided: (change) => families.decisions.record(change, 1),
    blocked: (what) => families.blocked.record(what, 1),
    resized(change) {
      families.deltaAbsolute.record(change, Math.abs(change.absolute));
      families.deltaPercent.record(change, Math.abs(change.percent));
    },
    evaluated: (autoscaler, seconds) => families.evaluation.record(autoscaler, seconds),
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
    setContactAges(ages) {
      families.watchContactAge.keep([]);
      for (const [resource, seconds] of ages) families.watchContactAge.record({ resource }, seconds);
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

/** The label of errors that belong to no namespace: a node's loop. */
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

/** Half a millisecond of work, and ten times as much while the garbage collector marks; yet few enough pieces of a page of 200,000 lines. */
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
