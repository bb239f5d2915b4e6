/** A podfit that sets replicas on an embedded cluster, with the ScaledObjects, HPAs and ways to look that its tests need. */
import type { ClusterOptions } from "../../lib/embedded/cluster.ts";
import { createFlightRecorder, type FlightRecorder } from "../../lib/daemon/recorder.ts";
import { createReplicasManager, type ReplicasSettings } from "../../lib/daemon/replicas/manager.ts";
import type { ReplicasEvaluation } from "../../lib/daemon/replicas/reports.ts";
import type { AskTrigger, HttpTriggerSource } from "../../lib/triggers/value.ts";
import type { Json } from "./api_objects.ts";
import { ClusterRun, type PodfitOptions, type PodfitRun } from "./cluster_run.ts";
import { WHOLE_CLUSTER } from "../../lib/daemon/cluster/facts.ts";

export interface ObjectOptions {
  readonly target?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: Json;
}

/** In namespace default, of Deployment `web` unless said otherwise. */
export function scaledObject(name: string, triggers: readonly Json[], options: ObjectOptions = {}): Json {
  const { target = "web", annotations = {}, spec = {} } = options;
  return {
    apiVersion: "keda.sh/v1alpha1",
    kind: "ScaledObject",
    metadata: { name, namespace: "default", annotations },
    spec: { scaleTargetRef: { name: target }, triggers, ...spec },
  };
}

export function hpa(name: string, options: { readonly target?: string; readonly metadata?: Json } = {}): Json {
  const { target = "web", metadata = {} } = options;
  return {
    apiVersion: "autoscaling/v2",
    kind: "HorizontalPodAutoscaler",
    metadata: { name, namespace: "default", ...metadata },
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: target },
      minReplicas: 2,
      maxReplicas: 7,
    },
  };
}

/** The HPA that KEDA makes for ScaledObject `web` with one kafka trigger. */
export function kedasHpa(uid: string, metrics: readonly Json[] = [kafkaMetric()]): Json {
  const owner = { apiVersion: "keda.sh/v1alpha1", kind: "ScaledObject", name: "web", uid, controller: true };
  const { spec, ...made } = hpa("keda-hpa-web", { metadata: { ownerReferences: [owner] } });
  return { ...made, spec: { ...spec, minReplicas: 1, maxReplicas: 10, metrics } };
}

export function kafkaMetric(averageValue = "10", index = 0): Json {
  return {
    type: "External",
    external: { metric: { name: `s${index}-kafka-orders` }, target: { type: "AverageValue", averageValue } },
  };
}

export const CPU_50: Json = { type: "cpu", metricType: "Utilization", metadata: { value: "50" } };

export function workloadTrigger(podSelector: string, value = "1"): Json {
  return { type: "kubernetes-workload", metadata: { podSelector, value } };
}

/** Nobody is asked over the network. */
const ASK_NOBODY: AskTrigger = () => Promise.resolve({ kind: "failed", message: "nobody is there", isEmpty: false });

export interface ReplicasRunOptions extends PodfitOptions {
  readonly ask?: AskTrigger;
  /** Of how replicas are set. */
  readonly settings?: Pick<
    ReplicasSettings,
    "kedaDeactivation" | "maxDeactivationsPerMinute" | "isNextToKeda" | "usesMetricsApis"
  >;
  /** Hears of each pass, beside `passes`. */
  readonly onPass?: (pass: ReplicasEvaluation) => void;
  /** Of the cluster. */
  readonly nodes?: NonNullable<ClusterOptions["nodes"]>;
  /** By a flight recorder. */
  readonly isRecorded?: boolean;
}

/** Replicas that are set by what `ask` says. */
export function replicasBy(ask: AskTrigger<HttpTriggerSource>): ReplicasSettings {
  return { create: createReplicasManager, clusterObjectNamespace: "podfit", ask };
}

/** A refusal of the list and the watch of that plural; `null` for all other requests. */
export function refuseList({ method, url }: Request, plural: string): Response | null {
  if (method !== "GET" || !new URL(url).pathname.endsWith(`/${plural}`)) return null;
  const refusal = { kind: "Status", apiVersion: "v1", status: "Failure", code: 403, reason: "Forbidden" };
  return Response.json({ ...refusal, message: "forbidden" }, { status: 403 });
}

/** A cluster with podfit beside it; time moves by `advance`. */
export class ReplicasRun implements AsyncDisposable {
  readonly cluster: ClusterRun;
  readonly podfit: PodfitRun;
  readonly passes: ReplicasEvaluation[];
  readonly flightRecorder: FlightRecorder | null;

  private constructor(
    cluster: ClusterRun,
    podfit: PodfitRun,
    { passes, flightRecorder }: Pick<ReplicasRun, "passes" | "flightRecorder">,
  ) {
    this.cluster = cluster;
    this.podfit = podfit;
    this.passes = passes;
    this.flightRecorder = flightRecorder;
  }

  static async start(
    objects: readonly Json[],
    { ask = ASK_NOBODY, settings = {}, onPass = () => {}, nodes, isRecorded = false, ...options }: ReplicasRunOptions =
      {},
  ): Promise<ReplicasRun> {
    const cluster = await ClusterRun.start(nodes === undefined ? {} : { nodes });
    await cluster.defineKeda();
    await cluster.create(...objects);
    await cluster.advance(10);
    const passes: ReplicasEvaluation[] = [];
    const sinks = [{ onPass: (pass: ReplicasEvaluation) => void passes.push(pass) }, { onPass }];
    const replicas = { ...replicasBy(ask), ...settings, sinks };
    const recorded = isRecorded ? { flightRecorder: createFlightRecorder(cluster.clock) } : {};
    const podfit = cluster.startPodfit(WHOLE_CLUSTER, { ...options, ...recorded, replicas });
    return new ReplicasRun(cluster, podfit, { passes, flightRecorder: recorded.flightRecorder ?? null });
  }

  advance(seconds: number): Promise<void> {
    return this.cluster.advance(seconds);
  }

  async replicas(name = "web"): Promise<number> {
    return (await this.cluster.get(`deployments/${name}`)).spec.replicas ?? 0;
  }

  /** Replicas each so many seconds. */
  async course(seconds: number, every: number, name = "web"): Promise<readonly number[]> {
    const seen: number[] = [];
    for (let at = 0; at < seconds; at += every) {
      await this.advance(every);
      seen.push(await this.replicas(name));
    }
    return seen;
  }

  /** `True ScaledObjectReady` and the like. */
  async condition(name: string, type: string): Promise<string> {
    const { status = {} } = await this.cluster.get(`scaledobjects/${name}`);
    const one = status.conditions?.find((condition: Json) => condition.type === type);
    return one === undefined ? "-" : `${one.status} ${one.reason}`;
  }

  async message(name: string, type = "Ready"): Promise<string> {
    const { status = {} } = await this.cluster.get(`scaledobjects/${name}`);
    return status.conditions?.find((condition: Json) => condition.type === type)?.message ?? "";
  }

  /** PUTs of scales so far. */
  get writes(): readonly string[] {
    return this.podfit.requests.filter((one) => one.startsWith("PUT ") && one.includes("/scale"));
  }

  /** `kind` of the observations of one object, and when they were, s after podfit's start. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.podfit[Symbol.asyncDispose]();
    await this.cluster[Symbol.asyncDispose]();
  }
}
