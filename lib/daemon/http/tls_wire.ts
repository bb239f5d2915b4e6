/**
 * TLS over a connection that was accepted as plain TCP, so that each connection can have the certificate of the moment.
 * Deno.listenTls keeps its first certificate for ever, and a second listener beside the first (`reusePort`) is unstable
 * in Deno 2.9.6, and whoever waits in the queue of the one that is closed is cut off. Rustls below offers TLS 1.2 and 1.3.
 */
import { Duplex } from "node:stream";
import { createSecureContext, type SecureContext, TLSSocket } from "node:tls";
import { type Wire, writeAll } from "./connection.ts";

/** A certificate with its chain, and its key, ready to be shown. */
export interface Identity {
  /**
   * Gives the connection as its client means it. The handshake begins with the first byte that is read; where it fails
   * reading rejects. Closing it closes `conn`.
   */
  readonly open: (conn: Wire) => Wire;
}

/** Takes PEM that has been checked: the handshake alone would tell that it is none. */
export function createIdentity(pem: { readonly cert: string; readonly key: string }): Identity {
  const secureContext = createSecureContext({ ...pem, minVersion: "TLSv1.2" });
  return { open: (conn) => openTlsWire(conn, secureContext) };
}

function openTlsWire(conn: Wire, secureContext: SecureContext): Wire {
  const carrier = toDuplex(conn);
  // A destroyed stream tells its error to somebody or else to the process; readers and writers have it from the socket.
  carrier.on("error", () => {});
  const socket = new TLSSocket(carrier, { isServer: true, secureContext });
  // As plain TCP has it: who has asked may say so, and gets the answer.
  socket.allowHalfOpen = true;
  const { promise: broken, reject: tellBroken } = Promise.withResolvers<never>();
  broken.catch(() => {});
  socket.on("error", tellBroken);
  socket.on("close", () => tellBroken(new Error("the connection is closed")));
  const pieces: AsyncIterator<Uint8Array> = socket[Symbol.asyncIterator]();
  let rest: Uint8Array = new Uint8Array();
  return {
    async read(buffer) {
      if (rest.length === 0) {
        const { value, done } = await pieces.next();
        if (done === true) return null;
        rest = value;
      }
      const length = Math.min(rest.length, buffer.length);
      buffer.set(rest.subarray(0, length));
      rest = rest.subarray(length);
      return length;
    },
    async write(bytes) {
      const { promise: written, resolve, reject } = Promise.withResolvers<void>();
      socket.write(bytes, (error) => error ? reject(error) : resolve());
      await Promise.race([written, broken]);
      return bytes.length;
    },
    async closeWrite() {
      const { promise: ended, resolve } = Promise.withResolvers<void>();
      socket.end(resolve);
      await Promise.race([ended, broken]);
    },
    close() {
      socket.destroy();
      carrier.destroy();
    },
  };
}

/** What is encrypted, as a stream. */
function toDuplex(conn: Wire): Duplex {
  return new Duplex({
    read() {
      const buffer = new Uint8Array(PIECE_BYTES);
      conn.read(buffer).then(
        (count) => this.push(count === null ? null : buffer.subarray(0, count)),
        (error) => this.destroy(error),
      );
    },
    write(bytes: Uint8Array, _encoding, done) {
      writeAll(conn, bytes).then(() => done(), done);
    },
    final(done) {
      conn.closeWrite().then(() => done(), done);
    },
    destroy(error, done) {
      conn.close();
      done(error);
    },
  });
}

/** As long as a record of TLS may be. */
const PIECE_BYTES = 16 * 1024;
