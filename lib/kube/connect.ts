/**
 * Which API server, and as whom? The order: kubeconfig files named on the command line, KUBECONFIG, the pod's own
 * service account, the default file. The paths and variables come from lib/cli; only files are read here.
 */
import { systemClock } from "../runtime/clock.ts";
import type { Clock } from "../runtime/clock.ts";
import { createGivenCredential, readPem } from "./config/credential_files.ts";
import { createExecCredential } from "./config/exec_credential.ts";
import { HttpTransport } from "./http_transport.ts";
import { loadInCluster } from "./config/in_cluster.ts";
import type { InClusterOptions } from "./config/in_cluster.ts";
import { readContext } from "./config/context.ts";
import { loadKubeconfigs, splitPaths } from "./config/files.ts";
import type { ServerConfig } from "./config/server_config.ts";
import type { ApiServer } from "./transport.ts";

export interface ConnectOptions {
  /** podfit's own, for the User-Agent. */
  readonly version: string;
  /** --kubeconfig; each must exist. */
  readonly kubeconfigPaths?: readonly string[];
  /** The value of KUBECONFIG. */
  readonly kubeconfigVariable?: string | null;
  /** --context; it never means the pod's own cluster. */
  readonly context?: string | null;
  /** `null` outside a cluster. */
  readonly inCluster?: InClusterOptions | null;
  /** ~/.kube/config */
  readonly defaultPath?: string | null;
  readonly clock?: Pick<Clock, "now" | "timeout">;
}

interface Lifetime {
  readonly clock: Pick<Clock, "now" | "timeout">;
  readonly signal: AbortSignal;
}

/** Reads the credential once, so that a bad configuration ends the start; sends nothing. */
export async function connect(options: ConnectOptions): Promise<ApiServer> {
  const closing = new AbortController();
  const config = await loadServerConfig(options, {
    clock: options.clock ?? systemClock,
    signal: closing.signal,
  });
  return await openServer(config, { version: options.version, onClose: () => closing.abort() });
}

/** A server whose configuration is at hand already. */
export async function openServer(
  config: ServerConfig,
  { version, onClose = () => {} }: { readonly version: string; readonly onClose?: () => void },
): Promise<ApiServer> {
  const { origin, caCerts, namespace, source, readCredential } = config;
  const http = new HttpTransport(config, { userAgent: `podfit/${version}` });
  await http.prepare();
  return {
    origin,
    caCerts,
    namespace,
    source,
    transport: (request) => http.send(request),
    get clientCertificate() {
      return http.clientCertificate;
    },
    async readToken() {
      const { authorization } = await readCredential(null);
      return authorization?.kind === "bearer" ? authorization.token : null;
    },
    [Symbol.asyncDispose]() {
      onClose();
      http[Symbol.dispose]();
      return Promise.resolve();
    },
  };
}

async function loadServerConfig(options: ConnectOptions, lifetime: Lifetime): Promise<ServerConfig> {
  const { kubeconfigPaths = [], context = null, inCluster = null, defaultPath = null } = options;
  const listed = splitPaths(options.kubeconfigVariable ?? "");
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
  const caPem = certificateAuthority === null ? null : await readPem(certificateAuthority, "certificate authority");
  return {
    source,
    origin,
    namespace,
    proxyUrl,
    caCerts: caPem === null ? [] : [caPem],
    readCredential: user.kind === "exec"
      ? createExecCredential({ ...user, cluster, caPem }, lifetime)
      : createGivenCredential(user, lifetime.clock),
  };
}
