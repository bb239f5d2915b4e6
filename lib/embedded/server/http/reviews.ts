/**
 * How are TokenReview and SubjectAccessReview answered?
 * https://kubernetes.io/docs/reference/access-authn-authz/webhook/
 */
import { at, type JsonObject, objectAt, textAt, textsAt } from "../../json.ts";
import { badRequest } from "../refusal.ts";
import { type Access, ADMIN, type Attributes, type User } from "./access.ts";

/**
 * `null` for a path that is not a review; `path`: `/apis/authorization.k8s.io/v1/subjectaccessreviews`. Throws a
 * Refusal for who may not ask about others, and for a question without a token.
 */
export function answerReview(
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
