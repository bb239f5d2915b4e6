/** What is deleted with its owner or its namespace? */
import { type JsonObject, objectAt, textAt } from "../json.ts";
import { findErrorCode } from "../objects_client.ts";
import { getController, isDeleting, keyOf, uidOf, type Watched } from "./cache.ts";
import { type Context, type Control, createObject, deleteObject, pathOf } from "./context.ts";

/** The controller that gives namespaces their service account and empties those being deleted. */
export function controlNamespaces(context: Context): Control {
  const { cache } = context;
  return {
    keysOf(kind, object) {
      if (kind === "namespaces") return [keyOf(object)];
      return kind === "pods" || kind === "serviceaccounts" ? [textAt(object, "metadata", "namespace")] : [];
    },
    async reconcile(name) {
      const namespace = cache.get("namespaces", name);
      if (namespace === null) return;
      return isDeleting(namespace) ? await empty(context, namespace) : await giveAccount(context, name);
    },
  };
}

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
      const owner = object === null ? null : getController(object);
      if (object === null || owner === null || isDeleting(object)) return;
      const ownerKind = OWNERS[owner.kind];
      if (ownerKind === undefined || !cache.kinds.includes(ownerKind)) return;
      const found = cache.get(ownerKind, `${textAt(object, "metadata", "namespace")}/${owner.name}`);
      if (found === null || uidOf(found) !== owner.uid) await deleteObject(context, kind, object);
    },
  };
}

async function giveAccount(context: Context, namespace: string): Promise<void> {
  if (context.cache.get("serviceaccounts", `${namespace}/default`) !== null) return;
  const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default", namespace } };
  await createObject(context, "serviceaccounts", account).catch((error: unknown) => {
    if (findErrorCode(error) !== 409) throw error;
  });
}

/** Workloads before their pods, or those would come again. */
const CONTENT = [
  ...["deployments", "statefulsets", "daemonsets", "replicasets"].map((plural) => ["/apis/apps/v1", plural] as const),
  ...["pods", "serviceaccounts", "configmaps", "secrets", "services", "limitranges", "resourcequotas", "events"]
    .map((plural) => ["/api/v1", plural] as const),
  ["/apis/coordination.k8s.io/v1", "leases"] as const,
  ...["roles", "rolebindings"].map((plural) => ["/apis/rbac.authorization.k8s.io/v1", plural] as const),
  ["/apis/keda.kedify.io/v1alpha1", "podresourceautoscalers"] as const,
];

/** The wait before the next look while pods stop. */
const AGAIN_MS = 1000;

async function empty({ cache, client }: Context, namespace: JsonObject): Promise<number | void> {
  const name = keyOf(namespace);
  for (const [group, plural] of CONTENT) await client.delete(`${group}/namespaces/${name}/${plural}`);
  if (cache.list("pods").some((pod) => textAt(pod, "metadata", "namespace") === name)) return AGAIN_MS;
  const spec = { ...objectAt(namespace, "spec"), finalizers: [] };
  try {
    await client.update(`${pathOf("namespaces", namespace)}/finalize`, { ...namespace, spec });
  } catch (error) {
    // Written to meanwhile, or gone.
    if (findErrorCode(error) === 409) return AGAIN_MS;
    if (findErrorCode(error) !== 404) throw error;
  }
}

const OWNERS: Readonly<Record<string, Watched>> = {
  Deployment: "deployments",
  ReplicaSet: "replicasets",
  StatefulSet: "statefulsets",
  DaemonSet: "daemonsets",
};

function listOwned({ cache }: Context, owner: JsonObject): readonly string[] {
  return (["pods", "replicasets"] as const)
    .flatMap((kind) => cache.listOwned(kind, uidOf(owner)).map((object) => `${kind} ${keyOf(object)}`));
}
