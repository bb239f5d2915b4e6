/** What do all controllers share? Creating and deleting objects, conditions, owners and template hashes. */
import type { Clock } from "../../runtime/clock.ts";
import { formatTime } from "../../units/time.ts";
import { at, type JsonObject, listAt, objectAt, textAt } from "../json.ts";
import { isDeepEqual } from "../../units/equality.ts";
import type { ObjectsClient } from "../objects_client.ts";
import { type Cache, getController, isDeleting, uidOf, WATCHED, type Watched } from "./cache.ts";

/** What every controller works with. */
export interface Context {
  readonly cache: Cache;
  readonly client: ObjectsClient;
  readonly clock: Clock;
  readonly random: () => number;
}

/** One controller: which keys an object concerns, and how a key is reconciled. */
export interface Control {
  /** The keys that have to be reconciled when that object came, changed or went. */
  readonly keysOf: (kind: Watched, object: JsonObject) => readonly string[];
  readonly reconcile: (key: string) => Promise<number | void>;
}

/** E.g. `/apis/apps/v1/namespaces/shop/replicasets/web-1`. */
export function pathOf(kind: Watched, object: JsonObject): string {
  return `${collectionOf(kind, textAt(object, "metadata", "namespace"))}/${textAt(object, "metadata", "name")}`;
}

function collectionOf(kind: Watched, namespace: string): string {
  const path = WATCHED[kind];
  return namespace === "" || path.includes("/namespaces/")
    ? path
    : path.replace(/\/([a-z]+)$/, `/namespaces/${namespace}/$1`);
}

/** Creates an object and shows it to the cache at once. Rejects when the API server refuses it. */
export async function createObject({ cache, client }: Context, kind: Watched, object: JsonObject): Promise<void> {
  cache.put(kind, await client.create(collectionOf(kind, textAt(object, "metadata", "namespace")), object));
}

/** Deletes an object with the grace period that its spec asks for. */
export async function deleteObject({ cache, client }: Context, kind: Watched, object: JsonObject): Promise<void> {
  const uid = uidOf(object);
  const answer = await client.delete(pathOf(kind, object), {
    propagationPolicy: "Background",
    preconditions: { uid },
  });
  if (answer !== null && uidOf(answer) === uid && isDeleting(answer)) cache.put(kind, answer);
  else cache.remove(kind, object);
}

/** Writes nothing where it is so already. */
export async function putStatus(
  { cache, client }: Context,
  { kind, object, status }: { readonly kind: Watched; readonly object: JsonObject; readonly status: JsonObject },
): Promise<void> {
  const old = objectAt(object, "status");
  if (Object.entries(status).every(([key, value]) => isDeepEqual(old[key], value))) return;
  cache.put(kind, await client.patch(`${pathOf(kind, object)}/status`, "merge", { status }));
}

/** The pod that a template of a workload describes. */
export function newPod(
  owner: JsonObject,
  { name, labels = {}, spec = {} }: {
    /** Either whole, or ending with "-" for the server to complete. */
    readonly name: string;
    readonly labels?: JsonObject;
    /** They are added to those of the template. */
    readonly spec?: JsonObject;
  },
): JsonObject {
  const template = objectAt(owner, "spec", "template");
  const { name: _name, generateName: _generateName, ...metadata } = objectAt(template, "metadata");
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      ...metadata,
      labels: { ...objectAt(metadata, "labels"), ...labels },
      ...(name.endsWith("-") ? { generateName: name } : { name }),
      namespace: textAt(owner, "metadata", "namespace"),
      ownerReferences: [toReference(owner)],
    },
    spec: { ...objectAt(template, "spec"), ...spec },
  };
}

/** The owner reference of an object that this owner controls. */
export function toReference(owner: JsonObject): JsonObject {
  return {
    apiVersion: textAt(owner, "apiVersion"),
    kind: textAt(owner, "kind"),
    name: textAt(owner, "metadata", "name"),
    uid: uidOf(owner),
    controller: true,
    blockOwnerDeletion: true,
  };
}

/** A workload's pods that count: neither ended nor on their way out. */
export function listActivePods({ cache }: Context, owner: JsonObject): readonly JsonObject[] {
  return cache.listOwned("pods", uidOf(owner)).filter((pod) => !isDeleting(pod) && !isOver(pod));
}

/** Has this pod ended, whether well or badly? */
export function isOver(pod: JsonObject): boolean {
  return ["Succeeded", "Failed"].includes(textAt(pod, "status", "phase"));
}

/** Is the condition Ready of this object true? */
export function isReady(object: JsonObject): boolean {
  return textAt(findCondition(object, "Ready") ?? {}, "status") === "True";
}

/** The condition of this type; `null` where there is none. */
export function findCondition(object: JsonObject, type: string): JsonObject | null {
  return listAt(object, "status", "conditions").find((one) => one.type === type) ?? null;
}

/** Returns the condition for now. Its transition time moves only with its status. */
export function toCondition(
  object: JsonObject,
  next: { readonly type: string; readonly status: string; readonly reason: string; readonly message: string },
  now: number,
): JsonObject {
  const old = findCondition(object, next.type);
  const isKept = old !== null && old.status === next.status;
  const lastTransitionTime = isKept ? textAt(old, "lastTransitionTime") : formatTime(now);
  return { ...next, lastTransitionTime };
}

/** The key of the workload of that kind that controls this object, if one does. */
export function ownerKeys(object: JsonObject, kind: string): readonly string[] {
  const owner = getController(object);
  return owner?.kind === kind ? [`${textAt(object, "metadata", "namespace")}/${owner.name}`] : [];
}

/** Eight letters that stand for this template. */
export function hashTemplate(owner: JsonObject): string {
  let hash = 0x811c9dc5;
  for (const char of toCanonical(at(owner, "spec", "template"))) {
    hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193);
  }
  // Letters that make no words, as names have them.
  return String(hash >>> 0).replace(/\d/g, (digit) => "bcdfghjklm"[Number(digit)] ?? "b");
}

function toCanonical(value: unknown): string {
  return JSON.stringify(value, (_, one) => {
    if (typeof one !== "object" || one === null || Array.isArray(one)) return one;
    return Object.fromEntries(Object.entries(one).sort(([a], [b]) => a < b ? -1 : 1));
  }) ?? "";
}
