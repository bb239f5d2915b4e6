/**
 * The embedded cluster of lib/embedded as a backend, in process and under virtual time: one node of the size of the real
 * one, and podfit's daemon in this process.
 */
import type { Cluster } from "../../../lib/embedded/cluster.ts";
import { isObject, type JsonObject } from "../../../lib/embedded/json.ts";
import { ADMIN } from "../../support/embedded/access.ts";
import type { ApiServer } from "../../../lib/kube/transport.ts";
import { parseAll } from "../../../lib/runtime/yaml.ts";
import { startFullCluster } from "../../support/embedded/full_cluster.ts";
import {
  type Backend,
  type Change,
  COLLECTIONS,
  type Kind,
  type LoadRef,
  type Manifest,
  type ObjectRef,
  Refusal,
  toCollection,
  toPath,
  type Watching,
} from "./backend.ts";
import { startEmbeddedPodfit } from "./embedded_podfit.ts";
import type { Facts } from "./facts.ts";
import { VirtualTime } from "./virtual_time.ts";
import { waitUntil } from "./wait.ts";

const CRDS = new URL("../../../crds/", import.meta.url);
/** What kubectl takes at least: scenarios do not ask for what a kubelet needs some 20 ms to tell. */
const ROUND_TRIP_MS = 50;
/** Another one is another course of events: where cAdvisor's phases fall, how long resizes take. */
const SEED = Deno.env.get("E2E_SEED") ?? "e2e";
const ADMIN_TOKEN = "e2e";
/** Of cgroup v1, as the real one is. */
const NODE = { name: "node1", cpuMillicores: 2000, memoryBytes: 24 * 2 ** 30, hasPsi: false };

/** What openEmbeddedCluster has, of what scenarios may need. */
export const EMBEDDED_FACTS: Facts = {
  hasLoadImage: true,
  hasPodfitImage: false,
  kubelet: "signed",
  nodes: 1,
  freePods: 110,
  freeMillicores: NODE.cpuMillicores,
  hasMetricsServer: true,
  hasKeda: false,
  hasPrometheusAdapter: false,
  hasAuditLog: false,
  hasCgroups: true,
  minorVersion: "1.36",
  oldestMinor: "1.36",
};

/** With the custom resource definition installed. */
export async function openEmbeddedCluster(): Promise<Backend> {
  const time = new VirtualTime();
  const { clock } = time;
  const errors: unknown[] = [];
  const cluster = await startFullCluster({
    clock,
    seed: SEED,
    nodes: [NODE],
    hasMetricsServer: EMBEDDED_FACTS.hasMetricsServer,
    tokens: new Map([[ADMIN_TOKEN, ADMIN]]),
    onError: (error) => errors.push(error),
  });
  const connect = (token = ADMIN_TOKEN) => cluster.connect(token);
  /** Tokens of service accounts by the name that stands for their kubeconfig. */
  const accounts = new Map<string, string>();
  const hold = <T>(work: () => Promise<T>): Promise<T> => time.hold(work);
  for await (const { name } of Deno.readDir(CRDS)) {
    if (!name.endsWith(".yaml")) continue;
    const definitions = parseAll(await Deno.readTextFile(new URL(name, CRDS))) as Manifest[];
    for (const definition of definitions) await apply(cluster, "default", definition);
  }
  return {
    clock: time,
    async get(path) {
      await time.sleep(ROUND_TRIP_MS);
      return await hold(async () => toText(await cluster.client.get(path)));
    },
    watch: (path) => watch(connect(), path),
    apply: (namespace, manifests) =>
      hold(async () => {
        for (const manifest of manifests) await refusing(() => apply(cluster, namespace, manifest));
      }),
    patch: (object, change) => hold(() => refusing(() => patch(cluster, object, change))),
    delete: (object) => hold(async () => void await cluster.client.delete(toPath(object))),
    async createNamespace(name) {
      await hold(() => cluster.client.create("/api/v1/namespaces", { metadata: { name } }));
      await waitUntil(`the service account of namespace "${name}"`, () => {
        return cluster.client.get(`/api/v1/namespaces/${name}/serviceaccounts/default`);
      }, { timeoutMs: 20_000, everyMs: 100, clock: time });
    },
    describe: (namespace) => describe(cluster, namespace, errors),
    setLoad: (pod, change) => reach(time, pod, () => cluster.setLoad(pod, change)),
    readLimits: (pod) =>
      reach(time, pod, () => {
        const limits = cluster.findLimits(pod);
        if (limits === null) throw new Error("connection refused");
        return limits;
      }),
    startPodfit: (options) => {
      const connectAs = (kubeconfig: string | null) => {
        const token = kubeconfig === null ? ADMIN_TOKEN : accounts.get(kubeconfig);
        if (token === undefined) throw new Error(`Cannot read kubeconfig "${kubeconfig}": no account was opened by it`);
        return connect(token);
      };
      return startEmbeddedPodfit({ ...options, cluster, connectAs, time, seed: SEED });
    },
    mountCgroups: () => Promise.resolve({ root: "/host/cgroup", [Symbol.asyncDispose]: () => Promise.resolve() }),
    connect: () => Promise.resolve(connect()),
    async openAccount({ namespace, name }) {
      const path = `${toPath({ kind: "ServiceAccount", namespace, name })}/token`;
      const { status } = await hold(() => cluster.client.create(path, { spec: {} }));
      const kubeconfig = `${namespace}/${name}`;
      accounts.set(kubeconfig, String(isObject(status) ? status.token : ""));
      return {
        kubeconfig,
        tokenFile: kubeconfig,
        [Symbol.asyncDispose]: () => Promise.resolve(void accounts.delete(kubeconfig)),
      };
    },
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
}

function toText(object: JsonObject | null): string | null {
  return object === null ? null : JSON.stringify(object);
}

function watch({ origin, transport }: ApiServer, path: string): Watching {
  const ending = new AbortController();
  return {
    lines: readLines(transport(new Request(`${origin}${path}`, { signal: ending.signal })), ending.signal),
    [Symbol.asyncDispose]: () => Promise.resolve(ending.abort()),
  };
}

/** Until it is put away, without an error then. */
async function* readLines(answer: Promise<Response>, signal: AbortSignal): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for await (const chunk of (await answer).body ?? []) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      yield* lines;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

const APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** As kubectl does: fields that were applied before and are no longer are taken away, others stay. */
async function apply({ client }: Cluster, namespace: string, manifest: Manifest): Promise<void> {
  const object = structuredClone(manifest) as JsonObject;
  const { kind } = object;
  const metadata = isObject(object.metadata) ? object.metadata : {};
  if (!(String(kind) in COLLECTIONS)) throw new Error(`Cannot apply a ${kind}: scenarios use none`);
  const own = typeof metadata.namespace === "string" ? metadata.namespace : namespace;
  const ref = { kind: kind as Kind, namespace: own, name: String(metadata.name) };
  const annotations = {
    ...(isObject(metadata.annotations) ? metadata.annotations : {}),
    [APPLIED]: JSON.stringify(object),
  };
  const next: JsonObject = { ...object, metadata: { ...metadata, annotations } };
  const found = await client.get(toPath(ref));
  if (found === null) return void await client.create(toCollection(ref.kind, own), next);
  const before = isObject(found.metadata) && isObject(found.metadata.annotations)
    ? found.metadata.annotations[APPLIED]
    : "";
  const gone = before === undefined || before === "" ? {} : toRemoval(JSON.parse(String(before)), object);
  await client.patch(toPath(ref), "merge", mergeOver(gone, next));
}

/** `null` for what was in the one and is not in the other. */
function toRemoval(before: JsonObject, after: JsonObject): JsonObject {
  const removal: JsonObject = {};
  for (const [key, value] of Object.entries(before)) {
    const now = after[key];
    if (now === undefined) removal[key] = null;
    else if (isObject(value) && isObject(now)) removal[key] = toRemoval(value, now);
  }
  return removal;
}

function mergeOver(below: JsonObject, above: JsonObject): JsonObject {
  const merged: JsonObject = { ...below };
  for (const [key, value] of Object.entries(above)) {
    const old = merged[key];
    merged[key] = isObject(value) && isObject(old) ? mergeOver(old, value) : value;
  }
  return merged;
}

async function patch({ client }: Cluster, object: ObjectRef, { type, subresource, patch }: Change): Promise<void> {
  const path = subresource === undefined ? toPath(object) : `${toPath(object)}/${subresource}`;
  await client.patch(path, type, structuredClone(patch) as JsonObject);
}

/** The server's own words are a Refusal. */
async function refusing(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof Error && error.name === "ApiError") throw new Refusal(error.message, { cause: error });
    throw error;
  }
}

/** A container that has just started may not listen yet: only that is tried again. */
async function reach<T>(time: VirtualTime, { name, port }: LoadRef, work: () => T): Promise<T> {
  const answer = await waitUntil<() => T>(`the load of pod "${name}" at ${port} to listen`, () => {
    try {
      const value = work();
      return Promise.resolve(() => value);
    } catch (error) {
      if (/connection refused|on no node/.test(String(error))) throw error;
      return Promise.resolve(() => {
        throw error;
      });
    }
  }, { timeoutMs: 10_000, everyMs: 100, clock: time });
  return answer();
}

async function describe({ client }: Cluster, namespace: string, errors: readonly unknown[]): Promise<string> {
  const kinds = ["Pod", "Deployment", "PodResourceAutoscaler", "Event"] as const;
  const sections = await Promise.all(kinds.map(async (kind) => {
    const found = await client.get(toCollection(kind, namespace)).catch(() => null);
    const items = found !== null && Array.isArray(found.items) ? found.items : [];
    return items.map((item) => `${kind} ${JSON.stringify(withoutFields(item))}`).join("\n").slice(-8000);
  }));
  return [...sections, ...errors.slice(-5).map(String)].filter((section) => section !== "").join("\n---\n");
}

function withoutFields(item: unknown): unknown {
  return JSON.parse(
    JSON.stringify(item, (key, value) => key === "managedFields" || key === "annotations" ? undefined : value),
  );
}
