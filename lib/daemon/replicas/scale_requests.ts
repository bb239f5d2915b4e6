/** GET and PUT of a target's scale: typed where the kind is known, by path else. One request each, given up after 12 s. */
import type { Scale as ScaleObject } from "../../api/kubernetes.ts";
import { toApiError } from "../../kube/api_error.ts";
import type { ApiClient } from "../../kube/client.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { Target } from "../../scaled_object/scaled_object.ts";
import { isRecord } from "../../units/untrusted.ts";
import { type FoundResource, toVersionPath } from "./target_paths.ts";

/** A target in its namespace. */
export interface TargetPlace {
  readonly namespace: string;
  readonly target: Target;
}

/** A scale to ask for, and who asks. */
export interface ScaleRequest extends TargetPlace {
  readonly client: Pick<ApiClient, "core" | "untyped">;
  readonly clock: Pick<Clock, "timeout">;
  readonly resource: Extract<FoundResource, { readonly kind: "found" }>;
  readonly signal: AbortSignal;
}

/** How long any request of the replicas' half may take. */
export const REQUEST_MS = 12_000;

/** Gives the scale; rejects with an ApiError where the server refuses, and else as the client does. */
export async function getScale(request: ScaleRequest): Promise<ScaleObject> {
  const { client: { core, untyped }, clock, resource: { plural, isKnown }, namespace, target: { name } } = request;
  using timeout = clock.timeout(REQUEST_MS);
  const signal = AbortSignal.any([request.signal, timeout.signal]);
  const init = { params: { path: { namespace, name } }, signal };
  const answer = !isKnown
    ? await untyped({ method: "GET", path: toScalePath(request), signal })
    : plural === "deployments"
    ? await core.GET("/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale", init)
    : await core.GET("/apis/apps/v1/namespaces/{namespace}/statefulsets/{name}/scale", init);
  return toScaleObject(answer);
}

/** Writes the scale, guarded by what stands in `body.metadata`; rejects likewise. */
export async function putScale(request: ScaleRequest, body: ScaleObject): Promise<ScaleObject> {
  const { client: { core, untyped }, clock, resource: { plural, isKnown }, namespace, target: { name } } = request;
  using timeout = clock.timeout(REQUEST_MS);
  const signal = AbortSignal.any([request.signal, timeout.signal]);
  const init = { params: { path: { namespace, name }, query: { fieldManager: FIELD_MANAGER } }, body, signal };
  const answer = !isKnown
    ? await untyped({ method: "PUT", path: `${toScalePath(request)}?fieldManager=${FIELD_MANAGER}`, body, signal })
    : plural === "deployments"
    ? await core.PUT("/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale", init)
    : await core.PUT("/apis/apps/v1/namespaces/{namespace}/statefulsets/{name}/scale", init);
  return toScaleObject(answer);
}

const FIELD_MANAGER = "podfit";

function toScalePath({ target: { apiVersion, name }, resource: { plural }, namespace }: ScaleRequest): string {
  const place = ["namespaces", namespace, plural, name, "scale"].map(encodeURIComponent).join("/");
  return `${toVersionPath(apiVersion)}/${place}`;
}

interface Answered {
  readonly data?: unknown;
  readonly error?: unknown;
  readonly response: Response;
}

/** A success without a scale is no proof of one: something on the way may have answered in the server's place. */
function toScaleObject({ data, error, response }: Answered): ScaleObject {
  if (!response.ok) throw toApiError(response, error);
  if (!isRecord(data) || !isRecord(data.metadata)) throw new Error("the API server answered with success and no scale");
  return data as ScaleObject;
}
