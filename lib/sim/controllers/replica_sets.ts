/** ReplicaSets: as many pods of the template as it asks for. */
import { type JsonObject, numberAt, textAt } from "../json.ts";
import { isDeleting, keyOf, readController } from "./cache.ts";
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
import { chooseVictims } from "./victims.ts";

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
        const now = context.clock.now();
        const victims = chooseVictims(pods, { count: pods.length - wanted, related: listRelated(context, set), now });
        for (const pod of victims) await deleteObject(context, "pods", pod);
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

/** The active pods of its Deployment, or its own. */
function listRelated(context: Context, set: JsonObject): readonly JsonObject[] {
  const owner = readController(set);
  const sets = owner === null ? [set] : context.cache.listOwned("replicasets", owner.uid);
  return sets.flatMap((one) => listActivePods(context, one));
}
