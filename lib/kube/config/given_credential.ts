/**
 * The credential that a kubeconfig or a service account gives itself: a token, a password, a certificate, inline or in
 * files. Others replace the files in place, so they are read again every 60 s, and at once when the server refuses what
 * was read.
 */
import type { KeyPair, User } from "./context.ts";
import { type Credential, type ReadCredential, toHeader } from "./credential.ts";
import { CredentialCache, type LoadedCredential } from "./credential_cache.ts";
import { keepSecret } from "../../runtime/secrets.ts";
import { readPem, readTextFile } from "./pem.ts";
import { parseToken } from "./token.ts";

export type GivenUser = Extract<User, { kind: "given" }>;

/**
 * Makes a reader that rejects while nothing could be read yet, and gives the last credential when a file is gone later.
 */
export function createGivenCredential(user: GivenUser, options: { readonly now: () => number }): ReadCredential {
  async function load(): Promise<LoadedCredential> {
    return { credential: await loadCredential(user), expiresAt: options.now() + REREAD_MS };
  }
  return new CredentialCache(load, { now: options.now, outlivesFailure: true }).read;
}

const UNUSABLE = "Cannot use the token of the kubeconfig";
/** As in client-go. A kubelet renews a token when 80 % of its life, at least 10 min, have passed. */
const REREAD_MS = 60_000;

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
      return { kind: "bearer", token: parseToken(authorization.token, (why) => new Error(`${UNUSABLE}: ${why}`)) };
    case "basic":
      keepSecret(authorization.password);
      keepSecret(toHeader(authorization).replace("Basic ", ""));
      return authorization;
    case "tokenFile": {
      const { path } = authorization;
      const text = await readTextFile(path, "token file");
      return { kind: "bearer", token: parseToken(text, (why) => new Error(`Cannot use token file "${path}": ${why}`)) };
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
