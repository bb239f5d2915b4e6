/**
 * What is in a kubeconfig, and what several of them make together.
 * https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/
 */
import type { PemSource } from "./pem.ts";

/** One kubeconfig file, or several merged. `null` stands for an absent or empty field. */
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
