/**
 * Which API server does podfit use, and as which user?
 *
 * The configuration comes from kubeconfig files or from the service account of the pod. Paths and variables come from
 * lib/cli.
 * https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/
 */
import { delimiter } from "node:path";
import type { Clock } from "../../runtime/clock.ts";
import { createCaSource, describeReadError, type GetCaCerts, readTextFile } from "./certificates.ts";
import type { GetCredential } from "./credential.ts";
import { createExecCredential, createGivenCredential } from "./credential_sources.ts";
import { getContext, type Kubeconfig, mergeKubeconfigs } from "./kubeconfig.ts";

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

/**
 * Returns the configuration of the first source that is named or exists. Rejects if there is none, or if it cannot be
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

/** Returns the names of the contexts that --context may name, in the order of the files. Rejects if no file can be read. */
export async function listContexts(
  { kubeconfigPaths = [], kubeconfigVariable = null, defaultPath = null }: Omit<ConfigSources, "context" | "inCluster">,
): Promise<readonly string[]> {
  const listed = splitPaths(kubeconfigVariable ?? "");
  const paths = [kubeconfigPaths, listed, defaultPath === null ? [] : [defaultPath]].find(({ length }) => length > 0);
  if (paths === undefined) return [];
  return [...(await loadKubeconfigs(paths, { mustExist: paths !== listed })).contexts.keys()];
}

export interface ServerConfig {
  /** A file and context, or "in-cluster", for error messages. */
  readonly source: string;
  /** Without a trailing slash. It may hold a path, as behind a proxy such as Rancher. */
  readonly origin: string;
  readonly namespace: string;
  /** CA certificates in PEM: only they are trusted. Without any, the roots of the runtime are. */
  readonly caCerts: readonly string[];
  /** Returns the current ones; absent if they never change. */
  readonly getCaCerts?: GetCaCerts;
  readonly proxyUrl: string | null;
  readonly getCredential: GetCredential;
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
  const readCaCerts = createCaSource(source, { what: "certificate authority", now: options.now });
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
      getCaCerts: readCaCerts,
      proxyUrl: null,
      getCredential: readCredential,
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

interface Lifetime {
  readonly clock: Pick<Clock, "now" | "timeout">;
  /** Ends exec plugins that still run. */
  readonly signal: AbortSignal;
}

async function loadFromFiles(
  paths: readonly string[],
  options: { readonly mustExist: boolean; readonly context: string | null; readonly lifetime: Lifetime },
): Promise<ServerConfig> {
  const { lifetime } = options;
  const context = getContext(await loadKubeconfigs(paths, options), options.context);
  const { source, origin, namespace, proxyUrl, certificateAuthority, cluster, user } = context;
  const { now } = lifetime.clock;
  const readCaCerts = certificateAuthority === null
    ? null
    : createCaSource(certificateAuthority, { what: "certificate authority", now });
  const caCerts = await readCaCerts?.(null) ?? [];
  return {
    source,
    origin,
    namespace,
    proxyUrl,
    caCerts,
    ...(readCaCerts === null ? {} : { getCaCerts: readCaCerts }),
    getCredential: user.kind === "exec"
      ? createExecCredential({ ...user, cluster, caPem: caCerts[0] ?? null }, lifetime)
      : createGivenCredential(user, lifetime.clock),
  };
}

interface InClusterOptions {
  /** The value of KUBERNETES_SERVICE_HOST. */
  readonly host: string;
  /** The value of KUBERNETES_SERVICE_PORT. */
  readonly port: string;
  /** The directory where the service account is mounted; SERVICE_ACCOUNT_ROOT by default. */
  readonly root?: string;
}

/** Returns the paths in the value of KUBECONFIG. Empty parts are ignored. */
function splitPaths(variable: string): readonly string[] {
  return variable.split(delimiter).filter((path) => path !== "");
}

/**
 * Reads and merges kubeconfig files. With `mustExist` each of them must exist; otherwise one is enough, and missing
 * ones are skipped as in kubectl. Rejects with an error that names the file.
 */
async function loadKubeconfigs(
  paths: readonly string[],
  options: { readonly mustExist: boolean },
): Promise<Kubeconfig> {
  const files = await Promise.all(paths.map(async (path) => ({ path, text: await readFileIfExists(path) })));
  // Loaded on demand: in a cluster podfit needs no YAML parser.
  const { parseKubeconfig } = await import("./parse_kubeconfig.ts");
  const found = files.flatMap(({ path, text }) => text === null ? [] : [parseKubeconfig({ path, text })]);
  if (found.length === 0 || (options.mustExist && found.length < paths.length)) {
    const missing = files.filter(({ text }) => text === null).map(({ path }) => `"${path}"`).join(", ");
    throw new Error(
      `Cannot read kubeconfig ${missing}: no such file; name one with --kubeconfig or KUBECONFIG ` +
        "and see `kubectl config get-contexts`",
    );
  }
  return mergeKubeconfigs(found);
}

async function readFileIfExists(path: string): Promise<string | null> {
  try {
    return await Deno.readTextFile(path);
  } catch (cause) {
    if (cause instanceof Deno.errors.NotFound) return null;
    throw new Error(`Cannot read kubeconfig "${path}": ${describeReadError(cause)}`, { cause });
  }
}
