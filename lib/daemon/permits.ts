/**
 * When may podfit write to the API server? A permit limits how many resizes run at once and start per second. After
 * leadership is lost, nothing is sent. A busy API server delays all writes.
 */
import type { ApiError } from "../kube/errors.ts";
import type { Term } from "../kube/leader_election.ts";
import type { Transport } from "../kube/transport.ts";
import type { BusyAnswer, CircuitBreaker, Permit } from "../runtime/backoff.ts";
import type { Clock } from "../runtime/clock.ts";
import { Semaphore, TokenBucket } from "../runtime/limits.ts";

// Whose turn is it to send a resize? At most so many are under way at once and so many begin per second, in order of
// arrival; and nobody's while the API server has said that it is busy. A wait for one's turn is no failure.

/** Leave to send one resize; disposal makes room for the next. */
export interface ResizePermit extends Permit {
  /** It was so long in coming that what was decided before may be wrong by now. */
  readonly isLate: boolean;
  /** Nothing is sent after all, and the next need not wait for it. */
  refund(): void;
}

/** Resolves when it is the caller's turn, or to `null` as soon as the signal aborts. Never rejects. */
export type AcquirePermit = (signal: AbortSignal, options: PermitRequest) => Promise<ResizePermit | null>;

/** How a turn is waited for. */
interface PermitRequest {
  /** Before all who wait. */
  readonly isUrgent: boolean;
}

/** How many resizes may begin, as `--kube-api-qps` and `--kube-api-burst` have it. */
export interface WriteRate {
  readonly perSecond: number;
  readonly burst: number;
}

// What holds where an operator has set nothing else: the command line's --help says it, and a daemon without one goes
// by it.

/** A burst of 5,000 resizes passes in less than a minute. */
export const DEFAULT_WRITE_RATE: WriteRate = { perSecond: 100, burst: 200 };

/** What turns are made of. */
interface PermitsOptions {
  readonly clock: Clock;
  readonly pace: WriteRate;
  readonly circuitBreaker: CircuitBreaker;
}

/** Each PATCH costs the API server an admission. */
const MAX_CONCURRENT = 32;

/** Usage is sampled about as often. */
const LATE_MS = 5_000;

/** Turns of one process. */
export function createPermits({ clock, pace, circuitBreaker }: PermitsOptions): AcquirePermit {
  const limit = new Semaphore(MAX_CONCURRENT);
  const rate = new TokenBucket({ ...pace, clock });
  return async (signal, urgency) => {
    const askedMs = clock.monotonic();
    using stack = new DisposableStack();
    try {
      stack.use(await limit.acquire(signal, urgency));
      await rate.take(signal, urgency);
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

// Is the API server as a whole too busy for what podfit writes? Then everything that podfit writes waits.

/**
 * `null` where the answer is about one request: an admission webhook may answer with any code, and what one namespace's
 * webhook says must not stop the others.
 */
export function findBusy(
  { code, message, retryAfterMs }: Pick<ApiError, "code" | "message" | "retryAfterMs">,
): BusyAnswer | null {
  if (code !== 429 && code !== 503) return null;
  return /^admission webhook /.test(message) ? null : { waitMs: retryAfterMs };
}

// Nothing is written by who leads no more. A process may be paused anywhere, for any time, and timers tell it late: so
// each request asks right before it goes out.

/** It was certainly not sent. */
export class NotSent extends Error {
  override readonly name = "NotSent";
}

/** The same transport for the time of one leadership; afterwards it rejects with NotSent, and sends nothing. */
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
