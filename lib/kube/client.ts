/**
 * How does the code call the API server with types? These are openapi-fetch clients over the server's transport, with
 * the paths and types of lib/api.
 *
 * A refusal is a value: `error` is always a Status, and `toApiError` makes an Error of it. A patch names its content
 * type in `params.header`, because the server refuses plain JSON with 415. Its body should be a typed constant (`const
 * body: PodPatch = ...`): in a literal the compiler accepts misspelt fields.
 * https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-review-v1/
 * https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/subject-access-review-v1/
 */
import createFetchClient from "openapi-fetch";
import { type Client, defaultPathSerializer } from "openapi-fetch";
import type { paths as AutoscalerPaths } from "../api/autoscaler.ts";
import type { paths as KubernetesPaths, Status, TokenReview } from "../api/kubernetes.ts";
import type { paths as ScaledObjectPaths } from "../api/scaled_object.ts";
import { isRecord } from "../units/untrusted.ts";
import { BodyTooLarge, readText } from "./body.ts";
import { toApiError } from "./errors.ts";
import type { ApiServer } from "./transport.ts";

export interface ApiClient {
  /** Kubernetes' own resources: core/v1, apps/v1 and /version. */
  readonly core: Client<KubernetesPaths>;
  /** PodResourceAutoscalers. */
  readonly autoscalers: Client<AutoscalerPaths>;
  /** ScaledObjects and the authentications of their triggers. */
  readonly scaledObjects: Client<ScaledObjectPaths>;
  /** Resources of kinds that are known only at run time. */
  readonly untyped: SendUntyped;
}

/** Has either `data` or `error`, as with the typed clients. */
export interface UntypedAnswer {
  readonly data?: unknown;
  readonly error?: Status;
  readonly response: Response;
}

/** The `params.header` of a patch that merges lists by their merge key; for Kubernetes' own resources only. */
export const STRATEGIC_MERGE = { "content-type": "application/strategic-merge-patch+json" } as const;

/** The `params.header` of a patch that replaces lists as a whole (RFC 7386); for every resource. */
export const MERGE = { "content-type": "application/merge-patch+json" } as const;

/** Returns the clients of one API server. Their calls reject only if the transport or the reading of a body does. */
export function createClient(server: Pick<ApiServer, "origin" | "transport">): ApiClient {
  const options = {
    baseUrl: server.origin,
    fetch: async (request: Request) => {
      const response = await server.transport(request);
      return response.ok ? response : await toStatusResponse(response, request.signal);
    },
    // Every body of this API is JSON, whatever its content type.
    bodySerializer: (body: unknown) => JSON.stringify(body),
    pathSerializer,
    headers: { accept: "application/json" },
  };
  return {
    core: createFetchClient<KubernetesPaths>(options),
    autoscalers: createFetchClient<AutoscalerPaths>(options),
    scaledObjects: createFetchClient<ScaledObjectPaths>(options),
    async untyped({ method, path, body, signal, limitBytes = MAX_UNTYPED_BYTES }) {
      const type = method === "PATCH" ? MERGE : { "content-type": "application/json" };
      const init = { method, headers: { ...options.headers, ...type }, signal };
      const json = body === undefined ? {} : { body: options.bodySerializer(body) };
      const response = await options.fetch(new Request(`${server.origin}${path}`, { ...init, ...json }));
      const text = await readText(response, { limitBytes, signal });
      const value: unknown = JSON.parse(text);
      return response.ok ? { data: value, response } : { error: value as Status, response };
    },
  };
}

/** A user as the API server sees it. */
export type UserInfo = NonNullable<NonNullable<TokenReview["status"]>["user"]> & { readonly username: string };

/** The audience of tokens that are for readers of podfit alone: the API server itself does not accept them. */
const AUDIENCE = "podfit";

/**
 * Resolves to the owner of a token, which is for podfit or for the API server; `null` for an invalid token. Rejects
 * with an ApiError if podfit has no right to ask, or with the transport's error.
 */
export async function reviewToken(token: string, { client, signal }: ReviewOptions): Promise<UserInfo | null> {
  const audiences = listAudiences(token).includes(AUDIENCE) ? [AUDIENCE] : [];
  const { data, error, response } = await client.core.POST("/apis/authentication.k8s.io/v1/tokenreviews", {
    body: {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenReview",
      spec: { token, ...(audiences.length > 0 && { audiences }) },
    },
    signal,
  });
  if (!response.ok) throw toApiError(response, error);
  const { authenticated, user, audiences: accepted = [] } = data?.status ?? {};
  if (authenticated !== true) return null;
  // None = the server ignores audiences: the token is one for the API server.
  if (audiences.length > 0 && accepted.length > 0 && !accepted.includes(AUDIENCE)) return null;
  const { username } = user ?? {};
  if (typeof username !== "string" || username === "") {
    throw new Error("Cannot read the review of a token: the user has no name");
  }
  return { ...user, username };
}

/** Returns what a token says about itself; empty if it is not a JWT. Only the API server can say whether it is true. */
function listAudiences(token: string): readonly unknown[] {
  try {
    const payload = Uint8Array.fromBase64(token.split(".")[1] ?? "", { alphabet: "base64url" });
    return [JSON.parse(new TextDecoder().decode(payload))?.aud].flat();
  } catch {
    return [];
  }
}

/** Resolves to whether this user has the right. Rejects as reviewToken() does. */
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

/**
 * Sends JSON to a path, which the caller has escaped, and resolves to the parsed answer. Rejects as the typed clients
 * do.
 */
type SendUntyped = (request: UntypedRequest) => Promise<UntypedAnswer>;

interface UntypedRequest {
  /** A PATCH is a merge patch. */
  readonly method: "GET" | "PUT" | "PATCH";
  readonly path: string;
  readonly body?: unknown;
  /** A larger answer rejects with BodyTooLarge. */
  readonly limitBytes?: number;
  readonly signal: AbortSignal;
}

/** A list of resources of one version of a group is the longest answer. */
const MAX_UNTYPED_BYTES = 8 * 2 ** 20;

const MAX_REFUSAL_BYTES = 64 * 1024;

/**
 * Returns the refusal with a Status for a body, whatever body it had. Otherwise openapi-fetch returns text, or no
 * `error` for an empty body, and a refusal would look like an answer.
 */
async function toStatusResponse(response: Response, signal: AbortSignal): Promise<Response> {
  const { status, statusText, headers } = response;
  const text = await fetchRefusalText(response, signal);
  const failure: Status = { kind: "Status", apiVersion: "v1", status: "Failure", code: status };
  const body = parseStatus(text) ?? { ...failure, message: text.trim() || `HTTP ${status} ${statusText}`.trim() };
  const kept = new Headers(headers);
  kept.delete("content-length");
  kept.set("content-type", "application/json");
  return new Response(JSON.stringify(body), { status, statusText, headers: kept });
}

async function fetchRefusalText(response: Response, signal: AbortSignal): Promise<string> {
  try {
    return await readText(response, { limitBytes: MAX_REFUSAL_BYTES, signal });
  } catch (error) {
    if (error instanceof BodyTooLarge) return "";
    throw error;
  }
}

function parseStatus(text: string): Status | null {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) && value["kind"] === "Status" ? value : null;
  } catch {
    return null;
  }
}

/** The `{path}` at the end of nodes/{name}/proxy/{path} is a path itself, so its slashes are not escaped. */
function pathSerializer(pathname: string, params: Record<string, unknown>): string {
  const { path, ...rest } = params;
  const segments = path === undefined ? "{path}" : String(path).split("/").map(encodeURIComponent).join("/");
  return defaultPathSerializer(pathname, rest).replace("{path}", () => segments);
}

/** The right in question, for a server other than the API server. */
interface PathAccess {
  /** In lower case, such as `get`. */
  readonly verb: string;
  readonly path: string;
}

interface ReviewOptions {
  readonly client: Pick<ApiClient, "core">;
  readonly signal: AbortSignal;
}
