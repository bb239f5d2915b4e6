/**
 * What must be so before a start makes sense: the API server answers, and knows PodResourceAutoscalers. What only a
 * person can mend is an error, one line with the command that helps. Missing rights are not fatal: they heal when they
 * are granted.
 */
import { toApiError } from "../../kube/api_error.ts";
import { createClient } from "../../kube/client.ts";
import { isLasting } from "../../kube/network_error.ts";
import type { ApiServer } from "../../kube/transport.ts";
import { systemClock } from "../../runtime/clock.ts";
import { toStartError } from "./start_error.ts";

/** Why it is not so yet, where it may be so later. */
export interface NotYet {
  /** One line that says what to look at. */
  readonly reason: string;
  /** How long the server asks to wait; `null` when it does not say. */
  readonly retryAfterMs: number | null;
}

/** How long the question may take. */
export interface CheckOptions {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** `null` when all is so. Throws StartError where another try would be answered the same, and the signal's reason. */
export async function checkCluster(
  server: ApiServer,
  namespaces: readonly string[] | null,
  options: CheckOptions = {},
): Promise<NotYet | null> {
  const { origin } = server;
  let answer: Awaited<ReturnType<typeof listOne>>;
  try {
    answer = await listOne(server, { ...options, namespace: namespaces?.[0] });
  } catch (cause) {
    options.signal?.throwIfAborted();
    const error = toStartError(cause, `; the server is named by ${describeSource(server)}`);
    if (isLasting(cause)) throw error;
    return { reason: error.message, retryAfterMs: null };
  }
  const { response, error } = answer;
  if (response.ok || response.status === 403) return null;
  if (response.status === 404) {
    throw toStartError(
      `Cannot start: ${origin} does not know PodResourceAutoscalers; install them with ` +
        "`kubectl apply -f crds/podresourceautoscaler.yaml`",
    );
  }
  const { message, retryAfterMs } = toApiError(response, error);
  if (response.status === 401) {
    throw toStartError(
      `Cannot start: ${origin} does not accept the credentials of ${describeSource(server)} (${message})`,
      "; check them with `kubectl auth whoami`",
    );
  }
  const { message: reason } = toStartError(
    `${origin} answered ${response.status}: ${message}`,
    "; try `kubectl get --raw /readyz`",
  );
  if (PASSING.has(response.status) || response.status >= 500) return { reason, retryAfterMs };
  throw toStartError(`Cannot start: ${reason}`);
}

/** Statuses below 500 that ask to come again: a request that took too long, or too many of them. */
const PASSING: ReadonlySet<number> = new Set([408, 429]);

async function listOne(
  server: ApiServer,
  { namespace, timeoutMs = 15_000, signal: ending }: CheckOptions & { readonly namespace: string | undefined },
) {
  const { autoscalers } = createClient(server);
  using timeout = systemClock.timeout(timeoutMs);
  const signal = ending === undefined ? timeout.signal : AbortSignal.any([timeout.signal, ending]);
  const query = { limit: 1 };
  return namespace === undefined
    ? await autoscalers.GET("/apis/keda.kedify.io/v1alpha1/podresourceautoscalers", { params: { query }, signal })
    : await autoscalers.GET("/apis/keda.kedify.io/v1alpha1/namespaces/{namespace}/podresourceautoscalers", {
      params: { path: { namespace }, query },
      signal,
    });
}

function describeSource({ source }: ApiServer): string {
  return source === "in-cluster" ? "the pod's own service account" : source;
}
