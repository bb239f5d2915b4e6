/**
 * TLS for the server: it reads the certificate again every 10 s, so that a renewed one is used without a restart. This
 * file is loaded only where the server speaks HTTPS.
 */
import { Duplex } from "node:stream";
import { createSecureContext, type SecureContext, TLSSocket } from "node:tls";
import { readPem } from "../../kube/config/certificates.ts";
import type { Clock } from "../../runtime/clock.ts";
import { waitAtMost } from "../../runtime/tasks.ts";
import { type ByteStream, type GetIdentity, type Identity, writeAll } from "./serve.ts";

// The certificate that the listener shows, as its files have it at the moment. Whoever renews one replaces the files,
// as a mounted Secret does by one symbolic link, so they are read again every 10 s, when somebody connects.

/** Where it is, and who hears of changes. */
export interface CertificateOptions {
  readonly certPath: string;
  readonly keyPath: string;
  readonly clock: Pick<Clock, "monotonic" | "sleep">;
  /** Other files were read, and are shown from now on. */
  readonly onRenewed: () => void;
  /** The files cannot be used any more, so those of before are shown on. Called once for each such error. */
  readonly onRefused: (error: Error) => void;
}

/** Rejects where the files cannot be read, or are no certificate and its key. */
export async function openCertificate(options: CertificateOptions): Promise<GetIdentity> {
  const { clock, onRenewed, onRefused } = options;
  let pair = await readKeyPair(options);
  let identity = createIdentity(pair);
  let readMs = clock.monotonic();
  let refused = "";
  let reading: Promise<void> | null = null;

  async function readAgain(): Promise<void> {
    try {
      // Between the two files they may have been replaced: then the second look sees the new ones.
      const next = await readKeyPair(options).catch(() => readKeyPair(options));
      refused = "";
      if (next.cert === pair.cert && next.key === pair.key) return;
      identity = createIdentity(next);
      pair = next;
      onRenewed();
    } catch (error) {
      const { message } = error as Error;
      if (message !== refused) onRefused(error as Error);
      refused = message;
    } finally {
      readMs = clock.monotonic();
      reading = null;
    }
  }

  return async () => {
    if (clock.monotonic() - readMs >= REREAD_INTERVAL_MS) {
      await waitAtMost(READ_TIMEOUT_MS, reading ??= readAgain(), clock);
    }
    return identity;
  };
}

const REREAD_INTERVAL_MS = 10_000;

/** A file system that hangs must not hold up those who connect. */
const READ_TIMEOUT_MS = 1_000;

interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

async function readKeyPair({ certPath, keyPath }: CertificateOptions): Promise<KeyPair> {
  const pair = {
    cert: await readPem({ kind: "file", path: certPath }, "--tls-cert-file"),
    key: await readPem({ kind: "file", path: keyPath }, "--tls-private-key-file"),
  };
  try {
    // Of what Deno has, this alone says what is wrong with them.
    Deno.listenTls({ hostname: "127.0.0.1", port: 0, ...pair }).close();
  } catch (cause) {
    const files = `--tls-cert-file "${certPath}" with --tls-private-key-file "${keyPath}"`;
    throw new Error(`Cannot use ${files}: ${describe(cause, pair)}`, { cause });
  }
  return pair;
}

function describe(cause: unknown, { key }: KeyPair): string {
  const { message } = cause as Error;
  if (message.includes("KeyMismatch")) return "the key is not that of the first certificate";
  return key.includes("ENCRYPTED") ? "the key has a passphrase, and podfit takes none" : message;
}

// TLS over a connection that was accepted as plain TCP, so that each connection can have the certificate of the
// moment. Deno.listenTls keeps its first certificate for ever, and a second listener beside the first (`reusePort`) is
// unstable in Deno 2.9.6, and whoever waits in the queue of the one that is closed is cut off. Rustls below offers TLS
// 1.2 and 1.3.

/** Takes PEM that has been checked: the handshake alone would tell that it is none. */
function createIdentity(pem: { readonly cert: string; readonly key: string }): Identity {
  const secureContext = createSecureContext({ ...pem, minVersion: "TLSv1.2" });
  return { open: (conn) => openTlsWire(conn, secureContext) };
}

function openTlsWire(conn: ByteStream, secureContext: SecureContext): ByteStream {
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
function toDuplex(conn: ByteStream): Duplex {
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
