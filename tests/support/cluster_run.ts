/**
 * A whole embedded cluster in process under a virtual clock, with podfit's definition installed, and podfit's daemon
 * beside it where a test wants one.
 */
import { type Scope, WHOLE_CLUSTER } from "../../lib/daemon/cluster/facts.ts";
import { withQuiet } from "../../lib/daemon/pods/controller.ts";
import { createDaemon, type DaemonOptions } from "../../lib/daemon/daemon.ts";
import type { CheckResult } from "../../lib/daemon/health.ts";
import { createMetrics, type Metrics } from "../../lib/daemon/metrics/metrics.ts";
import type { ApiServer } from "../../lib/kube/transport.ts";
import { createLog } from "../../lib/runtime/log.ts";
import { parseAll } from "../../lib/runtime/yaml.ts";
import { createAutoSource } from "../../lib/usage/auto.ts";
import { watchCgroups } from "../../lib/usage/cgroup/watch.ts";
import { watchKubelets } from "../../lib/usage/kubelet/watch.ts";
import { openMetricsApi } from "../../lib/usage/metrics_api/watch.ts";
import type { WatchUsage } from "../../lib/usage/source.ts";
import type { Json } from "./api_objects.ts";
import { type CgroupFilesOptions, createCgroupFiles } from "./embedded/cgroup_files.ts";
import { type FullCluster, type FullClusterOptions, startFullCluster } from "./embedded/full_cluster.ts";
import { Pausable } from "./pausable.ts";
import { VirtualClock } from "./virtual_clock.ts";

const CRDS = new URL("../../crds/", import.meta.url);
/** Those of keda.sh. */
const KEDA_CRDS = ["scaledobject.yaml", "triggerauthentication.yaml", "clustertriggerauthentication.yaml"];

export class ClusterRun implements AsyncDisposable {
  readonly clock: VirtualClock;
  readonly cluster: FullCluster;
  readonly errors: readonly unknown[];
  /** When metrics.k8s.io was asked for usage by podfit, monotonic ms. */
  readonly metricsAskedAt: number[] = [];

  private constructor(cluster: FullCluster, clock: VirtualClock, errors: readonly unknown[]) {
    this.clock = clock;
    this.cluster = cluster;
    this.errors = errors;
  }

  static async start(options: Partial<FullClusterOptions> = {}): Promise<ClusterRun> {
    const clock = new VirtualClock();
    const errors: unknown[] = [];
    const cluster = await startFullCluster({ clock, onError: (error) => errors.push(error), ...options });
    const run = new ClusterRun(cluster, clock, errors);
    await run.#define("podresourceautoscaler.yaml");
    await run.advance(1);
    return run;
  }

  async advance(seconds: number): Promise<void> {
    await this.clock.advance(seconds * 1000);
  }

  /** From now on there are ScaledObjects and the authentications of their triggers. */
  async defineKeda(): Promise<void> {
    for (const file of KEDA_CRDS) await this.#define(file);
  }

  async #define(file: string): Promise<void> {
    const [definition] = parseAll(await Deno.readTextFile(new URL(file, CRDS))) as Json[];
    await this.cluster.client.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition);
  }

  /** In namespace default, or theirs. */
  async create(...objects: readonly Json[]): Promise<void> {
    for (const object of objects) await this.cluster.client.create(toCollection(object), structuredClone(object));
  }

  /** `deployments/web`, of namespace default unless it is named: `shop/pods/web`. */
  async get(name: string): Promise<Json> {
    const found = await this.find(name);
    if (found === null) throw new Error(`Cannot get "${name}": it is not there`);
    return found;
  }

  async find(name: string): Promise<Json | null> {
    return await this.cluster.client.get(toPath(name));
  }

  async list(plural: string, namespace = "default"): Promise<Json[]> {
    return (await this.cluster.client.get(toPath(`${namespace}/${plural}/`).replace(/\/$/, "")) as Json).items;
  }

  /** `name phase` and whether it is ready. */
  async pods(namespace = "default"): Promise<readonly string[]> {
    return (await this.list("pods", namespace)).map(({ metadata, status }: Json) => {
      const isReady = status.conditions?.some((one: Json) => one.type === "Ready" && one.status === "True");
      const leaving = metadata.deletionTimestamp === undefined ? "" : " leaving";
      return `${metadata.name} ${status.phase}${isReady ? " ready" : ""}${leaving}`;
    });
  }

  async patch(name: string, patch: Json): Promise<void> {
    await this.cluster.client.patch(toPath(name), "merge", patch);
  }

  async delete(name: string): Promise<void> {
    await this.cluster.client.delete(toPath(name));
  }

  /** `reason xCount` of the events about an object, oldest first. */
  async events(about: string, namespace = "default"): Promise<readonly string[]> {
    return (await this.list("events", namespace)).filter(({ involvedObject }: Json) => involvedObject.name === about)
      .sort((a: Json, b: Json) => Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion))
      .map(({ reason }: Json) => reason);
  }

  startPodfit(scope: Scope = WHOLE_CLUSTER, options: PodfitOptions = {}): PodfitRun {
    return new PodfitRun(this, scope, options);
  }

  /** By metrics.k8s.io, with kubelets as the better source where it is `auto`. */
  startPodfitBy(statsSource: "metrics-api" | "auto", scope: Scope = WHOLE_CLUSTER): PodfitRun {
    const { clock, cluster } = this;
    const random = () => 0.5;
    const server = cluster.connect();
    const transport = (request: Request) => {
      this.metricsAskedAt.push(clock.monotonic());
      return server.transport(request);
    };
    const { watchUsage: api } = openMetricsApi({ server: { ...server, transport }, scope, clock, random });
    const kubelets = watchKubelets(cluster.openSource(server), { clock, random });
    const both = [{ name: "kubelet", watchUsage: kubelets }, { name: "metrics-api", watchUsage: api }] as const;
    const watchUsage = statsSource === "auto" ? createAutoSource(...both, { clock, random }) : api;
    return this.startPodfit(scope, { watchUsage });
  }

  /** Beside the node, by whose cgroups it goes. */
  startPodfitOn(node: string, layout: Pick<CgroupFilesOptions, "version" | "driver">): PodfitRun {
    return this.startPodfit({ ...WHOLE_CLUSTER, node }, { watchUsage: this.watchCgroups(node, layout) });
  }

  /** What a podfit on that node reads of its cgroups. */
  watchCgroups(node: string, layout: Pick<CgroupFilesOptions, "version" | "driver">): WatchUsage {
    const { clock } = this;
    const found = this.cluster.nodes.get(node);
    if (found === undefined) throw new Error(`Cannot start podfit on node "${node}": there is none`);
    const { getState } = found.kubelet;
    const files = createCgroupFiles({ ...layout, getState, now: () => clock.now() });
    return watchCgroups(files, { node, root: "/host/cgroup", clock });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cluster[Symbol.asyncDispose]();
    const { pending } = this.clock;
    if (pending > 0) throw new Error(`Cannot end: ${pending} sleeps and timeouts were left behind`);
  }
}

export interface PodfitOptions {
  /** By the kubelets of the cluster by default. */
  readonly watchUsage?: WatchUsage;
  /** There are several podfits, of which one holds a Lease: this is who it is. */
  readonly identity?: string;
  /** ScaledObjects are looked after, and who asks their triggers. */
  readonly replicas?: DaemonOptions["replicas"];
  readonly dryRun?: boolean;
  readonly limits?: DaemonOptions["limits"];
  readonly ignoresDisruptionBudgets?: boolean;
  /** Who takes every evaluation beside its own. */
  readonly sinks?: DaemonOptions["sinks"];
  readonly flightRecorder?: DaemonOptions["flightRecorder"];
  /** What its requests are answered in the API server's place; `null` = that one answers itself. */
  readonly answer?: (request: Request) => Response | Promise<Response> | null;
}

export class PodfitRun implements AsyncDisposable {
  /** Of the API server: `PATCH /api/v1/... ?watch=1...`, as they were sent. */
  readonly requests: string[] = [];
  readonly log: Json[] = [];
  readonly metrics: Metrics = createMetrics({ version: "test" });
  readonly isReady: () => CheckResult;
  /** Its clock, and its way to the API server. */
  readonly process: Pausable;
  readonly #run: ClusterRun;
  readonly #ending = new AbortController();
  readonly #ended: Promise<void>;
  readonly #answer: PodfitOptions["answer"];
  #isCut = false;

  constructor(run: ClusterRun, scope: Scope, options: PodfitOptions) {
    const { watchUsage, identity, replicas, limits, sinks, flightRecorder, dryRun = false } = options;
    const { cluster } = run;
    this.#answer = options.answer;
    this.process = new Pausable(run.clock);
    const { clock } = this.process;
    const recorded = this.#record(cluster.connect());
    const server = { ...recorded, transport: this.process.wrap(recorded.transport) };
    const random = () => 0.5;
    this.#run = run;
    const daemon = createDaemon({
      server,
      watchUsage: watchUsage ?? watchKubelets(cluster.openSource(server), { clock, random }),
      scope,
      ...(identity !== undefined && { lease: { namespace: "default", name: "podfit", identity } }),
      ...(replicas !== undefined && { replicas }),
      ...(limits !== undefined && { limits }),
      ...(sinks !== undefined && { sinks: sinks.map(withQuiet) }),
      ...(flightRecorder !== undefined && { flightRecorder }),
      clock,
      random,
      metrics: this.metrics,
      dryRun,
      ignoresDisruptionBudgets: options.ignoresDisruptionBudgets ?? false,
      requiresAnnotation: false,
      instance: "test",
      signal: this.#ending.signal,
      log: createLog({
        level: "debug",
        format: "json",
        clock,
        write: (line) => this.log.push(JSON.parse(line)),
      }),
    });
    this.isReady = daemon.isReady;
    this.#ended = daemon.run();
    // Looked at by its disposal.
    this.#ended.catch(() => {});
  }

  /** From now on nothing that it sends arrives, as if its process were gone. */
  cut(): void {
    this.#isCut = true;
  }

  #record(server: ApiServer): ApiServer {
    return {
      ...server,
      transport: async (request, options) => {
        if (this.#isCut) throw new TypeError("the network is unreachable");
        this.requests.push(`${request.method} ${request.url.slice(server.origin.length)}`);
        return await this.#answer?.(request) ?? await server.transport(request, options);
      },
    };
  }

  lines(message: string): Json[] {
    return this.log.filter((line) => line.message === message);
  }

  async series(prefix: string): Promise<readonly string[]> {
    return [...await this.metrics.render()].join("").split("\n").filter((line) => line.startsWith(prefix));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.process.resume();
    this.#ending.abort();
    let isOver = false;
    void this.#ended.finally(() => isOver = true).catch(() => {});
    for (let second = 0; second < 60 && !isOver; second++) await this.#run.advance(1);
    await this.#ended;
  }
}

const GROUPS: Readonly<Record<string, string>> = {
  deployments: "/apis/apps/v1",
  statefulsets: "/apis/apps/v1",
  daemonsets: "/apis/apps/v1",
  replicasets: "/apis/apps/v1",
  podresourceautoscalers: "/apis/keda.kedify.io/v1alpha1",
  scaledobjects: "/apis/keda.sh/v1alpha1",
  clustertriggerauthentications: "/apis/keda.sh/v1alpha1",
  triggerauthentications: "/apis/keda.sh/v1alpha1",
  horizontalpodautoscalers: "/apis/autoscaling/v2",
  poddisruptionbudgets: "/apis/policy/v1",
};

function toPath(name: string): string {
  const [second = "", first = "", namespace = "default"] = name.split("/").reverse();
  if (first === "nodes" || first === "namespaces") return `/api/v1/${first}/${second}`;
  if (first === "clustertriggerauthentications") return `${GROUPS[first]}/${first}/${second}`;
  return `${GROUPS[first] ?? "/api/v1"}/namespaces/${namespace}/${first}/${second}`;
}

function toCollection({ kind, metadata }: Json): string {
  const plural = `${String(kind).toLowerCase()}s`;
  return toPath(`${metadata.namespace ?? "default"}/${plural}/x`).replace(/\/x$/, "");
}
