/**
 * How are TokenReview, SubjectAccessReview and TokenRequest answered?
 * https://kubernetes.io/docs/reference/access-authn-authz/webhook/
 */
import { at, type JsonObject, numberAt, objectAt, openAt, textAt, textsAt } from "../../../lib/embedded/json.ts";
import type { Attributes, Authorize, AuthorizeParts } from "../../../lib/embedded/server/http/request.ts";
import { badRequest, notFound } from "../../../lib/embedded/server/refusal.ts";
import { formatTime } from "../../../lib/units/time.ts";
import { type Access, ADMIN, type User } from "./access.ts";

/** Callers are the users of these tokens, with the rights of stored roles. */
export function createAuthorize(access: Access, parts: AuthorizeParts): Authorize {
  return (authorization) => {
    const user = access.identify(authorization);
    return {
      check: (asked) => access.check(user, asked),
      answer: (path, body) =>
        answerReview(path, { review: body, user, access }) ?? answerTokenRequest(path, body, { user, access, parts }),
    };
  };
}

function answerTokenRequest(
  path: string,
  body: JsonObject,
  { user, access, parts: { store, random, now } }: {
    readonly user: User;
    readonly access: Access;
    readonly parts: AuthorizeParts;
  },
): JsonObject | null {
  const found = /^\/api\/v1\/namespaces\/([^/]+)\/serviceaccounts\/([^/]+)\/token$/.exec(path);
  if (found === null) return null;
  const [namespace = "", name = ""] = found.slice(1).map(decodeURIComponent);
  access.check(user, { verb: "create", group: "", resource: "serviceaccounts/token", namespace, name });
  if (store.collection("/serviceaccounts").get(namespace, name) === null) {
    throw notFound({ group: "", plural: "serviceaccounts", kind: "ServiceAccount" }, name);
  }
  const answer = structuredClone(body);
  const seconds = numberAt(answer, "spec", "expirationSeconds") ?? 3600;
  openAt(answer, "spec").expirationSeconds = seconds;
  answer.status = {
    token: access.createServiceAccountToken({ namespace, name, random }),
    expirationTimestamp: formatTime(now() + seconds * 1000),
  };
  return { ...answer, kind: "TokenRequest", apiVersion: "authentication.k8s.io/v1" };
}

/**
 * `null` for a path that is not a review; `path`: `/apis/authorization.k8s.io/v1/subjectaccessreviews`. Throws a
 * Refusal for who may not ask about others, and for a question without a token.
 */
function answerReview(
  path: string,
  { review, user, access }: { readonly review: JsonObject; readonly user: User; readonly access: Access },
): JsonObject | null {
  const spec = objectAt(review, "spec");
  switch (path) {
    case "/apis/authentication.k8s.io/v1/tokenreviews":
      checkAsker(user, access, { group: "authentication.k8s.io", resource: "tokenreviews" });
      if (textAt(spec, "token") === "") throw badRequest("token is required for TokenReview in authentication");
      return { ...review, status: toTokenStatus(access.findUser(textAt(spec, "token"))) };
    case "/apis/authentication.k8s.io/v1/selfsubjectreviews":
      return { ...review, status: { userInfo: toUserInfo(user) } };
    case "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews":
      return { ...review, status: { allowed: access.isAllowed(user, toAttributes(spec)) } };
    case "/apis/authorization.k8s.io/v1/subjectaccessreviews": {
      checkAsker(user, access, { group: "authorization.k8s.io", resource: "subjectaccessreviews" });
      const asked = { name: textAt(spec, "user"), groups: textsAt(spec, "groups") };
      const subject = asked.name === ADMIN.name ? ADMIN : asked;
      return { ...review, status: { allowed: access.isAllowed(subject, toAttributes(spec)) } };
    }
    default:
      return null;
  }
}

/** Everybody may ask about themselves; these questions are about others. */
function checkAsker(
  user: User,
  access: Access,
  { group, resource }: { readonly group: string; readonly resource: string },
): void {
  access.check(user, { verb: "create", group, resource, namespace: null, name: "" });
}

function toTokenStatus(user: User | null): JsonObject {
  return user === null ? { user: {}, error: "invalid bearer token" } : { authenticated: true, user: toUserInfo(user) };
}

function toUserInfo({ name, groups }: User): JsonObject {
  return { username: name, groups: [...groups] };
}

function toAttributes(spec: JsonObject): Attributes {
  if (at(spec, "nonResourceAttributes") !== undefined) {
    const { verb, path } = objectAt(spec, "nonResourceAttributes");
    return { verb: String(verb ?? ""), path: String(path ?? "") };
  }
  const asked = objectAt(spec, "resourceAttributes");
  const [resource, subresource] = [textAt(asked, "resource"), textAt(asked, "subresource")];
  return {
    verb: textAt(asked, "verb"),
    group: textAt(asked, "group"),
    name: textAt(asked, "name"),
    resource: subresource === "" ? resource : `${resource}/${subresource}`,
    namespace: textAt(asked, "namespace") || null,
  };
}
