/** A transport that counts what the API server answered, by verb and resource: the load that podfit puts on it. */
import type { Transport } from "../../kube/transport.ts";
import type { Metrics } from "./metrics.ts";

/** The same transport, counted: it answers and rejects as the given one does. */
export function countRequests(transport: Transport, metrics: Pick<Metrics, "apiAnswered">): Transport {
  return async (request, options) => {
    const { pathname, searchParams } = new URL(request.url);
    const verb = searchParams.get("watch") ? "watch" : request.method.toLowerCase();
    const resource = readResource(pathname);
    try {
      const response = await transport(request, options);
      metrics.apiAnswered({ verb, resource, code: response.status });
      return response;
    } catch (error) {
      if (!request.signal.aborted) metrics.apiAnswered({ verb, resource, code: 0 });
      throw error;
    }
  };
}

/** A server may be reached under a path of its own, as behind a proxy for many clusters. */
const API = /\/(?:api\/v1|apis\/[^/]+\/[^/]+)\/(.*)/;

/** `/api/v1/namespaces/x/pods/y/resize` -> `pods/resize`; names never become label values. */
function readResource(pathname: string): string {
  const rest = (API.exec(pathname)?.[1] ?? "").split("/").filter((part) => part !== "");
  const own = rest[0] === "namespaces" && rest.length > 2 ? rest.slice(2) : rest;
  const [resource = "none", , subresource] = own;
  return subresource === undefined ? resource : `${resource}/${subresource}`;
}
