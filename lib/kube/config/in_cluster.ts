/**
 * How a pod reaches the API server of its own cluster: the address from two environment variables, CA, token and
 * namespace from the service account volume, whose token the kubelet renews.
 * https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/
 */
import { createGivenCredential, readPem, readTextFile } from "./credential_files.ts";
import type { ServerConfig } from "./server_config.ts";

export interface InClusterOptions {
  /** KUBERNETES_SERVICE_HOST. */
  readonly host: string;
  /** KUBERNETES_SERVICE_PORT. */
  readonly port: string;
  /** Where the service account is mounted; tests name another directory. */
  readonly root?: string;
}

export const SERVICE_ACCOUNT_ROOT = "/var/run/secrets/kubernetes.io/serviceaccount";

export async function loadInCluster(
  { host, port, root = SERVICE_ACCOUNT_ROOT }: InClusterOptions,
  options: { readonly now: () => number },
): Promise<ServerConfig> {
  const readCredential = createGivenCredential({
    kind: "given",
    authorization: { kind: "tokenFile", path: `${root}/token` },
    certificate: null,
  }, options);
  try {
    const [caPem, namespace] = await Promise.all([
      readPem({ kind: "file", path: `${root}/ca.crt` }, "certificate authority"),
      readTextFile(`${root}/namespace`, "namespace").catch(() => ""),
      readCredential(null),
    ]);
    return {
      source: "in-cluster",
      origin: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
      namespace: namespace.trim() || "default",
      caCerts: [caPem],
      proxyUrl: null,
      readCredential,
    };
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(
      `Cannot use the service account of this pod: ${reason}; ` +
        "check automountServiceAccountToken of the pod, or name a file with --kubeconfig",
      { cause },
    );
  }
}
