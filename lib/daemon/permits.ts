/**
 * When may podfit write to the API server? A permit limits how many resizes run at once and start per second. After
 * leadership is lost, nothing is sent. A busy API server delays them all.
 */
import type { ApiError } from "../kube/errors.ts";
import type { Term } from "../kube/leader_election.ts";
import type { Transport } from "../kube/transport.ts";
import { type BusyAnswer, CircuitBreaker, type Permit } from "../runtime/backoff.ts";
import type { Clock } from "../runtime/clock.ts";
import { Semaphore, TokenBucket } from "../runtime/limits.ts";

/** Permission to send one resize. Disposal frees its place for the next one. */
export interface ResizePermit extends Permit {
  /** The wait was so long that the decision may be wrong now. */
  readonly isLate: boolean;
  /** Nothing was sent, so that the next one does not wait for it. */
  refund(): void;
}

/**
 * Resolves to a permit, or to `null` as soon as the signal aborts. Never rejects. Namespaces take turns; the order within
 * one is that of arrival.
 */
export type AcquirePermit = (signal: AbortSignal, options: PermitRequest) => Promise<ResizePermit | null>;

interface PermitRequest {
  readonly namespace: string;
  /** Goes before the others, at most three times in a row. Urgent requests of several namespaces take turns too. */
  readonly isUrgent: boolean;
}

/** How many resizes may start, as `--kube-api-qps` and `--kube-api-burst` say. */
export interface WriteRate {
  readonly perSecond: number;
  readonly burst: number;
}

/** The default of the command line and of the daemon: 5,000 resizes start in less than a minute. */
export const DEFAULT_WRITE_RATE: WriteRate = { perSecond: 100, burst: 200 };

interface PermitsOptions {
  readonly clock: Clock;
  readonly pace: WriteRate;
  readonly random: () => number;
}

/** Each PATCH costs the API server an admission. A namespace alone has half of them. */
const MAX_CONCURRENT = 64;

/** About the interval between two usage samples. */
const LATE_MS = 5_000;

/**
 * Returns the permits of one process, for resizes and for the replicas of workloads: at most 64 at once, of one namespace
 * 32, and none while the API server says that it is busy. Events and statuses have no part in this, so that no answer to
 * them delays a resize. Clauses: C44, C50.
 */
export function createPermits({ clock, pace, random }: PermitsOptions): AcquirePermit {
  const circuitBreaker = new CircuitBreaker({ clock, random });
  const limit = new Semaphore(MAX_CONCURRENT, { isShared: true });
  const rate = new TokenBucket({ ...pace, clock });
  return async (signal, { namespace: lane, isUrgent }) => {
    const askedMs = clock.monotonic();
    using stack = new DisposableStack();
    try {
      stack.use(await limit.acquire(signal, { lane, isUrgent }));
      await rate.take(signal, { lane, isUrgent });
      const requestPermit = stack.use(await circuitBreaker.acquire(signal));
      const held = stack.move();
      return {
        isLate: clock.monotonic() - askedMs > LATE_MS,
        report(busy) {
          if (busy !== null) rate.drain();
          requestPermit.report(busy);
        },
        refund: () => rate.giveBack(),
        [Symbol.dispose]: () => held.dispose(),
      };
    } catch (error) {
      if (signal.aborted) return null;
      throw error;
    }
  };
}

/**
 * Returns how busy the API server is, or `null` where the answer is about one request only. An admission webhook may
 * answer with any code. The webhook of one namespace must not stop the writes to the others.
 */
export function findBusy(
  { code, message, retryAfterMs }: Pick<ApiError, "code" | "message" | "retryAfterMs">,
): BusyAnswer | null {
  if (code !== 429 && code !== 503) return null;
  return /^admission webhook /.test(message) ? null : { waitMs: retryAfterMs };
}

/** The request was not sent. */
export class NotSent extends Error {
  override readonly name = "NotSent";
}

/**
 * Returns the transport of one leadership. After it, the transport sends nothing and rejects with NotSent. A process may
 * be paused at any point, and timers notice that late: so each request checks right before it is sent.
 */
export function requireLeadership(
  transport: Transport,
  { isLeading, lost }: Pick<Term, "isLeading" | "lost">,
): Transport {
  const beforeSend = () => {
    if (!isLeading()) throw new NotSent("Not sent: this podfit no longer leads");
  };
  return async (request, options) => {
    beforeSend();
    const bound = new Request(request, { signal: AbortSignal.any([request.signal, lost]) });
    return await transport(bound, { ...options, beforeSend });
  };
}
