/**
 * Listens for HTTP or HTTPS with a handler, until the signal aborts or the server is disposed of. The network is not believed:
 * there is a bound to the connections at one time and to the life of each, and no error of one ends the server.
 *
 * On a plain listener, because of what Deno 2.9.6 has (measured): Deno.serve has no timeout and no bound, keeps
 * half-sent requests for ever, and ends when the process is out of file descriptors; node:http has both and keeps to
 * them, but out of file descriptors it stops to accept for ever, without an event.
 */
import { backoffMs } from "../../runtime/backoff.ts";
import { type Clock, systemClock } from "../../runtime/clock.ts";
import { atMost } from "../../runtime/waits.ts";
import type { ReadIdentity } from "./certificate.ts";
import { type Connection, type Patience, serveConnection, type Wire } from "./connection.ts";
import type { Handler } from "./handler.ts";

/** Where to listen, until when, and for whom. */
export interface ServeOptions extends Partial<Patience> {
  readonly hostname: string;
  /** 0 = any free one. */
  readonly port: number;
  readonly signal?: AbortSignal;
  /** How long disposal waits for answers under way before it closes their connections; 1 s by default. */
  readonly drainMs?: number;
  /** The most connections at one time; 100 by default. */
  readonly mostConnections?: number;
  /** Hears why connections cannot be accepted, once a minute at most. Must not throw. */
  readonly onAcceptError?: (error: unknown) => void;
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly listen?: typeof Deno.listen;
  /** Speaks HTTPS with what this gives for each connection; HTTP without it. */
  readonly readIdentity?: ReadIdentity | undefined;
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
  const { signal, drainMs = 1_000, clock = systemClock, readIdentity } = options;
  const { headMs = 10_000, answerMs = 120_000, stallMs = 10_000 } = options;
  const patience = { headMs, answerMs, stallMs };
  const secure = readIdentity && (async (conn: Wire) => (await readIdentity()).open(conn));
  signal?.throwIfAborted();
  const listener = listen(options);
  const connections = new Connections(options.mostConnections ?? 100);
  const closing = new AbortController();
  const accepting = accept(listener, {
    ...options,
    clock,
    signal: closing.signal,
    take: (conn) => connections.add(serveConnection(conn, { handler, clock, patience, secure })),
  });
  signal?.addEventListener("abort", shutDown, { once: true });
  return {
    hostname: listener.addr.hostname,
    port: listener.addr.port,
    async [Symbol.asyncDispose]() {
      signal?.removeEventListener("abort", shutDown);
      shutDown();
      await accepting;
      await connections.drain(drainMs, clock);
    },
  };

  function shutDown(): void {
    if (closing.signal.aborted) return;
    closing.abort();
    listener.close();
    connections.closeIdle();
  }
}

function listen({ hostname, port, listen = Deno.listen }: ServeOptions): Deno.TcpListener {
  try {
    return listen({ hostname, port });
  } catch (cause) {
    const why = cause instanceof Deno.errors.AddrInUse ? "the address is in use" : (cause as Error).message;
    throw new Error(`Cannot listen on "${hostname}:${port}": ${why}`, { cause });
  }
}

interface AcceptOptions extends Pick<ServeOptions, "onAcceptError" | "random"> {
  readonly clock: Clock;
  /** Aborted before the listener is closed. */
  readonly signal: AbortSignal;
  readonly take: (conn: Deno.TcpConn) => void;
}

/** Out of file descriptors is no end: connections give theirs back when their time is up. */
async function accept(
  listener: Deno.TcpListener,
  { take, clock, signal, onAcceptError = () => {}, random = Math.random }: AcceptOptions,
): Promise<void> {
  let saidMs = -Infinity;
  for (let failures = 0; !signal.aborted;) {
    try {
      take(await listener.accept());
      failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      if (clock.monotonic() - saidMs >= LEAST_BETWEEN_MS) {
        saidMs = clock.monotonic();
        onAcceptError(error);
      }
      await clock.sleep(backoffMs(failures++, { baseMs: 50, maxMs: 5_000, random }), signal).catch(() => {});
    }
  }
}

/** What the network may bring about must not fill the log. */
const LEAST_BETWEEN_MS = 60_000;

/** The connections there are, oldest first. */
class Connections {
  readonly #most: number;
  readonly #all = new Set<Connection>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Makes room first: the one that has waited longest for a request goes, or the oldest when none does. */
  add(connection: Connection): void {
    if (this.#all.size >= this.#most) this.#dropOne();
    this.#all.add(connection);
    void connection.closed.then(() => this.#all.delete(connection));
  }

  closeIdle(): void {
    for (const one of this.#all) if (!one.isAnswering) one.close();
  }

  async drain(drainMs: number, clock: Clock): Promise<void> {
    await atMost(drainMs, Promise.all(Array.from(this.#all, ({ closed }) => closed)), clock);
    for (const one of this.#all) one.close();
  }

  #dropOne(): void {
    const all = [...this.#all];
    const dropped = all.find(({ isAnswering }) => !isAnswering) ?? all[0];
    if (dropped === undefined) return;
    this.#all.delete(dropped);
    dropped.close();
  }
}
