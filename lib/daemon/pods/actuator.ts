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

// Sends a request: one PATCH of pods/resize (C40), strategic merge, only the fields that change, guarded by uid and
// resourceVersion. What the API server answers becomes an Answer; nothing here decides.

/** Sends a request at once, as it is its turn; resolves when it is answered or was given up, and never rejects. */
export type SendResize = (
  request: ResizeRequest,
  tracked: TrackedPod,
  permit: Pick<ResizePermit, "report">,
) => Promise<Answer>;

/** Where requests are sent, and which of them are still wanted. */
interface SendResizeOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  /** False once the pod, or who contends for it, is no longer what the request was decided on. */
  readonly isCurrent: (tracked: TrackedPod) => boolean;
}

/** Longer would keep a pod, and an end of the process, waiting for a server that does not answer. */
const PATCH_TIMEOUT_MS = 10_000;

/** An actuator; how many send at once is not its concern. */
export function createSendResize({ client, clock, isCurrent }: SendResizeOptions): SendResize {
  return async (request, tracked, permit) => {
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
        body: toResizePatch(request),
        signal: timeout.signal,
      });
      const failure = response.ok ? null : toApiError(response, error);
      permit.report(failure === null ? null : findBusy(failure));
      return failure === null ? toAccepted(data) : parseRefusal(failure);
    } catch (error) {
      if (error instanceof ApiError) return parseRefusal(error);
      if (error instanceof NotSent) return { kind: "withdrawn" };
      // It may have arrived: the pod will show. The resourceVersion guard makes a second one harmless.
      return { kind: "unconfirmed", message: getErrorMessage(error) };
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

// What a refused PATCH of pods/resize means (C44), judged by status code, causes and words, as a real 1.36 server
// answers them. The server's own words are kept for the event.

/** The answer that the fold is given for a failed PATCH. */
export function parseRefusal(error: ApiError): Answer {
  const { code, message } = error;
  const causes = error.details?.causes ?? [];
  // Only a conflict of the pod is meant: admission of a busy quota answers with one of its own.
  if (code === 409 && !isOtherKind(error.details?.kind)) return { kind: "conflict" };
  // A missing pod is named in details; a missing subresource is not.
  if (code === 404 && (error.details?.name ?? "") !== "") return { kind: "gone" };
  if (code === 422 && causes.some(({ field }) => field === "metadata.uid")) return { kind: "gone" };
  // It ran out of time on the way: the write may have gone through (C45).
  if (code === 504 || (code === 500 && /timeout|timed out/i.test(message))) return { kind: "unconfirmed", message };
  const reason = findReason(error);
  const waitMs = reason === "RetryLater" ? error.retryAfterMs : null;
  return { kind: "refused", reason, message, resources: findNamedResources(message), waitMs };
}

function isOtherKind(kind = "pods"): boolean {
  return !["pods", "pod"].includes(kind.toLowerCase());
}

/** Words of admission plugins, all of which answer 403 like missing rights do. */
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
  if (code === 422 && message.includes("on node without support for resize")) return "Unsupported";
  if (code !== 403) return "Invalid";
  const causes = (details?.causes ?? []).map(({ reason }) => reason);
  if (causes.includes("NodeCapacity")) return "NodeCapacity";
  if (causes.includes("UnsupportedPlatform")) return "Unsupported";
  return FORBIDDEN_PATTERNS.find(([words]) => words.test(message))?.[1] ?? "Invalid";
}

/** The resources that the refusal names; names of objects are in quotes and don't count, nor does a quota's. */
function findNamedResources(message: string): readonly Resource[] {
  const words = message.replaceAll(/"[^"]*"/g, "").replace(/exceeded quota: [^,]*,/, "");
  // "used:" and "limited:" of a quota repeat what "requested:" names.
  const [asked = ""] = words.split(", used:");
  return (["cpu", "memory"] as const).filter((resource) => new RegExp(`\\b${resource}\\b`).test(asked));
}
