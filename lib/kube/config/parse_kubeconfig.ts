/**
 * Parses one kubeconfig file. It only reads what the file says: entries that podfit may never use are not judged here.
 * https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/
 */
import { dirname, isAbsolute, join } from "node:path";
import { parse as parseYaml } from "@std/yaml";
import { isRecord } from "../../units/untrusted.ts";
import { atPath, type Field, readBoolean, readList, readRecord, readString } from "./fields.ts";
import type { ClusterEntry, ContextEntry, ExecConfig, Kubeconfig, UserEntry } from "./kubeconfig.ts";
import type { PemSource } from "./pem.ts";

/**
 * Parses the text of a kubeconfig file. Throws an error that names the file and the field, and never quotes a value.
 */
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

const EXEC_EXTENSION = "client.authentication.k8s.io/exec";

function parseDocument({ path, text }: { readonly path: string; readonly text: string }): unknown {
  try {
    return parseYaml(text);
  } catch (error) {
    // The rest of the message, and the cause, quote the line, which may hold a secret.
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

/** `-data` wins over the path, as in kubectl. A relative path starts at the kubeconfig's folder. */
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
