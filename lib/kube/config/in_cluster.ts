/**
 * How a pod reaches the API server of its own cluster: the address from two environment variables, CA, token and
 * namespace from the service account volume, whose token the kubelet renews.
 * https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/
 */
import { createGivenCredential } from "./given_credential.ts";
import { readPem, readTextFile } from "./pem.ts";
import type { ServerConfig } from "./server_config.ts";

export interface InClusterOptions {
  /** The value of KUBERNETES_SERVICE_HOST. */
  readonly host: string;
  /** The value of KUBERNETES_SERVICE_PORT. */
  readonly port: string;
  /** The directory where the service account is mounted; SERVICE_ACCOUNT_ROOT by default. */
  readonly root?: string;
}

/** Where a kubelet mounts the service account of a pod. */
export const SERVICE_ACCOUNT_ROOT = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Reads the service account of this pod. Rejects with what to check when it can't be used; sends nothing. */
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
