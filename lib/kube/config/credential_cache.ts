/** When must a credential be loaded again? Keeps the last one for the requests in between. */
import { type Credential, isSameCredential, type ReadCredential } from "./credential.ts";

export interface LoadedCredential {
  readonly credential: Credential;
  /** Epoch ms from which it must be loaded again; `null` when only a refusal ends it. */
  readonly expiresAt: number | null;
}

export interface CredentialCacheOptions {
  /** Gives epoch ms. */
  readonly now: () => number;
  /**
   * Whether an expired credential is still given while it cannot be loaded again. True for files, whose expiry is only
   * the time to read them again.
   */
  readonly outlivesFailure: boolean;
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

  /** Rejects with the error of the load where no credential can be given. */
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
