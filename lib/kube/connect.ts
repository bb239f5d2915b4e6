/** Opens an API server: the one that the configuration names, or one whose configuration is at hand. */
import { type Clock, systemClock } from "../runtime/clock.ts";
import { type ConfigSources, loadServerConfig } from "./config/load.ts";
import type { ServerConfig } from "./config/server_config.ts";
import { HttpTransport } from "./http_transport.ts";
import type { ApiServer } from "./transport.ts";

export interface ConnectOptions extends ConfigSources {
  /** podfit's own, for the User-Agent. */
  readonly version: string;
  readonly clock?: Pick<Clock, "now" | "timeout">;
  /** Ends the opening, with an exec plugin that still runs; what is open already stays so. */
  readonly signal?: AbortSignal;
}

/**
 * Opens the API server of the first configuration that is found. Reads its credential without sending anything, and
 * rejects with what to do about it when it can't be used.
 */
export async function connect(options: ConnectOptions): Promise<ApiServer> {
  const closing = new AbortController();
  const { clock = systemClock, signal } = options;
  const close = () => closing.abort();
  signal?.addEventListener("abort", close, { once: true });
  try {
    const config = await loadServerConfig(options, { clock, signal: closing.signal });
    return await openServer(config, { version: options.version, onClose: close });
  } finally {
    signal?.removeEventListener("abort", close);
  }
}

/** Opens the API server of a configuration. Rejects when its credential can't be read or used. */
export async function openServer(
  config: ServerConfig,
  { version, onClose = () => {} }: { readonly version: string; readonly onClose?: () => void },
): Promise<ApiServer> {
  const { origin, namespace, source, readCredential } = config;
  const http = new HttpTransport(config, { userAgent: `podfit/${version}` });
  await http.prepare();
  return {
    origin,
    namespace,
    source,
    get caCerts() {
      return http.caCerts;
    },
    transport: (request, options) => http.send(request, options),
    readCredential,
    [Symbol.asyncDispose]() {
      onClose();
      http[Symbol.dispose]();
      return Promise.resolve();
    },
  };
}
