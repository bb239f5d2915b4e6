/** Reads certificates and keys, from a kubeconfig's `-data` field or from the file that it names. */

/** PEM text, or the absolute path of the file that holds it. */
export type PemSource =
  | { readonly kind: "inline"; readonly pem: string }
  | { readonly kind: "file"; readonly path: string };

/**
 * Gives the PEM text. Rejects with an error that calls it `what`, e.g. "certificate authority", when the file can't be
 * read or there is no PEM block in it: Deno ignores such a text among the CA certificates.
 */
export async function readPem(source: PemSource, what: string): Promise<string> {
  const pem = source.kind === "inline" ? source.pem : await readTextFile(source.path, what);
  if (pem.includes("-----BEGIN ")) return pem;
  const where = source.kind === "inline" ? `${what} data` : `${what} "${source.path}"`;
  throw new Error(`Cannot use ${where}: it holds no PEM block (-----BEGIN ...)`);
}

/** Gives the text of a file. Rejects with an error that calls it `what`, e.g. "token file". */
export async function readTextFile(path: string, what: string): Promise<string> {
  try {
    return await Deno.readTextFile(path);
  } catch (cause) {
    throw new Error(`Cannot read ${what} "${path}": ${describeReadError(cause)}`, { cause });
  }
}

/** Says why a file can't be read, and what to do where this process may not. */
export function describeReadError(cause: unknown): string {
  if (cause instanceof Deno.errors.NotCapable) {
    return "podfit has no permission to read there; in its image put the file below /etc/podfit";
  }
  return cause instanceof Error ? cause.message : String(cause);
}
