/**
 * Which certificates does podfit trust or present?
 *
 * PEM comes from a `-data` field or from a file. CA files are read again, because they are rotated.
 */

/** PEM text, or the absolute path of the file that holds it. */
export type PemSource =
  | { readonly kind: "inline"; readonly pem: string }
  | { readonly kind: "file"; readonly path: string };

/**
 * Returns the PEM text. Rejects with an error that calls it `what`, e.g. "certificate authority", if the file cannot be
 * read or has no PEM block: Deno ignores such a text among the CA certificates.
 */
export async function readPem(source: PemSource, what: string): Promise<string> {
  const pem = source.kind === "inline" ? source.pem : await readTextFile(source.path, what);
  if (pem.includes("-----BEGIN ")) return pem;
  const where = source.kind === "inline" ? `${what} data` : `${what} "${source.path}"`;
  throw new Error(`Cannot use ${where}: it holds no PEM block (-----BEGIN ...)`);
}

/** Returns the text of a file. Rejects with an error that calls it `what`, e.g. "token file". */
export async function readTextFile(path: string, what: string): Promise<string> {
  try {
    return await Deno.readTextFile(path);
  } catch (cause) {
    throw new Error(`Cannot read ${what} "${path}": ${describeReadError(cause)}`, { cause });
  }
}

/** Returns why a file cannot be read, and what to do if this process has no permission. */
export function describeReadError(cause: unknown): string {
  if (cause instanceof Deno.errors.NotCapable) {
    return "podfit has no permission to read there; in its image put the file below /etc/podfit";
  }
  return cause instanceof Error ? cause.message : String(cause);
}

/**
 * Resolves to the CA certificates, PEM; the same array as long as they have not changed. `refusing` are the ones that
 * have just refused a server's certificate, else `null`. Rejects only before the first successful read.
 */
export type GetCaCerts = (refusing: readonly string[] | null) => Promise<readonly string[]>;

/**
 * Returns a reader of one source. A file is read again every 60 s, and at once after a certificate was refused, because
 * CAs are renewed by replacing the file. While the file cannot be read or has no PEM, the last good certificates are
 * returned.
 */
export function createCaSource(source: PemSource, { what, now }: CaCertsOptions): GetCaCerts {
  let known: readonly string[] | null = null;
  let readAt = 0;
  let reading: Promise<readonly string[]> | null = null;

  async function read(last: readonly string[] | null): Promise<readonly string[]> {
    const pem = await readPem(source, what).catch((error) => last?.[0] ?? Promise.reject(error));
    readAt = now();
    return known = last !== null && last[0] === pem ? last : [pem];
  }

  return async (refusing) => {
    const mayDiffer = source.kind === "file" && (refusing === known || now() - readAt >= CA_REREAD_MS);
    if (known !== null && !mayDiffer) return known;
    reading ??= read(known).finally(() => reading = null);
    return await reading;
  };
}

interface CaCertsOptions {
  /** The name of the source in errors, e.g. "certificate authority". */
  readonly what: string;
  /** Returns epoch ms. */
  readonly now: () => number;
}

/** As for tokens. */
const CA_REREAD_MS = 60_000;
