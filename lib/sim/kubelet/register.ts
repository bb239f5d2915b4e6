/**
 * Keeps a node registered: creates its Node or takes over the one of that name, and says again and again that it lives,
 * by its Lease each 10 s and by its status each minute.
 * https://kubernetes.io/docs/concepts/architecture/nodes/#node-heartbeats
 */
import type { Clock } from "../../runtime/clock.ts";
import { backoffMs } from "../../runtime/backoff.ts";
import { formatTime } from "../../units/time.ts";
import { type ObjectsClient, readCode } from "../objects_client.ts";
import { type JsonObject, objectAt, textAt } from "../json.ts";
import { type NodeOptions, toNode, toNodeStatus } from "./node_object.ts";

/** What a node is registered and kept alive with. */
export interface RegisterOptions {
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

/** Creates the node or brings it up to date, and resolves with its UID. */
async function writeNode({ node, client, now }: RegisterOptions): Promise<string> {
  const path = `/api/v1/nodes/${node.config.name}`;
  const found = await client.get(path) ?? await create(client, toNode(node));
  const ready = readReady(found);
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
    const found = readCode(error) === 409
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
    if (readCode(error) !== 404) throw error;
    const ownerReferences = [{ apiVersion: "v1", kind: "Node", name, uid }];
    const metadata = { name, namespace: "kube-node-lease", ownerReferences };
    await client.create(collection, { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec });
  }
}

/** Go's MicroTime reads exactly six digits. */
function toMicroTime(ms: number): string {
  return `${formatTime(ms).slice(0, -1)}.${String(Math.floor(ms) % 1000).padStart(3, "0")}000Z`;
}

function readReady(node: JsonObject): JsonObject | null {
  const conditions = objectAt(node, "status").conditions;
  const found = Array.isArray(conditions) ? conditions.find((one) => textAt(one, "type") === "Ready") : undefined;
  return found === undefined ? null : objectAt(found);
}
