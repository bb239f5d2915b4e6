/**
 * The two clusters of the demo: one with podfit, one without, with the same seed and the same workloads.
 *
 * Only this file, `scene.ts` and `story.ts` import the embedded cluster.
 */
import { WHOLE_CLUSTER } from "../../daemon/cluster/facts.ts";
import { createDaemon, type DaemonOptions } from "../../daemon/daemon.ts";
import type { OnFailure } from "../../daemon/health.ts";
import { createMetrics } from "../../daemon/metrics/metrics.ts";
import { type Evaluation, withQuiet } from "../../daemon/pods/controller.ts";
import { createFlightRecorder, type FlightRecorder } from "../../daemon/recorder.ts";
import { createHandler, debugRoutes } from "../../daemon/server/routes.ts";
import { createReplicasManager } from "../../daemon/replicas/manager.ts";
import type { ReplicasEvaluation, ReplicasSink } from "../../daemon/replicas/reports.ts";
import { type Cluster, type ClusterOptions, startCluster } from "../../embedded/cluster.ts";
import { listen } from "../../embedded/server/http/listen.ts";
import type { ApiServer, Transport } from "../../kube/transport.ts";
import type { Clock } from "../../runtime/clock.ts";
import { createLog } from "../../runtime/log.ts";
import type { AskTrigger } from "../../triggers/value.ts";
import type { SummarySource } from "../../usage/kubelet/fetch_summary.ts";
import { watchKubelets } from "../../usage/kubelet/watch.ts";
import { VERSION } from "../command/process.ts";
import type { Manifest } from "../manifests/files.ts";
import type { Scene } from "./scene.ts";
import { type ContainerUse, listUses } from "./story.ts";

/** The scene, its time, its transport, and the callbacks for what the daemon does. */
interface WorldOptions {
  readonly scene: Scene;
  readonly clock: Clock;
  /** Returns the wall time that is as long ago as a time of the clock; `null` = the cluster is not served. */
  readonly toWallTime: ((at: number) => number) | null;
  readonly onEvaluation: (evaluation: Evaluation) => void;
  /** For ScaledObjects of the cluster with podfit. */
  readonly onPass: (pass: ReplicasEvaluation) => void;
  readonly onTrouble: OnFailure;
}

/** Both clusters and the daemon; disposal ends them. */
interface World extends AsyncDisposable {
  /** Where its API server listens; `null` in process. */
  readonly origin: string | null;
  /** Rejects when a daemon ends without a request. */
  readonly failed: Promise<never>;
  readonly listUses: () => { readonly podfit: readonly ContainerUse[]; readonly comparison: readonly ContainerUse[] };
}

/** Starts both clusters and their daemons. Rejects where one of them cannot start. */
export async function openWorld(world: WorldOptions): Promise<World> {
  const { scene, clock, toWallTime, onEvaluation, onPass, onTrouble } = world;
  await using building = new AsyncDisposableStack();
  const options: ClusterOptions = { clock, seed: "demo", nodes: [scene.node] };
  const comparison = building.use(await startCluster(options));
  // Records are kept only where a client can read them.
  const flightRecorder = toWallTime === null ? null : createFlightRecorder(clock);
  const proxy = flightRecorder === null ? {} : { createProxy: createRecordsProxy(flightRecorder) };
  const cluster = building.use(await startCluster({ ...options, ...proxy }));
  const origin = toWallTime === null
    ? null
    : `http://127.0.0.1:${building.use(listen(serveAtWallTime(cluster, toWallTime))).port}`;
  const isOfComparison = ({ kind }: Manifest) => scene.comparisonKinds.includes(String(kind));
  await apply([...scene.definitions, ...scene.manifests], cluster);
  await apply([...scene.hasReplicas ? scene.definitions : [], ...scene.manifests.filter(isOfComparison)], comparison);
  for (const one of [cluster, comparison]) setLoads(scene, one);
  if (toWallTime !== null) await addPodfit(cluster);
  const daemon = building.use(runDaemon({
    ...connect(cluster, building),
    clock,
    sinks: [withQuiet(onEvaluation)],
    replicasSink: scene.hasReplicas ? { onPass } : null,
    onTrouble,
    ...(flightRecorder !== null && { flightRecorder }),
  }));
  const failures = [daemon.failed];
  if (scene.hasReplicas) failures.push(building.use(runComparisonDaemon(comparison, { clock, building })).failed);
  const failed = Promise.race(failures);
  failed.catch(() => {});
  const disposal = building.move();
  const read = (one: Cluster) =>
    [...one.nodes.values()].flatMap(({ kubelet }) => listUses(kubelet.getState()))
      .filter(({ pod }) => pod !== PODFIT.name);
  return {
    origin,
    failed,
    listUses: () => ({ podfit: read(cluster), comparison: read(comparison) }),
    [Symbol.asyncDispose]: () => disposal.disposeAsync(),
  };
}

/** Records keep the times of the demo: podfit's commands compare them with each other. */
function serveAtWallTime({ api }: Cluster, toWallTime: (at: number) => number): Transport {
  return async (request) => {
    const { pathname, origin } = new URL(request.url);
    if (pathname === "/kubeconfig") return Response.json(toKubeconfig(origin));
    const response = await api.handle(request);
    return pathname.includes("/proxy/") ? response : replaceTimes(response, toWallTime);
  };
}

/** Times as the API writes them. */
const TIMES = /"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?Z"/g;

/**
 * Returns the answer with wall times in place of the demo's, so that kubectl computes the same ages as this server. The
 * demo's clock runs ahead, and the age of an object of the future is `<invalid>`. Watches are changed line by line.
 */
export function replaceTimes(response: Response, toWallTime: (at: number) => number): Response {
  if (response.body === null) return response;
  const replace = (text: string) =>
    text.replace(TIMES, (_, seconds: string, fraction = "") => {
      const at = toWallTime(Date.parse(`${seconds}${fraction.slice(0, 4)}Z`));
      const [whole = "", part = ""] = new Date(Math.floor(at)).toISOString().replace("Z", "").split(".");
      const digits = fraction.length - 1;
      return `"${whole}${digits < 0 ? "" : `.${part.padEnd(digits, "0").slice(0, digits)}`}Z"`;
    });
  let rest = "";
  const lines = new TransformStream<string, string>({
    transform(chunk, controller) {
      rest += chunk;
      const end = rest.lastIndexOf("\n") + 1;
      if (end > 0) controller.enqueue(replace(rest.slice(0, end)));
      rest = rest.slice(end);
    },
    flush: (controller) => controller.enqueue(replace(rest)),
  });
  const headers = new Headers(response.headers);
  headers.delete("content-length");
  const body = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(lines).pipeThrough(
    new TextEncoderStream(),
  );
  return new Response(body, { status: response.status, headers });
}

/** Replicas only: without a PodResourceAutoscaler podfit sets them exactly as an HPA does. */
function runComparisonDaemon(
  comparison: Cluster,
  { clock, building }: { readonly clock: Clock; readonly building: AsyncDisposableStack },
) {
  return runDaemon({ ...connect(comparison, building), clock, replicasSink: {} });
}

function connect(cluster: Cluster, building: AsyncDisposableStack) {
  const server = cluster.connect();
  return { server, source: building.use(cluster.openSource(server)) };
}

/** JSON is YAML, too. */
function toKubeconfig(origin: string) {
  return {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "demo",
    clusters: [{ name: "demo", cluster: { server: origin } }],
    contexts: [{ name: "demo", context: { cluster: "demo", user: "demo", namespace: "default" } }],
    // kubectl asks for a name where there is no credential. This server checks none.
    users: [{ name: "demo", user: { token: "any" } }],
  };
}

const PODFIT = { name: "podfit-demo", port: 8081 } as const;

/** Returns the `pods/proxy` of the API server: it reaches the records of podfit, and nothing else. */
function createRecordsProxy(flightRecorder: FlightRecorder): NonNullable<ClusterOptions["createProxy"]> {
  const records = createHandler([debugRoutes(flightRecorder, null)]);
  return () => async ({ plural, name, path }, { url, signal }) =>
    plural === "pods" && name === `${PODFIT.name}:${PODFIT.port}`
      ? await records(new Request(`http://podfit/${path}${new URL(url).search}`, { signal }))
      : new Response("Only podfit's records are reached through this API server\n", { status: 503 });
}

/** The pod that `podfit explain` looks for: it runs nothing, and the API server answers for it. */
async function addPodfit({ client }: Cluster): Promise<void> {
  await client.create("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "podfit" } });
  await client.create("/api/v1/namespaces/podfit/pods", {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: PODFIT.name, labels: { "podfit.dev/mode": "central" } },
    spec: { containers: [{ name: "podfit", image: "podfit", args: [`--debug-listen=0.0.0.0:${PODFIT.port}`] }] },
  });
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
    if (collection === undefined) throw new Error(`Cannot apply a ${manifest.kind}: the demo does not have this kind`);
    await client.create(collection, structuredClone(manifest) as Parameters<typeof client.create>[1]);
  }
}

function setLoads({ loads }: Scene, cluster: Cluster): void {
  for (const { labels, container, cpuMillicores } of loads) {
    cluster.setWorkloadLoad({ namespace: "default", labels, container }, { cpuMillicores });
  }
}

/** A cluster, its clock, and the callbacks for what the daemon does. */
interface DemoDaemonOptions extends Pick<DaemonOptions, "sinks" | "onTrouble" | "flightRecorder"> {
  readonly server: ApiServer;
  readonly source: SummarySource;
  readonly clock: Clock;
  /** Callback for replicas; `null` = podfit does not set them, which is its default. */
  readonly replicasSink: ReplicasSink | null;
}

/** A daemon that runs. */
interface DemoDaemon extends AsyncDisposable {
  /** Rejects when it ends without a request. */
  readonly failed: Promise<never>;
}

/** Runs it until it is disposed of. */
function runDaemon({ source, replicasSink, ...options }: DemoDaemonOptions): DemoDaemon {
  const { clock } = options;
  const ending = new AbortController();
  const daemon = createDaemon({
    ...options,
    watchUsage: watchKubelets(source, { clock, random: Math.random }),
    random: Math.random,
    scope: WHOLE_CLUSTER,
    ...(replicasSink && { replicas: { ...REPLICAS_OPTIONS, sinks: [replicasSink] } }),
    dryRun: false,
    requiresAnnotation: false,
    instance: "demo",
    // The demo draws on the screen, so the log is discarded.
    log: createLog({ level: "error", format: "json", clock, write() {} }),
    metrics: createMetrics({ version: VERSION }),
    signal: ending.signal,
  });
  const running = daemon.run();
  const failed = running.then(() => new Promise<never>(() => {}));
  failed.catch(() => {});
  return {
    failed,
    async [Symbol.asyncDispose]() {
      ending.abort();
      // `failed` rejects with its failure.
      await Promise.allSettled([running]);
    },
  };
}

const REFUSE_TRIGGERS: AskTrigger = () =>
  Promise.resolve({ kind: "failed", message: "the demo reaches no other machine", isEmpty: false });

const REPLICAS_OPTIONS = { create: createReplicasManager, clusterObjectNamespace: "podfit", ask: REFUSE_TRIGGERS };
