/**
 * What must be so before a start makes sense: the API server answers, and knows PodResourceAutoscalers. Each failure
 * is one line with the command that helps. Missing rights are not fatal: they heal when they are granted.
 */
import { toApiError } from "../../kube/api_error.ts";
import { createClient } from "../../kube/client.ts";
import type { ApiServer } from "../../kube/transport.ts";
import { systemClock } from "../../runtime/clock.ts";
import { toStartError } from "./start_error.ts";

/** Throws StartError. `timeoutMs` bounds the whole question. */
export async function checkCluster(
  server: ApiServer,
  namespaces: readonly string[] | null,
  { timeoutMs = 15_000 }: { readonly timeoutMs?: number } = {},
): Promise<void> {
  const { response, error } = await listOne(server, { namespace: namespaces?.[0], timeoutMs }).catch((cause) =>
    Promise.reject(toStartError(cause, `; the server is named by ${describeSource(server)}`))
  );
  if (response.ok || response.status === 403) return;
  const { origin } = server;
  if (response.status === 404) {
    throw toStartError(
      `Cannot start: ${origin} does not know PodResourceAutoscalers; install them with ` +
        "`kubectl apply -f crds/podresourceautoscaler.yaml`",
    );
  }
  const { message } = toApiError(response, error);
  if (response.status === 401) {
    throw toStartError(
      `Cannot start: ${origin} does not accept the credentials of ${describeSource(server)} (${message})`,
      "; check them with `kubectl auth whoami`",
    );
  }
  throw toStartError(
    `Cannot start: ${origin} answered ${response.status}: ${message}`,
    "; try `kubectl get --raw /readyz`",
  );
}

async function listOne(
  server: ApiServer,
  { namespace, timeoutMs }: { readonly namespace: string | undefined; readonly timeoutMs: number },
) {
  const { autoscalers } = createClient(server);
  using timeout = systemClock.timeout(timeoutMs);
  const { signal } = timeout;
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
