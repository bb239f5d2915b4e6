/**
 * Who of several processes leads? The one that holds a Lease, by client-go's algorithm and numbers: a holder renews it
 * every 2 s and stops leading when it could not for 10 s; another takes it that has seen no change of it for 15 s, by its
 * own monotonic clock. So no two lead at once, however wrong their wall clocks are, unless somebody else writes the Lease.
 * https://github.com/kubernetes/client-go/blob/v0.36.0/tools/leaderelection/leaderelection.go
 */
import type { Clock } from "../runtime/clock.ts";
import type { ApiClient } from "./client.ts";
import { createLeaseClaim, type Held } from "./lease_claim.ts";
import { createLeaseStore, LeaseError } from "./lease_store.ts";

/** The Lease, and who wants to hold it. */
export interface ElectionOptions {
  readonly client: Pick<ApiClient, "core">;
  readonly namespace: string;
  readonly name: string;
  /** Of this process and no other: a Lease that names it is taken for this process's own. */
  readonly identity: string;
  readonly clock: Clock;
  readonly random: () => number;
  /** Hears who leads, and what goes wrong. */
  readonly listener: ElectionListener;
  /**
   * Runs while this process leads. The Lease is renewed until it has ended, then released; it is not called again before.
   * What it rejects with ends the election, after the release.
   */
  readonly lead: (term: Term) => Promise<void>;
}

/** One time of leading, from its begin to its end. */
export interface Term {
  /** Aborts when the work is to end, because podfit ends or because leadership is lost. */
  readonly signal: AbortSignal;
  /** Aborts when leadership is lost, at the renew deadline at the latest: what is under way ends at once. */
  readonly lost: AbortSignal;
  /** Whether this process still leads, by the monotonic clock: to be asked right before each write. Once false, for ever. */
  readonly isLeading: () => boolean;
}

/** Hears what an election is about. Must not throw. */
export interface ElectionListener {
  /** Another leads, or nobody (`null`), as far as it is known. Called at the first look, and when it changes. */
  readonly onStandby: (holder: string | null) => void;
  readonly onLeading: () => void;
  readonly onLost: (why: string) => void;
  /** The Lease cannot be read or written; it is tried again. */
  readonly onFailure: (error: LeaseError) => void;
  /** It can, by now. */
  readonly onAnswered: () => void;
}

/** An election that runs once. */
export interface Election {
  /** Whether this process leads at this moment. */
  readonly isLeading: () => boolean;
  /** Who held the Lease at the last look; `null` = nobody, or it was never read. */
  readonly holder: () => string | null;
  /** False until the Lease was read or made once. */
  readonly isKnown: () => boolean;
  /** Takes part until the signal aborts and the Lease is released. */
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/** The numbers of client-go and of Kubernetes' own components. */
export const LEASE_MS = 15_000;
export const RENEW_DEADLINE_MS = 10_000;
export const RETRY_MS = 2_000;
/** A candidate waits up to so many times longer, so that candidates do not ask together. */
const JITTER = 1.2;
/** The API server is asked at least twice before the deadline. */
const REQUEST_MS = RENEW_DEADLINE_MS / 2;
/** Longer than that a server's wish to be asked later is not followed: somebody has to lead. */
const LONGEST_WAIT_MS = LEASE_MS;

/** Builds an election; nothing is asked before `run` is called. */
export function createElection(options: ElectionOptions): Election {
  const { namespace, name, identity, clock, random, listener, lead } = options;
  const store = createLeaseStore({ ...options, durationMs: LEASE_MS, timeoutMs: REQUEST_MS });
  const claim = createLeaseClaim({ store, name, identity, clock, durationMs: LEASE_MS });
  const label = `${namespace}/${name}`;
  let told: string | null | undefined;
  let untilMs = -Infinity;

  const isLeading = () => clock.monotonic() < untilMs;
  const pickWaitMs = () => RETRY_MS * (1 + JITTER * random());

  async function attempt(step: () => Promise<Held | null>, signal: AbortSignal): Promise<Held | LeaseError | null> {
    try {
      const held = await step();
      listener.onAnswered();
      return held;
    } catch (error) {
      if (signal.aborted) return null;
      if (!(error instanceof LeaseError)) throw error;
      listener.onFailure(error);
      return error;
    }
  }

  /** Until the Lease is ours; `null` = the signal has aborted. */
  async function acquire(signal: AbortSignal): Promise<Held | null> {
    while (!signal.aborted) {
      const tried = await attempt(() => claim.take(signal), signal);
      if (tried !== null && !(tried instanceof LeaseError)) return tried;
      // While the Lease cannot be read it may still name this process, which nobody stands by for.
      const isSeen = claim.isKnown() && claim.holder() !== identity;
      if (isSeen && told !== claim.holder()) listener.onStandby(told = claim.holder());
      const waitMs = Math.max(pickWaitMs(), Math.min(tried?.retryAfterMs ?? 0, LONGEST_WAIT_MS));
      await clock.sleep(waitMs, signal).catch(() => {});
    }
    return null;
  }

  /** Renews until leadership is lost (then it says why) or the work is over (`null`). */
  async function renew(over: AbortSignal): Promise<string | null> {
    let nextMs = clock.monotonic() + RETRY_MS;
    while (!over.aborted) {
      await clock.sleep(Math.min(nextMs, untilMs) - clock.monotonic(), over).catch(() => {});
      if (over.aborted) break;
      if (!isLeading()) return `Lease "${label}" could not be renewed for ${RENEW_DEADLINE_MS / 1000} s`;
      nextMs = clock.monotonic() + RETRY_MS;
      using deadline = clock.timeout(untilMs - clock.monotonic());
      const signal = AbortSignal.any([over, deadline.signal]);
      const tried = await attempt(() => claim.renew(signal), signal);
      const holder = claim.holder();
      if (holder !== null && holder !== identity) return `"${holder}" has taken Lease "${label}"`;
      // An answer after the deadline is too late: others may have been told that nobody leads.
      if (isLeading() && tried !== null && "sinceMs" in tried) untilMs = tried.sinceMs + RENEW_DEADLINE_MS;
    }
    return null;
  }

  async function serve({ sinceMs }: Held, ending: AbortSignal): Promise<void> {
    untilMs = sinceMs + RENEW_DEADLINE_MS;
    told = undefined;
    const lost = new AbortController();
    const over = new AbortController();
    listener.onLeading();
    const work = lead({
      signal: AbortSignal.any([ending, lost.signal]),
      lost: lost.signal,
      isLeading: () => !lost.signal.aborted && !over.signal.aborted && isLeading(),
    }).finally(() => over.abort());
    // Whatever ends the renewing, nobody leads without it.
    const renewing = renew(over.signal).catch((error) => `a part is broken: ${error}`).then((why) => {
      if (why === null) return;
      untilMs = -Infinity;
      lost.abort(new DOMException(`No longer leading: ${why}`, "AbortError"));
      listener.onLost(why);
    });
    try {
      await work;
    } finally {
      await renewing;
      await release();
    }
  }

  /** The work has ended: whoever waits for the Lease need not wait longer. Never rejects for want of an answer. */
  async function release(): Promise<void> {
    if (!isLeading()) return;
    untilMs = -Infinity;
    using timeout = clock.timeout(REQUEST_MS);
    await attempt(async () => {
      await claim.release(timeout.signal);
      return null;
    }, timeout.signal);
  }

  return {
    isLeading,
    holder: claim.holder,
    isKnown: claim.isKnown,
    async run(signal) {
      while (!signal.aborted) {
        const held = await acquire(signal);
        if (held === null) break;
        await serve(held, signal);
        await clock.sleep(pickWaitMs(), signal).catch(() => {});
      }
    },
  };
}
