/**
 * Which API server, and as whom? Looks for a configuration in kubeconfig files and in the pod's own service account.
 * Paths and variables come from lib/cli.
 */
import type { Clock } from "../../runtime/clock.ts";
import { createCaReader } from "./ca_certs.ts";
import { readContext } from "./context.ts";
import { createExecCredential } from "./exec_credential.ts";
import { createGivenCredential } from "./given_credential.ts";
import { type InClusterOptions, loadInCluster } from "./in_cluster.ts";
import { loadKubeconfigs, splitPaths } from "./kubeconfig_files.ts";
import type { ServerConfig } from "./server_config.ts";

/** Where a configuration may come from, in the order in which it is looked for. */
export interface ConfigSources {
  /** The files of --kubeconfig; each must exist. */
  readonly kubeconfigPaths?: readonly string[];
  /** The value of KUBECONFIG. Only one of its files must exist. */
  readonly kubeconfigVariable?: string | null;
  /** The service account of podfit's own pod; `null` outside a cluster. Not used when a context is named. */
  readonly inCluster?: InClusterOptions | null;
  /** ~/.kube/config */
  readonly defaultPath?: string | null;
  /** The --context within kubeconfig files; `null` for their current context. */
  readonly context?: string | null;
}

export interface Lifetime {
  readonly clock: Pick<Clock, "now" | "timeout">;
  /** Ends exec plugins that still run. */
  readonly signal: AbortSignal;
}

/**
 * Gives the configuration of the first source that is named or there. Rejects when there is none, or when it can't be
 * used; the message says what to do. Reads files, and sends nothing.
 */
export async function loadServerConfig(sources: ConfigSources, lifetime: Lifetime): Promise<ServerConfig> {
  const { kubeconfigPaths = [], context = null, inCluster = null, defaultPath = null } = sources;
  const listed = splitPaths(sources.kubeconfigVariable ?? "");
  if (kubeconfigPaths.length > 0) return await loadFromFiles(kubeconfigPaths, { mustExist: true, context, lifetime });
  if (listed.length > 0) return await loadFromFiles(listed, { mustExist: false, context, lifetime });
  if (inCluster !== null && context === null) return await loadInCluster(inCluster, lifetime.clock);
  if (defaultPath !== null) return await loadFromFiles([defaultPath], { mustExist: true, context, lifetime });
  throw new Error(
    "Cannot find a cluster: there is no --kubeconfig, KUBECONFIG, service account or default kubeconfig; " +
      "see `kubectl config get-contexts`",
  );
}

async function loadFromFiles(
  paths: readonly string[],
  options: { readonly mustExist: boolean; readonly context: string | null; readonly lifetime: Lifetime },
): Promise<ServerConfig> {
  const { lifetime } = options;
  const context = readContext(await loadKubeconfigs(paths, options), options.context);
  const { source, origin, namespace, proxyUrl, certificateAuthority, cluster, user } = context;
  const { now } = lifetime.clock;
  const readCaCerts = certificateAuthority === null
    ? null
    : createCaReader(certificateAuthority, { what: "certificate authority", now });
  const caCerts = await readCaCerts?.(null) ?? [];
  return {
    source,
    origin,
    namespace,
    proxyUrl,
    caCerts,
    ...(readCaCerts === null ? {} : { readCaCerts }),
    readCredential: user.kind === "exec"
      ? createExecCredential({ ...user, cluster, caPem: caCerts[0] ?? null }, lifetime)
      : createGivenCredential(user, lifetime.clock),
  };
}
