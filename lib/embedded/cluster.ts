/**
 * How is a whole cluster started in one process? API server, controllers and kubelets, under any clock.
 * Under a virtual clock an hour passes in a second. Nothing of it listens anywhere unless an option says so.
 */
import type { ApiServer, Transport } from "../kube/transport.ts";
import type { Clock } from "../runtime/clock.ts";
import { draw } from "../simulate/model/random.ts";
import type { KubeletRequest } from "../usage/kubelet/client.ts";
import { openDirectSource, type SummarySource } from "../usage/kubelet/fetch_summary.ts";
import { uidOf } from "./controllers/cache.ts";
import { type ControllerSet, DEMO_CONTROLLERS, runControllers } from "./controllers/controllers.ts";
import { textAt } from "./json.ts";
import type { CheckAccess, KubeletAnswers } from "./kubelet/kubelet.ts";
import { type ClusterNode, type InterceptKubelet, type NodeAddress, type NodeSpec, startNode } from "./node.ts";
import { createObjectsClient, type ObjectsClient } from "./objects_client.ts";
import { type ApiServerOptions, createApiServer, type EmbeddedApiServer, type Proxy } from "./server/http/handler.ts";
import type { Store } from "./server/store.ts";
import { createWorkloadLoads, type WorkloadLoad, type WorkloadRef } from "./workload_loads.ts";

/** What a cluster is made of. */
export interface ClusterOptions {
  readonly clock: Clock;
  /** Clusters of one seed that are used alike are alike. */
  readonly seed?: string;
  /** One of them by default. */
  readonly nodes?: readonly NodeSpec[];
  /** The token of the kubelets and controllers; without it they send none. */
  readonly internalToken?: string;
  /** By default every caller may read from kubelets. The client is that of a kubelet. */
  readonly checkKubeletAccess?: (client: ObjectsClient) => CheckAccess;
  /** Those of the demo by default. */
  readonly controllers?: ControllerSet;
  /** By default nothing disturbs the answers of kubelets. */
  readonly interceptKubelet?: InterceptKubelet;
  /** By default kubelets are reached in process alone. */
  readonly openAddress?: OpenAddress;
  /** By default no kubelet and no pod is reached through the API server. `token`: that of the cluster itself. */
  readonly createProxy?: (nodes: ReadonlyMap<string, ClusterNode>, token: string | null) => Proxy;
  /** More paths that kubelets answer. */
  readonly kubeletAnswers?: KubeletAnswers;
  /** Makes the server of another group, such as metrics.k8s.io. */
  readonly extend?: (parts: ExtensionParts) => Extension;
  /** How its API server differs from that of the demo. */
  readonly api?: Partial<ApiServerOptions>;
  /** Receives each failure within the cluster; what failed is tried again. */
  readonly onError?: (error: unknown) => void;
}

/** Gives a kubelet an address; `index` counts the nodes. */
type OpenAddress = (handle: Transport, index: number) => Promise<NodeAddress & AsyncDisposable>;

/** What the server of another group works with. */
export interface ExtensionParts {
  readonly nodes: ReadonlyMap<string, ClusterNode>;
  readonly store: () => Store;
  readonly clock: Clock;
  /** Its own for kubelets; `null` where they ask for none. */
  readonly token: string | null;
}

/** The server of another group, which runs as long as the cluster does. */
export interface Extension {
  readonly run: (signal: AbortSignal) => Promise<void>;
  /** Answers what is asked of its group; `null` for another group. Throws a Refusal. */
  readonly answer: NonNullable<ApiServerOptions["aggregate"]>;
}

/** A running cluster. Disposing of it ends its controllers and kubelets. */
export interface Cluster extends AsyncDisposable {
  readonly api: EmbeddedApiServer;
  /** A client with the rights of an administrator. */
  readonly client: ObjectsClient;
  readonly nodes: ReadonlyMap<string, ClusterNode>;
  readonly addNode: (spec: NodeSpec) => Promise<ClusterNode>;
  /** The API server as podfit gets it, for the user with this token, or without a token. */
  readonly connect: (token?: string | null) => ApiServer;
  /** Usage from the kubelets, asked in process at their nodes' addresses. */
  readonly openSource: (server: ApiServer) => SummarySource;
  /** Sets a load that the ready pods of a workload share, in addition to the load of each; `null` removes it. */
  readonly setWorkloadLoad: (workload: WorkloadRef, load: WorkloadLoad | null) => void;
}

const KUBELET_PORT = 10250;

const ORIGIN = "https://embedded.cluster";

/** Starts a cluster in process. */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const { clock, seed = "podfit", controllers = DEMO_CONTROLLERS, kubeletAnswers = {}, onError = () => {} } = options;
  const { openAddress = takeAddress } = options;
  const stack = new AsyncDisposableStack();
  let drawn = 0;
  const random = () => draw([seed, "random", drawn++]);
  const nodes = new Map<string, ClusterNode>();
  const token = options.internalToken ?? null;
  const extension = options.extend?.({ nodes, store: () => api.store, clock, token });
  const api: EmbeddedApiServer = createApiServer({
    ...options.api,
    clock,
    random,
    ...(options.createProxy === undefined ? {} : { proxy: options.createProxy(nodes, token) }),
    aggregate: extension?.answer ?? (() => null),
  });
  const connect = (token: string | null = null) => toServer(api, token);
  const internal = connect(token);
  const ending = new AbortController();
  const { signal } = ending;
  const client = createObjectsClient({ server: internal, clock, agent: "kubectl", signal });
  const kubeletClient = createObjectsClient({ server: internal, clock, agent: "kubelet", signal });
  const checkAccess = options.checkKubeletAccess?.(kubeletClient);
  const controlled = runControllers({ ...controllers, server: internal, clock, random, onError }, signal);
  const extended = extension?.run(signal);
  stack.defer(async () => {
    ending.abort();
    await controlled;
    await extended;
  });

  async function addNode(spec: NodeSpec): Promise<ClusterNode> {
    const name = spec.name ?? `node-${nodes.size + 1}`;
    if (nodes.has(name)) throw new Error(`Cannot add node "${name}": the name is taken`);
    const handle: Transport = (request) => {
      const node = nodes.get(name);
      return node === undefined ? Promise.reject(new TypeError("connection refused")) : node.handle(request);
    };
    const place = stack.use(await openAddress(handle, nodes.size));
    const node = startNode({
      name,
      spec,
      place,
      seed: `${seed} ${name}`,
      server: internal,
      clock,
      random,
      onError,
      ...(checkAccess === undefined ? {} : { checkAccess }),
      answers: kubeletAnswers,
      intercept: options.interceptKubelet ?? ((handle) => handle),
    });
    nodes.set(name, stack.use(node));
    return node;
  }

  const workloads = stack.use(createWorkloadLoads({
    store: api.store,
    now: () => clock.now(),
    share: (pod, shares) => nodes.get(textAt(pod, "spec", "nodeName"))?.kubelet.share(uidOf(pod), shares),
  }));
  for (const spec of options.nodes ?? [{}]) await addNode(spec);
  return {
    api,
    setWorkloadLoad: workloads.set,
    client,
    nodes,
    addNode,
    connect,
    openSource: (server) => openDirectSource(server, { clock, client: dial(nodes) }),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** At this address nothing listens. */
function takeAddress(_: Transport, index: number): ReturnType<OpenAddress> {
  const host = `10.0.${Math.floor(index / 250)}.${index % 250 + 1}`;
  return Promise.resolve({ host, port: KUBELET_PORT, [Symbol.asyncDispose]: () => Promise.resolve() });
}

function toServer({ handle }: EmbeddedApiServer, token: string | null): ApiServer {
  return {
    origin: ORIGIN,
    transport(request) {
      if (token !== null) request.headers.set("authorization", `Bearer ${token}`);
      return handle(request);
    },
    caCerts: [],
    getCredential: () =>
      Promise.resolve({ authorization: token === null ? null : { kind: "bearer", token }, clientCertificate: null }),
    namespace: "default",
    source: "the embedded cluster",
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/** Sends a request to the kubelet at its address, without a network. */
function dial(nodes: ReadonlyMap<string, ClusterNode>) {
  return {
    send(url: string, { headers, signal }: KubeletRequest): Promise<Response> {
      const { hostname, port } = new URL(url);
      const node = [...nodes.values()].find(({ place }) => place.host === hostname && String(place.port) === port);
      return node === undefined
        ? Promise.reject(new TypeError("connection refused"))
        : node.handle(new Request(url, { headers, signal }));
    },
    [Symbol.dispose]() {},
  };
}
