/** ScaledObjects for short scenarios, what podfit and the cluster make of them, and values that a scenario sets. */
import type { Manifest } from "./backend.ts";
import { find, readEvents, setLoad, waitFor } from "./cluster.ts";
import type { Condition, List, Metadata, PodJson } from "./objects.ts";
import type { WaitOptions } from "./wait.ts";

/** podfit's variable that switches replicas on. */
/** The scenarios serve their numbers on loopback, which triggers do not ask by default. */
export const REPLICAS_ON = { PODFIT_SCALED_OBJECTS: "true", PODFIT_TRIGGER_ALLOW: "127.0.0.1" } as const;

/** A ScaledObject as the API has it. */
export interface ScaledObjectJson {
  readonly metadata: Metadata & { readonly finalizers?: readonly string[] };
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly originalReplicaCount?: number;
    readonly pausedReplicaCount?: number;
    readonly lastActiveTime?: string;
    readonly externalMetricNames?: readonly string[];
    readonly resourceMetricNames?: readonly string[];
    readonly health?: Readonly<Record<string, { readonly numberOfFailures?: number; readonly status?: string }>>;
  };
}

/** `spec` without scaleTargetRef scales the Deployment of its name. */
export function scaledObject(
  name: string,
  spec: Readonly<Record<string, unknown>>,
  annotations: Readonly<Record<string, string>> = {},
): Manifest {
  return {
    apiVersion: "keda.sh/v1alpha1",
    kind: "ScaledObject",
    metadata: { name, annotations },
    spec: { scaleTargetRef: { name }, pollingInterval: 5, ...spec },
  };
}

/** An HPA of the Deployment, between 1 and 2 pods unless `spec` says otherwise. */
export function hpa(
  name: string,
  { deployment = name, ...spec }: Readonly<Record<string, unknown>> & { readonly deployment?: string } = {},
): Manifest {
  return {
    apiVersion: "autoscaling/v2",
    kind: "HorizontalPodAutoscaler",
    metadata: { name },
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: deployment },
      minReplicas: 1,
      maxReplicas: 2,
      ...spec,
    },
  };
}

/** An HPA's metric. */
export function cpuUtilization(percent: number): Readonly<Record<string, unknown>> {
  return {
    type: "Resource",
    resource: { name: "cpu", target: { type: "Utilization", averageUtilization: percent } },
  };
}

/** Throws when it is not there. */
export async function readScaledObject(namespace: string, name: string): Promise<ScaledObjectJson> {
  const path = `/apis/keda.sh/v1alpha1/namespaces/${namespace}/scaledobjects/${name}`;
  const found = await find<ScaledObjectJson>(path);
  if (found === null) throw new Error(`Cannot read "${path}": it is not there`);
  return found;
}

/** spec.replicas of a Deployment. */
export async function readReplicas(namespace: string, name: string): Promise<number> {
  const path = `/apis/apps/v1/namespaces/${namespace}/deployments/${name}`;
  const found = await find<{ readonly spec: { readonly replicas?: number } }>(path);
  return found?.spec.replicas ?? 1;
}

/** Waits until spec.replicas of a Deployment is this, or meets the condition. */
export async function waitForReplicas(
  { namespace, name }: { readonly namespace: string; readonly name: string },
  wanted: number | ((replicas: number) => boolean),
  { timeoutMs = 60_000 }: WaitOptions = {},
): Promise<number> {
  const isMet = typeof wanted === "number" ? (replicas: number) => replicas === wanted : wanted;
  const { replicas } = await waitFor(`replicas of "${name}" to be ${wanted}`, async () => {
    const replicas = await readReplicas(namespace, name);
    if (isMet(replicas)) return { replicas };
    throw new Error(`they are ${replicas}`);
  }, { timeoutMs });
  return replicas;
}

/** Waits until all these conditions of a ScaledObject, by type, are so at once; a message has to contain the text. */
export function waitForScaled(
  { namespace, name }: { readonly namespace: string; readonly name: string },
  wanted: Readonly<Record<string, Pick<Condition, "status"> & Partial<Pick<Condition, "reason" | "message">>>>,
  { timeoutMs = 60_000 }: WaitOptions = {},
): Promise<ScaledObjectJson> {
  return waitFor(`conditions ${JSON.stringify(wanted)} of ScaledObject "${name}"`, async () => {
    const object = await readScaledObject(namespace, name);
    const conditions = object.status?.conditions ?? [];
    const isSo = Object.entries(wanted).every(([type, { status, reason, message = "" }]) =>
      conditions.some((one) =>
        one.type === type && one.status === status && (reason ?? one.reason) === one.reason &&
        (one.message ?? "").includes(message)
      )
    );
    if (isSo) return object;
    throw new Error(`seen: ${JSON.stringify(conditions)}`);
  }, { timeoutMs });
}

/** Reasons of the events of a ScaledObject, each once. */
export async function readReasons(namespace: string, name: string): Promise<ReadonlySet<string>> {
  const events = await readEvents(namespace, { about: name });
  return new Set(events.map(({ reason }) => reason ?? ""));
}

/** A page of numbers that a scenario sets, as an application has one: `/value` in JSON, `/metrics` for Prometheus. */
export interface Numbers extends AsyncDisposable {
  /** `http://127.0.0.1:PORT` */
  readonly origin: string;
  /** `null`: it answers 500. */
  value: number | null;
  /** Headers of the last request for the value. */
  readonly asked: () => Headers | null;
}

/** Serves on loopback until it is disposed of. */
export function serveNumbers(value: number | null): Numbers {
  let last: Headers | null = null;
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, ({ url, headers }) => {
    if (numbers.value === null) return new Response("out of order", { status: 500 });
    if (new URL(url).pathname === "/metrics") {
      return new Response(`# TYPE queue_length gauge\nqueue_length ${numbers.value}\n`, {
        headers: { "content-type": "text/plain; version=0.0.4" },
      });
    }
    last = headers;
    return Response.json({ components: { worker: { tasks: numbers.value } } });
  });
  const numbers: Numbers = {
    origin: `http://127.0.0.1:${server.addr.port}`,
    value,
    asked: () => last,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
  return numbers;
}

/** Pods with these labels that are Ready and not on their way out. */
export async function listReady(namespace: string, app: string): Promise<readonly PodJson[]> {
  const query = new URLSearchParams({ labelSelector: `app=${app}` });
  const found = await find<List<PodJson>>(`/api/v1/namespaces/${namespace}/pods?${query}`);
  return (found?.items ?? []).filter(({ metadata, status }) =>
    metadata.deletionTimestamp === undefined &&
    status.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true
  );
}

/** A load that the ready pods of an app share in equal parts, kept so until it is disposed of. */
export interface SharedLoad extends AsyncDisposable {
  /** Of all pods together. */
  totalMillicores: number;
}

const SHARE_MS = 1_000;

/** The pods are of the load image, container port 8080. */
export function shareLoad(
  { namespace, app, totalMillicores }: {
    readonly namespace: string;
    readonly app: string;
    readonly totalMillicores: number;
  },
  clock: { readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void> },
): SharedLoad {
  const ending = new AbortController();
  const given = new Map<string, number>();
  const load = { totalMillicores };
  const share = async () => {
    const pods = await listReady(namespace, app);
    const each = Math.round(load.totalMillicores / Math.max(1, pods.length));
    for (const { metadata: { name, uid } } of pods) {
      if (given.get(uid) === each) continue;
      await setLoad({ namespace, name }, { cpuMillicores: each });
      given.set(uid, each);
    }
  };
  const running = (async () => {
    while (!ending.signal.aborted) {
      // A pod may go while it is given its share.
      await share().catch(() => {});
      await clock.sleep(SHARE_MS, ending.signal).catch(() => {});
    }
  })();
  return Object.assign(load, {
    async [Symbol.asyncDispose]() {
      ending.abort();
      await running;
    },
  });
}
