/**
 * How does a kubelet keep its Node registered? It renews the Lease and writes the status.
 * It renews its Lease every 10 s and its status every minute.
 * https://kubernetes.io/docs/concepts/architecture/nodes/#node-heartbeats
 */
import { backoffMs } from "../../runtime/backoff.ts";
import type { Clock } from "../../runtime/clock.ts";
import { formatAmount } from "../../units/quantity.ts";
import { formatTime } from "../../units/time.ts";
import { type JsonObject, objectAt, textAt } from "../json.ts";
import type { NodeConfig } from "../model/state.ts";
import { findErrorCode, type ObjectsClient } from "../objects_client.ts";
import { LOAD_IMAGE } from "./loads.ts";

/** Until the signal aborts; the Node stays, as a machine that is switched off leaves it. */
export async function keepRegistered(options: RegisterOptions, signal: AbortSignal): Promise<void> {
  const { clock, random, onError, onRegistered } = options;
  let uid: string | null = null;
  let statusDueMs = 0;
  for (let failures = 0; !signal.aborted;) {
    let waitMs = LEASE_MS;
    try {
      if (uid === null || clock.monotonic() >= statusDueMs) {
        const isFirst = uid === null;
        uid = await writeNode(options);
        statusDueMs = clock.monotonic() + STATUS_MS;
        await writeLease(options, uid);
        if (isFirst) onRegistered();
      } else await writeLease(options, uid);
      failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      onError(error);
      waitMs = backoffMs(failures++, { ...RETRY, random });
    }
    await clock.sleep(waitMs, signal).catch(() => {});
  }
}

/** A taint as a node's spec has it. */
export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: "NoSchedule" | "PreferNoSchedule" | "NoExecute";
}

/** What a Node object says about its machine. */
export interface NodeOptions {
  readonly config: NodeConfig;
  /** The port at which its own server listens. */
  readonly port: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly taints?: readonly Taint[];
}

/** The Node object that a kubelet registers. */
export function toNode({ config, labels = {}, taints = [] }: NodeOptions): JsonObject {
  const own = {
    "beta.kubernetes.io/arch": "amd64",
    "beta.kubernetes.io/os": "linux",
    "kubernetes.io/arch": "amd64",
    "kubernetes.io/hostname": config.name,
    "kubernetes.io/os": "linux",
  };
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: config.name, labels: { ...own, ...labels } },
    spec: taints.length === 0 ? {} : { taints: taints.map((taint) => ({ ...taint })) },
  };
}

/** `since`: when it became ready. */
export function toNodeStatus(
  { config, port }: NodeOptions,
  { now, since }: { now: number; since: number },
): JsonObject {
  const resources = {
    cpu: formatAmount(config.cpuMillicores, "cpu"),
    memory: formatAmount(config.memoryBytes, "memory"),
    pods: String(config.pods),
  };
  const condition = (type: string, status: string, reason: string, message: string): JsonObject => ({
    type,
    status,
    reason,
    message,
    lastHeartbeatTime: formatTime(now),
    lastTransitionTime: formatTime(since),
  });
  return {
    capacity: resources,
    allocatable: resources,
    addresses: [{ type: "InternalIP", address: config.hostIP }, { type: "Hostname", address: config.name }],
    conditions: [
      condition("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
      condition("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
      condition("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
      condition("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
    ],
    daemonEndpoints: { kubeletEndpoint: { Port: port } },
    // An API server of 1.36 asks a node for these before it takes some resizes.
    declaredFeatures: [
      "InPlacePodLevelResourcesVerticalScaling",
      "InPlacePodVerticalScalingInitContainers",
      "RestartAllContainersOnContainerExits",
    ],
    images: [{ names: [LOAD_IMAGE], sizeBytes: 4_000_000 }],
    nodeInfo: {
      architecture: "amd64",
      operatingSystem: "linux",
      osImage: "podfit embedded node",
      kernelVersion: "0",
      containerRuntimeVersion: "podfit://model",
      kubeletVersion: "v1.36.3",
      kubeProxyVersion: "",
      machineID: config.name,
      systemUUID: config.name,
      bootID: config.seed,
    },
  };
}

/** What a node is registered and kept alive with. */
interface RegisterOptions {
  readonly node: NodeOptions;
  readonly client: ObjectsClient;
  readonly clock: Clock;
  /** The time of the node's clock. */
  readonly now: () => number;
  readonly random: () => number;
  readonly onError: (error: unknown) => void;
  readonly onRegistered: () => void;
}

const LEASE_MS = 10_000;

const LEASE_SECONDS = 40;

const STATUS_MS = 60_000;

const RETRY = { baseMs: 500, maxMs: 10_000 };

/** Creates the node or brings it up to date, and resolves with its UID. */
async function writeNode({ node, client, now }: RegisterOptions): Promise<string> {
  const path = `/api/v1/nodes/${node.config.name}`;
  const found = await client.get(path) ?? await create(client, toNode(node));
  const ready = findReadyCondition(found);
  const since = ready?.status === "True" ? Date.parse(textAt(ready, "lastTransitionTime")) : now();
  const status = toNodeStatus(node, { now: now(), since });
  const { labels, ...rest } = objectAt(toNode(node), "metadata");
  const isLabeled = Object.entries(objectAt(labels)).every(([key, value]) =>
    objectAt(found, "metadata", "labels")[key] === value
  );
  if (!isLabeled) await client.patch(path, "merge", { metadata: { ...rest, labels: labels ?? {} } });
  await client.patch(`${path}/status`, "strategic", { status });
  return textAt(found, "metadata", "uid");
}

/** Another of its name may just have been quicker. */
async function create(client: ObjectsClient, node: JsonObject): Promise<JsonObject> {
  try {
    return await client.create("/api/v1/nodes", node);
  } catch (error) {
    const found = findErrorCode(error) === 409
      ? await client.get(`/api/v1/nodes/${textAt(node, "metadata", "name")}`)
      : null;
    if (found === null) throw error;
    return found;
  }
}

async function writeLease({ node, client, now }: RegisterOptions, uid: string): Promise<void> {
  const { name } = node.config;
  const collection = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
  const spec = { holderIdentity: name, leaseDurationSeconds: LEASE_SECONDS, renewTime: toMicroTime(now()) };
  try {
    await client.patch(`${collection}/${name}`, "merge", { spec });
  } catch (error) {
    if (findErrorCode(error) !== 404) throw error;
    const ownerReferences = [{ apiVersion: "v1", kind: "Node", name, uid }];
    const metadata = { name, namespace: "kube-node-lease", ownerReferences };
    await client.create(collection, { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec });
  }
}

/** Go's MicroTime reads exactly six digits. */
function toMicroTime(ms: number): string {
  return `${formatTime(ms).slice(0, -1)}.${String(Math.floor(ms) % 1000).padStart(3, "0")}000Z`;
}

function findReadyCondition(node: JsonObject): JsonObject | null {
  const conditions = objectAt(node, "status").conditions;
  const found = Array.isArray(conditions) ? conditions.find((one) => textAt(one, "type") === "Ready") : undefined;
  return found === undefined ? null : objectAt(found);
}
