/**
 * Requests as podfit's pods would send them: with a token that a kubelet could have mounted, which names its pod and the
 * pod's node.
 */
import { connect } from "../../../lib/kube/http_transport.ts";
import type { ApiServer } from "../../../lib/kube/transport.ts";
import { backend } from "./backend.ts";

/** The API server as that account reaches it, with a token of that pod; of no pod without one. */
export async function enter(
  account: { readonly namespace: string; readonly name: string; readonly pod?: string },
): Promise<ApiServer> {
  const opened = await backend().openAccount(account);
  const server = await connect({ version: "test", kubeconfigPaths: [opened.kubeconfig] });
  return {
    ...server,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await opened[Symbol.asyncDispose]();
    },
  };
}

/** What the API server says. */
export interface Answer {
  readonly status: number;
  readonly message: string;
}

let millicores = 10;

/** Each asks for another size: a PATCH that changes nothing would prove little. */
export function resize(server: ApiServer, namespace: string, name: string): Promise<Answer> {
  return resizeTo(server, { namespace, name }, { requests: { cpu: `${++millicores}m` } });
}

/** Asks for these resources of the container "main". */
export function resizeTo(
  server: ApiServer,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  resources: unknown,
): Promise<Answer> {
  return write(server, {
    method: "PATCH",
    path: `/api/v1/namespaces/${namespace}/pods/${name}/resize`,
    body: { spec: { containers: [{ name: "main", resources }] } },
    type: "strategic-merge-patch",
  });
}

interface Write {
  readonly method: "PATCH" | "PUT" | "POST" | "DELETE";
  readonly path: string;
  readonly body?: unknown;
  /** The type of a patch: merge by default. */
  readonly type?: "merge-patch" | "strategic-merge-patch";
}

/** Sends any write. */
export async function write(
  { origin, transport }: ApiServer,
  { method, path, body, type = "merge-patch" }: Write,
): Promise<Answer> {
  const media = method === "PATCH" ? `application/${type}+json` : "application/json";
  const response = await transport(
    new Request(`${origin}${path}`, {
      method,
      headers: { "content-type": media },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }),
  );
  const { message = "" } = await response.json();
  return { status: response.status, message };
}
