/**
 * How does the text of a kubeconfig file become typed entries?
 *
 * Errors name the file and the path of the field. They never quote a value, because it may be a secret.
 *
 * https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/
 */
import { dirname, isAbsolute, join } from "node:path";
import { isRecord } from "../../units/untrusted.ts";
import type { PemSource } from "./certificates.ts";
import type { ClusterEntry, ContextEntry, ExecConfig, Kubeconfig, UserEntry } from "./kubeconfig.ts";
import { parse as parseYaml } from "../../runtime/yaml.ts";

/**
 * Parses the text of a kubeconfig file. Throws an error that names the file and the field, and never quotes a value.
 */
export function parseKubeconfig(file: { readonly path: string; readonly text: string }): Kubeconfig {
  const { path } = file;
  const root = parseRecordField({ path, at: "", value: parseDocument(file) ?? {} }) ?? {};
  const named = <T>(list: string, parseEntry: (field: Field) => T) =>
    parseNamed({ path, at: list, value: root[list] }, parseEntry);
  return {
    paths: [path],
    currentContext: parseStringField({ path, at: "current-context", value: root["current-context"] }),
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
  for (const item of parseListField(list)) {
    const fields = parseRecordField(item) ?? {};
    const name = parseStringField(atPath(item, "name", fields));
    if (name === null) throw new Error(`Cannot parse kubeconfig "${list.path}": ${item.at} has no name`);
    if (entries.has(name)) throw new Error(`Cannot parse kubeconfig "${list.path}": ${list.at} has "${name}" twice`);
    entries.set(name, parseEntry(atPath(item, list.at.slice(0, -1), fields)));
  }
  return entries;
}

function parseContext(field: Field): ContextEntry {
  const fields = parseRecordField(field) ?? {};
  return {
    path: field.path,
    cluster: parseStringField(atPath(field, "cluster", fields)),
    user: parseStringField(atPath(field, "user", fields)),
    namespace: parseStringField(atPath(field, "namespace", fields)),
  };
}

function parseCluster(field: Field): ClusterEntry {
  const fields = parseRecordField(field) ?? {};
  const extensions = parseListField(atPath(field, "extensions", fields)).map((item) => item.value).filter(isRecord);
  return {
    path: field.path,
    server: parseStringField(atPath(field, "server", fields)),
    certificateAuthority: parsePemSource(field, "certificate-authority"),
    insecureSkipTlsVerify: parseBooleanField(atPath(field, "insecure-skip-tls-verify", fields)),
    tlsServerName: parseStringField(atPath(field, "tls-server-name", fields)),
    proxyUrl: parseStringField(atPath(field, "proxy-url", fields)),
    execConfig: extensions.find((extension) => extension["name"] === EXEC_EXTENSION)?.["extension"] ?? null,
  };
}

function parseUser(field: Field): UserEntry {
  const fields = parseRecordField(field) ?? {};
  const tokenFile = parseStringField(atPath(field, "tokenFile", fields));
  const provider = parseRecordField(atPath(field, "auth-provider", fields));
  return {
    path: field.path,
    clientCertificate: parsePemSource(field, "client-certificate"),
    clientKey: parsePemSource(field, "client-key"),
    token: parseStringField(atPath(field, "token", fields)),
    tokenFile: tokenFile === null ? null : resolveFromFile(field.path, tokenFile),
    username: parseStringField(atPath(field, "username", fields)),
    password: parseStringField(atPath(field, "password", fields)),
    exec: parseExec(atPath(field, "exec", fields)),
    authProvider: provider === null ? null : String(provider["name"] ?? ""),
    impersonates: parseStringField(atPath(field, "as", fields)),
  };
}

function parseExec(field: Field): ExecConfig | null {
  const fields = parseRecordField(field);
  if (fields === null) return null;
  const command = parseStringField(atPath(field, "command", fields));
  if (command === null) throw new Error(`Cannot parse kubeconfig "${field.path}": ${field.at} has no command`);
  const env = parseListField(atPath(field, "env", fields)).map((item) => {
    const pair = parseRecordField(item) ?? {};
    return [
      parseStringField(atPath(item, "name", pair)) ?? "",
      parseStringField(atPath(item, "value", pair)) ?? "",
    ] as const;
  });
  return {
    apiVersion: parseStringField(atPath(field, "apiVersion", fields)) ?? "",
    command: command.includes("/") ? resolveFromFile(field.path, command) : command,
    args: parseListField(atPath(field, "args", fields)).map((item) => parseStringField(item) ?? ""),
    env: Object.fromEntries(env),
    installHint: parseStringField(atPath(field, "installHint", fields)),
    provideClusterInfo: parseBooleanField(atPath(field, "provideClusterInfo", fields)),
    interactiveMode: parseStringField(atPath(field, "interactiveMode", fields)),
  };
}

/** `-data` wins over the path, as in kubectl. A relative path starts at the kubeconfig's folder. */
function parsePemSource(parent: Field, name: string): PemSource | null {
  const fields = parseRecordField(parent) ?? {};
  const inline = atPath(parent, `${name}-data`, fields);
  const encoded = parseStringField(inline);
  if (encoded !== null) {
    try {
      return { kind: "inline", pem: atob(encoded) };
    } catch {
      throw new Error(`Cannot parse kubeconfig "${parent.path}": ${inline.at} is not base64`);
    }
  }
  const path = parseStringField(atPath(parent, name, fields));
  return path === null ? null : { kind: "file", path: resolveFromFile(parent.path, path) };
}

function resolveFromFile(file: string, path: string): string {
  return isAbsolute(path) ? path : join(dirname(file), path);
}

/** A value that is not checked yet, and its place. */
interface Field {
  /** The file. */
  readonly path: string;
  /** The place in the file, such as `users[0].user.token`. */
  readonly at: string;
  readonly value: unknown;
}

type Fields = Readonly<Record<string, unknown>>;

/** Returns the field `name` of an object. */
function atPath(parent: Field, name: string, fields: Fields): Field {
  return { path: parent.path, at: `${parent.at}.${name}`, value: fields[name] };
}

/** Returns the fields of an object; `null` for an absent, null or empty one, as in kubectl. Throws for another type. */
function parseRecordField(field: Field): Fields | null {
  const value = field.value ?? null;
  if (value === null) return null;
  if (!isRecord(value)) throw wrongType(field, "an object");
  return value;
}

/** Returns the items of a list, none for an absent one. Throws for another type. */
function parseListField(field: Field): readonly Field[] {
  const value = field.value ?? [];
  if (!Array.isArray(value)) throw wrongType(field, "a list");
  return value.map((item: unknown, index) => ({ path: field.path, at: `${field.at}[${index}]`, value: item }));
}

/** Returns a string that is not empty, or `null`. Throws for another type. */
function parseStringField(field: Field): string | null {
  const value = field.value ?? "";
  if (typeof value !== "string") throw wrongType(field, "a string");
  return value === "" ? null : value;
}

/** Returns a boolean, false for an absent one. Throws for another type. */
function parseBooleanField(field: Field): boolean {
  const value = field.value ?? false;
  if (typeof value !== "boolean") throw wrongType(field, "true or false");
  return value;
}

function wrongType(field: Field, expected: string): Error {
  return new Error(`Cannot parse kubeconfig "${field.path}": ${field.at || "the document"} must be ${expected}`);
}
