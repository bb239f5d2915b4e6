/**
 * The certificate that the listener shows, as its files have it at the moment. Whoever renews one replaces the files, as
 * a mounted Secret does by one symbolic link, so they are read again every 10 s, when somebody connects.
 */
import { readPem } from "../../kube/config/pem.ts";
import type { Clock } from "../../runtime/clock.ts";
import { atMost } from "../../runtime/waits.ts";
import { createIdentity, type Identity } from "./tls_wire.ts";

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

/** Gives what to show to a client that connects now. Never rejects. */
export type ReadIdentity = () => Promise<Identity>;

/** Rejects where the files cannot be read, or are no certificate and its key. */
export async function openCertificate(options: CertificateOptions): Promise<ReadIdentity> {
  const { clock, onRenewed, onRefused } = options;
  let pair = await readPair(options);
  let identity = createIdentity(pair);
  let readMs = clock.monotonic();
  let refused = "";
  let reading: Promise<void> | null = null;

  async function readAgain(): Promise<void> {
    try {
      // Between the two files they may have been replaced: then the second look sees the new ones.
      const next = await readPair(options).catch(() => readPair(options));
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
    if (clock.monotonic() - readMs >= REREAD_MS) await atMost(PATIENCE_MS, reading ??= readAgain(), clock);
    return identity;
  };
}

const REREAD_MS = 10_000;
/** A file system that hangs must not hold up those who connect. */
const PATIENCE_MS = 1_000;

interface Pair {
  readonly cert: string;
  readonly key: string;
}

async function readPair({ certPath, keyPath }: CertificateOptions): Promise<Pair> {
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

function describe(cause: unknown, { key }: Pair): string {
  const { message } = cause as Error;
  if (message.includes("KeyMismatch")) return "the key is not that of the first certificate";
  return key.includes("ENCRYPTED") ? "the key has a passphrase, and podfit takes none" : message;
}
