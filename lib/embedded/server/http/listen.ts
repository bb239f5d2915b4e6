/** How does the server listen on 127.0.0.1? */
import type { Transport } from "../../../kube/transport.ts";

/** A handler that listens. Disposing of it breaks its watches. */
export interface Listener extends AsyncDisposable {
  readonly port: number;
}

/**
 * Listens with a certificate and its key in PEM; without them it speaks plain HTTP. Port 0, the default, takes any that
 * is free. Throws when the port is taken.
 */
export function listen(
  handle: Transport,
  { credentials = null, port = 0 }: {
    readonly credentials?: { readonly cert: string; readonly key: string } | null;
    readonly port?: number;
  } = {},
): Listener {
  const stopping = new AbortController();
  // Not the request's own signal, which also aborts when all is well; a client that leaves cancels the body of its
  // watch.
  const server = Deno.serve({
    hostname: "127.0.0.1",
    port,
    ...credentials ?? {},
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
