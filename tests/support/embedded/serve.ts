/** How does the server listen on 127.0.0.1 over TLS, and what is its kubeconfig? */
import { listen } from "../../../lib/embedded/server/http/listen.ts";
import type { Transport } from "../../../lib/kube/transport.ts";
import { type Authority, createAuthority } from "./certificates.ts";

/** How a handler is served. */
interface ServeOptions {
  /** False serves plain HTTP. */
  readonly tls?: boolean;
  /** 0, the default, takes any port that is free. */
  readonly port?: number;
  /** The authority that signs the certificate; by default one made for this server alone. */
  readonly authority?: Authority;
}

/** A server that listens. Disposing of it breaks its watches. */
export interface Served extends AsyncDisposable {
  /** The origin without a trailing slash. */
  readonly origin: string;
  readonly port: number;
  /** The certificate of the authority in PEM; `null` over HTTP. */
  readonly caCert: string | null;
  /** The server comes back with another certificate on the same port; `isTrusted`: by the same authority. */
  readonly changeCertificate: (options?: { readonly isTrusted?: boolean }) => Promise<void>;
}

/** Serves a handler on 127.0.0.1. Rejects when the port is taken. */
export async function serve(handle: Transport, options: ServeOptions = {}): Promise<Served> {
  const { tls = true, port = 0 } = options;
  const authority = tls ? options.authority ?? await createAuthority("embedded cluster") : null;
  const open = async (by: Authority | null, port: number) =>
    listen(handle, { port, credentials: by === null ? null : await by.issue("podfit") });
  let listener = await open(authority, port);
  return {
    origin: `${tls ? "https" : "http"}://127.0.0.1:${listener.port}`,
    port: listener.port,
    caCert: authority?.caCert ?? null,
    async changeCertificate({ isTrusted = true } = {}) {
      const next = isTrusted ? authority : await createAuthority("another authority");
      await listener[Symbol.asyncDispose]();
      listener = await open(next, listener.port);
    },
    [Symbol.asyncDispose]: () => listener[Symbol.asyncDispose](),
  };
}

/** A kubeconfig for this server. Where it asks for no token kubectl still needs one, or asks its user for a name. */
export function toKubeconfig(
  { origin, caCert }: Pick<Served, "origin" | "caCert">,
  token = "none",
): string {
  const name = "podfit";
  const authority = caCert === null ? {} : { "certificate-authority-data": btoa(caCert) };
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": name,
    clusters: [{ name, cluster: { server: origin, ...authority } }],
    users: [{ name, user: { token } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
  });
}
