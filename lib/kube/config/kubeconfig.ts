/**
 * What does a kubeconfig file say? Parsing and merging only: no file is read here, and nothing is judged that podfit
 * may never use. The first file to name a cluster, user, context or current context wins.
 * https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/
 */
import { dirname, isAbsolute, join } from "node:path";
import { parse as parseYaml } from "@std/yaml";
import { isRecord } from "../../units/untrusted.ts";
import { atPath, readBoolean, readList, readRecord, readString } from "./fields.ts";
import type { Field } from "./fields.ts";

export interface Kubeconfig {
  /** The files it came from, in order; for error messages. */
  readonly paths: readonly string[];
  readonly currentContext: string | null;
  readonly clusters: ReadonlyMap<string, ClusterEntry>;
  readonly users: ReadonlyMap<string, UserEntry>;
  readonly contexts: ReadonlyMap<string, ContextEntry>;
}

export interface ContextEntry {
  /** The file of this entry. */
  readonly path: string;
  readonly cluster: string | null;
  readonly user: string | null;
  readonly namespace: string | null;
}

/** PEM text from a `-data` field, or the path that holds it, already resolved beside the kubeconfig. */
export type PemSource = { readonly kind: "inline"; readonly pem: string } | {
  readonly kind: "file";
  readonly path: string;
};

export interface ClusterEntry {
  readonly path: string;
  readonly server: string | null;
  readonly certificateAuthority: PemSource | null;
  readonly insecureSkipTlsVerify: boolean;
  readonly tlsServerName: string | null;
  readonly proxyUrl: string | null;
  /** What exec plugins get as `spec.cluster.config`. */
  readonly execConfig: unknown;
}

export interface UserEntry {
  readonly path: string;
  readonly clientCertificate: PemSource | null;
  readonly clientKey: PemSource | null;
  readonly token: string | null;
  readonly tokenFile: string | null;
  readonly username: string | null;
  readonly password: string | null;
  readonly exec: ExecConfig | null;
  /** The name of a provider built into old clients. */
  readonly authProvider: string | null;
  /** The user named by `as`. */
  readonly impersonates: string | null;
}

export interface ExecConfig {
  readonly apiVersion: string;
  /** A bare name is searched on the PATH; one with a slash is resolved against the file. */
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly installHint: string | null;
  readonly provideClusterInfo: boolean;
  readonly interactiveMode: string | null;
}

const EXEC_EXTENSION = "client.authentication.k8s.io/exec";

export function parseKubeconfig(file: { readonly path: string; readonly text: string }): Kubeconfig {
  const { path } = file;
  const root = readRecord({ path, at: "", value: parseDocument(file) ?? {} }) ?? {};
  const named = <T>(list: string, parseEntry: (field: Field) => T) =>
    parseNamed({ path, at: list, value: root[list] }, parseEntry);
  return {
    paths: [path],
    currentContext: readString({ path, at: "current-context", value: root["current-context"] }),
    clusters: named("clusters", parseCluster),
    users: named("users", parseUser),
    contexts: named("contexts", parseContext),
  };
}

export function mergeKubeconfigs(configs: readonly Kubeconfig[]): Kubeconfig {
  // A Map built from pairs keeps the last of a name, so the first file goes in last.
  const reversed = configs.toReversed();
  return {
    paths: configs.flatMap((config) => config.paths),
    currentContext: configs.map((config) => config.currentContext).find((name) => name !== null) ?? null,
    clusters: new Map(reversed.flatMap((config) => [...config.clusters])),
    users: new Map(reversed.flatMap((config) => [...config.users])),
    contexts: new Map(reversed.flatMap((config) => [...config.contexts])),
  };
}

function parseDocument({ path, text }: { readonly path: string; readonly text: string }): unknown {
  try {
    return parseYaml(text);
  } catch (error) {
    // Neither the rest of the message nor the cause: they quote the line, which may hold a secret.
    const reason = error instanceof Error ? error.message.split("\n")[0] : "no YAML";
    throw new Error(`Cannot parse kubeconfig "${path}": ${reason}`);
  }
}

function parseNamed<T>(list: Field, parseEntry: (field: Field) => T): ReadonlyMap<string, T> {
  const entries = new Map<string, T>();
  for (const item of readList(list)) {
    const fields = readRecord(item) ?? {};
    const name = readString(atPath(item, "name", fields));
    if (name === null) throw new Error(`Cannot parse kubeconfig "${list.path}": ${item.at} has no name`);
    if (entries.has(name)) throw new Error(`Cannot parse kubeconfig "${list.path}": ${list.at} has "${name}" twice`);
    entries.set(name, parseEntry(atPath(item, list.at.slice(0, -1), fields)));
  }
  return entries;
}

function parseContext(field: Field): ContextEntry {
  const fields = readRecord(field) ?? {};
  return {
    path: field.path,
    cluster: readString(atPath(field, "cluster", fields)),
    user: readString(atPath(field, "user", fields)),
    namespace: readString(atPath(field, "namespace", fields)),
  };
}

function parseCluster(field: Field): ClusterEntry {
  const fields = readRecord(field) ?? {};
  const extensions = readList(atPath(field, "extensions", fields)).map((item) => item.value).filter(isRecord);
  return {
    path: field.path,
    server: readString(atPath(field, "server", fields)),
    certificateAuthority: parsePemSource(field, "certificate-authority"),
    insecureSkipTlsVerify: readBoolean(atPath(field, "insecure-skip-tls-verify", fields)),
    tlsServerName: readString(atPath(field, "tls-server-name", fields)),
    proxyUrl: readString(atPath(field, "proxy-url", fields)),
    execConfig: extensions.find((extension) => extension["name"] === EXEC_EXTENSION)?.["extension"] ?? null,
  };
}

function parseUser(field: Field): UserEntry {
  const fields = readRecord(field) ?? {};
  const tokenFile = readString(atPath(field, "tokenFile", fields));
  const provider = readRecord(atPath(field, "auth-provider", fields));
  return {
    path: field.path,
    clientCertificate: parsePemSource(field, "client-certificate"),
    clientKey: parsePemSource(field, "client-key"),
    token: readString(atPath(field, "token", fields)),
    tokenFile: tokenFile === null ? null : resolveBeside(field.path, tokenFile),
    username: readString(atPath(field, "username", fields)),
    password: readString(atPath(field, "password", fields)),
    exec: parseExec(atPath(field, "exec", fields)),
    authProvider: provider === null ? null : String(provider["name"] ?? ""),
    impersonates: readString(atPath(field, "as", fields)),
  };
}

function parseExec(field: Field): ExecConfig | null {
  const fields = readRecord(field);
  if (fields === null) return null;
  const command = readString(atPath(field, "command", fields));
  if (command === null) throw new Error(`Cannot parse kubeconfig "${field.path}": ${field.at} has no command`);
  const env = readList(atPath(field, "env", fields)).map((item) => {
    const pair = readRecord(item) ?? {};
    return [readString(atPath(item, "name", pair)) ?? "", readString(atPath(item, "value", pair)) ?? ""] as const;
  });
  return {
    apiVersion: readString(atPath(field, "apiVersion", fields)) ?? "",
    command: command.includes("/") ? resolveBeside(field.path, command) : command,
    args: readList(atPath(field, "args", fields)).map((item) => readString(item) ?? ""),
    env: Object.fromEntries(env),
    installHint: readString(atPath(field, "installHint", fields)),
    provideClusterInfo: readBoolean(atPath(field, "provideClusterInfo", fields)),
    interactiveMode: readString(atPath(field, "interactiveMode", fields)),
  };
}

/** `-data` wins over the path, as in kubectl. */
function parsePemSource(parent: Field, name: string): PemSource | null {
  const fields = readRecord(parent) ?? {};
  const inline = atPath(parent, `${name}-data`, fields);
  const encoded = readString(inline);
  if (encoded !== null) {
    try {
      return { kind: "inline", pem: atob(encoded) };
    } catch {
      throw new Error(`Cannot parse kubeconfig "${parent.path}": ${inline.at} is not base64`);
    }
  }
  const path = readString(atPath(parent, name, fields));
  return path === null ? null : { kind: "file", path: resolveBeside(parent.path, path) };
}

function resolveBeside(file: string, path: string): string {
  return isAbsolute(path) ? path : join(dirname(file), path);
}
