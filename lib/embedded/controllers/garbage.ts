/** What is deleted with its owner or its namespace? */
import { type JsonObject, listAt, objectAt, textAt } from "../json.ts";
import { findErrorCode, type ObjectsClient } from "../objects_client.ts";
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

/** The wait before the next look while pods stop and finalizers are worked on. */
const AGAIN_MS = 1000;

async function empty({ client }: Context, namespace: JsonObject): Promise<number | void> {
  const name = keyOf(namespace);
  let isLeft = false;
  for (const collection of await listCollections(client, name)) {
    if (await isEmpty(client, collection)) continue;
    await client.delete(collection);
    isLeft ||= !await isEmpty(client, collection);
  }
  if (isLeft) return AGAIN_MS;
  const spec = { ...objectAt(namespace, "spec"), finalizers: [] };
  try {
    await client.update(`${pathOf("namespaces", namespace)}/finalize`, { ...namespace, spec });
  } catch (error) {
    // Written to meanwhile, or gone.
    if (findErrorCode(error) === 409) return AGAIN_MS;
    if (findErrorCode(error) !== 404) throw error;
  }
}

/**
 * The paths of all kinds of objects in the namespace, as the server tells them. The core group comes last: workloads go
 * before their pods, or their controllers would try to make new ones.
 */
async function listCollections(client: ObjectsClient, namespace: string): Promise<readonly string[]> {
  const groups = listAt(await client.get("/apis") ?? {}, "groups");
  const prefixes = [
    ...groups.map((group) => `/apis/${textAt(group, "preferredVersion", "groupVersion")}`),
    "/api/v1",
  ];
  const lists = await Promise.all(prefixes.map((prefix) => client.get(prefix)));
  return prefixes.flatMap((prefix, at) =>
    listAt(lists[at] ?? {}, "resources")
      .filter(({ namespaced, name }) => namespaced === true && typeof name === "string" && !name.includes("/"))
      .map(({ name }) => `${prefix}/namespaces/${namespace}/${name}`)
  );
}

async function isEmpty(client: ObjectsClient, collection: string): Promise<boolean> {
  return listAt(await client.get(`${collection}?limit=1`) ?? {}, "items").length === 0;
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
