/** From where does usage come? Which source serves is never silent (C54). */
import type { Scope } from "../../daemon/inventory/scope.ts";
import type { Metrics } from "../../daemon/metrics/metrics.ts";
import type { ApiServer } from "../../kube/transport.ts";
import { type Clock, systemClock } from "../../runtime/clock.ts";
import type { Log } from "../../runtime/log.ts";
import { fallBack } from "../../usage/auto/fall_back.ts";
import { type CgroupFiles, openCgroupFiles } from "../../usage/cgroup/files.ts";
import { watchCgroups } from "../../usage/cgroup/watch_cgroups.ts";
import { type MetricsApi, openMetricsApi } from "../../usage/metrics_api/watch_metrics_api.ts";
import { watchKubelets } from "../../usage/watch_kubelets.ts";
import type { WatchUsage } from "../../usage/watch_usage.ts";
import { openSummaries } from "./open_summaries.ts";
import type { RunOptions } from "./options.ts";
import { toStartError } from "./start_error.ts";

/** Usage, and what was opened for it. */
export interface Source extends Disposable {
  readonly watchUsage: WatchUsage;
}

/** What a source is opened with. */
export interface SourceContext {
  readonly server: ApiServer;
  readonly scope: Scope;
  readonly log: Log;
  readonly metrics: Pick<Metrics, "setUsageSource">;
  readonly clock: Clock;
}

/** Opens the source of `--stats-source`. Rejects with a StartError where a file cannot be used. */
export async function openSource(options: RunOptions, context: SourceContext): Promise<Source> {
  const { statsSource, node, cgroupRoot } = options;
  context.metrics.setUsageSource(statsSource);
  switch (statsSource) {
    case "cgroup":
      return openCgroups({ node: node ?? "", root: cgroupRoot ?? "" }, context);
    case "metrics-api":
      context.log.info("Reading usage", { source: statsSource });
      return openApi(context);
    case "auto": {
      const kubelets = await openKubelets(options, context);
      const api = openApi(context);
      return {
        watchUsage: fallBack(
          { name: "kubelet", watchUsage: kubelets.watchUsage },
          { name: "metrics-api", watchUsage: api.watchUsage },
          { clock: context.clock, random: Math.random },
        ),
        [Symbol.dispose]() {
          api[Symbol.dispose]();
          kubelets[Symbol.dispose]();
        },
      };
    }
    default:
      return await openKubelets(options, context);
  }
}

async function openKubelets(options: RunOptions, { server, log, clock }: SourceContext): Promise<Source> {
  const summaries = await openSummaries(options, { server, log, clock: systemClock });
  return {
    watchUsage: watchKubelets(summaries, { clock, random: Math.random }),
    [Symbol.dispose]: () => summaries[Symbol.dispose](),
  };
}

function openApi({ server, scope, clock, log }: SourceContext): MetricsApi {
  return openMetricsApi({
    server,
    scope,
    clock,
    random: Math.random,
    onNamespace: (namespace, reason) =>
      reason === null
        ? log.info("Usage of namespace is read from metrics.k8s.io again", { namespace })
        : log.warn("Cannot read usage of namespace from metrics.k8s.io", { namespace, reason }),
  });
}

function openCgroups(
  { node, root }: { readonly node: string; readonly root: string },
  { log, clock }: SourceContext,
): Source {
  log.info("Reading usage", { source: "cgroup", node, root });
  const files = openFiles(root);
  return {
    watchUsage: watchCgroups(files, { node, root, clock }),
    [Symbol.dispose]: () => files[Symbol.dispose](),
  };
}

function openFiles(root: string): CgroupFiles & Disposable {
  try {
    return openCgroupFiles(root);
  } catch (error) {
    throw toStartError(error);
  }
}
