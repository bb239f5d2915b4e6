/**
 * Which user sends a request, and what may this user do (RBAC)?
 * Bearer tokens name users. Rights come from the stored ClusterRoles, Roles and bindings. Without configured tokens, a
 * request without a token is the administrator's.
 * https://kubernetes.io/docs/reference/access-authn-authz/rbac/
 */
import { type JsonObject, listAt, objectAt, textAt, textsAt } from "../../../lib/embedded/json.ts";
import type { Attributes } from "../../../lib/embedded/server/http/request.ts";
import { forbidden, Refusal } from "../../../lib/embedded/server/refusal.ts";
import type { Store } from "../../../lib/embedded/server/store.ts";
import { toSuffix } from "../../../lib/embedded/server/write/objects.ts";

/** Somebody with a token, and their groups. */
export interface User {
  readonly name: string;
  readonly groups: readonly string[];
}

/** The administrator, who has every right. */
export const ADMIN: User = { name: "kubernetes-admin", groups: ["system:masters", "system:authenticated"] };

const ANONYMOUS: User = { name: "system:anonymous", groups: ["system:unauthenticated"] };

/** Who has which token, and the rights that stored roles and bindings give. */
export class Access {
  readonly #store: Store;
  readonly #tokens: Map<string, User>;
  readonly #isOpen: boolean;

  constructor(store: Store, tokens: ReadonlyMap<string, User> | null) {
    this.#store = store;
    this.#tokens = new Map(tokens);
    this.#isOpen = tokens === null;
  }

  /** Makes a token this user's until it is revoked. */
  grant(token: string, user: User): void {
    this.#tokens.set(token, user);
  }

  revoke(token: string): void {
    this.#tokens.delete(token);
  }

  createServiceAccountToken(
    { namespace, name, random }: { readonly namespace: string; readonly name: string; readonly random: () => number },
  ): string {
    const token = `sa.${namespace}.${name}.${Array.from({ length: 6 }, () => toSuffix(random)).join("")}`;
    this.grant(token, toServiceAccount(namespace, name));
    return token;
  }

  /** Throws a Refusal for an unknown token. */
  identify(authorization: string | null): User {
    const user = this.findUser(/^Bearer\s+(\S+)$/i.exec(authorization ?? "")?.[1] ?? "");
    if (user !== null) return user;
    if (this.#isOpen) return ADMIN;
    if (authorization !== null) throw new Refusal(401, { message: "Unauthorized", reason: "Unauthorized" });
    return ANONYMOUS;
  }

  findUser(token: string): User | null {
    return this.#tokens.get(token) ?? null;
  }

  /** Throws a Refusal. */
  check(user: User, asked: Attributes): void {
    if (!this.isAllowed(user, asked)) throw toForbidden(user, asked);
  }

  isAllowed(user: User, asked: Attributes): boolean {
    if (user.groups.includes("system:masters")) return true;
    if ("path" in asked && isPublic(asked.path)) return true;
    return this.#listRules(user, "path" in asked ? null : asked.namespace).some((rule) => grants(rule, asked));
  }

  #listRules(user: User, namespace: string | null): readonly JsonObject[] {
    const bindings = [
      ...this.#store.collection(`${RBAC}/clusterrolebindings`).list(),
      ...(namespace === null ? [] : this.#store.collection(`${RBAC}/rolebindings`).list({ namespace })),
    ];
    return bindings.filter(({ object }) => listAt(object, "subjects").some((subject) => isMeant(subject, user)))
      .flatMap(({ object }) => {
        const { kind, name } = objectAt(object, "roleRef");
        const [plural, where] = kind === "Role" ? ["roles", namespace] : ["clusterroles", null];
        return listAt(this.#store.collection(`${RBAC}/${plural}`).get(where, String(name))?.object, "rules");
      });
  }
}

function toServiceAccount(namespace: string, name: string): User {
  const groups = ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"];
  return { name: `system:serviceaccount:${namespace}:${name}`, groups };
}

const RBAC = "rbac.authorization.k8s.io";

function isPublic(path: string): boolean {
  return /^\/(api|apis|openapi|version|healthz|livez|readyz)(\/|$)/.test(path);
}

function isMeant(subject: JsonObject, { name, groups }: User): boolean {
  const named = textAt(subject, "name");
  switch (subject.kind) {
    case "User":
      return named === name;
    case "Group":
      return groups.includes(named);
    case "ServiceAccount":
      return toServiceAccount(textAt(subject, "namespace"), named).name === name;
    default:
      return false;
  }
}

function grants(rule: JsonObject, asked: Attributes): boolean {
  const allows = (key: string, value: string) => textsAt(rule, key).some((one) => one === "*" || one === value);
  if (!allows("verbs", asked.verb)) return false;
  if ("path" in asked) {
    return textsAt(rule, "nonResourceURLs").some((one) =>
      one === asked.path || (one.endsWith("*") && asked.path.startsWith(one.slice(0, -1)))
    );
  }
  const names = textsAt(rule, "resourceNames");
  if (names.length > 0 && !names.includes(asked.name)) return false;
  const subresource = asked.resource.split("/")[1];
  const isOfAny = subresource !== undefined && textsAt(rule, "resources").includes(`*/${subresource}`);
  return allows("apiGroups", asked.group) && (allows("resources", asked.resource) || isOfAny);
}

function toForbidden({ name: user }: User, asked: Attributes): Refusal {
  const who = `User ${JSON.stringify(user)} cannot ${asked.verb}`;
  if ("path" in asked) {
    const message = `forbidden: ${who} path ${JSON.stringify(asked.path)}`;
    return new Refusal(403, { message, reason: "Forbidden", details: {} });
  }
  const { group, resource, namespace, name } = asked;
  const where = namespace === null ? "at the cluster scope" : `in the namespace ${JSON.stringify(namespace)}`;
  const why = `${who} resource ${JSON.stringify(resource)} in API group ${JSON.stringify(group)} ${where}`;
  return forbidden({ group, plural: resource.split("/")[0] ?? "", kind: "" }, name, why);
}
