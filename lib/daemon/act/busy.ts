/** Is the API server as a whole too busy for what podfit writes? Then everything that podfit writes waits. */
import type { ApiError } from "../../kube/api_error.ts";
import type { Busy } from "../../runtime/brake.ts";

/**
 * `null` where the answer is about one request: an admission webhook may answer with any code, and what one namespace's
 * webhook says must not stop the others.
 */
export function readBusy(
  { code, message, retryAfterMs }: Pick<ApiError, "code" | "message" | "retryAfterMs">,
): Busy | null {
  if (code !== 429 && code !== 503) return null;
  return /^admission webhook /.test(message) ? null : { waitMs: retryAfterMs };
}
