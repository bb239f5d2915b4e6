/**
 * The demo's two worlds: an embedded cluster with podfit's daemon, and its shadow, the same cluster of the same seed with
 * the same workloads and no podfit. Served over HTTPS on the real clock or a faster one, in process on a virtual one.
 */
import { createDaemon } from "../../daemon/daemon.ts";
import { createMetrics } from "../../daemon/metrics/metrics.ts";
import { WHOLE_CLUSTER } from "../../daemon/inventory/scope.ts";
import type { Sink } from "../../daemon/report/sink.ts";
import type { OnTrouble } from "../../daemon/report/trouble.ts";
import { openServer } from "../../kube/connect.ts";
import { openDirectSource } from "../../usage/kubelet.ts";
import { watchKubelets } from "../../usage/watch_kubelets.ts";
import type { Clock } from "../../runtime/clock.ts";
import { createLog } from "../../runtime/log.ts";
import { type Cluster, type ClusterOptions, serveCluster, startCluster } from "../../sim/cluster.ts";
import type { Served } from "../../sim/server/http/serve.ts";
import { readDefinition, readExamples } from "./manifests.ts";
import { type ContainerUse, listUses } from "./use.ts";
import { VERSION } from "../version.ts";

/** Its time, its transport, and who hears of the daemon. */
export interface WorldOptions {
  readonly clock: Clock;
  readonly isServed: boolean;
  readonly onEvaluation: Sink;
  readonly onTrouble: OnTrouble;
}

/** Both clusters and the daemon; disposal ends them. */
export interface World extends AsyncDisposable {
  /** Where its API server listens; `null` in process. */
  readonly origin: string | null;
  readonly node: { readonly cpuMillicores: number; readonly memoryBytes: number };
  /** Rejects when the daemon ends by itself. */
  readonly failed: Promise<never>;
  readonly read: () => { readonly podfit: readonly ContainerUse[]; readonly shadow: readonly ContainerUse[] };
}

/** Small enough that the busiest moments of two workloads do not fit at once. */
const NODE = { name: "node-1", cpuMillicores: 2000, memoryBytes: 4 * 2 ** 30 };

/** Starts both clusters and the daemon; rejects where one of them cannot start. */
export async function openWorld({ clock, isServed, onEvaluation, onTrouble }: WorldOptions): Promise<World> {
  await using building = new AsyncDisposableStack();
  const options: ClusterOptions = { clock, seed: "demo", nodes: [NODE] };
  const shadow = building.use(await startCluster(options));
  const { cluster, server, source, origin } = await openCluster(options, { isServed, building });
  const ending = new AbortController();
  const daemon = createDaemon({
    server,
    watchUsage: watchKubelets(source, { clock, random: Math.random }),
    clock,
    random: Math.random,
    scope: WHOLE_CLUSTER,
    dryRun: false,
    requiresAnnotation: false,
    instance: "demo",
    // The screen belongs to the story.
    log: createLog({ level: "error", format: "json", clock, write() {} }),
    metrics: createMetrics({ version: VERSION }),
    sinks: [onEvaluation],
    onTrouble,
    signal: ending.signal,
  });
  const isWorkload = ({ kind }: { readonly kind?: unknown }) => kind === "Deployment";
  await apply([readDefinition(), ...readExamples()], cluster);
  await apply(readExamples().filter(isWorkload), shadow);
  const running = daemon.run();
  building.defer(async () => {
    ending.abort();
    // `failed` rejects with its failure.
    await Promise.allSettled([running]);
  });
  const failed = running.then(() => new Promise<never>(() => {}));
  failed.catch(() => {});
  const disposal = building.move();
  const read = (one: Cluster) => [...one.nodes.values()].flatMap(({ kubelet }) => listUses(kubelet.readState()));
  return {
    origin,
    node: NODE,
    failed,
    read: () => ({ podfit: read(cluster), shadow: read(shadow) }),
    [Symbol.asyncDispose]: () => disposal.disposeAsync(),
  };
}

async function openCluster(
  options: ClusterOptions,
  { isServed, building }: { readonly isServed: boolean; readonly building: AsyncDisposableStack },
) {
  if (!isServed) {
    const cluster = building.use(await startCluster(options));
    const server = cluster.connect();
    return { cluster, server, source: building.use(cluster.openSource(server)), origin: null };
  }
  const cluster = building.use(await serveCluster(options));
  const server = building.use(await openServer(toConfig(cluster.served), { version: VERSION }));
  const source = building.use(openDirectSource(server, { clock: options.clock }));
  return { cluster, server, source, origin: cluster.served.origin };
}

/** The embedded API server takes every caller for its administrator. */
function toConfig({ origin, caCert }: Served): Parameters<typeof openServer>[0] {
  return {
    source: "the embedded cluster",
    origin,
    namespace: "default",
    proxyUrl: null,
    caCerts: caCert === null ? [] : [caCert],
    readCredential: () => Promise.resolve({ authorization: null, clientCertificate: null }),
  };
}

const COLLECTIONS: Readonly<Record<string, string>> = {
  CustomResourceDefinition: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
  Deployment: "/apis/apps/v1/namespaces/default/deployments",
  PodResourceAutoscaler: "/apis/keda.kedify.io/v1alpha1/namespaces/default/podresourceautoscalers",
};

async function apply(manifests: readonly Readonly<Record<string, unknown>>[], { client }: Cluster): Promise<void> {
  for (const manifest of manifests) {
    const collection = COLLECTIONS[String(manifest.kind)];
    if (collection === undefined) throw new Error(`Cannot apply a ${manifest.kind}: the demo knows no such kind`);
    await client.create(collection, structuredClone(manifest) as Parameters<typeof client.create>[1]);
  }
}
