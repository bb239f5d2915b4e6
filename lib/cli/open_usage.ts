/** Usage for a command that looks by itself: the kubelets' summaries through the API server; where those may not be read, metrics.k8s.io. */
import type { ApiServer } from "../kube/transport.ts";
import type { Clock } from "../runtime/clock.ts";
import { fallBack } from "../usage/auto/fall_back.ts";
import { createProxySource } from "../usage/kubelet.ts";
import { openMetricsApi } from "../usage/metrics_api/watch_metrics_api.ts";
import { watchKubelets } from "../usage/watch_kubelets.ts";
import type { WatchUsage } from "../usage/watch_usage.ts";

export interface UsageOptions {
  readonly clock: Clock;
  /** Whose pods metrics.k8s.io is asked for. */
  readonly namespaces: readonly string[];
}

/** Disposal ends what is asked. */
export interface OpenedUsage extends Disposable {
  readonly watchUsage: WatchUsage;
}

export function openUsage(server: ApiServer, { clock, namespaces }: UsageOptions): OpenedUsage {
  const timing = { clock, random: Math.random };
  const summaries = createProxySource(server, timing);
  const api = openMetricsApi({ server, scope: { namespaces, node: null, pod: null }, ...timing });
  return {
    watchUsage: fallBack(
      { name: "kubelet", watchUsage: watchKubelets(summaries, timing) },
      { name: "metrics-api", watchUsage: api.watchUsage },
      timing,
    ),
    [Symbol.dispose]() {
      api[Symbol.dispose]();
      summaries[Symbol.dispose]();
    },
  };
}
