/**
 * How does a StatefulSet keep its pods?
 */
import { isDeleting, keyOf, uidOf } from "../../../lib/embedded/controllers/cache.ts";
import {
  type Context,
  type Control,
  createObject,
  deleteObject,
  hashTemplate,
  isOver,
  isReady,
  newPod,
  ownerKeys,
  putStatus,
} from "../../../lib/embedded/controllers/context.ts";
import { at, type JsonObject, numberAt, textAt } from "../../../lib/embedded/json.ts";

/** The controller that creates and deletes the pods of each StatefulSet in the order of their ordinals. */
export function controlStatefulSets(context: Context): Control {
  const { cache } = context;
  return {
    keysOf: (kind, object) =>
      kind === "statefulsets" ? [keyOf(object)] : kind === "pods" ? ownerKeys(object, "StatefulSet") : [],
    async reconcile(key) {
      const set = cache.get("statefulsets", key);
      if (set === null || isDeleting(set)) return;
      await bringTo(context, set);
      await writeStatus(context, set);
    },
  };
}

const HASH = "controller-revision-hash";

async function bringTo(context: Context, set: JsonObject): Promise<void> {
  const wanted = numberAt(set, "spec", "replicas") ?? 1;
  const isOrdered = at(set, "spec", "podManagementPolicy") !== "Parallel";
  for (let ordinal = 0; ordinal < wanted; ordinal++) {
    const pod = findPod(context, set, ordinal);
    if (pod === null) await createObject(context, "pods", toPod(set, ordinal));
    else if (isOver(pod) && !isDeleting(pod)) await deleteObject(context, "pods", pod);
    const now = findPod(context, set, ordinal);
    // The next one waits for this one.
    if (isOrdered && (now === null || isDeleting(now) || !isReady(now))) return;
  }
  const pods = listPods(context, set);
  for (const pod of pods.toReversed()) {
    if (getOrdinal(pod) < wanted) continue;
    if (!isDeleting(pod)) await deleteObject(context, "pods", pod);
    if (isOrdered) return;
  }
  if (at(set, "spec", "updateStrategy", "type") === "OnDelete") return;
  const partition = numberAt(set, "spec", "updateStrategy", "rollingUpdate", "partition") ?? 0;
  const hash = getRevision(set);
  for (const pod of pods.toReversed()) {
    const isOld = textAt(pod, "metadata", "labels", HASH) !== hash && getOrdinal(pod) >= partition;
    if (isOld && !isDeleting(pod)) await deleteObject(context, "pods", pod);
    // One at a time, and only while all after it are well.
    if (isOld || isDeleting(pod) || !isReady(pod)) return;
  }
}

function toPod(set: JsonObject, ordinal: number): JsonObject {
  const name = `${textAt(set, "metadata", "name")}-${ordinal}`;
  return newPod(set, {
    name,
    labels: {
      [HASH]: getRevision(set),
      "statefulset.kubernetes.io/pod-name": name,
      "apps.kubernetes.io/pod-index": String(ordinal),
    },
    spec: { hostname: name, subdomain: textAt(set, "spec", "serviceName") },
  });
}

function findPod(context: Context, set: JsonObject, ordinal: number): JsonObject | null {
  return listPods(context, set).find((pod) => getOrdinal(pod) === ordinal) ?? null;
}

/** The pods in the order of their ordinals. Those being deleted are among them, as they still hold their names. */
function listPods({ cache }: Context, set: JsonObject): readonly JsonObject[] {
  return cache.listOwned("pods", uidOf(set)).toSorted((a, b) => getOrdinal(a) - getOrdinal(b));
}

function getOrdinal(pod: JsonObject): number {
  return Number(/-(\d+)$/.exec(textAt(pod, "metadata", "name"))?.[1] ?? -1);
}

function getRevision(set: JsonObject): string {
  return `${textAt(set, "metadata", "name")}-${hashTemplate(set)}`;
}

async function writeStatus(context: Context, set: JsonObject): Promise<void> {
  const pods = listPods(context, set).filter((pod) => !isDeleting(pod));
  const revision = getRevision(set);
  const ready = pods.filter(isReady).length;
  const updated = pods.filter((pod) => textAt(pod, "metadata", "labels", HASH) === revision).length;
  const isDone = updated === pods.length;
  const status = {
    replicas: pods.length,
    readyReplicas: ready,
    availableReplicas: ready,
    updatedReplicas: updated,
    currentReplicas: isDone ? pods.length : pods.length - updated,
    updateRevision: revision,
    currentRevision: isDone ? revision : textAt(set, "status", "currentRevision") || revision,
    observedGeneration: numberAt(set, "metadata", "generation") ?? 1,
    collisionCount: 0,
  };
  await putStatus(context, { kind: "statefulsets", object: set, status });
}
