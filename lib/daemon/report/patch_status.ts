/** How is a status written? By one merge patch of the subresource, as the field manager podfit. */
import type { AutoscalerStatus } from "../../autoscaler/conditions.ts";
import type { ScaledObjectStatus } from "../../core/replicas/status.ts";
import { type ApiError, toApiError } from "../../kube/api_error.ts";
import { type ApiClient, MERGE } from "../../kube/client.ts";

/** What became of a patch; `status` is what the server made of it. */
export interface PatchedStatus<Status> {
  readonly failure: ApiError | null;
  readonly status: Status;
}

interface ObjectName {
  readonly namespace: string;
  readonly name: string;
}

/** `change` is a merge patch of the status. Rejects when no answer comes. */
export type PatchStatus<Status> = (
  object: ObjectName,
  change: unknown,
  signal: AbortSignal,
) => Promise<PatchedStatus<Status>>;

/** Of PodResourceAutoscalers. */
export function createAutoscalerPatch({ autoscalers }: Pick<ApiClient, "autoscalers">): PatchStatus<AutoscalerStatus> {
  return async (object, change, signal) =>
    toPatched(
      await autoscalers.PATCH(
        "/apis/keda.kedify.io/v1alpha1/namespaces/{namespace}/podresourceautoscalers/{name}/status",
        { params: toParams(object), body: { status: change as never }, signal },
      ),
    );
}

/** Of ScaledObjects. */
export function createScaledObjectPatch(
  { scaledObjects }: Pick<ApiClient, "scaledObjects">,
): PatchStatus<ScaledObjectStatus> {
  return async (object, change, signal) =>
    toPatched(
      await scaledObjects.PATCH(
        "/apis/keda.sh/v1alpha1/namespaces/{namespace}/scaledobjects/{name}/status",
        { params: toParams(object), body: { status: change as never }, signal },
      ),
    );
}

function toParams({ namespace, name }: ObjectName) {
  return { path: { namespace, name }, query: { fieldManager: "podfit" }, header: MERGE } as const;
}

interface Answer {
  readonly data?: { readonly status?: unknown };
  readonly error?: unknown;
  readonly response: Response;
}

/** The API server keeps the status in the shape in which it was sent. */
function toPatched<Status>({ data, error, response }: Answer): PatchedStatus<Status> {
  const failure = response.ok ? null : toApiError(response, error);
  return { failure, status: (data?.status ?? {}) as Status };
}
