/** How explain and top reach podfits: the flags for it, and what they open. */
import type { Command } from "commander";
import { connectTo, type ServerChoice } from "../connect_to.ts";
import type { ApiServer } from "../../kube/transport.ts";
import { StartError, toStartError } from "../run/start_error.ts";
import type { DebugSource } from "./debug_source.ts";
import { openDebug, type Wanted } from "./open_debug.ts";
import { openUrl } from "./open_url.ts";

/** Where podfits and their records are. */
export interface AccessOptions {
  readonly server: ServerChoice;
  /** `null` = through the API server. */
  readonly url: string | null;
  readonly tokenFile: string | null;
  readonly podfitNamespace: string | null;
}

/** What commander gives of the flags. */
export type AccessFlags = Readonly<{
  kubeconfig?: readonly string[];
  context?: string;
  url?: string;
  tokenFile?: string;
  podfitNamespace?: string;
}>;

export function addAccessFlags(command: Command): Command {
  return command
    .option("--kubeconfig <path...>", "kubeconfig files; as kubectl without")
    .option("--context <name>", "its context")
    .option("--url <url>", "ask the podfit whose --debug-listen is there, and no API server")
    .option("--token-file <path>", "token for --url, where that podfit has --metrics-auth")
    .option("--podfit-namespace <name>", "look for podfits there only");
}

export function toAccess(
  { kubeconfig = [], context, url, tokenFile, podfitNamespace }: AccessFlags,
  environment: ServerChoice["environment"],
): AccessOptions {
  if (tokenFile !== undefined && url === undefined) {
    throw new StartError("Cannot use --token-file without --url: the API server passes no token on");
  }
  return {
    server: { kubeconfigPaths: kubeconfig, context: context ?? null, environment },
    url: url ?? null,
    tokenFile: tokenFile ?? null,
    podfitNamespace: podfitNamespace ?? null,
  };
}

/** An open way; disposal closes it. */
export interface Access extends AsyncDisposable {
  /** `null` where a podfit's address is given. */
  readonly server: ApiServer | null;
  /** That of the context. */
  readonly namespace: string;
  /** Throws a DebugError. */
  readonly open: (wanted: Omit<Wanted, "podfitNamespace">, signal: AbortSignal) => Promise<readonly DebugSource[]>;
}

/** Rejects with a StartError where a file or the configuration cannot be used. */
export async function openAccess(options: AccessOptions, signal: AbortSignal): Promise<Access> {
  const { url, tokenFile, podfitNamespace } = options;
  if (url !== null) {
    const source = openUrl({ url, token: tokenFile === null ? null : await readToken(tokenFile) });
    return {
      server: null,
      namespace: "default",
      open: () => Promise.resolve([source]),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  }
  const server = await connectTo(options.server, signal);
  return {
    server,
    namespace: server.namespace,
    open: (wanted, until) => openDebug(server, { ...wanted, podfitNamespace }, until),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

async function readToken(path: string): Promise<string> {
  try {
    return (await Deno.readTextFile(path)).trim();
  } catch (error) {
    throw toStartError(`Cannot read --token-file "${path}": ${error instanceof Error ? error.message : String(error)}`);
  }
}
