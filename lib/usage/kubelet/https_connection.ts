/**
 * How is a kubelet asked over a TLS connection of podfit's own? HTTP/1.1 without fetch: a poll is one write and a few
 * reads into memory that is used again. It takes half of the CPU that fetch takes.
 *
 * The server is not trusted. Whatever it sends, a request ends with an answer or an error, and memory is bounded.
 *
 * https://www.rfc-editor.org/rfc/rfc9112
 */
import type { PulledBody } from "../../kube/body.ts";
import { requireGivenRoots, type StatusAnswer } from "../../kube/https.ts";
import type { Clock } from "../../runtime/clock.ts";
import { getLoopSlice } from "../../runtime/event_loop.ts";
import { abortable } from "../../runtime/tasks.ts";
import { hostOf, portOf } from "../../units/address.ts";
import { ANSWER_MEMORY_BYTES, type AnswerHead, AnswerParser, BadAnswer, CUT, FIELD_NAME } from "./answer_parser.ts";

/**
 * Asks servers whose certificates the given authorities have signed, and keeps one connection to each. After disposal
 * requests in flight go on, and their connections close at their end.
 */
export class HttpsConnections implements Disposable {
  readonly #options: HttpsOptions;
  /** By origin, as the caller writes it; the longest idle first. */
  readonly #idle = new Map<string, KeptConnection>();
  /** Connections in their handshake. Deno does not close them before its end. */
  readonly #handshakes = new Map<Deno.TlsConn, Handshake>();
  /** Memory of answers that have ended. */
  readonly #spares: Memory[] = [];
  readonly #closing = new AbortController();
  #isSweeping = false;

  /** Throws if this process trusts other authorities too. */
  constructor(options: HttpsOptions) {
    requireGivenRoots();
    this.#options = options;
  }

  /**
   * Returns whether `get` needs no second handshake with this origin. A server that does not end one would get a socket
   * for each request, and none could be closed.
   */
  canGet(url: string): boolean {
    const origin = toOrigin(url);
    if (this.#idle.has(origin)) return true;
    for (const handshake of this.#handshakes.values()) if (handshake.origin === origin) return false;
    return true;
  }

  /**
   * Sends a GET that follows no redirect and asks for no compression. A kept connection that the server has closed is
   * replaced, once. Rejects, or fails the body, when the signal aborts.
   */
  async get(url: string, { headers, signal }: GetRequest): Promise<StatusAnswer> {
    const origin = toOrigin(url);
    const kept = this.#idle.get(origin);
    const request = toRequest({ url, headers }, kept?.request ?? null);
    if (kept !== undefined) {
      this.#idle.delete(origin);
      try {
        return await this.#ask(kept, request, signal);
      } catch (error) {
        if (signal.aborted) throw error;
      }
    }
    return await this.#ask(this.#toKept(origin, await this.#open(url, signal)), request, signal);
  }

  [Symbol.dispose](): void {
    this.#closing.abort();
    for (const { connection } of this.#idle.values()) connection[Symbol.dispose]();
    this.#idle.clear();
    for (const [connection, { isWanted }] of this.#handshakes) if (!isWanted) connection[Symbol.dispose]();
  }

  /** Opens a connection whose certificate is verified. Rejects with the signal's reason when it aborts. */
  async #open(url: string, signal: AbortSignal): Promise<Deno.TlsConn> {
    const connection = await connect(new URL(url), this.#options.caCerts, signal);
    const handshake: Handshake = { origin: toOrigin(url), isWanted: true };
    this.#handshakes.set(connection, handshake);
    try {
      await abortable(this.#shakeHands(connection, handshake), signal);
      return connection;
    } catch (error) {
      handshake.isWanted = false;
      if (!this.#handshakes.has(connection)) connection[Symbol.dispose]();
      throw error;
    }
  }

  /** Resolves after the handshake. If nothing waits for the connection any more, it is kept for the next request. */
  async #shakeHands(connection: Deno.TlsConn, handshake: Handshake): Promise<void> {
    try {
      await connection.handshake();
      if (!handshake.isWanted) this.#keep(this.#toKept(handshake.origin, connection));
    } catch (error) {
      connection[Symbol.dispose]();
      throw error instanceof Deno.errors.UnexpectedEof ? new Error("tls handshake eof", { cause: error }) : error;
    } finally {
      this.#handshakes.delete(connection);
    }
  }

  #toKept(origin: string, connection: Deno.TlsConn): KeptConnection {
    const onEnd = () => this.#endIdle(kept);
    const kept: KeptConnection = {
      origin,
      connection,
      onEnd,
      request: null,
      byte: new Uint8Array(1),
      ahead: null,
      sinceMs: 0,
    };
    return kept;
  }

  async #ask(kept: KeptConnection, request: SentRequest, signal: AbortSignal): Promise<StatusAnswer> {
    const { connection, ahead } = kept;
    const onEnd = (isReusable: boolean) => {
      if (isReusable) this.#keep(kept);
      else connection[Symbol.dispose]();
    };
    const { clock } = this.#options;
    kept.request = request;
    const exchange = new Exchange(kept, { signal, spares: this.#spares, onEnd, clock });
    const answer = await exchange.send(request.bytes);
    if (ahead !== null && answer.status === REQUEST_TIMEOUT) {
      // A server may send it before it closes an idle connection. Then it answers no request.
      await exchange.cancel();
      throw new BadAnswer("the kept connection has timed out");
    }
    const { status, statusText, headers: given } = answer;
    const body = exchange.isEnded ? null : exchange;
    return { status, statusText, headers: { get: (name) => given.get(name) ?? null }, body };
  }

  #keep(kept: KeptConnection): void {
    const { origin, connection, byte, onEnd } = kept;
    // Two nodes may have the same address.
    if (this.#closing.signal.aborted || this.#idle.has(origin)) return connection[Symbol.dispose]();
    kept.ahead = connection.read(byte);
    kept.sinceMs = this.#options.clock.monotonic();
    this.#idle.set(origin, kept);
    void kept.ahead.then(onEnd, onEnd);
    if (!this.#isSweeping) void this.#sweep();
  }

  /** For a server that closes the connection, or sends without being asked. Does nothing once a request has taken it. */
  #endIdle(kept: KeptConnection): void {
    if (this.#idle.get(kept.origin) !== kept) return;
    this.#idle.delete(kept.origin);
    kept.connection[Symbol.dispose]();
  }

  /** Closes connections that are idle for long, until none is left. */
  async #sweep(): Promise<void> {
    const { clock } = this.#options;
    this.#isSweeping = true;
    for (let first = this.#firstIdle(); first !== null; first = this.#firstIdle()) {
      const [origin, { connection, sinceMs }] = first;
      const leftMs = sinceMs + IDLE_MS - clock.monotonic();
      if (leftMs > 0) {
        await clock.sleep(leftMs, this.#closing.signal).catch(() => {});
      } else {
        this.#idle.delete(origin);
        connection[Symbol.dispose]();
      }
    }
    this.#isSweeping = false;
  }

  #firstIdle(): readonly [origin: string, idle: KeptConnection] | null {
    for (const entry of this.#idle) return entry;
    return null;
  }
}

/** The clock, and the trusted authorities. */
interface HttpsOptions {
  /** PEM. With none, no server is trusted. */
  readonly caCerts: readonly string[];
  readonly clock: Pick<Clock, "monotonic" | "sleep">;
}

interface GetRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** A request, and what it was made of. */
interface SentRequest extends Pick<GetRequest, "headers"> {
  readonly url: string;
  readonly bytes: Memory;
}

/** A connection between its requests, with what they have in common. */
interface KeptConnection {
  readonly origin: string;
  readonly connection: Deno.TlsConn;
  /** For a server that ends it while it is idle. */
  readonly onEnd: () => void;
  /** The last request. */
  request: SentRequest | null;
  readonly byte: Memory;
  /**
   * The read of the first byte of the next answer, which waits while the connection is idle; `null` before the first
   * answer. Resolves to 1; `null` at the end of the connection. Deno keeps some 36 kB for what it has received last, and
   * gives it back when it next waits. The read also sees that the server closes the connection.
   */
  ahead: Promise<number | null> | null;
  /** Since when it is idle, by the monotonic clock. */
  sinceMs: number;
}

interface Handshake {
  readonly origin: string;
  /** Whether a request waits for it. */
  isWanted: boolean;
}

interface ExchangeOptions {
  readonly signal: AbortSignal;
  /** Memory that is free, and gets back what was taken. */
  readonly spares: Memory[];
  readonly clock: Pick<Clock, "monotonic" | "sleep">;
  /** Called once. After it the connection is not used here. */
  readonly onEnd: (isReusable: boolean) => void;
}

type Memory = Uint8Array<ArrayBuffer>;

/** As fetch closes them; a kubelet closes them too. */
const IDLE_MS = 90_000;

const REQUEST_TIMEOUT = 408;

/** More than most answers have. */
const BURST_BYTES = 128 * 1024;

const BURST_MS = 5;

const ENCODER = new TextEncoder();

/** As many nodes are polled at a time. */
const MAX_SPARES = 32;

/** Returns what identifies a server in the URL, as it is written. */
function toOrigin(url: string): string {
  const end = url.indexOf("/", url.indexOf("://") + 3);
  return end === -1 ? url : url.slice(0, end);
}

/** Returns a GET, the last one if that is the same. Throws for a header that could not be sent. */
function toRequest({ url, headers }: Omit<SentRequest, "bytes">, last: SentRequest | null): SentRequest {
  if (last !== null && last.url === url && last.headers === headers) return last;
  const { pathname, search, host } = new URL(url);
  let text =
    `GET ${pathname}${search} HTTP/1.1\r\nhost: ${host}\r\nuser-agent: podfit\r\naccept-encoding: identity\r\n`;
  for (const name in headers) {
    const value = headers[name] ?? "";
    if (!FIELD_NAME.test(name) || !/^[\x20-\x7e]*$/.test(value)) throw new Error(`Cannot send header "${name}"`);
    text += `${name}: ${value}\r\n`;
  }
  return { url, headers, bytes: ENCODER.encode(`${text}\r\n`) };
}

/** Opens a connection that verifies the server's certificate in its handshake, which is yet to be made. */
async function connect(url: URL, caCerts: readonly string[], signal: AbortSignal): Promise<Deno.TlsConn> {
  const hostname = hostOf(url);
  // Not Deno.connectTls: it takes no signal, so that an address without a machine would hold a socket for two minutes.
  const socket = await Deno.connect({ hostname, port: portOf(url), signal });
  try {
    // A request with a long token has two packets. The second must not wait for the answer to the first.
    socket.setNoDelay(true);
    // A server that is gone must not hold the socket.
    socket.setKeepAlive(true);
    return await Deno.startTls(socket, { hostname, caCerts: [...caCerts], alpnProtocols: ["http/1.1"] });
  } catch (error) {
    socket[Symbol.dispose]();
    throw error;
  }
}

/** One request and its answer. The body is read by `fill` and given up by `cancel`. */
class Exchange implements PulledBody {
  readonly #kept: KeptConnection;
  readonly #options: ExchangeOptions;
  readonly #memory: Memory;
  readonly #parser: AnswerParser;
  readonly #abort = () => void this.#fail(null);
  /** Until the first read. */
  #ahead: Promise<number | null> | null;
  /** Bytes that were received since the last look at the clock, and the time of the last turn of the event loop. */
  #burstBytes = 0;
  #gaveWayMs: number;
  #isReceiving = false;
  #isWritten = false;
  /** What is thrown to a reader that goes on. */
  #failure: { readonly error: unknown } | null = null;
  #isEnded = false;
  #isCancelled = false;

  constructor(kept: KeptConnection, options: ExchangeOptions) {
    this.#kept = kept;
    this.#options = options;
    this.#ahead = kept.ahead;
    this.#memory = options.spares.pop() ?? new Uint8Array(ANSWER_MEMORY_BYTES);
    this.#parser = new AnswerParser(this.#memory);
    this.#gaveWayMs = options.clock.monotonic();
  }

  /** Whether nothing of the body is left to read. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Resolves to the head of the answer. */
  async send(request: Memory): Promise<AnswerHead> {
    const { signal } = this.#options;
    signal.addEventListener("abort", this.#abort, { once: true });
    try {
      signal.throwIfAborted();
      // Deno does not cancel a write when the connection closes, so nothing waits for it.
      void this.#write(request);
      for (;;) {
        await this.#receive();
        const head = this.#parser.parseHead();
        if (head === null) continue;
        if (this.#parser.isDone) this.#end(true);
        return head;
      }
    } catch (error) {
      throw this.#fail(error);
    }
  }

  async fill(target: Memory): Promise<number> {
    if (this.#isCancelled) return 0;
    if (this.#failure !== null) throw this.#failure.error;
    if (this.#isEnded) return 0;
    let bytes = 0;
    try {
      for (;;) {
        bytes += this.#parser.takeBody(target, bytes);
        if (this.#parser.isDone) this.#end(true);
        if (this.#isEnded || bytes === target.length) return bytes;
        if (this.#burstBytes >= BURST_BYTES) await this.#giveWay();
        await this.#receive();
      }
    } catch (error) {
      const failure = this.#fail(error);
      // The next call throws it.
      if (bytes > 0 || this.#isCancelled) return bytes;
      throw failure;
    }
  }

  cancel(): Promise<void> {
    this.#isCancelled = true;
    this.#end(false);
    return Promise.resolve();
  }

  /**
   * Lets timers and other work have their turn. Deno's reads do not, as long as a server sends faster than podfit reads.
   */
  async #giveWay(): Promise<void> {
    const { clock } = this.#options;
    this.#burstBytes = 0;
    if (clock.monotonic() - this.#gaveWayMs < BURST_MS) return;
    await getLoopSlice(clock).turn();
    this.#gaveWayMs = clock.monotonic();
    this.#throwIfEnded();
  }

  #throwIfEnded(): void {
    if (this.#isEnded) throw new Error("the request was given up");
  }

  async #write(request: Memory): Promise<void> {
    try {
      for (let rest = request; rest.length > 0;) rest = rest.subarray(await this.#kept.connection.write(rest));
      this.#isWritten = true;
    } catch (error) {
      this.#fail(error);
    }
  }

  async #receive(): Promise<void> {
    this.#isReceiving = true;
    try {
      const bytes = await this.#read(this.#parser.free());
      this.#throwIfEnded();
      if (bytes === null) return this.#parser.end();
      this.#parser.add(bytes);
      this.#burstBytes += bytes;
    } catch (error) {
      // Without a close_notify of TLS, another party may have cut the connection: the body may not be whole.
      throw error instanceof Deno.errors.UnexpectedEof ? new BadAnswer(CUT) : error;
    } finally {
      this.#isReceiving = false;
      if (this.#isEnded) this.#release();
    }
  }

  #read(target: Memory): Promise<number | null> {
    const ahead = this.#ahead;
    const { connection, byte } = this.#kept;
    if (ahead === null) return connection.read(target);
    this.#ahead = null;
    return ahead.then((bytes) => {
      target.set(byte);
      return bytes;
    });
  }

  /** Ends the exchange, and returns the first reason: closing the connection fails the read that is under way too. */
  #fail(error: unknown): unknown {
    const { signal } = this.#options;
    this.#failure ??= { error: signal.aborted ? signal.reason : error };
    this.#end(false);
    return this.#failure.error;
  }

  #end(isWhole: boolean): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#options.signal.removeEventListener("abort", this.#abort);
    this.#options.onEnd(isWhole && this.#isWritten && this.#parser.isReusable);
    // Deno writes into the memory until the read has ended.
    if (!this.#isReceiving) this.#release();
  }

  #release(): void {
    const { spares } = this.#options;
    if (spares.length < MAX_SPARES) spares.push(this.#memory);
  }
}
