/**
 * With which credential does podfit authenticate to a server?
 *
 * A credential is asked for before every request and kept until it expires or the server refuses it with 401. So a
 * rotated credential is in use soon.
 * https://www.rfc-editor.org/rfc/rfc6750#section-2.1
 */
import { keepSecret } from "../../runtime/secrets.ts";
import { isDeepEqual } from "../../units/equality.ts";

/** Both parts are sent where both are set. */
export interface Credential {
  readonly authorization: Authorization | null;
  readonly clientCertificate: ClientCertificate | null;
}

/** A certificate and its private key in PEM. */
export interface ClientCertificate {
  readonly cert: string;
  readonly key: string;
}

/**
 * Resolves to the credential for a request. `rejected` is the credential that the server has just answered with 401,
 * `null` on the first try. A source without a newer one returns an equal one. Rejects if there is none.
 */
export type GetCredential = (rejected: Credential | null) => Promise<Credential>;

/** Returns the value of the Authorization header. Throws for a token that no header can hold, without quoting it. */
export function toHeader(authorization: Authorization): string {
  if (authorization.kind === "bearer") {
    if (!isSendable(authorization.token)) throw new Error(`Cannot send the token: ${UNSENDABLE}`);
    return `Bearer ${authorization.token}`;
  }
  const bytes = new TextEncoder().encode(`${authorization.username}:${authorization.password}`);
  return `Basic ${bytes.toBase64()}`;
}

export interface LoadedCredential {
  readonly credential: Credential;
  /** Epoch ms from which it must be loaded again; `null` when only a refusal ends it. */
  readonly expiresAt: number | null;
}

/** Keeps one credential until it expires or is refused. */
export class CredentialCache {
  readonly #load: () => Promise<LoadedCredential>;
  readonly #options: CredentialCacheOptions;
  #loaded: LoadedCredential | null = null;
  #loading: Promise<LoadedCredential> | null = null;

  constructor(load: () => Promise<LoadedCredential>, options: CredentialCacheOptions) {
    this.#load = load;
    this.#options = options;
  }

  /** Rejects with the error of the load if no credential is left. */
  readonly get: GetCredential = async (rejected) => {
    const loaded = this.#loaded;
    const isRejected = loaded !== null && rejected !== null && isDeepEqual(rejected, loaded.credential);
    const isExpired = loaded !== null && loaded.expiresAt !== null && loaded.expiresAt <= this.#options.now();
    if (loaded !== null && !isRejected && !isExpired) return loaded.credential;
    try {
      return (await this.#reload()).credential;
    } catch (error) {
      if (loaded === null || isRejected || !this.#options.outlivesFailure) throw error;
      return loaded.credential;
    }
  };

  /** Calls at the same time share one load. */
  async #reload(): Promise<LoadedCredential> {
    this.#loading ??= this.#load();
    try {
      return this.#loaded = await this.#loading;
    } finally {
      this.#loading = null;
    }
  }
}

/**
 * Returns the token in a text, without the space around it, and keeps it out of podfit's output. Throws the error that
 * `fail` makes of the reason. fetch would quote a bad token in its error, so it is refused here.
 */
export function parseToken(text: string, fail: (why: string) => Error): string {
  const token = text.trim();
  if (token === "") throw fail("it is empty");
  if (!isSendable(token)) throw fail(UNSENDABLE);
  keepSecret(token);
  return token;
}

/** Returns whether a token can be sent: it has only letters, digits and signs of ASCII. */
export function isSendable(token: string): boolean {
  return /^[\x21-\x7e]+$/.test(token);
}

type Authorization =
  | { readonly kind: "bearer"; readonly token: string }
  | { readonly kind: "basic"; readonly username: string; readonly password: string };

interface CredentialCacheOptions {
  /** Returns epoch ms. */
  readonly now: () => number;
  /**
   * Whether an expired credential is still used while it cannot be loaded again. True for files: their expiry is only
   * the time to read them again.
   */
  readonly outlivesFailure: boolean;
}

/** Why a token was refused; it does not quote the token. */
const UNSENDABLE = "it has a space, a line break or another character that no header can hold within the token; " +
  "write the token alone, on one line";
