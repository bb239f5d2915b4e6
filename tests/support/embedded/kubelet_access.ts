/**
 * May this caller read from the kubelet? The kubelet asks its API server.
 * https://kubernetes.io/docs/reference/access-authn-authz/kubelet-authn-authz/
 */
import { at, type JsonObject, objectAt, textAt } from "../../../lib/embedded/json.ts";
import type { CheckAccess } from "../../../lib/embedded/kubelet/kubelet.ts";
import type { ObjectsClient } from "../../../lib/embedded/objects_client.ts";

/** Asks the API server about each request. Rejects when the API server cannot be asked. */
export function reviewAccess(client: ObjectsClient): CheckAccess {
  return async (request, node) => {
    const [, token = ""] = /^Bearer\s+(\S+)$/i.exec(request.headers.get("authorization") ?? "") ?? [];
    const user = token === "" ? null : await fetchUser(client, token);
    if (user === null) return new Response("Unauthorized", { status: 401, headers: TEXT });
    const subresources = toSubresources(new URL(request.url).pathname);
    const verb = request.method === "GET" || request.method === "HEAD" ? "get" : request.method.toLowerCase();
    for (const subresource of subresources) {
      if (await isAllowed(client, { user, attributes: { verb, resource: "nodes", subresource, name: node } })) {
        return null;
      }
    }
    const asked = `verb=${verb}, resource=nodes, subresource(s)=[${subresources.join(" ")}]`;
    const words = `Forbidden (user=${textAt(user, "username")}, ${asked})`;
    return new Response(words, { status: 403, headers: TEXT });
  };
}

const TEXT = { "content-type": "text/plain; charset=utf-8" };

/** Any of them will do. */
function toSubresources(path: string): readonly string[] {
  if (path.startsWith("/stats")) return ["stats"];
  if (path.startsWith("/metrics")) return ["metrics"];
  if (path === "/healthz") return ["healthz", "proxy"];
  if (path === "/pods") return ["pods", "proxy"];
  return ["proxy"];
}

async function fetchUser(client: ObjectsClient, token: string): Promise<JsonObject | null> {
  const { status = null } = await client.create("/apis/authentication.k8s.io/v1/tokenreviews", {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenReview",
    spec: { token },
  });
  return at(status, "authenticated") === true ? objectAt(status, "user") : null;
}

async function isAllowed(
  client: ObjectsClient,
  { user, attributes }: { readonly user: JsonObject; readonly attributes: JsonObject },
): Promise<boolean> {
  const spec = { user: textAt(user, "username"), groups: user.groups ?? [], resourceAttributes: attributes };
  const { status = null } = await client.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    spec,
  });
  return at(status, "allowed") === true;
}
