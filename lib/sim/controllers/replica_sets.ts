/** ReplicaSets: as many pods of the template as it asks for. */
import { type JsonObject, numberAt, textAt } from "../json.ts";
import { isDeleting, keyOf } from "./cache.ts";
import {
  type Context,
  type Control,
  createObject,
  deleteObject,
  isReady,
  listActivePods,
  newPod,
  ownerKeys,
  putStatus,
} from "./context.ts";

/** The controller that keeps as many pods of each ReplicaSet as it asks for. */
export function controlReplicaSets(context: Context): Control {
  return {
    keysOf: (kind, object) =>
      kind === "replicasets" ? [keyOf(object)] : kind === "pods" ? ownerKeys(object, "ReplicaSet") : [],
    async reconcile(key) {
      const set = context.cache.get("replicasets", key);
      if (set === null || isDeleting(set)) return;
      const pods = listActivePods(context, set);
      const wanted = numberAt(set, "spec", "replicas") ?? 1;
      const name = `${textAt(set, "metadata", "name")}-`;
      for (let count = pods.length; count < wanted; count++) await createObject(context, "pods", newPod(set, { name }));
      if (pods.length > wanted) {
        const surplus = pods.toSorted(compareWorth).slice(0, pods.length - wanted);
        for (const pod of surplus) await deleteObject(context, "pods", pod);
      }
      await writeStatus(context, set);
    },
  };
}

async function writeStatus(context: Context, set: JsonObject): Promise<void> {
  const pods = listActivePods(context, set);
  const ready = pods.filter(isReady).length;
  const status = {
    replicas: pods.length,
    fullyLabeledReplicas: pods.length,
    readyReplicas: ready,
    availableReplicas: ready,
    observedGeneration: numberAt(set, "metadata", "generation") ?? 1,
  };
  await putStatus(context, { kind: "replicasets", object: set, status });
}

/** Pods without a node are deleted first, then those that are not ready, then the newest. */
function compareWorth(one: JsonObject, other: JsonObject): number {
  const rank = (pod: JsonObject) => [textAt(pod, "spec", "nodeName") === "" ? 0 : 1, isReady(pod) ? 1 : 0];
  const [[aBound = 0, aReady = 0], [bBound = 0, bReady = 0]] = [rank(one), rank(other)];
  if (aBound !== bBound) return aBound - bBound;
  if (aReady !== bReady) return aReady - bReady;
  const [a, b] = [one, other].map((pod) => textAt(pod, "metadata", "creationTimestamp"));
  return (a ?? "") < (b ?? "") ? 1 : -1;
}
