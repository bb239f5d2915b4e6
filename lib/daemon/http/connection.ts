/**
 * One connection, which carries one request and its answer and is closed then. Whoever holds the other end gets a time
 * for each of the two and no longer: a connection costs some memory and a file descriptor, and anybody may open one.
 */
import type { Clock } from "../../runtime/clock.ts";
import type { Handler } from "./handler.ts";
import { parseRequestHead } from "./request_head.ts";

/** How long the other end may take. */
export interface Patience {
  /** For the handshake, where there is one, and the head of its request. */
  readonly headMs: number;
  /** To read the answer. */
  readonly answerMs: number;
  /** To read a piece of it: whoever has stopped to read goes before the answer's time is up. */
  readonly stallMs: number;
}

/** What carries the request and its answer: a TCP connection, or TLS over one. As Deno.Conn has them. */
export interface Wire {
  /** Gives how many bytes came; `null` when the other end has said its last. */
  readonly read: (buffer: Uint8Array) => Promise<number | null>;
  /** Gives how many bytes went. */
  readonly write: (bytes: Uint8Array) => Promise<number>;
  readonly closeWrite: () => Promise<void>;
  readonly close: () => void;
}

/** For whom connections are served. */
export interface ConnectionOptions {
  readonly handler: Handler;
  readonly clock: Clock;
  readonly patience: Patience;
  /** Gives what the client means by what it sends; by default it is not encrypted. The new one closes the old. */
  readonly secure?: ((conn: Wire) => Promise<Wire>) | undefined;
}

/** A connection that runs by itself. */
export interface Connection {
  /** Whether a whole request has come whose answer is not yet sent. */
  readonly isAnswering: boolean;
  /** Resolves when it is closed; never rejects. */
  readonly closed: Promise<void>;
  /** Closes it at once, whatever is under way. */
  readonly close: () => void;
}

/** Serves a connection and closes it. */
export function serveConnection(
  conn: Deno.TcpConn,
  { handler, clock, patience, secure }: ConnectionOptions,
): Connection {
  const { promise: closed, resolve: tellClosed } = Promise.withResolvers<void>();
  let wire: Wire = conn;
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
    const text = await within(patience.headMs, openAndReadHead);
    if (text === null) return;
    isAnswering = true;
    const write = (bytes: Uint8Array) => within(patience.stallMs, () => writeAll(wire, bytes));
    await within(patience.answerMs, () => answer(write, { text, handler, now: clock.now() }));
    await within(patience.stallMs, () => wire.closeWrite());
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

const MOST_HEAD_BYTES = 16 * 1024;
const LINGER_MS = 1_000;
const [CR, LF] = [13, 10];

/** Gives the head without the empty line at its end; `null` when the other end closes before. */
async function readHead(wire: Wire): Promise<string | null> {
  const buffer = new Uint8Array(MOST_HEAD_BYTES);
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

async function answer(
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
export async function writeAll(wire: Wire, bytes: Uint8Array): Promise<void> {
  for (let rest = bytes; rest.length > 0;) rest = rest.subarray(await wire.write(rest));
}

async function readToEnd(wire: Wire): Promise<void> {
  const buffer = new Uint8Array(4096);
  while (await wire.read(buffer) !== null);
}

const encoder = new TextEncoder();
/** Header values are bytes; each becomes the character of its number. */
const decoder = new TextDecoder("latin1");
