/**
 * What happens to a node without heartbeats, and to its pods?
 * https://kubernetes.io/docs/concepts/architecture/nodes/#node-status
 */
import { isDeleting, keyOf } from "../../../lib/embedded/controllers/cache.ts";
import {
  type Context,
  type Control,
  deleteObject,
  findCondition,
  isOver,
  isReady,
  pathOf,
  toCondition,
} from "../../../lib/embedded/controllers/context.ts";
import { listTaints } from "../../../lib/embedded/controllers/scheduler.ts";
import { type Json, type JsonObject, listAt, numberAt, textAt } from "../../../lib/embedded/json.ts";
import { formatTime } from "../../../lib/units/time.ts";

/** The controller that taints nodes whose kubelets are silent and evicts their pods. */
export function controlNodes(context: Context): Control {
  const { cache, clock } = context;
  return {
    keysOf(kind, object) {
      if (kind === "nodes" || kind === "leases") return [textAt(object, "metadata", "name")];
      // The node of a pod may be gone, or may never have been there.
      const node = kind === "pods" ? textAt(object, "spec", "nodeName") : "";
      return node !== "" && cache.get("nodes", node) === null ? [node] : [];
    },
    async reconcile(key) {
      const node = cache.get("nodes", key);
      if (node === null) return await removePods(context, key);
      const silentMs = clock.now() - findHeartbeat(context, node);
      if (silentMs < GRACE_MS) {
        await removeUnreachableTaint(context, node);
        return GRACE_MS - silentMs;
      }
      await markLost(context, node);
      return await evict(context, node);
    },
  };
}

const GRACE_MS = 40_000;

const UNREACHABLE = "node.kubernetes.io/unreachable";

const ORPHAN_MS = 40_000;

const EVICT_EVERY_MS = 5_000;

function findHeartbeat({ cache }: Context, node: JsonObject): number {
  const lease = cache.get("leases", `kube-node-lease/${keyOf(node)}`);
  const times = [
    textAt(lease ?? {}, "spec", "renewTime"),
    textAt(findCondition(node, "Ready") ?? {}, "status") === "Unknown"
      ? ""
      : textAt(findCondition(node, "Ready") ?? {}, "lastHeartbeatTime"),
    textAt(node, "metadata", "creationTimestamp"),
  ];
  return Math.max(...times.filter((time) => time !== "").map((time) => Date.parse(time)));
}

/** The kubelet itself says that its node is ready; this controller takes its own taints away. */
async function removeUnreachableTaint(context: Context, node: JsonObject): Promise<void> {
  if (!isReady(node)) return;
  await putTaints(context, node, listTaints(node).filter(({ key }) => key !== UNREACHABLE));
}

async function markLost(context: Context, node: JsonObject): Promise<void> {
  const { client, cache, clock } = context;
  if (textAt(findCondition(node, "Ready") ?? {}, "status") !== "Unknown") {
    const conditions = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"].map((type) =>
      toCondition(node, {
        type,
        status: "Unknown",
        reason: "NodeStatusUnknown",
        message: "Kubelet stopped posting node status.",
      }, clock.now())
    );
    cache.put("nodes", await client.patch(`${pathOf("nodes", node)}/status`, "strategic", { status: { conditions } }));
  }
  const current = cache.get("nodes", keyOf(node)) ?? node;
  const others = listTaints(current).filter(({ key }) => key !== UNREACHABLE);
  const known = listTaints(current).find(({ key, effect }) => key === UNREACHABLE && effect === "NoExecute");
  const timeAdded = textAt(known ?? {}, "timeAdded") || formatTime(clock.now());
  const taints = ["NoSchedule", "NoExecute"].map((effect) => ({ key: UNREACHABLE, effect, timeAdded }));
  await putTaints(context, current, [...others, ...taints]);
  for (const pod of listPods(context, keyOf(node))) {
    const ready = findCondition(pod, "Ready");
    if (ready === null || ready.status === "False") continue;
    const condition = { ...ready, status: "False", lastTransitionTime: formatTime(clock.now()) };
    const patch = { status: { conditions: [condition] } };
    cache.put("pods", await client.patch(`${pathOf("pods", pod)}/status`, "strategic", patch));
  }
}

/** Ms until the next one is due. */
async function evict(context: Context, node: JsonObject): Promise<number> {
  const taint = listTaints(context.cache.get("nodes", keyOf(node)) ?? node)
    .find(({ key, effect }) => key === UNREACHABLE && effect === "NoExecute");
  const since = Date.parse(textAt(taint ?? {}, "timeAdded"));
  for (const pod of listPods(context, keyOf(node))) {
    if (!isDeleting(pod) && since + computeToleratedMs(pod) <= context.clock.now()) {
      await deleteObject(context, "pods", pod);
    }
  }
  return EVICT_EVERY_MS;
}

function computeToleratedMs(pod: JsonObject): number {
  const found = listAt(pod, "spec", "tolerations").filter(({ key = "", effect = "" }) =>
    (key === "" || key === UNREACHABLE) && (effect === "" || effect === "NoExecute")
  );
  if (found.length === 0) return 0;
  return Math.max(...found.map((one) => (numberAt(one, "tolerationSeconds") ?? Infinity) * 1000));
}

async function putTaints(context: Context, node: JsonObject, taints: readonly JsonObject[]): Promise<void> {
  const toKeys = (list: readonly JsonObject[]) => list.map(({ key, effect }) => `${key}:${effect}`).sort().join();
  if (toKeys(taints) === toKeys(listTaints(node))) return;
  const list: Json = taints.length === 0 ? null : [...taints];
  context.cache.put("nodes", await context.client.patch(pathOf("nodes", node), "merge", { spec: { taints: list } }));
}

function listPods({ cache }: Context, node: string): readonly JsonObject[] {
  return cache.list("pods").filter((pod) => textAt(pod, "spec", "nodeName") === node && !isOver(pod));
}

/** After a while: a pod may be bound by its manifest to a node that is still to come. */
async function removePods({ cache, client, clock }: Context, node: string): Promise<number | void> {
  const pods = cache.list("pods").filter((pod) => textAt(pod, "spec", "nodeName") === node);
  const isOld = (pod: JsonObject) =>
    clock.now() - Date.parse(textAt(pod, "metadata", "creationTimestamp")) >= ORPHAN_MS;
  for (const pod of pods.filter(isOld)) {
    await client.delete(pathOf("pods", pod), { gracePeriodSeconds: 0 });
    cache.remove("pods", pod);
  }
  return pods.length > 0 ? ORPHAN_MS : undefined;
}
