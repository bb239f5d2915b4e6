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
export async function resize({ origin, transport }: ApiServer, namespace: string, name: string): Promise<Answer> {
  const requests = { cpu: `${++millicores}m` };
  const response = await transport(
    new Request(`${origin}/api/v1/namespaces/${namespace}/pods/${name}/resize`, {
      method: "PATCH",
      headers: { "content-type": "application/strategic-merge-patch+json" },
      body: JSON.stringify({ spec: { containers: [{ name: "main", resources: { requests } }] } }),
    }),
  );
  const { message = "" } = await response.json();
  return { status: response.status, message };
}
