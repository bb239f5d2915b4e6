/**
 * The HTTP server: it accepts connections, parses one request per connection and writes the answer. Each connection has
 * time limits, and their number is bounded. It uses a plain listener, because the servers of Deno 2.9.6 fail under load
 * (measured). Deno.serve has no timeout and no limit of connections, and it ends when the process has no file
 * descriptors left. node:http has both, but without file descriptors it stops accepting for ever.
 */
import { backoffMs } from "../../runtime/backoff.ts";
import { type Clock, systemClock } from "../../runtime/clock.ts";
import { waitAtMost } from "../../runtime/tasks.ts";
import type { ClientAddress, Handler } from "./routes.ts";

export interface ServeOptions extends Partial<ConnectionTimeouts> {
  readonly hostname: string;
  /** 0 = any free port. */
  readonly port: number;
  readonly signal?: AbortSignal;
  /** How long disposal waits for running answers before it closes their connections; 1 s by default. */
  readonly drainMs?: number;
  /** The most connections at one time; 100 by default. */
  readonly mostConnections?: number;
  /** Receives the reason why connections cannot be accepted, once a minute at most. Must not throw. */
  readonly onAcceptError?: (error: unknown) => void;
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly listen?: typeof Deno.listen;
  /** Serves HTTPS with the identity that it returns for each connection; HTTP without it. */
  readonly readIdentity?: GetIdentity | undefined;
}

/** A server that listens; `hostname` and `port` are the actual ones. */
export interface Server extends AsyncDisposable {
  readonly hostname: string;
  readonly port: number;
}

/**
 * Returns a server that listens; throws if it cannot listen. Abort or disposal closes the port at once, and disposal
 * waits for running answers.
 */
export function serve(handler: Handler, options: ServeOptions): Server {
  const { signal, drainMs = 1_000, clock = systemClock, readIdentity } = options;
  const { headMs = 10_000, answerMs = 120_000, stallMs = 10_000 } = options;
  const timeouts = { headMs, answerMs, stallMs };
  const secure = readIdentity && (async (conn: ByteStream) => (await readIdentity()).open(conn));
  signal?.throwIfAborted();
  const listener = listen(options);
  const connections = new Connections(options.mostConnections ?? 100);
  const closing = new AbortController();
  const accepting = accept(listener, {
    ...options,
    clock,
    signal: closing.signal,
    take: (conn) => connections.add(serveConnection(conn, { handler, clock, timeouts, secure })),
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

/** Returns the certificate for a client that connects now. Never rejects. */
export type GetIdentity = () => Promise<Identity>;

/** A certificate with its chain and its key, ready for handshakes. */
export interface Identity {
  /**
   * Returns the decrypted connection. The handshake begins with the first read; if it fails, the read rejects. Closing
   * the returned connection closes `conn`.
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

/** Continues when file descriptors run out: connections free theirs when their time ends. */
async function accept(
  listener: Deno.TcpListener,
  { take, clock, signal, onAcceptError = () => {}, random = Math.random }: AcceptOptions,
): Promise<void> {
  let reportedMs = -Infinity;
  for (let failures = 0; !signal.aborted;) {
    try {
      take(await listener.accept());
      failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      if (clock.monotonic() - reportedMs >= MIN_BETWEEN_MS) {
        reportedMs = clock.monotonic();
        onAcceptError(error);
      }
      await clock.sleep(backoffMs(failures++, { baseMs: 50, maxMs: 5_000, random }), signal).catch(() => {});
    }
  }
}

/** Errors that the network can cause must not fill the log. */
const MIN_BETWEEN_MS = 60_000;

/** The open connections, oldest first. */
class Connections {
  readonly #most: number;
  readonly #all = new Set<Connection>();

  constructor(most: number) {
    this.#most = most;
  }

  /** At the limit it closes one first: the connection that has waited longest for a request, or else the oldest. */
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

/** How long the client may take. A connection carries one request and its answer, and anyone may open one. */
interface ConnectionTimeouts {
  /** For the TLS handshake, if any, and the head of the request. */
  readonly headMs: number;
  /** To read the answer. */
  readonly answerMs: number;
  /** To read one piece of the answer. A client that stops reading is disconnected before `answerMs`. */
  readonly stallMs: number;
}

/** A TCP connection, or TLS over one, with the methods of Deno.Conn. */
export interface ByteStream {
  /** Returns the number of bytes read; `null` at the end of the stream. */
  readonly read: (buffer: Uint8Array) => Promise<number | null>;
  /** Returns the number of bytes written. */
  readonly write: (bytes: Uint8Array) => Promise<number>;
  readonly closeWrite: () => Promise<void>;
  readonly close: () => void;
}

interface ConnectionOptions {
  readonly handler: Handler;
  readonly clock: Clock;
  readonly timeouts: ConnectionTimeouts;
  /**
   * Returns the decrypted connection; by default connections are not encrypted. Closing the new one closes the old one.
   */
  readonly secure?: ((conn: ByteStream) => Promise<ByteStream>) | undefined;
}

/** A connection that is being served. */
interface Connection {
  /** Whether a complete request has arrived and its answer is not sent yet. */
  readonly isAnswering: boolean;
  /** Resolves when it is closed; never rejects. */
  readonly closed: Promise<void>;
  /** Closes it at once. */
  readonly close: () => void;
}

/** Serves one request of a connection, then closes it. */
function serveConnection(
  conn: Deno.TcpConn,
  { handler, clock, timeouts, secure }: ConnectionOptions,
): Connection {
  const { promise: closed, resolve: resolveClosed } = Promise.withResolvers<void>();
  const client = { address: conn.remoteAddr.hostname };
  let wire: ByteStream = conn;
  let isAnswering = false;
  let isClosed = false;
  // A client that has gone or was too slow cannot be informed.
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
    resolveClosed();
  }

  async function serveOne(): Promise<void> {
    // Otherwise a short write would wait until the previous one has arrived.
    conn.setNoDelay();
    const text = await within(timeouts.headMs, openAndReadHead);
    if (text === null) return;
    isAnswering = true;
    const write = (bytes: Uint8Array) => within(timeouts.stallMs, () => writeAll(wire, bytes));
    await within(timeouts.answerMs, () => answerRequest(write, { text, handler, client, now: clock.now() }));
    await within(timeouts.stallMs, () => wire.closeWrite());
    isAnswering = false;
    // If the connection closed before the client has sent everything, the client would lose the answer.
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

/** Returns the head without the empty line at its end; `null` if the client closes before. */
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

/** No valid head is empty. */
const TOO_LARGE = "";

/** Returns where the empty line begins; a part of it may be before `from`. `null` = not found. */
function findEnd(bytes: Uint8Array, from: number): number | null {
  for (let at = Math.max(0, from - 3); at + 3 < bytes.length; at++) {
    if (bytes[at] === CR && bytes[at + 1] === LF && bytes[at + 2] === CR && bytes[at + 3] === LF) return at;
  }
  return null;
}

type Write = (bytes: Uint8Array) => Promise<void>;

interface AnswerOptions {
  readonly text: string;
  readonly handler: Handler;
  readonly client: ClientAddress;
  readonly now: number;
}

async function answerRequest(
  write: Write,
  { text, handler, client, now }: AnswerOptions,
): Promise<void> {
  const head = text === TOO_LARGE ? { kind: "refused", status: 431 } as const : parseRequestHead(text);
  const response = head.kind === "request"
    ? await handler(head.request, client)
    : new Response(null, { status: head.status });
  const isChunked = response.body !== null && head.kind === "request" && !head.isHttp10;
  try {
    await write(encoder.encode(formatHead(response, { isChunked, now })));
    if (response.body !== null) await writeBody(write, response.body, isChunked);
  } finally {
    // A body that is no longer read frees what it holds. If it was read to its end, there is nothing to do.
    if (response.body?.locked === false) await response.body.cancel().catch(() => {});
  }
}

/** Returns the status line and the headers. RFC 9112 allows an empty reason phrase. */
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

/** Each piece is made after the previous one was sent. Pieces are not copied, because a page can have 30 MB. */
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

/** Writes all bytes; one write may take only a part of them. Rejects as the connection does. */
export async function writeAll(wire: ByteStream, bytes: Uint8Array): Promise<void> {
  for (let rest = bytes; rest.length > 0;) rest = rest.subarray(await wire.write(rest));
}

async function readToEnd(wire: ByteStream): Promise<void> {
  const buffer = new Uint8Array(4096);
  while (await wire.read(buffer) !== null);
}

const encoder = new TextEncoder();

/** Header values are bytes; each becomes the character of the same number. */
const decoder = new TextDecoder("latin1");

/** A request, or the status of the answer to an invalid head. */
type RequestHead =
  | { readonly kind: "request"; readonly request: Request; readonly isHttp10: boolean }
  | { readonly kind: "refused"; readonly status: number };

/**
 * Parses the head of an HTTP/1 request (RFC 9112), without the empty line at its end. The body is not read, because no
 * route takes one. Never throws.
 */
export function parseRequestHead(text: string): RequestHead {
  const [first = "", ...lines] = text.split("\r\n");
  const [, method = "", target = "", minor = ""] = FIRST_LINE.exec(first) ?? [];
  if (method === "") return { kind: "refused", status: /HTTP\/[02-9]/.test(first) ? 505 : 400 };
  try {
    // Only the path counts, whatever host name the client used.
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

/** Throws a TypeError for a line that is not a header. */
function parseHeaders(lines: readonly string[]): Headers {
  const headers = new Headers();
  for (const line of lines) {
    const colon = line.indexOf(":");
    headers.append(line.slice(0, Math.max(0, colon)), line.slice(colon + 1));
  }
  return headers;
}
