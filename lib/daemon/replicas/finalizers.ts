/** podfit's finalizer on ScaledObjects: `finalizer.keda.sh`, as KEDA has it, and only where there is something to restore (R57). */
import { ApiError, toApiError } from "../../kube/api_error.ts";
import { type ApiClient, MERGE } from "../../kube/client.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { ScaledObjectFacts } from "../../scaled_object/scaled_object.ts";
import { REQUEST_MS } from "./scale_requests.ts";

export const FINALIZER = "finalizer.keda.sh";

/** Whether the object lacks the finalizer that it needs, or has one that it needs not. */
export function isFinalizerWrong({ finalizers, isDeleting, scaledObject }: ScaledObjectFacts): boolean {
  return !isDeleting && scaledObject !== null && finalizers.includes(FINALIZER) !== scaledObject.restoresReplicas;
}

/** Adds or removes it. Resolves to whether that is done, as far as it is known; never rejects. */
export type SetFinalizer = (facts: ScaledObjectFacts, isWanted: boolean, signal: AbortSignal) => Promise<boolean>;

/** Guarded by the resourceVersion: a merge patch replaces the list, and others have theirs in it. */
export function createSetFinalizer(
  { client, clock, onError }: {
    readonly client: Pick<ApiClient, "scaledObjects">;
    readonly clock: Pick<Clock, "timeout">;
    readonly onError: (facts: ScaledObjectFacts, error: unknown) => void;
  },
): SetFinalizer {
  return async (facts, isWanted, signal) => {
    const { namespace, name, resourceVersion, finalizers } = facts;
    const others = finalizers.filter((one) => one !== FINALIZER);
    using timeout = clock.timeout(REQUEST_MS);
    try {
      const { error, response } = await client.scaledObjects.PATCH(
        "/apis/keda.sh/v1alpha1/namespaces/{namespace}/scaledobjects/{name}",
        {
          params: { path: { namespace, name }, query: { fieldManager: "podfit" }, header: MERGE },
          body: { metadata: { resourceVersion, finalizers: isWanted ? [...others, FINALIZER] : others } },
          signal: AbortSignal.any([signal, timeout.signal]),
        },
      );
      if (response.ok || response.status === 404) return true;
      throw toApiError(response, error);
    } catch (error) {
      // Somebody else has changed the object: its next version is looked at anew.
      if (!(error instanceof ApiError) || error.code !== 409) onError(facts, error);
      return false;
    }
  };
}
