/**
 * Questions to the API server about somebody who asks podfit: whose is this token, and may its owner do that?
 * https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-review-v1/
 * https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/subject-access-review-v1/
 */
import type { TokenReview } from "../api/kubernetes.ts";
import { toApiError } from "./api_error.ts";
import type { ApiClient } from "./client.ts";

/** Somebody as the API server knows them. */
export type UserInfo = NonNullable<NonNullable<TokenReview["status"]>["user"]> & { readonly username: string };

/** What is asked for, of a server that is not the API server. */
export interface PathAccess {
  /** In lower case, `get`. */
  readonly verb: string;
  readonly path: string;
}

/** Who hears of an answer. */
export interface ReviewOptions {
  readonly client: Pick<ApiClient, "core">;
  readonly signal: AbortSignal;
}

/** `null` for a token that is nobody's. Rejects with an ApiError where podfit may not ask, or with the transport's. */
export async function reviewToken(token: string, { client, signal }: ReviewOptions): Promise<UserInfo | null> {
  const { data, error, response } = await client.core.POST("/apis/authentication.k8s.io/v1/tokenreviews", {
    body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token } },
    signal,
  });
  if (!response.ok) throw toApiError(response, error);
  const { authenticated, user } = data?.status ?? {};
  if (authenticated !== true) return null;
  const { username } = user ?? {};
  if (typeof username !== "string" || username === "") {
    throw new Error("Cannot read the review of a token: it is somebody's without a name");
  }
  return { ...user, username };
}

/** Whether this user has the right. Rejects as reviewToken() does. */
export async function reviewAccess(
  { username, uid, groups, extra }: UserInfo,
  { client, signal, ...nonResourceAttributes }: ReviewOptions & PathAccess,
): Promise<boolean> {
  const { data, error, response } = await client.core.POST("/apis/authorization.k8s.io/v1/subjectaccessreviews", {
    body: {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SubjectAccessReview",
      spec: {
        user: username,
        ...(uid === undefined ? {} : { uid }),
        ...(groups === undefined ? {} : { groups }),
        ...(extra === undefined ? {} : { extra }),
        nonResourceAttributes,
      },
    },
    signal,
  });
  if (!response.ok) throw toApiError(response, error);
  return data?.status?.allowed === true && data.status.denied !== true;
}
