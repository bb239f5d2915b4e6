/** Records every metric there is: every label set of an autoscaler, of its namespace, and of podfit itself. */
import { BLOCK_REASONS, LIMIT_REASONS } from "../../lib/model/reasons.ts";
import { ERROR_REASONS } from "../../lib/daemon/metrics/families.ts";
import type { AutoscalerName, FieldChange, Metrics } from "../../lib/daemon/metrics/metrics.ts";

const DIRECTIONS = ["up", "down"] as const;

/** Also more often than once; sizes and times follow from `seed`. */
export function recordAutoscaler(metrics: Metrics, autoscaler: AutoscalerName, seed = 1): void {
  metrics.setActive(autoscaler, seed % 10 !== 0);
  metrics.setLimited(autoscaler, new Map(LIMIT_REASONS.map((reason) => [reason, seed])));
  for (const reason of BLOCK_REASONS) metrics.blocked({ ...autoscaler, reason });
  for (let round = 0; round < 5; round++) metrics.evaluated(autoscaler, seed * round * 1e-7);
  for (const direction of DIRECTIONS) metrics.enacted({ ...autoscaler, direction }, seed / 100);
  for (const change of listChanges(autoscaler)) {
    metrics.decided(change);
    metrics.resized({ ...change, absolute: seed / 3, percent: seed / 7 });
  }
}

export function listChanges(autoscaler: AutoscalerName): FieldChange[] {
  return (["cpu", "memory"] as const).flatMap((resource) =>
    (["requests", "limits"] as const).flatMap((side) =>
      DIRECTIONS.map((direction) => ({ ...autoscaler, resource, side, direction }))
    )
  );
}

export function recordNamespaces(metrics: Metrics, namespaces: Iterable<string>): void {
  metrics.setTotals(new Map(Array.from(namespaces, (namespace) => [namespace, { total: 3, scalingActive: 1 }])));
  metrics.setObjectBytes(new Map(Array.from(namespaces, (namespace) => [namespace, 2048])));
  for (const namespace of namespaces) for (const reason of ERROR_REASONS) metrics.failed(namespace, reason);
}

export function recordProcess(metrics: Metrics): void {
  metrics.reconciled();
  metrics.resourceUpdated();
  metrics.apiAnswered({ verb: "patch", resource: "pods/resize", code: 200 });
  metrics.watchEvent({ resource: "pods", type: "added" });
  metrics.watchFailed("pods");
  metrics.setListAges(new Map([["pods", 12]]));
  metrics.kubeletRead("ok", 0.02);
  metrics.usageSkipped("malformed", 1);
  metrics.setUsageSource("kubelet");
  metrics.setNodesBySource(new Map([["kubelet", 2]]));
  metrics.eventPublished("ok");
  metrics.setTracked({ pods: 110, nodePollers: 2 });
  metrics.logLineDropped();
}
