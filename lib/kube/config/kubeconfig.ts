/**
 * What does a kubeconfig contain, and which server and user does a context name?
 *
 * A setting that podfit cannot honour is refused, with what to do instead.
 *
 * https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/
 */
import type { PemSource } from "./certificates.ts";

/** One kubeconfig file, or several merged. `null` = an absent or empty field. */
export interface Kubeconfig {
  /** The files in order, for error messages. */
  readonly paths: readonly string[];
  readonly currentContext: string | null;
  readonly clusters: ReadonlyMap<string, ClusterEntry>;
  readonly users: ReadonlyMap<string, UserEntry>;
  readonly contexts: ReadonlyMap<string, ContextEntry>;
}

export interface ContextEntry {
  /** The file of this entry, for error messages. */
  readonly path: string;
  readonly cluster: string | null;
  readonly user: string | null;
  readonly namespace: string | null;
}

export interface ClusterEntry {
  /** The file of this entry. */
  readonly path: string;
  readonly server: string | null;
  readonly certificateAuthority: PemSource | null;
  readonly insecureSkipTlsVerify: boolean;
  readonly tlsServerName: string | null;
  readonly proxyUrl: string | null;
  /** The JSON that exec plugins get as `spec.cluster.config`; `null` for none. */
  readonly execConfig: unknown;
}

export interface UserEntry {
  /** The file of this entry. */
  readonly path: string;
  readonly clientCertificate: PemSource | null;
  readonly clientKey: PemSource | null;
  readonly token: string | null;
  /** Absolute. */
  readonly tokenFile: string | null;
  readonly username: string | null;
  readonly password: string | null;
  readonly exec: ExecConfig | null;
  /** The name of a provider that was built into old clients. */
  readonly authProvider: string | null;
  /** The user named by `as`. */
  readonly impersonates: string | null;
}

export interface ExecConfig {
  readonly apiVersion: string;
  /** A bare name, to be searched on the PATH, or an absolute path. */
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly installHint: string | null;
  readonly provideClusterInfo: boolean;
  readonly interactiveMode: string | null;
}

/** Merges the files in order: the first to name a cluster, user, context or current context wins. */
export function mergeKubeconfigs(configs: readonly Kubeconfig[]): Kubeconfig {
  // A Map keeps the last of several pairs with one key, so the pairs of the first file come last.
  const reversed = configs.toReversed();
  return {
    paths: configs.flatMap((config) => config.paths),
    currentContext: configs.map((config) => config.currentContext).find((name) => name !== null) ?? null,
    clusters: new Map(reversed.flatMap((config) => [...config.clusters])),
    users: new Map(reversed.flatMap((config) => [...config.users])),
    contexts: new Map(reversed.flatMap((config) => [...config.contexts])),
  };
}

export interface KubeContext {
  /** The file and the context's name, for error messages. */
  readonly source: string;
  readonly namespace: string;
  /** Without a trailing slash; it may hold a path, as behind a proxy such as Rancher. */
  readonly origin: string;
  readonly certificateAuthority: PemSource | null;
  readonly proxyUrl: string | null;
  readonly user: User;
  /** The entry itself, for exec plugins that ask for the cluster. */
  readonly cluster: ClusterEntry;
}

/** `given`: the kubeconfig gives the credential itself. `exec`: a program prints it. */
export type User =
  | { readonly kind: "given"; readonly authorization: GivenAuthorization | null; readonly certificate: KeyPair | null }
  | { readonly kind: "exec"; readonly name: string; readonly exec: ExecConfig };

export interface KeyPair {
  readonly cert: PemSource;
  readonly key: PemSource;
}

/**
 * Returns a context by its name, or the current one for `null`. Throws if it is not there, or if podfit or native fetch
 * cannot honour it: to ignore an `as` or a `tls-server-name` would change the user or the server.
 */
export function getContext(config: Kubeconfig, name: string | null): KubeContext {
  const files = config.paths.map((path) => `"${path}"`).join(", ");
  const chosen = name ?? config.currentContext;
  if (chosen === null) {
    throw new Error(
      `Cannot choose a context of kubeconfig ${files}: current-context is not set; ` +
        "pass --context with a name from `kubectl config get-contexts`",
    );
  }
  const context = config.contexts.get(chosen);
  if (context === undefined) {
    throw new Error(
      `Cannot use context "${chosen}" of kubeconfig ${files}: no such context among ${listNames(config.contexts)}; ` +
        "see `kubectl config get-contexts`",
    );
  }
  const refuse: Refuse = (why) => new Error(`Cannot use context "${chosen}" of kubeconfig "${context.path}": ${why}`);
  const cluster = context.cluster === null ? undefined : config.clusters.get(context.cluster);
  if (cluster === undefined) {
    throw refuse(`cluster "${context.cluster ?? ""}" is not defined; see \`kubectl config get-contexts\``);
  }
  const user = context.user === null ? null : config.users.get(context.user);
  if (user === undefined) throw refuse(`user "${context.user}" is not defined; see \`kubectl config get-contexts\``);
  return {
    source: `${context.path} (context "${chosen}")`,
    namespace: context.namespace ?? "default",
    ...getCluster(cluster, (why) => refuse(`cluster "${context.cluster}" ${why}`)),
    user: user === null ? ANONYMOUS : getUser(user, {
      name: context.user ?? "",
      refuse: (why) => refuse(`user "${context.user}" ${why}`),
    }),
  };
}

type GivenAuthorization =
  | { readonly kind: "token"; readonly token: string }
  | { readonly kind: "tokenFile"; readonly path: string }
  | { readonly kind: "basic"; readonly username: string; readonly password: string };

type Refuse = (why: string) => Error;

const ANONYMOUS: User = { kind: "given", authorization: null, certificate: null };

const MAX_LISTED_NAMES = 10;

function getCluster(cluster: ClusterEntry, refuse: Refuse): Omit<KubeContext, "source" | "namespace" | "user"> {
  if (cluster.server === null) throw refuse("has no server; set it with `kubectl config set-cluster --server`");
  const url = URL.parse(cluster.server);
  if (url !== null && (url.username !== "" || url.password !== "")) {
    throw refuse("has a server with a username or password in its URL: name them under user instead");
  }
  if (url === null || !["https:", "http:"].includes(url.protocol) || url.search || url.hash) {
    throw refuse(`has server "${cluster.server}": it must be a URL such as https://10.0.0.1:6443`);
  }
  if (cluster.insecureSkipTlsVerify && url.protocol === "https:") {
    throw refuse(
      "has insecure-skip-tls-verify: podfit always verifies the server, as its fetch cannot skip that for one server; " +
        "give the server's CA with `kubectl config set-cluster --certificate-authority=<file> --embed-certs` instead",
    );
  }
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (cluster.tlsServerName !== null && cluster.tlsServerName !== host) {
    throw refuse(
      `has tls-server-name "${cluster.tlsServerName}": podfit can only expect the name in the server URL; ` +
        "use a server URL whose host is in the certificate",
    );
  }
  if (cluster.proxyUrl !== null && !/^(https?|socks5h?):\/\/[^/]/.test(cluster.proxyUrl)) {
    throw refuse("has a proxy-url that is not an http://, https:// or socks5:// URL");
  }
  return {
    origin: `${url.origin}${url.pathname.replace(/\/+$/, "")}`,
    certificateAuthority: cluster.certificateAuthority,
    proxyUrl: cluster.proxyUrl,
    cluster,
  };
}

function getUser(user: UserEntry, { name, refuse }: { readonly name: string; readonly refuse: Refuse }): User {
  if (user.authProvider !== null) {
    throw refuse(
      `has auth-provider "${user.authProvider}": podfit has none of the providers built into kubectl; ` +
        "use an exec plugin (`kubectl config set-credentials --exec-command`) or a token",
    );
  }
  if (user.impersonates !== null) {
    throw refuse(`has as "${user.impersonates}": podfit does not impersonate; use a user that has these rights itself`);
  }
  if ((user.clientCertificate === null) !== (user.clientKey === null)) {
    throw refuse(`has ${user.clientKey === null ? "client-certificate without client-key" : "client-key alone"}`);
  }
  const certificate = user.clientCertificate === null || user.clientKey === null
    ? null
    : { cert: user.clientCertificate, key: user.clientKey };
  const authorization = getAuthorization(user, refuse);
  if (user.exec === null) return { kind: "given", authorization, certificate };
  if (authorization !== null || certificate !== null) {
    throw refuse("has exec and another credential: keep one of them");
  }
  return { kind: "exec", name, exec: user.exec };
}

function getAuthorization(user: UserEntry, refuse: Refuse): GivenAuthorization | null {
  const hasToken = user.token !== null || user.tokenFile !== null;
  if (hasToken && user.username !== null) throw refuse("has both a token and a username: keep one of them");
  // The file wins over a token in the same entry, as in kubectl: the file is the one that is renewed.
  if (user.tokenFile !== null) return { kind: "tokenFile", path: user.tokenFile };
  if (user.token !== null) return { kind: "token", token: user.token };
  if (user.username !== null) return { kind: "basic", username: user.username, password: user.password ?? "" };
  return null;
}

function listNames(entries: ReadonlyMap<string, unknown>): string {
  const names = [...entries.keys()].map((name) => `"${name}"`);
  if (names.length === 0) return "none";
  const more = names.length - MAX_LISTED_NAMES;
  return names.slice(0, MAX_LISTED_NAMES).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
