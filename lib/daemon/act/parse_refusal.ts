/**
 * What a refused PATCH of pods/resize means (C44), judged by status code, causes and words, as a real 1.36 server
 * answers them. The server's own words are kept for the event.
 */
import type { Answer } from "../../core/resize_request.ts";
import type { RefusalReason } from "../../core/reasons.ts";
import type { ApiError } from "../../kube/api_error.ts";
import type { Resource } from "../../units/resources.ts";

/** The answer that the fold is given for a failed PATCH. */
export function toAnswer(error: ApiError): Answer {
  const { code, message } = error;
  const causes = error.details?.causes ?? [];
  // Only a conflict of the pod is meant: admission of a busy quota answers with one of its own.
  if (code === 409 && !isOfAnother(error.details?.kind)) return { kind: "conflict" };
  // A missing pod is named in details; a missing subresource is not.
  if (code === 404 && (error.details?.name ?? "") !== "") return { kind: "gone" };
  if (code === 422 && causes.some(({ field }) => field === "metadata.uid")) return { kind: "gone" };
  // It ran out of time on the way: the write may have gone through (C45).
  if (code === 504 || (code === 500 && /timeout|timed out/i.test(message))) return { kind: "unconfirmed", message };
  const reason = readReason(error);
  const waitMs = reason === "RetryLater" ? error.retryAfterMs : null;
  return { kind: "refused", reason, message, resources: readNamed(message), waitMs };
}

function isOfAnother(kind = "pods"): boolean {
  return !["pods", "pod"].includes(kind.toLowerCase());
}

/** Words of admission plugins, all of which answer 403 like missing rights do. */
const FORBIDDEN: readonly (readonly [RegExp, RefusalReason])[] = [
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

function readReason({ code, message, details }: ApiError): RefusalReason {
  if (code === 404 || code === 405) return "Unsupported";
  if (code === 429 || code >= 500 || code === 408 || code === 409) return "RetryLater";
  if (code === 401) return "Rights";
  if (code === 422 && message.includes("on node without support for resize")) return "Unsupported";
  if (code !== 403) return "Invalid";
  const causes = (details?.causes ?? []).map(({ reason }) => reason);
  if (causes.includes("NodeCapacity")) return "NodeCapacity";
  if (causes.includes("UnsupportedPlatform")) return "Unsupported";
  return FORBIDDEN.find(([words]) => words.test(message))?.[1] ?? "Invalid";
}

/** The resources that the refusal names; names of objects are in quotes and don't count, nor does a quota's. */
function readNamed(message: string): readonly Resource[] {
  const words = message.replaceAll(/"[^"]*"/g, "").replace(/exceeded quota: [^,]*,/, "");
  // "used:" and "limited:" of a quota repeat what "requested:" names.
  const [asked = ""] = words.split(", used:");
  return (["cpu", "memory"] as const).filter((resource) => new RegExp(`\\b${resource}\\b`).test(asked));
}
