/**
 * Credentials and certificates that lie in files: the token of a service account, the certificate of a kubelet. Others
 * rotate them in place, so they are read again at most every 60 s, and at once when the server refused the last one.
 */
import { CredentialCache } from "./credential.ts";
import type { Credential, LoadedCredential, ReadCredential } from "./credential.ts";
import type { PemSource } from "./kubeconfig.ts";
import type { KeyPair, User } from "./context.ts";

/** As client-go: a kubelet renews a token at 80 % of its life, which is at least 10 minutes. */
const REREAD_MS = 60_000;

export type GivenUser = Extract<User, { kind: "given" }>;

export function createGivenCredential(user: GivenUser, options: { readonly now: () => number }): ReadCredential {
  async function load(): Promise<LoadedCredential> {
    return { credential: await loadCredential(user), expiresAt: options.now() + REREAD_MS };
  }
  return new CredentialCache(load, { now: options.now, outlivesFailure: true }).read;
}

/** `what` names the file in an error, e.g. "certificate authority". */
export async function readTextFile(path: string, what: string): Promise<string> {
  try {
    return await Deno.readTextFile(path);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`Cannot read ${what} "${path}": ${reason}`, { cause });
  }
}

/** Deno skips what is no PEM among the CA certificates without a word, so it is checked here. */
export async function readPem(source: PemSource, what: string): Promise<string> {
  const pem = source.kind === "inline" ? source.pem : await readTextFile(source.path, what);
  if (pem.includes("-----BEGIN ")) return pem;
  const where = source.kind === "inline" ? `${what} data` : `${what} "${source.path}"`;
  throw new Error(`Cannot use ${where}: it holds no PEM block (-----BEGIN ...)`);
}

async function loadCredential(user: GivenUser): Promise<Credential> {
  const [authorization, clientCertificate] = await Promise.all([
    loadAuthorization(user),
    user.certificate === null ? null : loadKeyPair(user.certificate),
  ]);
  return { authorization, clientCertificate };
}

async function loadAuthorization({ authorization }: GivenUser): Promise<Credential["authorization"]> {
  switch (authorization?.kind) {
    case undefined:
      return null;
    case "token":
      return { kind: "bearer", token: authorization.token };
    case "basic":
      return authorization;
    case "tokenFile": {
      const token = (await readTextFile(authorization.path, "token file")).trim();
      if (token === "") throw new Error(`Cannot read token file "${authorization.path}": it is empty`);
      return { kind: "bearer", token };
    }
  }
}

async function loadKeyPair(pair: KeyPair): Promise<Credential["clientCertificate"]> {
  const [cert, key] = await Promise.all([
    readPem(pair.cert, "client certificate"),
    readPem(pair.key, "client key"),
  ]);
  return { cert, key };
}
