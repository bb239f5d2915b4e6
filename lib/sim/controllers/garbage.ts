/** Objects whose owner is gone go too: pods and ReplicaSets, of the kinds of owners that are looked after here. */
import type { JsonObject } from "../json.ts";
import { textAt } from "../json.ts";
import { isDeleting, keyOf, readController, uidOf, type Watched } from "./cache.ts";
import { type Context, type Control, deleteObject } from "./context.ts";

const OWNERS: Readonly<Record<string, Watched>> = {
  Deployment: "deployments",
  ReplicaSet: "replicasets",
  StatefulSet: "statefulsets",
  DaemonSet: "daemonsets",
};

/** The controller that deletes objects whose owners are gone. */
export function collectGarbage(context: Context): Control {
  const { cache } = context;
  return {
    keysOf(kind, object) {
      const isOwner = Object.values(OWNERS).includes(kind);
      const owned = isOwner ? listOwned(context, object) : [];
      return [...owned, ...(kind === "pods" || kind === "replicasets" ? [`${kind} ${keyOf(object)}`] : [])];
    },
    async reconcile(name) {
      const [kind = "pods", key = ""] = name.split(" ") as [Watched, string];
      const object = cache.get(kind, key);
      const owner = object === null ? null : readController(object);
      if (object === null || owner === null || isDeleting(object)) return;
      const ownerKind = OWNERS[owner.kind];
      if (ownerKind === undefined) return;
      const found = cache.get(ownerKind, `${textAt(object, "metadata", "namespace")}/${owner.name}`);
      if (found === null || uidOf(found) !== owner.uid) await deleteObject(context, kind, object);
    },
  };
}

function listOwned({ cache }: Context, owner: JsonObject): readonly string[] {
  return (["pods", "replicasets"] as const)
    .flatMap((kind) => cache.listOwned(kind, uidOf(owner)).map((object) => `${kind} ${keyOf(object)}`));
}
