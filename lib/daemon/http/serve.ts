/** Listens for HTTP with a handler, until the signal aborts or the server is disposed of. */
import { systemClock } from "../../runtime/clock.ts";
import type { Handler } from "./handler.ts";

/** Where to listen, and until when. */
export interface ServeOptions {
  readonly hostname: string;
  /** 0 = any free one. */
  readonly port: number;
  readonly signal?: AbortSignal;
  /** How long disposal waits for answers under way before it leaves them behind. */
  readonly drainMs?: number;
}

/** A server that listens; `hostname` and `port` are the ones it got. */
export interface Server extends AsyncDisposable {
  readonly hostname: string;
  readonly port: number;
}

/**
 * Listens when it returns; throws when it cannot. Abort or disposal closes the port at once, and disposal waits for
 * answers under way.
 */
export function serve(handler: Handler, options: ServeOptions): Server {
  const { signal, drainMs = 5_000 } = options;
  signal?.throwIfAborted();
  const server = listen(handler, options);
  const shutDown = () => void server.shutdown();
  signal?.addEventListener("abort", shutDown, { once: true });
  return {
    hostname: server.addr.hostname,
    port: server.addr.port,
    async [Symbol.asyncDispose]() {
      signal?.removeEventListener("abort", shutDown);
      const patience = new AbortController();
      const tooLong = systemClock.sleep(drainMs, patience.signal).catch(() => {});
      await Promise.race([server.shutdown(), tooLong]);
      patience.abort();
    },
  };
}

function listen(handler: Handler, { hostname, port }: ServeOptions): Deno.HttpServer<Deno.NetAddr> {
  try {
    return Deno.serve({ hostname, port, onListen: () => {} }, handler);
  } catch (cause) {
    const why = cause instanceof Deno.errors.AddrInUse ? "the address is in use" : (cause as Error).message;
    throw new Error(`Cannot listen on "${hostname}:${port}": ${why}`, { cause });
  }
}
