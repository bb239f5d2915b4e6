/** Opens the API server that flags and variables name, for every command that asks one. */
import { SERVICE_ACCOUNT_ROOT } from "../kube/config/in_cluster.ts";
import { connect } from "../kube/connect.ts";
import type { ApiServer } from "../kube/transport.ts";
import { toStartError } from "./run/start_error.ts";
import { VERSION } from "./version.ts";

/** Where the server may be named. */
export interface ServerChoice {
  /** Of `--kubeconfig`. */
  readonly kubeconfigPaths: readonly string[];
  /** `null` = the kubeconfig's own. */
  readonly context: string | null;
  readonly environment: ServerEnvironment;
}

/** Variables that name a server; `null` = not set. */
export interface ServerEnvironment {
  readonly kubeconfig: string | null;
  readonly home: string | null;
  readonly serviceHost: string | null;
  readonly servicePort: string | null;
}

/** Reads the variables. */
export function readServerEnvironment(getEnv: (name: string) => string | undefined): ServerEnvironment {
  const read = (name: string) => getEnv(name)?.trim() || null;
  return {
    kubeconfig: read("KUBECONFIG"),
    home: read("HOME"),
    serviceHost: read("KUBERNETES_SERVICE_HOST"),
    servicePort: read("KUBERNETES_SERVICE_PORT"),
  };
}

/** Rejects with a StartError that says what to do. */
export async function connectTo(
  { kubeconfigPaths, context, environment }: ServerChoice,
  signal: AbortSignal,
): Promise<ApiServer> {
  const { serviceHost, servicePort, home, kubeconfig } = environment;
  try {
    return await connect({
      version: VERSION,
      kubeconfigPaths,
      kubeconfigVariable: kubeconfig,
      context,
      inCluster: serviceHost === null || servicePort === null
        ? null
        : { host: serviceHost, port: servicePort, root: SERVICE_ACCOUNT_ROOT },
      defaultPath: home === null ? null : `${home}/.kube/config`,
      signal,
    });
  } catch (error) {
    throw toStartError(error);
  }
}
