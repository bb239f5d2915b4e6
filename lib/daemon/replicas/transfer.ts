/** Takes a target over from an HPA by deleting it (R76): no HPA may live on beside podfit. */
import { toApiError } from "../../kube/api_error.ts";
import type { ApiClient } from "../../kube/client.ts";
import { readMessage } from "../../kube/network_error.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { HpaFacts } from "./read_hpa.ts";
import { REQUEST_MS } from "./scale_requests.ts";

/** Resolves to `null` when the HPA is gone, and else to why it is not. Never rejects. */
export type DeleteHpa = (hpa: HpaFacts, signal: AbortSignal) => Promise<string | null>;

/** It must be the very HPA that was looked at, as it was. */
export function createDeleteHpa(
  { client, clock }: { readonly client: Pick<ApiClient, "core">; readonly clock: Pick<Clock, "timeout"> },
): DeleteHpa {
  return async ({ namespace, name, uid, resourceVersion }, signal) => {
    using timeout = clock.timeout(REQUEST_MS);
    try {
      const { error, response } = await client.core.DELETE(
        "/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers/{name}",
        {
          params: { path: { namespace, name } },
          body: { apiVersion: "v1", kind: "DeleteOptions", preconditions: { uid, resourceVersion } },
          signal: AbortSignal.any([signal, timeout.signal]),
        },
      );
      if (response.ok || response.status === 404) return null;
      throw toApiError(response, error);
    } catch (error) {
      return `Cannot take the target over from hpa "${name}": ${
        readMessage(error)
      }; grant delete of horizontalpodautoscalers, or delete it`;
    }
  };
}
