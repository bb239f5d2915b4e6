/**
 * What podfit shows to a server, and when it must be fetched again. A credential is read for every request, so a token
 * that its owner rotates is never used long; the one that a server refused (401) is replaced at once, if there is another.
 */

export interface Credential {
  readonly authorization: Authorization | null;
  readonly clientCertificate: ClientCertificate | null;
}

export type Authorization =
  | { readonly kind: "bearer"; readonly token: string }
  | { readonly kind: "basic"; readonly username: string; readonly password: string };

/** PEM. */
export interface ClientCertificate {
  readonly cert: string;
  readonly key: string;
}

/** `rejected` is what the server just answered with 401; a source that has nothing newer gives an equal credential. */
export type ReadCredential = (rejected: Credential | null) => Promise<Credential>;

export interface LoadedCredential {
  readonly credential: Credential;
  /** When it must be loaded again; `null` is only when it is refused. */
  readonly expiresAt: number | null;
}

export interface CredentialCacheOptions {
  readonly now: () => number;
  /** An expired credential is still sent while it cannot be loaded again: right for files, wrong for hard expiry. */
  readonly outlivesFailure: boolean;
}

export class CredentialCache {
  readonly #load: () => Promise<LoadedCredential>;
  readonly #options: CredentialCacheOptions;
  #loaded: LoadedCredential | null = null;
  #loading: Promise<LoadedCredential> | null = null;

  constructor(load: () => Promise<LoadedCredential>, options: CredentialCacheOptions) {
    this.#load = load;
    this.#options = options;
  }

  readonly read: ReadCredential = async (rejected) => {
    const loaded = this.#loaded;
    const isRejected = loaded !== null && rejected !== null && isSameCredential(rejected, loaded.credential);
    const isExpired = loaded !== null && loaded.expiresAt !== null && loaded.expiresAt <= this.#options.now();
    if (loaded !== null && !isRejected && !isExpired) return loaded.credential;
    try {
      return (await this.#reload()).credential;
    } catch (error) {
      if (loaded === null || isRejected || !this.#options.outlivesFailure) throw error;
      return loaded.credential;
    }
  };

  /** Requests that find it expired together share one load. */
  async #reload(): Promise<LoadedCredential> {
    this.#loading ??= this.#load();
    try {
      return this.#loaded = await this.#loading;
    } finally {
      this.#loading = null;
    }
  }
}

export function isSameCredential(a: Credential, b: Credential): boolean {
  return toHeader(a.authorization) === toHeader(b.authorization) &&
    isSameCertificate(a.clientCertificate, b.clientCertificate);
}

export function isSameCertificate(a: ClientCertificate | null, b: ClientCertificate | null): boolean {
  return a?.cert === b?.cert && a?.key === b?.key;
}

/** The value of the Authorization header. */
export function toHeader(authorization: Authorization | null): string | null {
  if (authorization === null) return null;
  if (authorization.kind === "bearer") return `Bearer ${authorization.token}`;
  const bytes = new TextEncoder().encode(`${authorization.username}:${authorization.password}`);
  return `Basic ${bytes.toBase64()}`;
}
