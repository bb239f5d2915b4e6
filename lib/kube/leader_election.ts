/**
 * Which of several processes leads? The one that holds the Lease, by client-go's algorithm and numbers.
 */
import type { Clock } from "../runtime/clock.ts";
import type { ApiClient } from "./client.ts";
import {
  createLeaseStore,
  holdLease,
  LeaseError,
  type LeaseRecord,
  type LeaseStore,
  newLease,
  releaseLease,
} from "./lease.ts";

// Who of several processes leads? The one that holds a Lease, by client-go's algorithm and numbers: a holder renews it
// every 2 s and stops leading when it could not for 10 s; another takes it that has seen no change of it for 15 s, by
// its own monotonic clock. So no two lead at once, however wrong their wall clocks are, unless somebody else writes
// the Lease. https://github.com/kubernetes/client-go/blob/v0.36.0/tools/leaderelection/leaderelection.go

/** One time of leading, from its begin to its end. */
export interface Term {
  /** Aborts when the work is to end, because podfit ends or because leadership is lost. */
  readonly signal: AbortSignal;
  /** Aborts when leadership is lost, at the renew deadline at the latest: what is under way ends at once. */
  readonly lost: AbortSignal;
  /** Whether this process still leads, by the monotonic clock: to be asked right before each write. Once false, for ever. */
  readonly isLeading: () => boolean;
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
      const waitMs = Math.max(pickWaitMs(), Math.min(tried?.retryAfterMs ?? 0, MAX_WAIT_MS));
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

/** The Lease, and who wants to hold it. */
interface ElectionOptions {
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

/** Hears what an election is about. Must not throw. */
interface ElectionListener {
  /** Another leads, or nobody (`null`), as far as it is known. Called at the first look, and when it changes. */
  readonly onStandby: (holder: string | null) => void;
  readonly onLeading: () => void;
  readonly onLost: (why: string) => void;
  /** The Lease cannot be read or written; it is tried again. */
  readonly onFailure: (error: LeaseError) => void;
  /** It can, by now. */
  readonly onAnswered: () => void;
}

/** The numbers of client-go and of Kubernetes' own components. */
const LEASE_MS = 15_000;

const RENEW_DEADLINE_MS = 10_000;

const RETRY_MS = 2_000;

/** A candidate waits up to so many times longer, so that candidates do not ask together. */
const JITTER = 1.2;

/** The API server is asked at least twice before the deadline. */
const REQUEST_MS = RENEW_DEADLINE_MS / 2;

/** Longer than that a server's wish to be asked later is not followed: somebody has to lead. */
const MAX_WAIT_MS = LEASE_MS;

// One process's claim to a Lease: what it has seen of it and since when, and the single steps by which it takes,
// renews and releases it. When to do which is the election's.

/** Whose claim, and to what. */
interface LeaseClaimOptions {
  readonly store: LeaseStore;
  readonly name: string;
  readonly identity: string;
  readonly clock: Pick<Clock, "now" | "monotonic">;
  /** For how long a holder that does not renew the Lease keeps it. */
  readonly durationMs: number;
}

/** The Lease is ours. */
interface Held {
  /** Since the moment before the request was sent that made it so, monotonic ms: others count from a later one. */
  readonly sinceMs: number;
}

/** Every step rejects as the store does. `null` = the Lease is not ours, or somebody else was faster. */
interface LeaseClaim {
  /** Who held it at the last look; `null` = nobody, or it was never read. */
  readonly holder: () => string | null;
  /** False until it was read or made once. */
  readonly isKnown: () => boolean;
  /** Takes it where nobody else holds it. */
  readonly take: (signal: AbortSignal) => Promise<Held | null>;
  /** Writes it as its holder, over whatever was written that names no other holder. */
  readonly renew: (signal: AbortSignal) => Promise<Held | null>;
  /** Gives it back, where it is still ours. */
  readonly release: (signal: AbortSignal) => Promise<void>;
}

interface Observed {
  readonly record: LeaseRecord;
  /** When it was seen to change last, or to be gone, monotonic ms. */
  readonly atMs: number;
  readonly isGone: boolean;
}

/** A claim that has seen nothing yet. */
function createLeaseClaim({ store, name, identity, clock, durationMs }: LeaseClaimOptions): LeaseClaim {
  let observed: Observed | null = null;
  let isKnown = false;

  const readHold = () => ({ holder: identity, durationMs, now: clock.now() });

  function observe(record: LeaseRecord): Observed {
    isKnown = true;
    const isSame = observed?.record.fingerprint === record.fingerprint;
    const atMs = isSame && observed !== null ? observed.atMs : clock.monotonic();
    return observed = { record, atMs, isGone: false };
  }

  /** One that was deleted is its last holder's for as long as that may go without noticing. */
  function observeNone(): Observed | null {
    isKnown = true;
    if (observed === null || observed.isGone) return observed;
    return observed = { ...observed, atMs: clock.monotonic(), isGone: true };
  }

  /** Whether nobody else holds it by what was seen: given back, ours, or not renewed for as long as it is the holder's. */
  function isFree({ record, atMs }: Observed): boolean {
    return record.isReleased || record.holder === identity || clock.monotonic() - atMs >= record.durationMs;
  }

  async function hold(write: () => Promise<LeaseRecord | null>): Promise<Held | null> {
    const sinceMs = clock.monotonic();
    const stored = await write();
    if (stored === null) return null;
    observe(stored);
    return { sinceMs };
  }

  async function look(signal: AbortSignal) {
    const found = await store.fetch(signal);
    return { found, seen: found === null ? observeNone() : observe(found) };
  }

  async function claim(isOurs: (seen: Observed) => boolean, signal: AbortSignal): Promise<Held | null> {
    const { found, seen } = await look(signal);
    if (seen !== null && !isOurs(seen)) return null;
    const held = await hold(() =>
      found === null
        ? store.create(newLease(name, readHold()), signal)
        : store.update(holdLease(found, readHold()), signal)
    );
    if (held === null) await look(signal);
    return held;
  }

  return {
    holder: () => observed?.record.holder ?? null,
    isKnown: () => isKnown,
    take: (signal) => claim(isFree, signal),
    async renew(signal) {
      // Most of the time nobody else has written it, and it need not be read before.
      const record = observed?.record;
      const held = record?.holder === identity
        ? await hold(() => store.update(holdLease(record, readHold()), signal)).catch(ignoreRefusal)
        : null;
      if (held !== null) return held;
      return await claim(({ record }) => record.holder === null || record.holder === identity, signal);
    },
    async release(signal) {
      let record = observed?.record ?? null;
      // The last renewal may have arrived without our knowing.
      for (let tries = 0; tries < 2 && record?.holder === identity; tries++) {
        const stored = await store.update(releaseLease(record, clock.now()), signal);
        if (stored !== null) return void observe(stored);
        record = await store.fetch(signal);
      }
    },
  };
}

/** As of another Lease by that name, whose uid is not that of ours: it is read first, and what is wrong shows again. */
function ignoreRefusal(error: unknown): null {
  if (error instanceof LeaseError && error.code !== 0) return null;
  throw error;
}
