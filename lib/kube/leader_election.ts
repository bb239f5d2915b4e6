/**
 * Which of several processes leads? The one that holds the Lease, by client-go's algorithm and numbers.
 *
 * A holder renews the Lease every 2 s and stops leading when it could not for 10 s. Another process takes the Lease
 * when it has seen no change for 15 s on its own monotonic clock. So two processes never lead at the same time, however
 * wrong their wall clocks are, unless another program writes the Lease.
 * https://github.com/kubernetes/client-go/blob/v0.36.0/tools/leaderelection/leaderelection.go
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

/** One period of leading, from its begin to its end. */
export interface Term {
  /** Aborts when the work is to end, because podfit ends or because leadership is lost. */
  readonly signal: AbortSignal;
  /** Aborts when leadership is lost, at the renew deadline at the latest: requests in flight end at once. */
  readonly lost: AbortSignal;
  /**
   * Whether this process still leads, by the monotonic clock. Callers check it right before each write. Once false, it
   * stays false.
   */
  readonly isLeading: () => boolean;
}

/** An election that runs once. */
export interface Election {
  /** Whether this process leads at this moment. */
  readonly isLeading: () => boolean;
  /** The last seen holder of the Lease; `null` = it has none, or it was never read. */
  readonly holder: () => string | null;
  /** False until the Lease was read or made once. */
  readonly isKnown: () => boolean;
  /** Runs until the signal aborts and the Lease is released. */
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/** Returns an election; it sends nothing before `run` is called. */
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

  /** Resolves when this process holds the Lease; `null` = the signal has aborted. */
  async function acquire(signal: AbortSignal): Promise<Held | null> {
    while (!signal.aborted) {
      const tried = await attempt(() => claim.take(signal), signal);
      if (tried !== null && !(tried instanceof LeaseError)) return tried;
      // While the Lease cannot be read, it may still name this process, and then no other process would take it.
      const isSeen = claim.isKnown() && claim.holder() !== identity;
      if (isSeen && told !== claim.holder()) listener.onStandby(told = claim.holder());
      const waitMs = Math.max(pickWaitMs(), Math.min(tried?.retryAfterMs ?? 0, MAX_WAIT_MS));
      await clock.sleep(waitMs, signal).catch(() => {});
    }
    return null;
  }

  /** Renews until leadership is lost (then it returns why) or the work is over (`null`). */
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
      // An answer after the deadline is too late: this process has already stopped leading.
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
    // Without renewing this process must not lead.
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

  /** The work has ended: other candidates need not wait longer. Does not reject without an answer. */
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
  /** Unique to this process: a Lease that names it counts as this process's own. */
  readonly identity: string;
  readonly clock: Clock;
  readonly random: () => number;
  /** Is called when the leader changes, and for errors. */
  readonly listener: ElectionListener;
  /**
   * Runs while this process leads. The Lease is renewed until it has ended, then released; it is not called again
   * before. If it rejects, the election ends with that error after the release.
   */
  readonly lead: (term: Term) => Promise<void>;
}

/** The callbacks of an election. They must not throw. */
interface ElectionListener {
  /** Another process leads, or none (`null`), as far as known. Called for the first read, and when it changes. */
  readonly onStandby: (holder: string | null) => void;
  readonly onLeading: () => void;
  readonly onLost: (why: string) => void;
  /** The Lease cannot be read or written; it is tried again. */
  readonly onFailure: (error: LeaseError) => void;
  /** The Lease can be read or written again. */
  readonly onAnswered: () => void;
}

/** The numbers of client-go and of Kubernetes' own components. */
const LEASE_MS = 15_000;

const RENEW_DEADLINE_MS = 10_000;

const RETRY_MS = 2_000;

/** A candidate waits up to this many times longer, so that candidates do not ask together. */
const JITTER = 1.2;

/** The API server is asked at least twice before the deadline. */
const REQUEST_MS = RENEW_DEADLINE_MS / 2;

/** The longest wait that a server can ask for: some process has to lead. */
const MAX_WAIT_MS = LEASE_MS;

interface LeaseClaimOptions {
  readonly store: LeaseStore;
  readonly name: string;
  readonly identity: string;
  readonly clock: Pick<Clock, "now" | "monotonic">;
  /** For how long a holder that does not renew the Lease keeps it. */
  readonly durationMs: number;
}

/** This process holds the Lease. */
interface Held {
  /**
   * Since the moment before the request was sent that made it so, monotonic ms. Other processes count from a later
   * time.
   */
  readonly sinceMs: number;
}

/**
 * One process's claim to a Lease. Every step rejects as the store does. `null` = this process does not hold the Lease,
 * or another was faster.
 */
interface LeaseClaim {
  /** The last seen holder; `null` = none, or it was never read. */
  readonly holder: () => string | null;
  /** False until it was read or made once. */
  readonly isKnown: () => boolean;
  /** Takes it unless another process holds it. */
  readonly take: (signal: AbortSignal) => Promise<Held | null>;
  /** Writes it as its holder, over every write that names no other holder. */
  readonly renew: (signal: AbortSignal) => Promise<Held | null>;
  /** Releases it, if this process still holds it. */
  readonly release: (signal: AbortSignal) => Promise<void>;
}

interface Observed {
  readonly record: LeaseRecord;
  /** When it was seen to change last, or to be gone, monotonic ms. */
  readonly atMs: number;
  readonly isGone: boolean;
}

/** Returns a claim that has read nothing yet. */
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

  /** A deleted Lease still belongs to its last holder for as long as that holder may not notice. */
  function observeNone(): Observed | null {
    isKnown = true;
    if (observed === null || observed.isGone) return observed;
    return observed = { ...observed, atMs: clock.monotonic(), isGone: true };
  }

  /**
   * Whether the Lease is free for this process: released, its own, or not renewed for as long as its holder keeps it.
   */
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
      // Usually no other process has written it, and it need not be read before.
      const record = observed?.record;
      const held = record?.holder === identity
        ? await hold(() => store.update(holdLease(record, readHold()), signal)).catch(ignoreRefusal)
        : null;
      if (held !== null) return held;
      return await claim(({ record }) => record.holder === null || record.holder === identity, signal);
    },
    async release(signal) {
      let record = observed?.record ?? null;
      // The last renewal may have arrived without an answer.
      for (let tries = 0; tries < 2 && record?.holder === identity; tries++) {
        const stored = await store.update(releaseLease(record, clock.now()), signal);
        if (stored !== null) return void observe(stored);
        record = await store.fetch(signal);
      }
    },
  };
}

/**
 * Treats the refusal as another Lease of that name with another uid: it is read first, and a real error shows again.
 */
function ignoreRefusal(error: unknown): null {
  if (error instanceof LeaseError && error.code !== 0) return null;
  throw error;
}
