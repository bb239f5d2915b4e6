/**
 * One process's claim to a Lease: what it has seen of it and since when, and the single steps by which it takes, renews
 * and releases it. When to do which is the election's.
 */
import type { Clock } from "../runtime/clock.ts";
import { holdLease, type LeaseRecord, newLease, releaseLease } from "./lease_record.ts";
import { LeaseError, type LeaseStore } from "./lease_store.ts";

/** Whose claim, and to what. */
export interface LeaseClaimOptions {
  readonly store: LeaseStore;
  readonly name: string;
  readonly identity: string;
  readonly clock: Pick<Clock, "now" | "monotonic">;
  /** For how long a holder that does not renew the Lease keeps it. */
  readonly durationMs: number;
}

/** The Lease is ours. */
export interface Held {
  /** Since the moment before the request was sent that made it so, monotonic ms: others count from a later one. */
  readonly sinceMs: number;
}

/** Every step rejects as the store does. `null` = the Lease is not ours, or somebody else was faster. */
export interface LeaseClaim {
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
export function createLeaseClaim({ store, name, identity, clock, durationMs }: LeaseClaimOptions): LeaseClaim {
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
        ? await hold(() => store.update(holdLease(record, readHold()), signal)).catch(passRefusal)
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
function passRefusal(error: unknown): null {
  if (error instanceof LeaseError && error.code !== 0) return null;
  throw error;
}
