/** How does the server listen on 127.0.0.1? */
import type { Transport } from "../../../kube/transport.ts";
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
  let listener = await listen(handle, { authority, port });
  return {
    origin: `${tls ? "https" : "http"}://127.0.0.1:${listener.port}`,
    port: listener.port,
    caCert: authority?.caCert ?? null,
    async changeCertificate({ isTrusted = true } = {}) {
      const next = isTrusted ? authority : await createAuthority("another authority");
      await listener[Symbol.asyncDispose]();
      listener = await listen(handle, { authority: next, port: listener.port });
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

interface Listener extends AsyncDisposable {
  readonly port: number;
}

async function listen(
  handle: Transport,
  { authority, port }: { readonly authority: Authority | null; readonly port: number },
): Promise<Listener> {
  const stopping = new AbortController();
  const credentials = authority === null ? {} : await authority.issue("podfit");
  // Not the request's own signal, which also aborts when all is well; a client that leaves cancels the body of its
  // watch.
  const server = Deno.serve({
    hostname: "127.0.0.1",
    port,
    ...credentials,
    onListen() {},
    // For a client a handler that fails is a server that died: the connection breaks.
    onError: () => new Response(new ReadableStream({ start: (controller) => controller.error(new Error("broken")) })),
  }, ({ url, method, headers, body }) => handle(new Request(url, { method, headers, body, signal: stopping.signal })));
  return {
    port: server.addr.port,
    async [Symbol.asyncDispose]() {
      // Watches would keep it open for 30 minutes.
      stopping.abort(new DOMException("The server is shutting down", "AbortError"));
      await server.shutdown();
    },
  };
}
