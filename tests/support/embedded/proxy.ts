/** How do requests reach kubelets and pods through the API server? */
import type { Kubelet } from "../../../lib/embedded/kubelet/kubelet.ts";
import type { LoadRef } from "../../../lib/embedded/kubelet/machine.ts";
import type { ClusterNode } from "../../../lib/embedded/node.ts";
import type { Proxy } from "../../../lib/embedded/server/http/handler.ts";

/**
 * `token` is the API server's own for kubelets, which do not see the caller of the proxy; `null` where they need none.
 */
export function createProxy(
  nodes: ReadonlyMap<string, ClusterNode>,
  { token, proxyToPod }: { readonly token: string | null; readonly proxyToPod: ProxyToPod },
): Proxy {
  return async ({ plural, namespace, name, path }, request) => {
    const { search } = new URL(request.url);
    if (plural === "nodes") {
      const node = nodes.get(name.split(":")[0] ?? "");
      if (node === undefined) return refuseProxy(`no such host "${name}"`);
      const { host, port } = node.place;
      const { method, signal } = request;
      const headers = new Headers(request.headers);
      headers.delete("authorization");
      if (token !== null) headers.set("authorization", `Bearer ${token}`);
      return await node.handle(new Request(`https://${host}:${port}/${path}${search}`, { method, headers, signal }));
    }
    const [pod = "", port = "80"] = name.split(":");
    const container = { namespace: namespace ?? "", name: pod, port: Number(port) };
    try {
      const answer = proxyToPod([...nodes.values()].map(({ kubelet }) => kubelet), container, `/${path}${search}`);
      if (answer !== null) return answer;
    } catch (error) {
      return refuseProxy(error instanceof Error ? error.message : String(error));
    }
    return refuseProxy(`dial tcp ${pod}:${port}: connect: connection refused`);
  };
}

/** Answers a request to a pod; `null` when no container listens there. Throws for a container that ends meanwhile. */
export type ProxyToPod = (kubelets: readonly Kubelet[], container: LoadRef, pathAndQuery: string) => Response | null;

function refuseProxy(why: string): Response {
  const message = `error trying to reach service: ${why}`;
  const status = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", reason: "ServiceUnavailable" };
  return Response.json({ ...status, message, code: 503 }, { status: 503 });
}
