/**
 * Sends a request: one PATCH of pods/resize (C40), strategic merge, only the fields that change, guarded by uid and
 * resourceVersion. What the API server answers becomes an Answer; nothing here decides.
 */
import type { Answer, ResizeRequest } from "../../core/resize_request.ts";
import { ApiError, toApiError } from "../../kube/api_error.ts";
import { type ApiClient, STRATEGIC_MERGE } from "../../kube/client.ts";
import { readMessage } from "../../kube/network_error.ts";
import type { Clock } from "../../runtime/clock.ts";
import { formatAmount } from "../../units/quantity.ts";
import { resourceOf, sideOf } from "../../units/resources.ts";
import { isRecord } from "../../units/untrusted.ts";
import type { Tracked } from "../inventory/tracked.ts";
import { readBusy } from "./busy.ts";
import { NotSent } from "./fence.ts";
import { toAnswer } from "./parse_refusal.ts";
import type { Turn } from "./turns.ts";

/** Sends a request at once, as it is its turn; resolves when it is answered or was given up, and never rejects. */
export type Actuate = (request: ResizeRequest, tracked: Tracked, turn: Pick<Turn, "note">) => Promise<Answer>;

/** Where requests are sent, and which of them are still wanted. */
export interface ActuatorOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  /** False once the pod, or who contends for it, is no longer what the request was decided on. */
  readonly isCurrent: (tracked: Tracked) => boolean;
}

/** Longer would keep a pod, and an end of the process, waiting for a server that does not answer. */
const PATCH_TIMEOUT_MS = 10_000;

/** An actuator; how many send at once is not its concern. */
export function createActuator({ client, clock, isCurrent }: ActuatorOptions): Actuate {
  return async (request, tracked, turn) => {
    const { namespace, name } = tracked.pod;
    // An owner that was paused, edited or deleted meanwhile has handed over.
    if (!isCurrent(tracked)) return { kind: "withdrawn" };
    using timeout = clock.timeout(PATCH_TIMEOUT_MS);
    try {
      const { data, error, response } = await client.core.PATCH("/api/v1/namespaces/{namespace}/pods/{name}/resize", {
        params: {
          path: { namespace, name },
          query: { fieldManager: `podfit.${request.container}` },
          header: STRATEGIC_MERGE,
        },
        body: toPatch(request),
        signal: timeout.signal,
      });
      const failure = response.ok ? null : toApiError(response, error);
      turn.note(failure === null ? null : readBusy(failure));
      return failure === null ? toAccepted(data) : toAnswer(failure);
    } catch (error) {
      if (error instanceof ApiError) return toAnswer(error);
      if (error instanceof NotSent) return { kind: "withdrawn" };
      // It may have arrived: the pod will show. The resourceVersion guard makes a second one harmless.
      return { kind: "unconfirmed", message: readMessage(error) };
    }
  };
}

/** A success without a pod is no proof of one: something on the way may have answered in the server's place. */
function toAccepted(pod: unknown): Answer {
  const metadata = isRecord(pod) ? pod["metadata"] : null;
  if (!isRecord(metadata)) return { kind: "unconfirmed", message: "the API server answered with success and no pod" };
  const generation = metadata["generation"];
  return { kind: "accepted", generation: typeof generation === "number" ? generation : null };
}

/** The body of the PATCH. A native sidecar stands under initContainers (C15). */
export function toPatch({ container, kind, uid, resourceVersion, to, changes }: ResizeRequest) {
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
