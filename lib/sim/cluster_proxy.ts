/** The API server's proxy reaches kubelets in an embedded cluster, and the load images in pods. */
import type { ClusterNode } from "./cluster_node.ts";
import type { Proxy } from "./server/http/handler.ts";

/** `token` is the API server's own for kubelets, which do not hear of who asked it; `null` where they ask for none. */
export function createProxy(nodes: ReadonlyMap<string, ClusterNode>, token: string | null): Proxy {
  return async ({ plural, namespace, name, path }, request) => {
    const { search } = new URL(request.url);
    if (plural === "nodes") {
      const node = nodes.get(name.split(":")[0] ?? "");
      if (node === undefined) return refuse(`no such host "${name}"`);
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
      for (const { kubelet } of nodes.values()) {
        const answer = kubelet.loads.answer(container, `/${path}${search}`);
        if (answer !== null) return answer;
      }
    } catch (error) {
      return refuse(error instanceof Error ? error.message : String(error));
    }
    return refuse(`dial tcp ${pod}:${port}: connect: connection refused`);
  };
}

function refuse(why: string): Response {
  const message = `error trying to reach service: ${why}`;
  const status = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", reason: "ServiceUnavailable" };
  return Response.json({ ...status, message, code: 503 }, { status: 503 });
}
