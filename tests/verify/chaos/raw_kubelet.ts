/** A kubelet that speaks TLS, and HTTP only as far as it is told to: each byte of its answers can be chosen. */
import type { Authority } from "../../support/embedded/certificates.ts";

/** What happens on a connection once a request has come: it may write, wait and close, and returns when it is done. */
export type Behaviour = (connection: Deno.TlsConn, write: (text: string) => Promise<void>) => Promise<void>;

/** A listening kubelet. Disposal closes it and its connections. */
export class RawKubelet implements AsyncDisposable {
  readonly port: number;
  /** `null`: it answers as it should. */
  behaviour: Behaviour | null = null;
  /** Connections are dropped as soon as TLS stands. */
  dropsAtOnce = false;
  readonly #listener: Deno.TlsListener;
  readonly #connections = new Set<Deno.TlsConn>();
  readonly #readSummary: () => string;
  readonly #accepting: Promise<void>;

  private constructor(listener: Deno.TlsListener, readSummary: () => string) {
    this.#listener = listener;
    this.#readSummary = readSummary;
    this.port = listener.addr.port;
    this.#accepting = this.#accept();
  }

  static async listen(authority: Authority, readSummary: () => string): Promise<RawKubelet> {
    const credentials = await authority.issue("kubelet");
    return new RawKubelet(Deno.listenTls({ hostname: "127.0.0.1", port: 0, ...credentials }), readSummary);
  }

  /** Connections that are open now end. */
  drop(): void {
    for (const connection of this.#connections) close(connection);
    this.#connections.clear();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    this.drop();
    await this.#accepting;
  }

  async #accept(): Promise<void> {
    try {
      for await (const connection of this.#listener) {
        this.#connections.add(connection);
        void this.#serve(connection).catch(() => {}).finally(() => {
          this.#connections.delete(connection);
          close(connection);
        });
      }
    } catch {
      // It was closed.
    }
  }

  async #serve(connection: Deno.TlsConn): Promise<void> {
    await connection.handshake();
    if (this.dropsAtOnce) return;
    const buffer = new Uint8Array(16 * 1024);
    const write = (text: string) => writeAll(connection, text);
    while (await connection.read(buffer) !== null) {
      if (this.behaviour !== null) await this.behaviour(connection, write);
      else await write(toAnswer(this.#readSummary()));
    }
  }
}

/** A 200 with this body. */
export function toAnswer(body: string): string {
  const length = new TextEncoder().encode(body).length;
  return `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${body}`;
}

async function writeAll(connection: Deno.TlsConn, text: string): Promise<void> {
  let bytes: Uint8Array = new TextEncoder().encode(text);
  while (bytes.length > 0) bytes = bytes.subarray(await connection.write(bytes));
}

function close(connection: Deno.TlsConn): void {
  try {
    connection.close();
  } catch {
    // It is closed already.
  }
}
