/**
 * Credentials that a program prints, as `aws eks get-token` does: one ExecCredential on standard output, kept until it
 * expires or the server refuses it. podfit has no terminal, so plugins run without interaction.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
 */
import type { Clock } from "../../runtime/clock.ts";
import { isRecord } from "../../units/untrusted.ts";
import type { Credential, ReadCredential } from "./credential.ts";
import { CredentialCache, type LoadedCredential } from "./credential_cache.ts";
import type { ClusterEntry, ExecConfig } from "./kubeconfig.ts";
import { type ProgramResult, runProgram } from "./run_program.ts";
import { parseToken } from "./token.ts";

export interface ExecUser {
  /** The name of the user in the kubeconfig, for error messages. */
  readonly name: string;
  readonly exec: ExecConfig;
  readonly cluster: ClusterEntry;
  /** The cluster's certificate authority in PEM; `null` when it has none. */
  readonly caPem: string | null;
}

export interface ExecOptions {
  readonly clock: Pick<Clock, "now" | "timeout">;
  /** Ends a plugin that still runs. */
  readonly signal: AbortSignal;
}

const API_VERSIONS = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];
const TIMEOUT_MS = 60_000;
const SHOWN_CHARACTERS = 500;

/** Makes a reader that runs the plugin when it must. Throws for a configuration that can never work. */
export function createExecCredential(user: ExecUser, options: ExecOptions): ReadCredential {
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
  return new CredentialCache(load, { now: options.clock.now, outlivesFailure: false }).read;
}

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
      return "podfit has no permission to run programs; start it with `deno task start:exec`, or use a token file";
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
  const credential = parseCredential(status, (why) => failure(user, `it printed a token that is no good: ${why}`));
  if (credential === null) {
    throw failure(user, "its status has neither a token nor a clientCertificateData with clientKeyData");
  }
  const expiry = status["expirationTimestamp"] ?? null;
  const expiresAt = expiry === null ? null : Date.parse(String(expiry));
  if (Number.isNaN(expiresAt)) throw failure(user, `it printed expirationTimestamp "${expiry}", which is no time`);
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
