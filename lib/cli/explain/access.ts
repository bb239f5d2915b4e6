/** How explain, record and top reach podfits, opened. */
import { connectTo } from "../connect_to.ts";
import type { ApiServer } from "../../kube/transport.ts";
import { toStartError } from "../run/start_error.ts";
import type { AccessOptions } from "./access_options.ts";
import type { DebugListener } from "./debug_source.ts";
import { openDebug, type Wanted } from "./open_debug.ts";
import { openUrl } from "./open_url.ts";

/** An open way; disposal closes it. */
export interface Access extends AsyncDisposable {
  /** `null` where a podfit's address is given. */
  readonly server: ApiServer | null;
  /** Of what is asked about: that of -n, or of the context. */
  readonly namespace: string;
  /** Throws a DebugError. */
  readonly open: (wanted: Omit<Wanted, "podfitNamespace">, signal: AbortSignal) => Promise<readonly DebugListener[]>;
}

/** Rejects with a StartError where a file or the configuration cannot be used. */
export async function openAccess(options: AccessOptions, signal: AbortSignal): Promise<Access> {
  const { url, tokenFile, podfitNamespace, namespace } = options;
  if (url !== null) {
    const source = openUrl({ url, token: tokenFile === null ? null : await readToken(tokenFile) });
    return {
      server: null,
      namespace: namespace ?? "default",
      open: () => Promise.resolve([source]),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  }
  const server = await connectTo(options.server, signal);
  return {
    server,
    namespace: namespace ?? server.namespace,
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
