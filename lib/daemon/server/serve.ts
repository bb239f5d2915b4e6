/**
 * The HTTP server: it accepts connections, parses one request per connection and writes the answer. Each connection
 * has time limits, and their number is bounded. It uses a plain listener; the reason is below.
 */
import { backoffMs } from "../../runtime/backoff.ts";
import { type Clock, systemClock } from "../../runtime/clock.ts";
import { waitAtMost } from "../../runtime/tasks.ts";
import type { Handler } from "./routes.ts";

// Listens for HTTP or HTTPS with a handler, until the signal aborts or the server is disposed of. The network is not
// believed: there is a bound to the connections at one time and to the life of each, and no error of one ends the
// server.
//
// On a plain listener, because of what Deno 2.9.6 has (measured): Deno.serve has no timeout and no bound, keeps
// half-sent requests for ever, and ends when the process is out of file descriptors; node:http has both and keeps to
// them, but out of file descriptors it stops to accept for ever, without an event.

/** Where to listen, until when, and for whom. */
export interface ServeOptions extends Partial<ConnectionTimeouts> {
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
  readonly readIdentity?: GetIdentity | undefined;
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
  const secure = readIdentity && (async (conn: ByteStream) => (await readIdentity()).open(conn));
  signal?.throwIfAborted();
  const listener = listen(options);
  const connections = new Connections(options.mostConnections ?? 100);
  const closing = new AbortController();
  const accepting = accept(listener, {
    ...options,
    clock,
    signal: closing.signal,
    take: (conn) => connections.add(serveConnection(conn, { handler, clock, timeouts: patience, secure })),
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

// The certificate that the listener shows, as its files have it at the moment. Whoever renews one replaces the files,
// as a mounted Secret does by one symbolic link, so they are read again every 10 s, when somebody connects.

/** Gives what to show to a client that connects now. Never rejects. */
export type GetIdentity = () => Promise<Identity>;

// TLS over a connection that was accepted as plain TCP, so that each connection can have the certificate of the
// moment. Deno.listenTls keeps its first certificate for ever, and a second listener beside the first (`reusePort`) is
// unstable in Deno 2.9.6, and whoever waits in the queue of the one that is closed is cut off. Rustls below offers TLS
// 1.2 and 1.3.

/** A certificate with its chain, and its key, ready to be shown. */
export interface Identity {
  /**
   * Gives the connection as its client means it. The handshake begins with the first byte that is read; where it fails
   * reading rejects. Closing it closes `conn`.
   */
  readonly open: (conn: ByteStream) => ByteStream;
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
      if (clock.monotonic() - saidMs >= MIN_BETWEEN_MS) {
        saidMs = clock.monotonic();
        onAcceptError(error);
      }
      await clock.sleep(backoffMs(failures++, { baseMs: 50, maxMs: 5_000, random }), signal).catch(() => {});
    }
  }
}

/** What the network may bring about must not fill the log. */
const MIN_BETWEEN_MS = 60_000;

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
    await waitAtMost(drainMs, Promise.all(Array.from(this.#all, ({ closed }) => closed)), clock);
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

// One connection, which carries one request and its answer and is closed then. Whoever holds the other end gets a time
// for each of the two and no longer: a connection costs some memory and a file descriptor, and anybody may open one.

/** How long the other end may take. */
interface ConnectionTimeouts {
  /** For the handshake, where there is one, and the head of its request. */
  readonly headMs: number;
  /** To read the answer. */
  readonly answerMs: number;
  /** To read a piece of it: whoever has stopped to read goes before the answer's time is up. */
  readonly stallMs: number;
}

/** What carries the request and its answer: a TCP connection, or TLS over one. As Deno.Conn has them. */
export interface ByteStream {
  /** Gives how many bytes came; `null` when the other end has said its last. */
  readonly read: (buffer: Uint8Array) => Promise<number | null>;
  /** Gives how many bytes went. */
  readonly write: (bytes: Uint8Array) => Promise<number>;
  readonly closeWrite: () => Promise<void>;
  readonly close: () => void;
}

/** For whom connections are served. */
interface ConnectionOptions {
  readonly handler: Handler;
  readonly clock: Clock;
  readonly timeouts: ConnectionTimeouts;
  /** Gives what the client means by what it sends; by default it is not encrypted. The new one closes the old. */
  readonly secure?: ((conn: ByteStream) => Promise<ByteStream>) | undefined;
}

/** A connection that runs by itself. */
interface Connection {
  /** Whether a whole request has come whose answer is not yet sent. */
  readonly isAnswering: boolean;
  /** Resolves when it is closed; never rejects. */
  readonly closed: Promise<void>;
  /** Closes it at once, whatever is under way. */
  readonly close: () => void;
}

/** Serves a connection and closes it. */
function serveConnection(
  conn: Deno.TcpConn,
  { handler, clock, timeouts, secure }: ConnectionOptions,
): Connection {
  const { promise: closed, resolve: tellClosed } = Promise.withResolvers<void>();
  let wire: ByteStream = conn;
  let isAnswering = false;
  let isClosed = false;
  // Whoever has gone, or was too slow, is nobody to tell.
  void serveOne().catch(() => {}).finally(close);
  return {
    get isAnswering() {
      return isAnswering;
    },
    closed,
    close,
  };

  function close(): void {
    if (isClosed) return;
    isClosed = true;
    wire.close();
    tellClosed();
  }

  async function serveOne(): Promise<void> {
    // Else a short write would wait until the one before it has arrived.
    conn.setNoDelay();
    const text = await within(timeouts.headMs, openAndReadHead);
    if (text === null) return;
    isAnswering = true;
    const write = (bytes: Uint8Array) => within(timeouts.stallMs, () => writeAll(wire, bytes));
    await within(timeouts.answerMs, () => answerRequest(write, { text, handler, now: clock.now() }));
    await within(timeouts.stallMs, () => wire.closeWrite());
    isAnswering = false;
    // Closed before the other end has sent all it wanted to, it would lose the answer.
    await within(LINGER_MS, () => readToEnd(wire));
  }

  async function openAndReadHead(): Promise<string | null> {
    if (secure !== undefined) {
      const secured = await secure(conn);
      if (isClosed) return secured.close(), null;
      wire = secured;
    }
    return await readHead(wire);
  }

  async function within<T>(ms: number, work: () => Promise<T>): Promise<T> {
    using timeout = clock.timeout(ms);
    timeout.signal.addEventListener("abort", close, { once: true });
    return await work();
  }
}

const MAX_HEAD_BYTES = 16 * 1024;

const LINGER_MS = 1_000;

const [CR, LF] = [13, 10];

/** Gives the head without the empty line at its end; `null` when the other end closes before. */
async function readHead(wire: ByteStream): Promise<string | null> {
  const buffer = new Uint8Array(MAX_HEAD_BYTES);
  for (let length = 0; length < buffer.length;) {
    const count = await wire.read(buffer.subarray(length));
    if (count === null) return null;
    const end = findEnd(buffer.subarray(0, length + count), length);
    if (end !== null) return decoder.decode(buffer.subarray(0, end));
    length += count;
  }
  return TOO_LARGE;
}

/** Not a head, whatever else somebody may send. */
const TOO_LARGE = "";

/** Where the empty line begins of which a part may have come before `from`. */
function findEnd(bytes: Uint8Array, from: number): number | null {
  for (let at = Math.max(0, from - 3); at + 3 < bytes.length; at++) {
    if (bytes[at] === CR && bytes[at + 1] === LF && bytes[at + 2] === CR && bytes[at + 3] === LF) return at;
  }
  return null;
}

type Write = (bytes: Uint8Array) => Promise<void>;

async function answerRequest(
  write: Write,
  { text, handler, now }: { readonly text: string; readonly handler: Handler; readonly now: number },
): Promise<void> {
  const head = text === TOO_LARGE ? { kind: "refused", status: 431 } as const : parseRequestHead(text);
  const response = head.kind === "request" ? await handler(head.request) : new Response(null, { status: head.status });
  const isChunked = response.body !== null && head.kind === "request" && !head.isHttp10;
  try {
    await write(encoder.encode(formatHead(response, { isChunked, now })));
    if (response.body !== null) await writeBody(write, response.body, isChunked);
  } finally {
    // A body that nobody reads any more gives back what it holds. One that was read rejects, or has nothing to do.
    if (response.body?.locked === false) await response.body.cancel().catch(() => {});
  }
}

/** RFC 9112 lets a server leave out the words after the status. */
function formatHead(
  response: Response,
  { isChunked, now }: { readonly isChunked: boolean; readonly now: number },
): string {
  const headers = new Headers(response.headers);
  headers.set("connection", "close");
  headers.set("date", new Date(now).toUTCString());
  headers.delete("content-length");
  if (isChunked) headers.set("transfer-encoding", "chunked");
  const lines = Array.from(headers, ([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${response.status} ${response.statusText}\r\n${lines.join("")}\r\n`;
}

/** The next piece is made when the one before it is sent; none is copied, as a page may have 30 MB. */
async function writeBody(write: Write, body: ReadableStream<Uint8Array>, isChunked: boolean): Promise<void> {
  let before = "";
  for await (const piece of body) {
    if (piece.length === 0) continue;
    if (isChunked) await write(encoder.encode(`${before}${piece.length.toString(16)}\r\n`));
    await write(piece);
    before = "\r\n";
  }
  if (isChunked) await write(encoder.encode(`${before}0\r\n\r\n`));
}

/** Writes all of it: one write may take a part. */
export async function writeAll(wire: ByteStream, bytes: Uint8Array): Promise<void> {
  for (let rest = bytes; rest.length > 0;) rest = rest.subarray(await wire.write(rest));
}

async function readToEnd(wire: ByteStream): Promise<void> {
  const buffer = new Uint8Array(4096);
  while (await wire.read(buffer) !== null);
}

const encoder = new TextEncoder();

/** Header values are bytes; each becomes the character of its number. */
const decoder = new TextDecoder("latin1");

// The head of an HTTP/1 request: its first line and its headers, as somebody on the network wrote them (RFC 9112). A
// body is never read: nothing that podfit answers takes one.

/** A request, or the status of the answer to a head that is none. */
type RequestHead =
  | { readonly kind: "request"; readonly request: Request; readonly isHttp10: boolean }
  | { readonly kind: "refused"; readonly status: number };

/** Parses a head without the empty line at its end. Never throws. */
export function parseRequestHead(text: string): RequestHead {
  const [first = "", ...lines] = text.split("\r\n");
  const [, method = "", target = "", minor = ""] = FIRST_LINE.exec(first) ?? [];
  if (method === "") return { kind: "refused", status: /HTTP\/[02-9]/.test(first) ? 505 : 400 };
  try {
    // The path alone says what is asked for, whatever name the server was reached by.
    const url = new URL(target.startsWith("/") ? `http://podfit${target}` : target, "http://podfit");
    return {
      kind: "request",
      request: new Request(url, { method, headers: parseHeaders(lines) }),
      isHttp10: minor === "0",
    };
  } catch {
    return { kind: "refused", status: 400 };
  }
}

const FIRST_LINE = /^([A-Z]+) (\S+) HTTP\/1\.([01])$/;

/** Throws a TypeError for a line that is no header. */
function parseHeaders(lines: readonly string[]): Headers {
  const headers = new Headers();
  for (const line of lines) {
    const colon = line.indexOf(":");
    headers.append(line.slice(0, Math.max(0, colon)), line.slice(colon + 1));
  }
  return headers;
}
