/**
 * What does a request ask for? Its path as resource, namespace, name and subresource, and the verb by which rights are
 * granted.
 * https://kubernetes.io/docs/reference/access-authn-authz/authorization/#determine-the-request-verb
 */
import type { ResourceType } from "../kinds/resource_type.ts";

/** What a path of the API names. */
export interface Target {
  readonly group: string;
  readonly version: string;
  readonly namespace: string | null;
  readonly plural: string;
  /** "" for the collection. */
  readonly name: string;
  readonly subresource: string;
  /** The path that follows the subresource, which a proxy forwards. */
  readonly rest: string;
}

/** `null` for a path outside of resources, such as /version. */
export function parsePath(path: string): Target | null {
  const [, group = "", version = "", below] = PATH.exec(path) ?? [];
  if (below === undefined) return null;
  const [first = "", ...others] = below.split("/").map(decodeURIComponent);
  // A namespace is an object too, with subresources of its own.
  const isInside = first === "namespaces" && others.length > 1 && !NAMESPACE_PARTS.includes(others[1] ?? "");
  const namespace = isInside ? others[0] ?? "" : null;
  const [plural = "", name = "", subresource = "", ...rest] = isInside ? others.slice(1) : [first, ...others];
  return { group, version, namespace, plural, name, subresource, rest: rest.join("/") };
}

/** The verb by which rights are granted for a request. */
export function readVerb(method: string, { name }: Pick<Target, "name">, isWatch: boolean): string {
  if (method === "GET" || method === "HEAD") return name !== "" ? "get" : isWatch ? "watch" : "list";
  if (method === "DELETE") return name === "" ? "deletecollection" : "delete";
  return VERBS[method] ?? method.toLowerCase();
}

/** Does this type serve what the target names? */
export function isServed(type: ResourceType, { namespace, name, subresource }: Target, verb: string): boolean {
  if (subresource !== "" && !type.subresources.includes(subresource)) return false;
  if (!type.isNamespaced) return namespace === null;
  return namespace !== null || (name === "" && ["list", "watch", "deletecollection"].includes(verb));
}

const PATH = /^\/(?:api|apis\/([^/]+))\/(v\d\w*)\/(.+?)\/?$/;
const NAMESPACE_PARTS = ["status", "finalize"];
const VERBS: Readonly<Record<string, string>> = { POST: "create", PUT: "update", PATCH: "patch" };
