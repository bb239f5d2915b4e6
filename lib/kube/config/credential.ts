/**
 * With what podfit authenticates itself to a server. A credential is read for every request, so that a rotated one is
 * in use soon, and a refused one (401) is replaced at once when there is another.
 */
import { isSendable, UNSENDABLE } from "./token.ts";

/** Both parts are sent where both are set. */
export interface Credential {
  readonly authorization: Authorization | null;
  readonly clientCertificate: ClientCertificate | null;
}

export type Authorization =
  | { readonly kind: "bearer"; readonly token: string }
  | { readonly kind: "basic"; readonly username: string; readonly password: string };

/** A certificate and its private key in PEM. */
export interface ClientCertificate {
  readonly cert: string;
  readonly key: string;
}

/**
 * Gives the credential for a request. `rejected` is the credential that the server has just answered with 401, `null`
 * on the first try; a source that has nothing newer gives an equal one. Rejects when there is none.
 */
export type ReadCredential = (rejected: Credential | null) => Promise<Credential>;

/** Says whether two credentials would send the same. */
export function isSameCredential(a: Credential, b: Credential): boolean {
  return isSameAuthorization(a.authorization, b.authorization) &&
    isSameCertificate(a.clientCertificate, b.clientCertificate);
}

function isSameAuthorization(a: Authorization | null, b: Authorization | null): boolean {
  if (a === null || b === null) return a === b;
  if (a.kind === "bearer") return b.kind === "bearer" && a.token === b.token;
  return b.kind === "basic" && a.username === b.username && a.password === b.password;
}

/** Says whether two certificates and keys have the same text. */
export function isSameCertificate(a: ClientCertificate | null, b: ClientCertificate | null): boolean {
  return a?.cert === b?.cert && a?.key === b?.key;
}

/** Gives the value of the Authorization header. Throws for a token that no header can hold, without a word of it. */
export function toHeader(authorization: Authorization): string {
  if (authorization.kind === "bearer") {
    if (!isSendable(authorization.token)) throw new Error(`Cannot send the token: ${UNSENDABLE}`);
    return `Bearer ${authorization.token}`;
  }
  const bytes = new TextEncoder().encode(`${authorization.username}:${authorization.password}`);
  return `Basic ${bytes.toBase64()}`;
}
