/**
 * The embedded cluster with what only tests need: checks of custom resources, more controllers, metrics-server.
 */
import { type Cluster, type ClusterOptions, startCluster } from "../../../lib/embedded/cluster.ts";
import { WATCHED, type Watched } from "../../../lib/embedded/controllers/cache.ts";
import type { ControllerSet } from "../../../lib/embedded/controllers/controllers.ts";
import { controlDeployments, controlReplicaSets } from "../../../lib/embedded/controllers/deployments.ts";
import { collectGarbage, controlNamespaces } from "../../../lib/embedded/controllers/garbage.ts";
import { createScheduler } from "../../../lib/embedded/controllers/scheduler.ts";
import type { LoadSetting } from "../../../lib/embedded/kubelet/loads.ts";
import type { LoadRef } from "../../../lib/embedded/kubelet/machine.ts";
import {
  type ApiServerOptions,
  createApiServer,
  type EmbeddedApiServer,
} from "../../../lib/embedded/server/http/handler.ts";
import type { Clock } from "../../../lib/runtime/clock.ts";
import { Access, ADMIN, type User } from "./access.ts";
import { ADMISSION } from "./admission.ts";
import { APPLY } from "./apply.ts";
import { createAuthority } from "./certificates.ts";
import { createChecks } from "./custom/check.ts";
import { controlDaemonSets } from "./daemon_sets.ts";
import { jsonPatch } from "./json_patch.ts";
import { ALL_KINDS } from "./kinds.ts";
import { Faults, interceptKubelet } from "./faults.ts";
import { reviewAccess } from "./kubelet_access.ts";
import { createLoadServer, type Limits, PROXY_TO_LOADS } from "./load_server.ts";
import { createMetricsServer } from "./metrics_server.ts";
import { controlNodes } from "./node_lifecycle.ts";
import { createProxy } from "./proxy.ts";
import { RESOURCE_METRICS } from "./resource_metrics.ts";
import { createAuthorize } from "./reviews.ts";
import { serve, type Served, toKubeconfig } from "./serve.ts";
import { controlStatefulSets } from "./stateful_sets.ts";

const FULL = {
  builtIn: ALL_KINDS,
  createChecks,
  admission: ADMISSION,
  patchFormats: { "application/json-patch+json": jsonPatch },
  apply: APPLY,
} satisfies Partial<ApiServerOptions>;

export interface FullApiServer extends EmbeddedApiServer {
  readonly faults: Faults;
  readonly access: Access;
}

export interface FullApiServerOptions extends ApiServerOptions {
  /** Bearer tokens. Without them, a request without a token is the administrator's. */
  readonly tokens?: ReadonlyMap<string, User>;
}

export function createFullApiServer({ tokens, ...options }: FullApiServerOptions): FullApiServer {
  const control = createControl(options.clock, tokens);
  return control.complete(createApiServer({ ...FULL, ...control.options, ...options }));
}

/** Faults and rights of an API server that is about to be created. */
function createControl(clock: Clock, tokens: ReadonlyMap<string, User> | null = null) {
  const faults = new Faults(clock);
  let access: Access | null = null;
  return {
    options: {
      interceptor: faults,
      createAuthorize(parts) {
        access = new Access(parts.store, tokens);
        return createAuthorize(access, parts);
      },
    } satisfies Partial<ApiServerOptions>,
    complete(api: EmbeddedApiServer): FullApiServer {
      if (access === null) throw new Error("Cannot complete an API server that was not created with these options");
      return { ...api, faults, access };
    },
  };
}

export interface FullClusterOptions extends ClusterOptions {
  /** Bearer tokens and their users. Without them neither the API server nor kubelets ask for one. */
  readonly tokens?: ReadonlyMap<string, User>;
  /** Whether `metrics.k8s.io` is served; it is not, by default. */
  readonly hasMetricsServer?: boolean;
}

export interface FullCluster extends Cluster {
  readonly api: FullApiServer;
  /** The faults of a kubelet's answers. */
  readonly faultsOf: (node: string) => Faults;
  /**
   * Sets what a container of the load image uses. Throws when no container listens there, or when the load kills it.
   */
  readonly setLoad: (container: LoadRef, change: Partial<LoadSetting>) => void;
  readonly findLimits: (container: LoadRef) => Limits | null;
}

/** In process; nothing of it listens anywhere. */
export async function startFullCluster(options: FullClusterOptions): Promise<FullCluster> {
  const control = createControl(options.clock, withInternal(options.tokens));
  const perNode = new Map<string, Faults>();
  const cluster = await startCluster({
    ...toFull({ ...options, api: { ...control.options, ...options.api } }),
    interceptKubelet(handle, node) {
      const own = new Faults(options.clock);
      perNode.set(node, own);
      return interceptKubelet(handle, own);
    },
  });
  const findLoads = (container: LoadRef) =>
    [...cluster.nodes.values()].map(({ kubelet }) => createLoadServer(kubelet))
      .find((loads) => loads.findLimits(container) !== null) ?? null;
  return {
    ...cluster,
    setLoad(container, change) {
      const loads = findLoads(container);
      if (loads === null) throw new Error(`Cannot reach pod "${container.name}": it is on no node`);
      loads.set(container, change);
    },
    findLimits: (container) => findLoads(container)?.findLimits(container) ?? null,
    api: control.complete(cluster.api),
    faultsOf(node) {
      const found = perNode.get(node);
      if (found === undefined) throw new Error(`Cannot find node "${node}"`);
      return found;
    },
  };
}

/** A cluster that listens on 127.0.0.1. */
export interface ServedCluster extends Cluster {
  readonly served: Served;
  /** Text of a file for KUBECONFIG. */
  readonly kubeconfig: (token?: string) => string;
}

/** Its API server and its kubelets listen on 127.0.0.1 over TLS. */
export async function serveFullCluster(options: FullClusterOptions): Promise<ServedCluster> {
  const control = createControl(options.clock, withInternal(options.tokens));
  const stack = new AsyncDisposableStack();
  const authority = await createAuthority("embedded cluster");
  const cluster = await startCluster({
    ...toFull({ ...options, api: { ...control.options, ...options.api } }),
    async openAddress(handle) {
      const { port, [Symbol.asyncDispose]: dispose } = await serve(handle, { authority });
      return { host: "127.0.0.1", port, [Symbol.asyncDispose]: dispose };
    },
  });
  stack.use(cluster);
  const served = stack.use(await serve(cluster.api.handle, { authority }));
  return {
    ...cluster,
    served,
    kubeconfig: (token) => toKubeconfig(served, token),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const INTERNAL_TOKEN = "embedded-cluster";

function withInternal(tokens: ReadonlyMap<string, User> | undefined): ReadonlyMap<string, User> | null {
  return tokens === undefined ? null : new Map([...tokens, [INTERNAL_TOKEN, ADMIN]]);
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

function toFull({ hasMetricsServer = false, tokens, ...options }: FullClusterOptions): ClusterOptions {
  return {
    ...options,
    api: { ...FULL, ...options.api },
    controllers: CONTROLLERS,
    kubeletAnswers: RESOURCE_METRICS,
    createProxy: (nodes, token) => createProxy(nodes, { token, proxyToPod: PROXY_TO_LOADS }),
    ...(tokens === undefined ? {} : { internalToken: INTERNAL_TOKEN, checkKubeletAccess: reviewAccess }),
    ...(hasMetricsServer ? { extend: createMetricsServer } : {}),
  };
}
