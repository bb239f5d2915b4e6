/** What does the server set in every object, and which objects does a new cluster have? */
import { formatTime } from "../../../units/time.ts";
import { isObject, type Json, type JsonObject, objectAt, textAt } from "../../json.ts";
import { isDeepEqual } from "../../../units/equality.ts";
import { apiVersionOf, type ResourceType } from "../kinds/resource_type.ts";
import { badRequest } from "../refusal.ts";
import type { Store } from "../store.ts";

/** A draft of the object that was sent, as the first version of a new one. */
export function toNewDraft(sent: JsonObject, { type, namespace, name, uid, now }: Place & Identity): JsonObject {
  const { kind: _kind, apiVersion: _version, metadata, ...rest } = toDraft(sent, type);
  const { generateName, labels, annotations, finalizers, ownerReferences } = isObject(metadata) ? metadata : {};
  return {
    ...headOf(type),
    metadata: dropAbsent({
      name,
      generateName,
      ...(namespace === null ? {} : { namespace }),
      uid,
      generation: 1,
      creationTimestamp: formatTime(now),
      labels,
      annotations,
      ownerReferences,
      finalizers,
    }),
    ...rest,
  };
}

/** A draft of the object that was sent for one that exists: what only the server sets is as it was. */
export function toNextDraft(sent: JsonObject, before: JsonObject, type: ResourceType): JsonObject {
  const { kind: _kind, apiVersion: _version, metadata, ...rest } = toDraft(sent, type);
  const { labels, annotations, finalizers, ownerReferences } = isObject(metadata) ? metadata : {};
  const owned = { labels, annotations, ownerReferences, finalizers };
  const kept = Object.fromEntries(Object.entries(objectAt(before, "metadata")).filter(([key]) => !(key in owned)));
  return { ...headOf(type), metadata: dropAbsent({ ...kept, ...owned }), ...rest };
}

/** Where an object belongs. */
export interface Place {
  readonly type: ResourceType;
  readonly namespace: string | null;
}

/** Throws a Refusal where the object sent is not what its address says. */
export function checkAddress(
  sent: JsonObject,
  { type, namespace, name }: {
    readonly type: Pick<ResourceType, "group" | "version" | "kind">;
    readonly namespace: string | null;
    readonly name: string | null;
  },
): void {
  const kind = textAt(sent, "kind") || type.kind;
  const version = textAt(sent, "apiVersion") || apiVersionOf(type);
  if (kind !== type.kind || version !== apiVersionOf(type)) {
    throw badRequest(
      `${kind} in version ${JSON.stringify(version)} cannot be handled as a ${type.kind}: unknown conversion`,
    );
  }
  const own = textAt(sent, "metadata", "namespace");
  if (own !== "" && own !== (namespace ?? "")) {
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
  const sentName = textAt(sent, "metadata", "name");
  if (name !== null && sentName !== "" && sentName !== name) {
    throw badRequest(`the name of the object (${sentName}) does not match the name on the URL (${name})`);
  }
}

/** What is longer than 58 characters is cut. https://github.com/kubernetes/apiserver/blob/master/pkg/storage/names/generate.go */
export function toGeneratedName(generateName: string, random: () => number): string {
  return generateName.slice(0, 58) + toSuffix(random);
}

/** Five characters that make no words. */
export function toSuffix(random: () => number): string {
  const letters = "bcdfghjklmnpqrstvwxz2456789";
  return Array.from({ length: 5 }, () => letters[Math.floor(random() * letters.length)]).join("");
}

/** Random, yet the same for the same sequence of numbers. */
export function toUid(random: () => number): string {
  const digits = Array.from({ length: 32 }, () => Math.floor(random() * 16).toString(16)).join("");
  const parts = [digits.slice(0, 8), digits.slice(8, 12), `4${digits.slice(13, 16)}`, `a${digits.slice(17, 20)}`];
  return [...parts, digits.slice(20)].join("-");
}

/** Stores what a new cluster has. */
export function seed(store: Store, { now, random }: { readonly now: number; readonly random: () => number }): void {
  const put = (id: string, kind: { kind: string; apiVersion: string }, name: string, rest: JsonObject) => {
    const labels = id === "/namespaces" ? { labels: { "kubernetes.io/metadata.name": name } } : {};
    store.put(id, {
      ...kind,
      metadata: { name, uid: toUid(random), creationTimestamp: formatTime(now), ...labels },
      ...rest,
    });
  };
  for (const name of ["default", "kube-node-lease", "kube-public", "kube-system"]) {
    const rest = { spec: { finalizers: ["kubernetes"] }, status: { phase: "Active" } };
    put("/namespaces", { kind: "Namespace", apiVersion: "v1" }, name, rest);
  }
  const every = { verbs: ["*"], apiGroups: ["*"], resources: ["*"] };
  put("rbac.authorization.k8s.io/clusterroles", ROLE, "cluster-admin", {
    rules: [every, { verbs: ["*"], nonResourceURLs: ["*"] }],
  });
}

/** What the server gives to a new object. */
interface Identity {
  readonly name: string;
  readonly uid: string;
  readonly now: number;
}

function toDraft(sent: JsonObject, { isCustom }: ResourceType): JsonObject {
  // A null of a built-in kind is a field that Go leaves out or fills in. The defaults handle those.
  return isCustom ? structuredClone(sent) : dropNulls(sent) as JsonObject;
}

function dropNulls(value: Json): Json {
  if (Array.isArray(value)) return value.map(dropNulls);
  if (!isObject(value)) return value;
  const present = Object.entries(value).filter(([, one]) => one !== null);
  return Object.fromEntries(present.map(([key, one]) => [key, dropNulls(one)]));
}

function headOf(type: ResourceType): { readonly kind: string; readonly apiVersion: string } {
  return { kind: type.kind, apiVersion: apiVersionOf(type) };
}

/** Go leaves such a value out. */
function isEmpty(value: Json | undefined): boolean {
  return (value ?? null) === null || (typeof value === "object" && isDeepEqual(value, Array.isArray(value) ? [] : {}));
}

function dropAbsent(object: Readonly<Record<string, Json | undefined>>): JsonObject {
  return Object.fromEntries(Object.entries(object).filter((entry): entry is [string, Json] => !isEmpty(entry[1])));
}

const ROLE = { kind: "ClusterRole", apiVersion: "rbac.authorization.k8s.io/v1" };
