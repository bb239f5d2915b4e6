/**
 * The flags by which explain, record and top find the podfit that they ask.
 *
 * They name an API server, or the address of one podfit. This module is loaded with every start, so it imports little.
 */
import { createFlag, type GetEnv } from "../command/command.ts";
import { parseNamespace } from "../command/parse_values.ts";
import { StartError } from "../command/process.ts";
import { CONTEXT_FLAG, KUBECONFIG_FLAG, NAMESPACE_FLAG } from "../command/shared_flags.ts";
import { getServerEnvironment, type ServerChoice } from "./api_server.ts";

/** Where podfits and their records are. */
export interface AccessOptions {
  readonly server: ServerChoice;
  /** Without a slash at its end; `null` = through the API server. */
  readonly url: string | null;
  readonly tokenFile: string | null;
  /** Where podfits for other pods than their own are accepted. */
  readonly podfitNamespace: string;
  /** Namespace of the subject; `null` = that of the context, or default. */
  readonly namespace: string | null;
}

/** The flags as commander parses them. */
export type AccessFlags = Readonly<{
  kubeconfig?: readonly string[];
  context?: string;
  url?: string;
  tokenFile?: string;
  podfitNamespace: string;
  namespace?: string;
}>;

export const ACCESS_FLAGS = [
  NAMESPACE_FLAG,
  KUBECONFIG_FLAG,
  CONTEXT_FLAG,
  createFlag("--url <url>", "address of --debug-listen of a podfit, instead of an API server"),
  createFlag("--token-file <path>", "token for --url, where that podfit has --metrics-auth"),
  createFlag(
    "--podfit-namespace <name>",
    "namespace of podfit: only podfits there, and sidecars in their own pods, are asked",
    {
      fallback: "podfit",
    },
  ),
];

/** Returns the parsed flags. Throws a StartError for a wrong one. */
export function toAccess(
  { kubeconfig = [], context, url, tokenFile, podfitNamespace, namespace }: AccessFlags,
  getEnv: GetEnv,
): AccessOptions {
  if (tokenFile !== undefined && url === undefined) {
    throw new StartError("Cannot use --token-file without --url: the API server passes no token on");
  }
  return {
    server: { kubeconfigPaths: kubeconfig, context: context ?? null, environment: getServerEnvironment(getEnv) },
    url: url === undefined ? null : parseUrl(url),
    tokenFile: tokenFile ?? null,
    podfitNamespace: parseNamespace({ name: "--podfit-namespace", text: podfitNamespace }),
    namespace: namespace === undefined ? null : parseNamespace({ name: "--namespace", text: namespace }),
  };
}

function parseUrl(text: string): string {
  const url = URL.parse(text.includes("://") ? text : `http://${text}`);
  if (url !== null && /^https?:$/.test(url.protocol)) return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
  throw new StartError(`Cannot read --url "${text}": write an address such as http://127.0.0.1:8081`);
}
