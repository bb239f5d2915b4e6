/**
 * Where does a credential come from? From the kubeconfig itself, from files, or from a program (ExecCredential).
 *
 * Files are read again at intervals, because other programs replace them in place.
 *
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
 */
import type { Clock } from "../../runtime/clock.ts";
import { keepSecret } from "../../runtime/secrets.ts";
import { isRecord } from "../../units/untrusted.ts";
import { readPem, readTextFile } from "./certificates.ts";
import {
  type Credential,
  CredentialCache,
  type GetCredential,
  type LoadedCredential,
  parseToken,
  toHeader,
} from "./credential.ts";
import type { ClusterEntry, ExecConfig, KeyPair, User } from "./kubeconfig.ts";

/**
 * Returns a reader of a token, a password or a certificate. Files are read again every 60 s, and at once when the
 * server refuses their content. It rejects before the first successful read, and returns the last credential when a
 * file is gone later.
 */
export function createGivenCredential(user: GivenUser, options: { readonly now: () => number }): GetCredential {
  async function load(): Promise<LoadedCredential> {
    return { credential: await loadCredential(user), expiresAt: options.now() + FILE_REREAD_MS };
  }
  return new CredentialCache(load, { now: options.now, outlivesFailure: true }).get;
}

/**
 * Returns a reader that runs the plugin, such as `aws eks get-token`, when it must. The plugin runs without
 * interaction, because podfit has no terminal. Throws for a configuration that can never work.
 */
export function createExecCredential(user: ExecUser, options: ExecOptions): GetCredential {
  const { exec } = user;
  if (!API_VERSIONS.includes(exec.apiVersion)) {
    throw failure(user, `apiVersion "${exec.apiVersion}" is not one of ${API_VERSIONS.join(", ")}; update the plugin`);
  }
  if (exec.interactiveMode === "Always") {
    throw failure(
      user,
      "interactiveMode is Always, and podfit has no terminal; use a credential that works unattended",
    );
  }
  const load = async (): Promise<LoadedCredential> => parseExecCredential(user, await runPlugin(user, options));
  return new CredentialCache(load, { now: options.clock.now, outlivesFailure: false }).get;
}

type GivenUser = Extract<User, { kind: "given" }>;

const UNUSABLE = "Cannot use the token of the kubeconfig";

/** As in client-go. A kubelet renews a token when 80 % of its life, at least 10 min, have passed. */
const FILE_REREAD_MS = 60_000;

async function loadCredential(user: GivenUser): Promise<Credential> {
  const [authorization, clientCertificate] = await Promise.all([
    loadAuthorization(user),
    user.certificate === null ? null : loadKeyPair(user.certificate),
  ]);
  return { authorization, clientCertificate };
}

async function loadAuthorization({ authorization }: GivenUser): Promise<Credential["authorization"]> {
  switch (authorization?.kind) {
    case undefined:
      return null;
    case "token":
      return { kind: "bearer", token: parseToken(authorization.token, (why) => new Error(`${UNUSABLE}: ${why}`)) };
    case "basic":
      keepSecret(authorization.password);
      keepSecret(toHeader(authorization).replace("Basic ", ""));
      return authorization;
    case "tokenFile": {
      const { path } = authorization;
      const text = await readTextFile(path, "token file");
      return { kind: "bearer", token: parseToken(text, (why) => new Error(`Cannot use token file "${path}": ${why}`)) };
    }
  }
}

async function loadKeyPair(pair: KeyPair): Promise<Credential["clientCertificate"]> {
  const [cert, key] = await Promise.all([
    readPem(pair.cert, "client certificate"),
    readPem(pair.key, "client key"),
  ]);
  return { cert, key };
}

interface ExecUser {
  /** The name of the user in the kubeconfig, for error messages. */
  readonly name: string;
  readonly exec: ExecConfig;
  readonly cluster: ClusterEntry;
  /** The cluster's certificate authority in PEM; `null` when it has none. */
  readonly caPem: string | null;
}

interface ExecOptions {
  readonly clock: Pick<Clock, "now" | "timeout">;
  /** Ends a plugin that still runs. */
  readonly signal: AbortSignal;
}

const API_VERSIONS = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];

const TIMEOUT_MS = 60_000;

const SHOWN_CHARACTERS = 500;

async function runPlugin(user: ExecUser, { clock, signal }: ExecOptions): Promise<string> {
  const { exec } = user;
  using timeout = clock.timeout(TIMEOUT_MS);
  const result = await runProgram(exec.command, {
    args: exec.args,
    env: { ...exec.env, KUBERNETES_EXEC_INFO: JSON.stringify(toExecInfo(user)) },
    signal: AbortSignal.any([signal, timeout.signal]),
  });
  if (result.kind === "exited" && result.code === 0) return result.stdout;
  signal.throwIfAborted();
  throw failure(user, describeFailure(result, user));
}

function describeFailure(result: ProgramResult, { exec }: ExecUser): string {
  switch (result.kind) {
    case "missing":
      return ["not found or not executable", ...(exec.installHint === null ? [] : [exec.installHint.trim()])].join(
        "; ",
      );
    case "forbidden":
      return "podfit has no permission to run programs; run it as bin/podfit, or with Deno's -P=exec, or use a token file";
    case "aborted":
      return `it did not end within ${TIMEOUT_MS / 1000} s`;
    case "exited": {
      const words = result.stderr.trim().slice(0, SHOWN_CHARACTERS);
      return `exit code ${result.code}${words === "" ? "" : `: ${words}`}`;
    }
  }
}

function toExecInfo({ exec, cluster, caPem }: ExecUser): unknown {
  const info = {
    server: cluster.server,
    ...(cluster.tlsServerName === null ? {} : { "tls-server-name": cluster.tlsServerName }),
    ...(caPem === null ? {} : { "certificate-authority-data": new TextEncoder().encode(caPem).toBase64() }),
    ...(cluster.proxyUrl === null ? {} : { "proxy-url": cluster.proxyUrl }),
    ...(cluster.execConfig === null ? {} : { config: cluster.execConfig }),
  };
  const spec = { interactive: false, ...(exec.provideClusterInfo ? { cluster: info } : {}) };
  return { apiVersion: exec.apiVersion, kind: "ExecCredential", spec };
}

/** Its errors never quote what the plugin printed, which holds the secret. */
function parseExecCredential(user: ExecUser, stdout: string): LoadedCredential {
  const printed = parseJson(stdout);
  if (!isRecord(printed) || printed["kind"] !== "ExecCredential") throw failure(user, "it printed no ExecCredential");
  if (printed["apiVersion"] !== user.exec.apiVersion) {
    throw failure(user, `it printed apiVersion "${printed["apiVersion"]}" instead of "${user.exec.apiVersion}"`);
  }
  const status = isRecord(printed["status"]) ? printed["status"] : {};
  const credential = parseCredential(status, (why) => failure(user, `it printed an invalid token: ${why}`));
  if (credential === null) {
    throw failure(user, "its status has neither a token nor a clientCertificateData with clientKeyData");
  }
  const expiry = status["expirationTimestamp"] ?? null;
  const expiresAt = expiry === null ? null : Date.parse(String(expiry));
  if (Number.isNaN(expiresAt)) throw failure(user, `it printed expirationTimestamp "${expiry}", which is not a time`);
  return { credential, expiresAt };
}

function parseCredential(
  status: Readonly<Record<string, unknown>>,
  fail: (why: string) => Error,
): Credential | null {
  const { token, clientCertificateData: cert, clientKeyData: key } = status;
  const hasToken = typeof token === "string" && token !== "";
  const hasCertificate = typeof cert === "string" && cert !== "" && typeof key === "string" && key !== "";
  if (!hasToken && !hasCertificate) return null;
  return {
    authorization: hasToken ? { kind: "bearer", token: parseToken(token, fail) } : null,
    clientCertificate: hasCertificate ? { cert, key } : null,
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function failure(user: ExecUser, why: string): Error {
  return new Error(`Cannot get credentials of user "${user.name}" from exec plugin "${user.exec.command}": ${why}`);
}

/**
 * `missing`: not found, or not executable. `forbidden`: this process may not run programs. `aborted`: killed when the
 * signal aborted.
 */
type ProgramResult =
  | { readonly kind: "exited"; readonly code: number; readonly stdout: string; readonly stderr: string }
  | { readonly kind: "missing" }
  | { readonly kind: "forbidden" }
  | { readonly kind: "aborted" };

interface ProgramOptions {
  readonly args: readonly string[];
  /** Added to the environment of this process. */
  readonly env: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** Output beyond this limit is read and dropped. */
const MAX_OUTPUT_BYTES = 1024 * 1024;

/**
 * Resolves with the result, also when the program fails or the signal aborts. The signal ends the wait even when a
 * child of the program holds the output open. Rejects if the program cannot be started.
 */
async function runProgram(command: string, options: ProgramOptions): Promise<ProgramResult> {
  const { signal } = options;
  if (signal.aborted) return { kind: "aborted" };
  const child = spawn(command, options);
  if ("kind" in child) return child;
  const kill = () => killIfRunning(child);
  signal.addEventListener("abort", kill);
  try {
    const [status, stdout, stderr] = await Promise.all([
      child.status,
      readOutput(child.stdout, signal),
      readOutput(child.stderr, signal),
    ]);
    return signal.aborted ? { kind: "aborted" } : { kind: "exited", code: status.code, stdout, stderr };
  } finally {
    signal.removeEventListener("abort", kill);
  }
}

type ProgramNotStarted = Extract<ProgramResult, { kind: "missing" | "forbidden" }>;

function spawn(command: string, { args, env }: ProgramOptions): Deno.ChildProcess | ProgramNotStarted {
  try {
    return new Deno.Command(command, { args: [...args], env, stdin: "null", stdout: "piped", stderr: "piped" }).spawn();
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) return { kind: "forbidden" };
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.PermissionDenied) {
      return { kind: "missing" };
    }
    throw error;
  }
}

function killIfRunning(child: Deno.ChildProcess): void {
  try {
    child.kill("SIGKILL");
  } catch {
    // It has just ended.
  }
}

async function readOutput(stream: ReadableStream<Uint8Array>, signal: AbortSignal): Promise<string> {
  const reader = stream.getReader();
  const stop = () => void reader.cancel();
  signal.addEventListener("abort", stop);
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      if (bytes < MAX_OUTPUT_BYTES) text += decoder.decode(part.value, { stream: true });
      bytes += part.value.length;
    }
    return text;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
