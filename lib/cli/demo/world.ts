/**
 * The demo's two worlds: an embedded cluster with podfit's daemon, and its shadow, the same cluster of the same seed with
 * the same workloads, whose pods nobody resizes. Served over HTTPS on the real clock or a faster one, in process on a
 * virtual one.
 */
import type { ReplicasPass } from "../../daemon/replicas/sink.ts";
import type { Sink } from "../../daemon/report/sink.ts";
import type { OnTrouble } from "../../daemon/report/trouble.ts";
import { openServer } from "../../kube/connect.ts";
import { openDirectSource } from "../../usage/kubelet.ts";
import type { Clock } from "../../runtime/clock.ts";
import { type Cluster, type ClusterOptions, serveCluster, startCluster } from "../../sim/cluster.ts";
import type { Served } from "../../sim/server/http/serve.ts";
import type { Manifest } from "../lint/manifest.ts";
import { runDaemon } from "./run_daemon.ts";
import type { Scene } from "./scene.ts";
import { type ContainerUse, listUses } from "./use.ts";
import { VERSION } from "../version.ts";

/** What is played, its time, its transport, and who hears of the daemon. */
export interface WorldOptions {
  readonly scene: Scene;
  readonly clock: Clock;
  readonly isServed: boolean;
  readonly onEvaluation: Sink;
  /** Of ScaledObjects of the cluster with podfit, not the shadow's. */
  readonly onPass: (pass: ReplicasPass) => void;
  readonly onTrouble: OnTrouble;
}

/** Both clusters and the daemon; disposal ends them. */
export interface World extends AsyncDisposable {
  /** Where its API server listens; `null` in process. */
  readonly origin: string | null;
  /** Rejects when a daemon ends by itself. */
  readonly failed: Promise<never>;
  readonly read: () => { readonly podfit: readonly ContainerUse[]; readonly shadow: readonly ContainerUse[] };
}

/** Starts both clusters and what looks after them; rejects where one of them cannot start. */
export async function openWorld(world: WorldOptions): Promise<World> {
  const { scene, clock, isServed, onEvaluation, onPass, onTrouble } = world;
  await using building = new AsyncDisposableStack();
  const options: ClusterOptions = { clock, seed: "demo", nodes: [scene.node] };
  const shadow = building.use(await startCluster(options));
  const { cluster, server, source, origin } = await openCluster(options, { isServed, building });
  const isOfShadow = ({ kind }: Manifest) => scene.shadowKinds.includes(String(kind));
  await apply([...scene.definitions, ...scene.manifests], cluster);
  await apply([...scene.hasReplicas ? scene.definitions : [], ...scene.manifests.filter(isOfShadow)], shadow);
  for (const one of [cluster, shadow]) setLoads(scene, one);
  const daemon = building.use(runDaemon({
    server,
    source,
    clock,
    sinks: [onEvaluation],
    replicasSink: scene.hasReplicas ? { onPass } : null,
    onTrouble,
  }));
  const failures = [daemon.failed];
  if (scene.hasReplicas) failures.push(building.use(runShadowDaemon(shadow, { clock, building })).failed);
  const failed = Promise.race(failures);
  failed.catch(() => {});
  const disposal = building.move();
  const read = (one: Cluster) => [...one.nodes.values()].flatMap(({ kubelet }) => listUses(kubelet.readState()));
  return {
    origin,
    failed,
    read: () => ({ podfit: read(cluster), shadow: read(shadow) }),
    [Symbol.asyncDispose]: () => disposal.disposeAsync(),
  };
}

/** Replicas alone: without a PodResourceAutoscaler podfit sets them as an HPA does, to the letter. */
function runShadowDaemon(
  shadow: Cluster,
  { clock, building }: { readonly clock: Clock; readonly building: AsyncDisposableStack },
) {
  const server = shadow.connect();
  return runDaemon({ server, source: building.use(shadow.openSource(server)), clock, replicasSink: {} });
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
  ScaledObject: "/apis/keda.sh/v1alpha1/namespaces/default/scaledobjects",
};

async function apply(manifests: readonly Manifest[], { client }: Cluster): Promise<void> {
  for (const manifest of manifests) {
    const collection = COLLECTIONS[String(manifest.kind)];
    if (collection === undefined) throw new Error(`Cannot apply a ${manifest.kind}: the demo knows no such kind`);
    await client.create(collection, structuredClone(manifest) as Parameters<typeof client.create>[1]);
  }
}

function setLoads({ loads }: Scene, cluster: Cluster): void {
  for (const { labels, container, cpuMillicores } of loads) {
    cluster.setWorkloadLoad({ namespace: "default", labels, container }, { cpuMillicores });
  }
}
