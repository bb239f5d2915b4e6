/**
 * What must be so before a start makes sense: the API server answers, and knows PodResourceAutoscalers. Each failure
 * is one line with the command that helps. Missing rights are not fatal: they heal when they are granted.
 */
import { toApiError } from "../kube/api_error.ts";
import { createClient } from "../kube/client.ts";
import type { ApiServer } from "../kube/transport.ts";
import { systemClock } from "../runtime/clock.ts";

const TIMEOUT_MS = 15_000;

export async function checkCluster(server: ApiServer, namespaces: readonly string[] | null): Promise<void> {
  const { autoscalers } = createClient(server);
  using timeout = systemClock.timeout(TIMEOUT_MS);
  const query = { limit: 1 };
  const namespace = namespaces?.[0];
  const { response, error } = namespace === undefined
    ? await autoscalers.GET("/apis/keda.kedify.io/v1alpha1/podresourceautoscalers", {
      params: { query },
      signal: timeout.signal,
    })
    : await autoscalers.GET("/apis/keda.kedify.io/v1alpha1/namespaces/{namespace}/podresourceautoscalers", {
      params: { path: { namespace }, query },
      signal: timeout.signal,
    });
  if (response.ok || response.status === 403) return;
  if (response.status === 404) {
    throw new Error(
      `Cannot start: ${server.origin} does not know PodResourceAutoscalers; install them with ` +
        "`kubectl apply -f crds/podresourceautoscaler.yaml`",
    );
  }
  const { message } = toApiError(response, error);
  if (response.status === 401) {
    throw new Error(
      `Cannot start: ${server.origin} does not accept the credentials of ${server.source} (${message}); ` +
        "check them with `kubectl auth whoami`",
    );
  }
  throw new Error(
    `Cannot start: ${server.origin} answered ${response.status}: ${message}; try \`kubectl get --raw /readyz\``,
  );
}
