/**
 * Performs an order: one PATCH of pods/resize (C40), strategic merge, only the fields that change, guarded by uid and
 * resourceVersion. What the API server answers becomes an Answer; nothing here decides.
 */
import type { Answer, Order } from "../core/decision.ts";
import { ApiError, toApiError } from "../kube/api_error.ts";
import { type ApiClient, STRATEGIC_MERGE } from "../kube/client.ts";
import type { Clock } from "../runtime/clock.ts";
import { formatAmount } from "../units/quantity.ts";
import { resourceOf, sideOf } from "../units/resources.ts";
import { toAnswer } from "./refusal.ts";

export type Actuate = (order: Order, pod: { readonly namespace: string; readonly name: string }) => Promise<Answer>;

export interface ActuatorOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
}

const PATCH_TIMEOUT_MS = 10_000;

export function createActuator({ client, clock }: ActuatorOptions): Actuate {
  return async (order, { namespace, name }) => {
    using timeout = clock.timeout(PATCH_TIMEOUT_MS);
    try {
      const { data, error, response } = await client.core.PATCH("/api/v1/namespaces/{namespace}/pods/{name}/resize", {
        params: {
          path: { namespace, name },
          query: { fieldManager: `podfit.${order.container}` },
          header: STRATEGIC_MERGE,
        },
        body: toPatch(order),
        signal: timeout.signal,
      });
      if (data !== undefined) return { kind: "accepted", generation: data.metadata?.generation ?? null };
      return toAnswer(toApiError(response, error));
    } catch (error) {
      if (error instanceof ApiError) return toAnswer(error);
      // Whether it arrived is unknown; the resourceVersion guard makes a second one harmless.
      const message = error instanceof Error ? error.message : String(error);
      return { kind: "refused", reason: "RetryLater", message, resources: [], waitMs: null };
    }
  };
}

/** The body of the PATCH. A native sidecar stands under initContainers (C15). */
export function toPatch({ container, kind, uid, resourceVersion, to, changes }: Order) {
  const resources: { requests?: Record<string, string>; limits?: Record<string, string> } = {};
  for (const key of changes) {
    const amount = to[key];
    if (amount === null) continue;
    const side = resources[sideOf(key)] ??= {};
    side[resourceOf(key)] = formatAmount(amount, resourceOf(key));
  }
  const list = [{ name: container, resources }];
  return {
    metadata: { uid, resourceVersion },
    spec: kind === "container" ? { containers: list } : { initContainers: list },
  };
}
