/**
 * The CA certificates of a server, as they are at the moment. Who renews a CA replaces its file, so a file is read again
 * every 60 s, and at once when a certificate was refused by what it held.
 */
import { type PemSource, readPem } from "./pem.ts";

/**
 * Gives the CA certificates, PEM; the same array as long as they have not changed. `refusing` are those that have just
 * refused a server's certificate, `null` otherwise. Rejects only while none could be read yet.
 */
export type ReadCaCerts = (refusing: readonly string[] | null) => Promise<readonly string[]>;

export interface CaCertsOptions {
  /** What errors call the source, e.g. "certificate authority". */
  readonly what: string;
  /** Gives epoch ms. */
  readonly now: () => number;
}

/** Makes a reader of one source. While its file can't be read, or is no PEM, the last that was good is given. */
export function createCaReader(source: PemSource, { what, now }: CaCertsOptions): ReadCaCerts {
  let known: readonly string[] | null = null;
  let readAt = 0;
  let reading: Promise<readonly string[]> | null = null;

  async function read(last: readonly string[] | null): Promise<readonly string[]> {
    const pem = await readPem(source, what).catch((error) => last?.[0] ?? Promise.reject(error));
    readAt = now();
    return known = last !== null && last[0] === pem ? last : [pem];
  }

  return async (refusing) => {
    const mayDiffer = source.kind === "file" && (refusing === known || now() - readAt >= REREAD_MS);
    if (known !== null && !mayDiffer) return known;
    reading ??= read(known).finally(() => reading = null);
    return await reading;
  };
}

/** As for tokens. */
const REREAD_MS = 60_000;
