/**
 * How a pod reaches the API server of its own cluster: the address from two environment variables, CA, token and
 * namespace from the service account volume, whose token the kubelet renews.
 * https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/
 */
import { createCaReader } from "./ca_certs.ts";
import { createGivenCredential } from "./given_credential.ts";
import { readTextFile } from "./pem.ts";
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
  const source = { kind: "file", path: `${root}/ca.crt` } as const;
  const readCaCerts = createCaReader(source, { what: "certificate authority", now: options.now });
  try {
    const [caCerts, namespace] = await Promise.all([
      readCaCerts(null),
      readTextFile(`${root}/namespace`, "namespace").catch(() => ""),
      readCredential(null),
    ]);
    return {
      source: "in-cluster",
      origin: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
      namespace: namespace.trim() || "default",
      caCerts,
      readCaCerts,
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
