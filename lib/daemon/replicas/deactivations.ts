/**
 * How many workloads may go to zero (or idle) within a minute? If all metrics of a cluster are wrong at once, this gives
 * people the time to notice.
 *
 * The namespaces share what there is: one that waits with many workloads does not take the turns of the others.
 */
import type { Clock } from "../../runtime/clock.ts";

/** The least number per minute, unless --max-deactivations-per-minute is set. */
const MIN_PER_MINUTE = 10;

/** The share of the ScaledObjects per minute, so that a large cluster can still go to sleep in 20 minutes. */
const SHARE_PER_MINUTE = 0.05;

const MINUTE_MS = 60_000;

/** Returns how many deactivations a cluster may have within a minute, by the number of its ScaledObjects. Clauses: R59. */
export function getDefaultDeactivations(scaledObjects: number): number {
  return Math.max(MIN_PER_MINUTE, Math.ceil(scaledObjects * SHARE_PER_MINUTE));
}

interface DeactivationOptions {
  readonly clock: Pick<Clock, "monotonic">;
  /** Returns the number for a minute now; Infinity = no limit. */
  readonly getMax: () => number;
  /** The number of objects that wait has changed. */
  readonly onHeld: (count: number) => void;
}

interface ObjectKey {
  readonly namespace: string;
  readonly uid: string;
}

interface Deactivation extends ObjectKey {
  readonly atMs: number;
}

/** Clauses: R59. */
export class DeactivationLimit {
  readonly #options: DeactivationOptions;
  /** Those of the last minute, oldest first: never more than the limit. */
  readonly #taken: Deactivation[] = [];
  /** By namespace: the uids of the objects that wait. */
  readonly #waiting = new Map<string, Set<string>>();
  #held = 0;

  constructor(options: DeactivationOptions) {
    this.#options = options;
  }

  /** Returns `null` if the object may go to zero now, and otherwise why it waits. It asks again at its next check. */
  take(object: ObjectKey): string | null {
    const { clock, getMax } = this.#options;
    const now = clock.monotonic();
    const max = getMax();
    while (this.#taken[0] !== undefined && this.#taken[0].atMs <= now - MINUTE_MS) this.#taken.shift();
    if (this.#hasTurn(object, max)) {
      this.leave(object);
      if (max !== Infinity) this.#taken.push({ ...object, atMs: now });
      return null;
    }
    this.#wait(object);
    return `triggers are not active, but the target waits for its turn: podfit scales at most ${max} targets of the ` +
      "cluster to zero within a minute, in case their metrics are wrong (--max-deactivations-per-minute)";
  }

  /** The object no longer wants to go to zero. */
  leave({ namespace, uid }: ObjectKey): void {
    const waiting = this.#waiting.get(namespace);
    if (waiting?.delete(uid) !== true) return;
    if (waiting.size === 0) this.#waiting.delete(namespace);
    this.#options.onHeld(--this.#held);
  }

  /** A write that did not happen gives its turn back. */
  refund({ uid }: ObjectKey): void {
    const index = this.#taken.findLastIndex((one) => one.uid === uid);
    if (index >= 0) this.#taken.splice(index, 1);
  }

  #wait({ namespace, uid }: ObjectKey): void {
    const waiting = this.#waiting.get(namespace) ?? new Set();
    if (waiting.has(uid)) return;
    this.#waiting.set(namespace, waiting.add(uid));
    this.#options.onHeld(++this.#held);
  }

  /**
   * Within its share of the limit a namespace has a turn while there are turns left. Beyond it, the others' turns that
   * they wait for are left to them.
   */
  #hasTurn({ namespace }: ObjectKey, max: number): boolean {
    const free = max - this.#taken.length;
    if (free <= 0) return false;
    const used = new Map<string, number>();
    for (const one of this.#taken) used.set(one.namespace, (used.get(one.namespace) ?? 0) + 1);
    const share = Math.max(1, Math.floor(max / new Set([...used.keys(), ...this.#waiting.keys(), namespace]).size));
    if ((used.get(namespace) ?? 0) < share) return true;
    let claimed = 0;
    for (const [other, { size }] of this.#waiting) {
      if (other !== namespace) claimed += Math.max(0, Math.min(size, share - (used.get(other) ?? 0)));
    }
    return free > claimed;
  }
}
