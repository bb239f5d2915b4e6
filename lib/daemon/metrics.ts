/**
 * What /metrics shows, told in the words of the domain. The families stand in `metric_families.ts`; a series appears
 * when it is first told of, and every series of an autoscaler goes with `forget`.
 */

import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Direction } from "../core/decision.ts";
import type { Resource, Side } from "../units/resources.ts";
import { FAMILIES, type FamilyRow } from "./metric_families.ts";

export interface AutoscalerName {
  readonly namespace: string;
  readonly name: string;
}

export interface SideChange extends AutoscalerName {
  readonly resource: Resource;
  readonly side: Side;
  readonly direction: Direction;
}

export interface Totals {
  readonly total: number;
  readonly scalingActive: number;
}

export interface MetricsOptions {
  readonly version: string;
  /** Label `kedify_agent_id` of every `kedify_` family; none when absent or empty. */
  readonly agentId?: string;
  /** The longest block of the event loop since it was last asked. */
  readonly takeLoopBlockMs?: () => number;
  /** Epoch ms. */
  readonly startedAt?: number;
}

/** What is told here never fails, as a figure must not stop a resize: amounts that are no finite number are dropped. */
export interface Metrics {
  readonly contentType: string;
  render(): Promise<string>;

  reconciled(): void;
  /** A resize was sent and accepted. */
  resourceUpdated(): void;
  failed(namespace: string, reason: string): void;
  decided(change: SideChange): void;
  blocked(what: AutoscalerName & { readonly reason: string }): void;
  /** `absolute` in millicores or MiB. Both sizes count without their sign. */
  resized(change: SideChange & { readonly absolute: number; readonly percent: number }): void;
  evaluated(autoscaler: AutoscalerName, seconds: number): void;
  enacted(what: AutoscalerName & { readonly direction: Direction }, seconds: number): void;
  /** Of all namespaces; one that is missing disappears. */
  setTotals(totals: ReadonlyMap<string, Totals>): void;
  setActive(autoscaler: AutoscalerName, isActive: boolean): void;
  /** Call it after the last outcome of a deleted autoscaler: what is told later shows again. */
  forget(autoscaler: AutoscalerName): void;

  /** `code` 0 when no answer came. */
  apiAnswered(request: { readonly verb: string; readonly resource: string; readonly code: number }): void;
  watchEvent(event: { readonly resource: string; readonly type: string }): void;
  watchFailed(resource: string): void;
  /** `seconds` of a read that succeeded. */
  kubeletRead(result: string, seconds: number | null): void;
  summarySkipped(reason: string, count?: number): void;
  setUsageSource(source: string): void;
  eventPublished(result: string): void;
  setTracked(count: { readonly pods: number; readonly nodePollers: number }): void;
}

export function createMetrics(options: MetricsOptions): Metrics {
  const registry = new Registry();
  const families = createFamilies(registry, options.agentId);
  families.buildInfo.record({ version: options.version, deno: Deno.version.deno }, 1);
  families.startTime.record({}, (options.startedAt ?? performance.timeOrigin) / 1000);

  return {
    contentType: registry.contentType,
    render() {
      const { rss, heapUsed } = Deno.memoryUsage();
      families.residentMemory.record({}, rss);
      families.heap.record({}, heapUsed);
      if (options.takeLoopBlockMs) families.loopBlock.record({}, options.takeLoopBlockMs() / 1000);
      return registry.metrics();
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
      families.total.clear();
      families.scalingActive.clear();
      for (const [namespace, { total, scalingActive }] of totals) {
        families.total.record({ namespace }, total);
        families.scalingActive.record({ namespace }, scalingActive);
      }
    },
    setActive: (autoscaler, isActive) => families.active.record(autoscaler, isActive ? 1 : 0),
    forget(autoscaler) {
      for (const family of Object.values(families)) family.forget(autoscaler);
    },

    apiAnswered: ({ verb, resource, code }) => families.apiRequests.record({ verb, resource, code: String(code) }, 1),
    watchEvent: (event) => families.watchEvents.record(event, 1),
    watchFailed: (resource) => families.watchErrors.record({ resource }, 1),
    kubeletRead(result, seconds) {
      families.kubeletReads.record({ result }, 1);
      if (seconds !== null) families.kubeletReadDuration.record({}, seconds);
    },
    summarySkipped: (reason, count = 1) => families.summarySkipped.record({ reason }, count),
    setUsageSource(source) {
      families.usageSource.clear();
      families.usageSource.record({ source }, 1);
    },
    eventPublished: (result) => families.events.record({ result }, 1),
    setTracked({ pods, nodePollers }) {
      families.trackedPods.record({}, pods);
      families.nodePollers.record({}, nodePollers);
    },
  };
}

type Families = { [K in keyof typeof FAMILIES]: Family<(typeof FAMILIES)[K]["labels"][number]> };

interface Family<Label extends string> {
  /** Adds to a counter, sets a gauge, observes in a histogram. Only the family's own labels are taken. */
  record(labels: Readonly<Record<Label, string>>, value: number): void;
  clear(): void;
  forget(autoscaler: AutoscalerName): void;
}

function createFamilies(registry: Registry, agentId = ""): Families {
  const entries = Object.entries<FamilyRow>(FAMILIES).map(([key, row]) => {
    const constant: Labels = agentId !== "" && row.name.startsWith("kedify_") ? { kedify_agent_id: agentId } : {};
    return [key, createFamily(row, { registry, constant })];
  });
  return Object.fromEntries(entries) as Families;
}

type Labels = Readonly<Record<string, string>>;

interface FamilyOptions {
  readonly registry: Registry;
  readonly constant: Labels;
}

function createFamily(row: FamilyRow, { registry, constant }: FamilyOptions): Family<string> {
  const { metric, record } = createMetric(row, { registry, constant });
  const isPerAutoscaler = row.labels.includes("name");
  /** Values seen of each label beyond namespace and name: few, and all that `forget` has to try. */
  const seen = new Map((isPerAutoscaler ? row.labels.slice(2) : []).map((label) => [label, new Set<string>()]));
  return {
    record(labels, value) {
      if (!Number.isFinite(value)) return;
      const own: Record<string, string> = { ...constant };
      for (const label of row.labels) own[label] = labels[label] ?? "";
      for (const [label, values] of seen) values.add(own[label] ?? "");
      record(own, value);
    },
    clear: () => metric.reset(),
    forget({ namespace, name }) {
      if (!isPerAutoscaler) return;
      for (const others of combinations(seen)) metric.remove({ ...constant, namespace, name, ...others });
    },
  };
}

interface MetricAndRecord {
  readonly metric: Counter | Gauge | Histogram;
  readonly record: (labels: Labels, value: number) => void;
}

function createMetric(row: FamilyRow, { registry, constant }: FamilyOptions): MetricAndRecord {
  const { name, help } = row;
  const labelNames = [...row.labels, ...Object.keys(constant)];
  const configuration = { name, help, labelNames, registers: [registry] };
  const made = make();
  /** prom-client starts a metric without labels at zero; here a series appears on first use. */
  if (labelNames.length === 0) made.metric.remove();
  return made;

  function make(): MetricAndRecord {
    if (row.kind === "counter") {
      const metric = new Counter(configuration);
      return { metric, record: (labels, value) => metric.inc(labels, value) };
    }
    if (row.kind === "gauge") {
      const metric = new Gauge(configuration);
      return { metric, record: (labels, value) => metric.set(labels, value) };
    }
    const metric = new Histogram({ ...configuration, buckets: [...row.buckets ?? []] });
    return { metric, record: (labels, value) => metric.observe(labels, value) };
  }
}

function combinations(seen: ReadonlyMap<string, ReadonlySet<string>>): Labels[] {
  let all: Labels[] = [{}];
  for (const [label, values] of seen) {
    all = all.flatMap((each) => [...values].map((value) => ({ ...each, [label]: value })));
  }
  return all;
}
