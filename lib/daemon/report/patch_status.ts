/** How is a status written? By one merge patch of the subresource, as the field manager podfit. */
import type { AutoscalerStatus } from "../../autoscaler/conditions.ts";
import { type ApiError, toApiError } from "../../kube/api_error.ts";
import { type ApiClient, MERGE } from "../../kube/client.ts";

/** What became of a patch; `status` is what the server made of it. */
export interface PatchedStatus<Status> {
  readonly failure: ApiError | null;
  readonly status: Status;
}

/** `change` is a merge patch of the status. Rejects when no answer comes. */
export type PatchStatus<Status> = (
  object: { readonly namespace: string; readonly name: string },
  change: unknown,
  signal: AbortSignal,
) => Promise<PatchedStatus<Status>>;

/** Of PodResourceAutoscalers. */
export function createAutoscalerPatch(client: ApiClient): PatchStatus<AutoscalerStatus> {
  return async ({ namespace, name }, change, signal) => {
    const { data, error, response } = await client.autoscalers.PATCH(
      "/apis/keda.kedify.io/v1alpha1/namespaces/{namespace}/podresourceautoscalers/{name}/status",
      {
        params: { path: { namespace, name }, query: { fieldManager: "podfit" }, header: MERGE },
        body: { status: change as never },
        signal,
      },
    );
    const failure = response.ok ? null : toApiError(response, error);
    return { failure, status: (data?.status ?? {}) as AutoscalerStatus };
  };
}
