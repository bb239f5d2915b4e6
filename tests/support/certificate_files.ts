/** A certificate and its key as a mounted Secret has them: two links through one that is replaced as a whole. */
import { type Authority, createAuthority } from "./embedded/certificates.ts";

export interface Pair {
  readonly cert: string;
  readonly key: string;
}

export interface CertificateFiles extends AsyncDisposable {
  readonly certPath: string;
  readonly keyPath: string;
  /** Replaces both files at one moment. */
  swap(pair: Pair): Promise<void>;
}

/** An authority with a certificate of its own for servers on 127.0.0.1. */
export async function createIssued(name: string): Promise<Pair & Pick<Authority, "caCert">> {
  const { caCert, issue } = await createAuthority(name);
  return { caCert, ...await issue(name) };
}

export async function mountCertificate(pair: Pair): Promise<CertificateFiles> {
  const root = await Deno.makeTempDir();
  let version = 0;
  async function swap({ cert, key }: Pair): Promise<void> {
    const directory = `..${version++}`;
    await Deno.mkdir(`${root}/${directory}`);
    await Deno.writeTextFile(`${root}/${directory}/tls.crt`, cert);
    await Deno.writeTextFile(`${root}/${directory}/tls.key`, key);
    await Deno.symlink(directory, `${root}/..next`);
    await Deno.rename(`${root}/..next`, `${root}/..data`);
  }
  await swap(pair);
  for (const name of ["tls.crt", "tls.key"]) await Deno.symlink(`..data/${name}`, `${root}/${name}`);
  return {
    certPath: `${root}/tls.crt`,
    keyPath: `${root}/tls.key`,
    swap,
    [Symbol.asyncDispose]: () => Deno.remove(root, { recursive: true }),
  };
}
