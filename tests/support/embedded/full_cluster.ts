/**
 * The embedded cluster with what only tests need: checks of custom resources, more controllers, metrics-server.
 */
import {
  type Cluster,
  type ClusterOptions,
  serveCluster,
  type ServedCluster,
  startCluster,
} from "../../../lib/embedded/cluster.ts";
import { WATCHED, type Watched } from "../../../lib/embedded/controllers/cache.ts";
import type { ControllerSet } from "../../../lib/embedded/controllers/controllers.ts";
import { controlDeployments, controlReplicaSets } from "../../../lib/embedded/controllers/deployments.ts";
import { collectGarbage, controlNamespaces } from "../../../lib/embedded/controllers/garbage.ts";
import { createScheduler } from "../../../lib/embedded/controllers/scheduler.ts";
import {
  type ApiServerOptions,
  createApiServer,
  type EmbeddedApiServer,
} from "../../../lib/embedded/server/http/handler.ts";
import { BUILT_IN } from "../../../lib/embedded/server/kinds/catalog.ts";
import type { ResourceType } from "../../../lib/embedded/server/kinds/resource_type.ts";
import { ADMISSION } from "./admission.ts";
import { createChecks } from "./custom/check.ts";
import { validateDefinition } from "./custom/definition.ts";
import { controlDaemonSets } from "./daemon_sets.ts";
import { setLimitRangeDefaults } from "./limit_ranges.ts";
import { Faults, interceptKubelet } from "./faults.ts";
import { createMetricsServer } from "./metrics_server.ts";
import { controlNodes } from "./node_lifecycle.ts";
import { RESOURCE_METRICS } from "./resource_metrics.ts";
import { controlStatefulSets } from "./stateful_sets.ts";

/** What the rows of lib leave out. */
const MORE: Readonly<Record<string, Partial<ResourceType>>> = {
  customresourcedefinitions: { validate: validateDefinition },
  limitranges: { setDefaults: setLimitRangeDefaults },
};

const FULL = {
  builtIn: BUILT_IN.map((type) => ({ ...type, ...MORE[type.plural] })),
  createChecks,
  admission: ADMISSION,
} satisfies Partial<ApiServerOptions>;

export interface FullApiServer extends EmbeddedApiServer {
  readonly faults: Faults;
}

export function createFullApiServer(options: ApiServerOptions): FullApiServer {
  const faults = new Faults(options.clock);
  return { ...createApiServer({ ...FULL, interceptor: faults, ...options }), faults };
}

export interface FullClusterOptions extends ClusterOptions {
  /** Whether `metrics.k8s.io` is served; it is not, by default. */
  readonly hasMetricsServer?: boolean;
}

export interface FullCluster extends Cluster {
  readonly api: FullApiServer;
  /** The faults of a kubelet's answers. */
  readonly faultsOf: (node: string) => Faults;
}

/** In process; nothing of it listens anywhere. */
export async function startFullCluster(options: FullClusterOptions): Promise<FullCluster> {
  const faults = new Faults(options.clock);
  const perNode = new Map<string, Faults>();
  const cluster = await startCluster({
    ...toFull({ ...options, api: { interceptor: faults, ...options.api } }),
    interceptKubelet(handle, node) {
      const own = new Faults(options.clock);
      perNode.set(node, own);
      return interceptKubelet(handle, own);
    },
  });
  return {
    ...cluster,
    api: { ...cluster.api, faults },
    faultsOf(node) {
      const found = perNode.get(node);
      if (found === undefined) throw new Error(`Cannot find node "${node}"`);
      return found;
    },
  };
}

/** On 127.0.0.1, over TLS. */
export async function serveFullCluster(options: FullClusterOptions): Promise<ServedCluster> {
  return await serveCluster(toFull(options));
}

const CONTROLLERS: ControllerSet = {
  kinds: Object.keys(WATCHED) as Watched[],
  controllers: [
    controlNamespaces,
    controlDeployments,
    controlReplicaSets,
    controlStatefulSets,
    controlDaemonSets,
    createScheduler,
    controlNodes,
    collectGarbage,
  ],
};

function toFull({ hasMetricsServer = false, ...options }: FullClusterOptions): ClusterOptions {
  return {
    ...options,
    api: { ...FULL, ...options.api },
    controllers: CONTROLLERS,
    kubeletAnswers: RESOURCE_METRICS,
    ...(hasMetricsServer ? { extend: createMetricsServer } : {}),
  };
}
