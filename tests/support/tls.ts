/**
 * Servers that speak TLS on 127.0.0.1 with the certificates of tests/testdata/tls: what a transport is tested against
 * when the connection itself matters.
 */
import { createServer } from "node:https";
import type { TLSSocket } from "node:tls";

export const TLS_DIR = new URL("../testdata/tls/", import.meta.url).pathname;

export function readTls(name: string): string {
  return Deno.readTextFileSync(`${TLS_DIR}${name}`);
}

export interface TestServer extends AsyncDisposable {
  readonly origin: string;
}

export function serveTls(handler: (request: Request) => Response | Promise<Response>): TestServer {
  const { cert, key } = { cert: readTls("server.crt"), key: readTls("server.key") };
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", cert, key, onListen() {} }, handler);
  return { origin: `https://127.0.0.1:${server.addr.port}`, [Symbol.asyncDispose]: () => server.shutdown() };
}

export interface RawServer extends AsyncDisposable {
  readonly origin: string;
  /** The heads of the requests so far. */
  readonly seen: readonly string[];
}

/** Answers each request with these bytes, one for each character, and says no more. */
export function serveRawTls(answer: string): RawServer {
  const pem = { cert: readTls("server.crt"), key: readTls("server.key") };
  const listener = Deno.listenTls({ port: 0, hostname: "127.0.0.1", ...pem });
  const bytes = Uint8Array.from(answer, (character) => character.charCodeAt(0));
  const seen: string[] = [];
  const open = new Set<Deno.TlsConn>();
  async function converse(connection: Deno.TlsConn): Promise<void> {
    open.add(connection);
    const buffer = new Uint8Array(4096);
    for (let count; (count = await connection.read(buffer)) !== null;) {
      seen.push(new TextDecoder().decode(buffer.subarray(0, count)));
      for (let rest = bytes; rest.length > 0;) rest = rest.subarray(await connection.write(rest));
    }
  }
  function close(connection: Deno.TlsConn): void {
    if (open.delete(connection)) connection.close();
  }
  const talks: Promise<void>[] = [];
  const accepting = (async () => {
    for await (const connection of listener) {
      talks.push(converse(connection).catch(() => {}).finally(() => close(connection)));
    }
  })();
  return {
    origin: `https://127.0.0.1:${listener.addr.port}`,
    seen,
    async [Symbol.asyncDispose]() {
      listener.close();
      await accepting.catch(() => {});
      for (const connection of open) close(connection);
      await Promise.all(talks);
    },
  };
}

/** Asks for a client certificate and answers with its common name, or "anonymous"; `/watch` goes on with "more". */
export async function serveMutualTls(): Promise<TestServer & { readonly more: () => void }> {
  const pem = { cert: readTls("server.crt"), key: readTls("server.key"), ca: readTls("ca.crt") };
  const watches: { write(text: string): void }[] = [];
  const server = createServer({ ...pem, requestCert: true, rejectUnauthorized: false }, (request, response) => {
    const socket = request.socket as TLSSocket;
    const name = socket.authorized ? socket.getPeerCertificate().subject.CN : "anonymous";
    if (request.url !== "/watch") return void response.end(name);
    response.write(`${name}\n`);
    watches.push(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    origin: `https://127.0.0.1:${port}`,
    more: () => watches.forEach((watch) => watch.write("more\n")),
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
