/**
 * Sends a resize: one PATCH of pods/resize with the fields that change, guarded by uid and resourceVersion. It turns
 * the answer of the API server into an `Answer`, a refusal included. It decides nothing.
 */
import { type ApiClient, STRATEGIC_MERGE } from "../../kube/client.ts";
import { ApiError, getErrorMessage, toApiError } from "../../kube/errors.ts";
import type { RefusalReason } from "../../model/reasons.ts";
import type { Answer, ResizeRequest } from "../../model/resize_request.ts";
import type { Clock } from "../../runtime/clock.ts";
import { formatAmount } from "../../units/quantity.ts";
import { requestOrLimitOf, type Resource, resourceOf } from "../../units/resources.ts";
import { isRecord } from "../../units/untrusted.ts";
import type { TrackedPod } from "../cluster/facts.ts";
import { findBusy, NotSent, type ResizePermit } from "../permits.ts";

/** Sends a request that has its permit. Resolves with the answer, also if the request timed out. Never rejects. */
export type SendResize = (
  request: ResizeRequest,
  tracked: TrackedPod,
  permit: Pick<ResizePermit, "report">,
) => Promise<Answer>;

interface SendResizeOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  /** False if the pod or its autoscalers have changed since the decision. */
  readonly isCurrent: (tracked: TrackedPod) => boolean;
}

/** A longer timeout would make the pod, and the end of the process, wait for a server that does not answer. */
const PATCH_TIMEOUT_MS = 10_000;

/** Returns a function that sends a resize as one PATCH. It does not limit how many are sent at once. Clauses: C40. */
export function createSendResize({ client, clock, isCurrent }: SendResizeOptions): SendResize {
  return async (request, tracked, permit) => {
    const { namespace, name } = tracked.pod;
    // The autoscaler may have been paused, edited or deleted since the decision.
    if (!isCurrent(tracked)) return { kind: "withdrawn" };
    using timeout = clock.timeout(PATCH_TIMEOUT_MS);
    try {
      const { data, error, response } = await client.core.PATCH("/api/v1/namespaces/{namespace}/pods/{name}/resize", {
        params: {
          path: { namespace, name },
          query: { fieldManager: `podfit.${request.container}` },
          header: STRATEGIC_MERGE,
        },
        body: toResizePatch(request),
        signal: timeout.signal,
      });
      const failure = response.ok ? null : toApiError(response, error);
      permit.report(failure === null ? null : findBusy(failure));
      return failure === null ? toAccepted(data) : parseRefusal(failure);
    } catch (error) {
      if (error instanceof ApiError) return parseRefusal(error);
      if (error instanceof NotSent) return { kind: "withdrawn" };
      // The request may have arrived, and the watch of the pod will show it. The resourceVersion makes a second request
      // harmless.
      return { kind: "unconfirmed", message: getErrorMessage(error) };
    }
  };
}

/** A success without a pod proves nothing: a proxy may have answered instead of the API server. */
function toAccepted(pod: unknown): Answer {
  const metadata = isRecord(pod) ? pod["metadata"] : null;
  if (!isRecord(metadata)) return { kind: "unconfirmed", message: "the API server answered with success and no pod" };
  const generation = metadata["generation"];
  return { kind: "accepted", generation: typeof generation === "number" ? generation : null };
}

/**
 * Returns the body of the PATCH: a strategic merge patch with only the fields that change. A native sidecar is in
 * initContainers. Clauses: C15.
 */
export function toResizePatch({ container, kind, uid, resourceVersion, to, changes }: ResizeRequest) {
  const resources: { requests?: Record<string, string>; limits?: Record<string, string> } = {};
  for (const key of changes) {
    const amount = to[key];
    if (amount === null) continue;
    const amounts = resources[requestOrLimitOf(key)] ??= {};
    amounts[resourceOf(key)] = formatAmount(amount, resourceOf(key));
  }
  const list = [{ name: container, resources }];
  return {
    metadata: { uid, resourceVersion },
    spec: kind === "container" ? { containers: list } : { initContainers: list },
  };
}

/**
 * Returns the answer for a failed PATCH. It depends on the status code, the causes and the message, as Kubernetes 1.36
 * sends them. The message is kept for the event. Clauses: C44.
 */
export function parseRefusal(error: ApiError): Answer {
  const { code, message } = error;
  const causes = error.details?.causes ?? [];
  // Only a conflict of the pod itself: the admission of a busy quota also answers with 409.
  if (code === 409 && !isOtherKind(error.details?.kind)) return { kind: "conflict" };
  // The details name a missing pod, but not a missing subresource.
  if (code === 404 && (error.details?.name ?? "") !== "") return { kind: "gone" };
  if (code === 422 && causes.some(({ field }) => field === "metadata.uid")) return { kind: "gone" };
  // It timed out on the way, so the write may have been stored.
  if (code === 504 || (code === 500 && /timeout|timed out/i.test(message))) return { kind: "unconfirmed", message };
  const reason = findReason(error);
  const waitMs = reason === "RetryLater" ? error.retryAfterMs : null;
  return { kind: "refused", reason, message, resources: findNamedResources(message), waitMs };
}

function isOtherKind(kind = "pods"): boolean {
  return !["pods", "pod"].includes(kind.toLowerCase());
}

/** The pod cannot be resized at all. Before 1.36 this is so for each pod that has sizes of its own. Clauses: L33. */
const UNSUPPORTED = /on node without support for resize|pods with pod-level resources (cannot be resized|is forbidden)/;

/** Messages of admission plugins. All of them answer 403, as a missing right does. */
const FORBIDDEN_PATTERNS: readonly (readonly [RegExp, RefusalReason])[] = [
  [/ cannot patch resource "/, "Rights"],
  [/exceeded quota:|status unknown for quota|must specify (requests|limits|cpu|memory)|failed quota:/, "Quota"],
  [
    /(maximum|minimum) (cpu|memory) usage per |max limit to request ratio per |must be specified for .* per /,
    "LimitRange",
  ],
  [/didn't have enough allocatable resources/, "NodeCapacity"],
  [/not yet ready to handle request/, "RetryLater"],
  [/requires features .* not available on node/, "Unsupported"],
];

function findReason({ code, message, details }: ApiError): RefusalReason {
  if (code === 404 || code === 405) return "Unsupported";
  if (code === 429 || code >= 500 || code === 408 || code === 409) return "RetryLater";
  if (code === 401) return "Rights";
  if (code === 422 && UNSUPPORTED.test(message)) return "Unsupported";
  if (code !== 403) return "Invalid";
  const causes = (details?.causes ?? []).map(({ reason }) => reason);
  if (causes.includes("NodeCapacity")) return "NodeCapacity";
  if (causes.includes("UnsupportedPlatform")) return "Unsupported";
  return FORBIDDEN_PATTERNS.find(([words]) => words.test(message))?.[1] ?? "Invalid";
}

/**
 * Returns the resources that the refusal names. Names of objects are in quotes and do not count, nor does the name of a
 * quota.
 */
function findNamedResources(message: string): readonly Resource[] {
  const words = message.replaceAll(/"[^"]*"/g, "").replace(/exceeded quota: [^,]*,/, "");
  // A quota repeats the resources of "requested:" in "used:" and "limited:".
  const [asked = ""] = words.split(", used:");
  return (["cpu", "memory"] as const).filter((resource) => new RegExp(`\\b${resource}\\b`).test(asked));
}
