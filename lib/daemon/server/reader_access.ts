/**
 * May this reader read `/metrics` or another path? The API server checks the bearer token and the right, as in
 * controller-runtime. Its answers are kept for a while.
 * https://github.com/kubernetes-sigs/controller-runtime/blob/main/pkg/metrics/filters/filters.go
 */
import { type ApiClient, reviewAccess, reviewToken, type UserInfo } from "../../kube/client.ts";
import { ApiError } from "../../kube/errors.ts";
import { AnswerCache, type CacheableAnswer } from "../../runtime/cache.ts";
import type { Clock } from "../../runtime/clock.ts";
import { Semaphore, TokenBucket } from "../../runtime/limits.ts";

/** The decision about a reader. */
export type Access =
  | { readonly kind: "allowed" }
  /** No token, or an invalid one. */
  | { readonly kind: "unknownReader" }
  | { readonly kind: "denied"; readonly user: string }
  /** It comes by another way than the API server's, which no right changes. */
  | { readonly kind: "outsider"; readonly why: string }
  /** The API server did not answer. */
  | { readonly kind: "unanswered"; readonly why: string }
  /** podfit lacks the right to ask. */
  | { readonly kind: "rightMissing"; readonly why: string };

/** Returns whether the sender of this `Authorization` header may get the path. Never rejects. */
export type CheckReader = (authorization: string | null, path: string) => Promise<Access>;

interface ReaderAccessOptions {
  readonly client: Pick<ApiClient, "core">;
  readonly clock: Pick<Clock, "monotonic" | "sleep" | "timeout">;
  readonly onFailure: (failure: Access & { readonly kind: "unanswered" | "rightMissing" }) => void;
  /** The API server has answered, also after a failure. */
  readonly onAnswered: () => void;
}

/** Used before the API server is known. */
export const NO_API_SERVER: CheckReader = () =>
  Promise.resolve({ kind: "unanswered", why: "the API server was not asked yet" });

/** Returns a check that uses TokenReviews and SubjectAccessReviews. */
export async function openReaderAccess(
  { client, clock, onFailure, onAnswered }: ReaderAccessOptions,
): Promise<CheckReader> {
  const users = new AnswerCache<UserInfo | null>({ clock, maxEntries: MAX_KEPT });
  const rights = new AnswerCache<boolean>({ clock, maxEntries: MAX_KEPT });
  const limit = new Semaphore(MAX_CONCURRENT);
  const rate = new TokenBucket({ clock, ...REVIEW_RATE });
  const hash = await openHash();
  let waiting = 0;

  /** Readers that were known a moment ago go before others, which may be guessing tokens. */
  async function ask<T>(review: (signal: AbortSignal) => Promise<T>, isUrgent: boolean): Promise<T> {
    using timeout = clock.timeout(TIMEOUT_MS);
    const { signal } = timeout;
    using _slot = await acquireSlot(signal, isUrgent);
    return await review(signal);
  }

  /** Rejects with TooManyReaders if too many wait: a connection may end long before its slot comes. */
  async function acquireSlot(signal: AbortSignal, isUrgent: boolean): Promise<Disposable> {
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

/** Not a failure of the API server: it was not asked. */
class TooManyReaders extends Error {
  constructor(options?: ErrorOptions) {
    super("too many readers whom podfit does not know ask at once", options);
  }
}

const TOKENS = "tokenreviews.authentication.k8s.io";

const RIGHTS = "subjectaccessreviews.authorization.k8s.io";

const TIMEOUT_MS = 10_000;

const USER_MS = 60_000;

/** Shorter, so that guesses do not push known readers out of the cache. */
const UNKNOWN_USER_MS = 10_000;

const ALLOWED_MS = 300_000;

const DENIED_MS = 30_000;

const MAX_KEPT = 1024;

const MAX_CONCURRENT = 4;

/** The most readers that wait, without those known a moment ago. */
const MAX_WAITING = 100;

/** Readers that guess tokens must not make the API server throttle podfit's own requests. */
const REVIEW_RATE = { perSecond: 10, burst: 20 };

/** Tokens of service accounts have about 1 kB. */
const MAX_TOKEN_LENGTH = 8 * 1024;

/** https://www.rfc-editor.org/rfc/rfc6750#section-2.1 */
function parseBearer(authorization: string | null): string | null {
  const [, token = ""] = /^Bearer +([\x21-\x7e]+)$/i.exec(authorization ?? "") ?? [];
  return token === "" || token.length > MAX_TOKEN_LENGTH ? null : token;
}

/**
 * Returns a keyed hash function. No token is stored, and no hash that an attacker could test guesses against. It is
 * synchronous: `crypto.subtle` would use a thread for each guess. The module is loaded only if readers are checked.
 */
async function openHash(): Promise<(text: string) => string> {
  const { createHmac, randomBytes } = await import("node:crypto");
  const salt = randomBytes(32);
  return (text) => createHmac("sha256", salt).update(text).digest("base64");
}

/** Returns everything that a right can depend on, as a key. */
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
