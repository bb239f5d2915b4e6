/**
 * TLS for the server: it reads the certificate again every 10 s, so that a renewed one is used without a restart. This
 * file is loaded only where the server speaks HTTPS.
 */
import { Duplex } from "node:stream";
import { createSecureContext, type SecureContext, TLSSocket } from "node:tls";
import { readPem } from "../../kube/config/certificates.ts";
import type { Clock } from "../../runtime/clock.ts";
import { waitAtMost } from "../../runtime/tasks.ts";
import { isDeepEqual } from "../../units/equality.ts";
import { type ByteStream, type GetIdentity, type Identity, writeAll } from "./serve.ts";

export interface CertificateOptions {
  readonly certPath: string;
  readonly keyPath: string;
  readonly clock: Pick<Clock, "monotonic" | "sleep">;
  /** Changed files were read and are used from now on. */
  readonly onRenewed: () => void;
  /** The files cannot be used, so the certificate stays the previous one. Called once for each different error. */
  readonly onRefused: (error: Error) => void;
}

/**
 * Returns a function that gives the current certificate. The files are read again at most every 10 s, when a client
 * connects. Rejects if the files cannot be read or are not a certificate and its key.
 */
export async function openCertificate(options: CertificateOptions): Promise<GetIdentity> {
  const { clock, onRenewed, onRefused } = options;
  let pair = checkKeyPair(await readKeyPair(options), options);
  let identity = createIdentity(pair);
  let readMs = clock.monotonic();
  let refused = "";
  let reading: Promise<void> | null = null;

  /** `null` = the files are those in use. They are not checked again, because a check opens a socket. */
  async function readChanged(): Promise<KeyPair | null> {
    const next = await readKeyPair(options);
    return isDeepEqual(next, pair) ? null : checkKeyPair(next, options);
  }

  async function readAgain(): Promise<void> {
    try {
      // The files may have been replaced between the two reads. Then the second try reads the new ones.
      const next = await readChanged().catch(readChanged);
      refused = "";
      if (next === null) return;
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

/** A file system that hangs must not delay clients. */
const READ_TIMEOUT_MS = 1_000;

interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

async function readKeyPair({ certPath, keyPath }: CertificateOptions): Promise<KeyPair> {
  return {
    cert: await readPem({ kind: "file", path: certPath }, "--tls-cert-file"),
    key: await readPem({ kind: "file", path: keyPath }, "--tls-private-key-file"),
  };
}

/** Returns the pair. Throws if it cannot be used. */
function checkKeyPair(pair: KeyPair, { certPath, keyPath }: CertificateOptions): KeyPair {
  try {
    // This is the only function of Deno that says what is wrong with the files.
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

/**
 * Takes PEM that was checked before; otherwise only the handshake would find an error. TLS runs over accepted TCP
 * connections, so that each connection can have the current certificate: Deno.listenTls keeps its first certificate for
 * ever.
 */
function createIdentity(pem: { readonly cert: string; readonly key: string }): Identity {
  const secureContext = createSecureContext({ ...pem, minVersion: "TLSv1.2" });
  return { open: (conn) => openTlsWire(conn, secureContext) };
}

function openTlsWire(conn: ByteStream, secureContext: SecureContext): ByteStream {
  const carrier = toDuplex(conn);
  // Without a listener, the error of a destroyed stream would end the process. Readers and writers get the error from
  // the socket.
  carrier.on("error", () => {});
  const socket = new TLSSocket(carrier, { isServer: true, secureContext });
  // As with plain TCP, a client may close its sending side and still get the answer.
  socket.allowHalfOpen = true;
  const { promise: broken, reject: rejectBroken } = Promise.withResolvers<never>();
  broken.catch(() => {});
  socket.on("error", rejectBroken);
  socket.on("close", () => rejectBroken(new Error("the connection is closed")));
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

/** Returns the encrypted bytes as a stream. */
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

/** The maximum length of a TLS record. */
const PIECE_BYTES = 16 * 1024;
