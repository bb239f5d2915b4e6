/**
 * May this reader read `/metrics` or another path? The API server checks the bearer token and the right, as for
 * controller-runtime. Its answers are kept for a while.
 */
import { type ApiClient, reviewAccess, reviewToken, type UserInfo } from "../../kube/client.ts";
import { ApiError } from "../../kube/errors.ts";
import type { Clock } from "../../runtime/clock.ts";
import { Semaphore, TokenBucket } from "../../runtime/limits.ts";

// May this reader have `/metrics`, or another path? As controller-runtime decides it: the API server says whose the
// bearer token is, and whether its owner may "get" the path. Its answers are kept for as long as there.
// https://github.com/kubernetes-sigs/controller-runtime/blob/main/pkg/metrics/filters/filters.go

/** What is decided of a reader. */
export type Access =
  | { readonly kind: "allowed" }
  /** No token, or one that is nobody's. */
  | { readonly kind: "unknownReader" }
  | { readonly kind: "denied"; readonly user: string }
  /** Nobody can tell now. */
  | { readonly kind: "unanswered"; readonly why: string }
  /** Nobody will be able to tell before podfit has this right. */
  | { readonly kind: "rightMissing"; readonly why: string };

/** Decides by a request's header `Authorization` who may get a path. Never rejects. */
export type CheckReader = (authorization: string | null, path: string) => Promise<Access>;

/** Whom to ask, and who hears when that cannot be done. */
interface ReaderAccessOptions {
  readonly client: Pick<ApiClient, "core">;
  readonly clock: Pick<Clock, "monotonic" | "sleep" | "timeout">;
  readonly onFailure: (failure: Access & { readonly kind: "unanswered" | "rightMissing" }) => void;
  /** After a failure: the API server has answered. */
  readonly onAnswered: () => void;
}

/** While there is no API server yet. */
export const NO_API_SERVER: CheckReader = () =>
  Promise.resolve({ kind: "unanswered", why: "the API server was not asked yet" });

/** Decides by reviews of tokens and rights. */
export async function openReaderAccess(
  { client, clock, onFailure, onAnswered }: ReaderAccessOptions,
): Promise<CheckReader> {
  const users = new AnswerCache<UserInfo | null>({ clock, most: MAX_KEPT });
  const rights = new AnswerCache<boolean>({ clock, most: MAX_KEPT });
  const limit = new Semaphore(MAX_CONCURRENT);
  const rate = new TokenBucket({ clock, ...REVIEW_RATE });
  const hash = await openHash();
  let waiting = 0;

  /** Those who were known a moment ago go before those who may be guessing. */
  async function ask<T>(review: (signal: AbortSignal) => Promise<T>, isUrgent: boolean): Promise<T> {
    using timeout = clock.timeout(TIMEOUT_MS);
    const { signal } = timeout;
    using _slot = await takeTurn(signal, isUrgent);
    return await review(signal);
  }

  /** Rejects with a Crowded where too many wait: a connection may be gone long before its turn comes. */
  async function takeTurn(signal: AbortSignal, isUrgent: boolean): Promise<Disposable> {
    if (!isUrgent && waiting >= MAX_WAITING) throw new TooManyReaders();
    waiting++;
    try {
      using taken = new DisposableStack();
      taken.use(await limit.acquire(signal, { isUrgent }));
      await rate.take(signal, { isUrgent });
      return taken.move();
    } catch (cause) {
      throw signal.aborted ? new TooManyReaders({ cause }) : cause;
    } finally {
      waiting--;
    }
  }

  async function findUser(token: string, wasKnown: boolean): Promise<CacheableAnswer<UserInfo | null>> {
    const value = await ask((signal) => reviewToken(token, { client, signal }), wasKnown);
    return { value, keepMs: value === null ? UNKNOWN_USER_MS : USER_MS };
  }

  async function mayRead(user: UserInfo, path: string): Promise<CacheableAnswer<boolean>> {
    const value = await ask((signal) => reviewAccess(user, { client, signal, path, verb: "get" }), true);
    return { value, keepMs: value ? ALLOWED_MS : DENIED_MS };
  }

  return async (authorization, path) => {
    const token = parseBearer(authorization);
    if (token === null) return { kind: "unknownReader" };
    let asked = TOKENS;
    let isNews = false;
    try {
      const key = hash(token);
      const user = await users.get(key, () => {
        isNews = true;
        return findUser(token, (users.last(key) ?? null) !== null);
      });
      asked = RIGHTS;
      const isAllowed = user !== null && await rights.get(hash(toAccessKey(user, path)), () => {
        isNews = true;
        return mayRead(user, path);
      });
      if (isNews) onAnswered();
      if (user === null) return { kind: "unknownReader" };
      return isAllowed ? { kind: "allowed" } : { kind: "denied", user: user.username };
    } catch (error) {
      if (error instanceof TooManyReaders) return { kind: "unanswered", why: error.message };
      const failure = toFailure(error, asked);
      onFailure(failure);
      return failure;
    }
  };
}

/** No failure of the API server's: nobody has asked it. */
class TooManyReaders extends Error {
  constructor(options?: ErrorOptions) {
    super("too many readers whom podfit does not know ask at once", options);
  }
}

const TOKENS = "tokenreviews.authentication.k8s.io";

const RIGHTS = "subjectaccessreviews.authorization.k8s.io";

const TIMEOUT_MS = 10_000;

const USER_MS = 60_000;

/** Less than there, so that others' guesses do not drive out who is known. */
const UNKNOWN_USER_MS = 10_000;

const ALLOWED_MS = 300_000;

const DENIED_MS = 30_000;

const MAX_KEPT = 1024;

const MAX_CONCURRENT = 4;

/** Readers who wait for their turn, those known a moment ago not counted. */
const MAX_WAITING = 100;

/** Whoever guesses tokens must not have the API server hold podfit's own requests. */
const REVIEW_RATE = { perSecond: 10, burst: 20 };

/** Those of service accounts have about 1 kB. */
const MAX_TOKEN_LENGTH = 8 * 1024;

/** https://www.rfc-editor.org/rfc/rfc6750#section-2.1 */
function parseBearer(authorization: string | null): string | null {
  const [, token = ""] = /^Bearer +([\x21-\x7e]+)$/i.exec(authorization ?? "") ?? [];
  return token === "" || token.length > MAX_TOKEN_LENGTH ? null : token;
}

/**
 * No token is kept, nor a hash of one that guesses could be tried against elsewhere. Hashed at once: `crypto.subtle` has a
 * thread for each guess, and what comes together is found together no more. Loaded by those who ask about readers.
 */
async function openHash(): Promise<(text: string) => string> {
  const { createHmac, randomBytes } = await import("node:crypto");
  const salt = randomBytes(32);
  return (text) => createHmac("sha256", salt).update(text).digest("base64");
}

/** All that a right may hang on. */
function toAccessKey({ username, uid, groups, extra }: UserInfo, path: string): string {
  return JSON.stringify([username, uid, groups, extra, path]);
}

function toFailure(error: unknown, asked: string): Access & { readonly kind: "unanswered" | "rightMissing" } {
  const { name, message } = error as Error;
  if (error instanceof ApiError && error.code === 403) {
    return {
      kind: "rightMissing",
      why: `podfit's account lacks the right to "create" ${asked}, which is needed to admit readers: ${message}`,
    };
  }
  const why = name === "TimeoutError" ? `no answer within ${TIMEOUT_MS / 1000} s` : message;
  return { kind: "unanswered", why: `cannot ask the API server for ${asked}: ${why}` };
}

// Answers that are good for a while: asked for once by however many want them at once, and no more kept than a bound.

/** An answer and how long it is good for. */
interface CacheableAnswer<T> {
  readonly value: T;
  readonly keepMs: number;
}

interface KeptAnswer<T> {
  readonly value: T;
  readonly untilMs: number;
}

/** By key. A failure is not kept. */
class AnswerCache<T> {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #most: number;
  readonly #kept = new Map<string, KeptAnswer<T>>();
  readonly #asking = new Map<string, Promise<T>>();

  constructor({ clock, most }: { readonly clock: Pick<Clock, "monotonic">; readonly most: number }) {
    this.#clock = clock;
    this.#most = most;
  }

  /** What was answered last, also where it is good no more; undefined where that is forgotten. */
  last(key: string): T | undefined {
    return this.#kept.get(key)?.value;
  }

  /** Rejects as `ask` does. */
  get(key: string, ask: () => Promise<CacheableAnswer<T>>): Promise<T> {
    const kept = this.#kept.get(key);
    if (kept !== undefined && this.#clock.monotonic() < kept.untilMs) return Promise.resolve(kept.value);
    const asking = this.#asking.get(key) ?? this.#ask(key, ask).finally(() => this.#asking.delete(key));
    this.#asking.set(key, asking);
    return asking;
  }

  async #ask(key: string, ask: () => Promise<CacheableAnswer<T>>): Promise<T> {
    const { value, keepMs } = await ask();
    this.#kept.delete(key);
    if (this.#kept.size >= this.#most) this.#dropNextToEnd();
    this.#kept.set(key, { value, untilMs: this.#clock.monotonic() + keepMs });
    return value;
  }

  /** Answers that are good for long outlive a flood of those that are not. */
  #dropNextToEnd(): void {
    const all = [...this.#kept].sort(([, a], [, b]) => a.untilMs - b.untilMs);
    const [first] = all[0] ?? [];
    if (first !== undefined) this.#kept.delete(first);
  }
}
