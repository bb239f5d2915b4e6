/**
 * The rings of all pods, or of all ScaledObjects. What is gone is kept for some minutes, to ask about what has just ended; so many of
 * them and no more.
 */
import { Ring, type RingRules } from "../../record/ring.ts";

/** Whose records: the names of a pod or a ScaledObject. */
export interface Names {
  readonly namespace: string;
  readonly name: string;
}

interface Kept<R> extends Names {
  readonly uid: string;
  readonly ring: Ring<R>;
  /** Wall clock, epoch ms; `null` while it is there. */
  goneAt: number | null;
}

const GONE_MS = 600_000;
const MOST_GONE = 500;

export class Shelf<R> {
  readonly #rules: RingRules<R>;
  readonly #kept = new Map<string, Kept<R>>();
  /** Oldest first. */
  readonly #gone = new Set<Kept<R>>();
  readonly #toPack = new Set<Kept<R>>();

  constructor(rules: RingRules<R>) {
    this.#rules = rules;
  }

  /** `isLast`: it tells of something that has ended, and does not mean that the subject is there. */
  add(record: R, { uid, namespace, name, isLast }: Names & { readonly uid: string; readonly isLast: boolean }): void {
    const one = this.#kept.get(uid) ?? { uid, namespace, name, ring: new Ring(this.#rules), goneAt: null };
    this.#kept.set(uid, one);
    if (!isLast) this.#return(one);
    one.ring.add(record);
    if (one.ring.hasEnded) this.#toPack.add(one);
  }

  /** It is gone at `now`, epoch ms. */
  leave(uid: string, now: number): void {
    const one = this.#kept.get(uid);
    if (one === undefined || one.goneAt !== null) return;
    one.goneAt = now;
    this.#gone.add(one);
    const [first] = this.#gone;
    if (this.#gone.size > MOST_GONE && first !== undefined) this.#forget(first);
  }

  /** Is there one of that name? */
  has(names: Names): boolean {
    return this.#list(names).some(({ goneAt }) => goneAt === null);
  }

  /** Texts of whole lines, oldest first; `null` where nothing is known of it. Several may have had the name, one after the other. */
  read(names: Names): Iterable<string> | null {
    const found = this.#list(names).map(({ ring }) => ring.readLines());
    return found.length === 0 ? null : join(found);
  }

  /** The newest line of each that is there, of one namespace or of all. */
  *readLatest(namespace: string | null): Generator<string> {
    for (const one of [...this.#kept.values()]) {
      if (one.goneAt !== null || (namespace !== null && one.namespace !== namespace)) continue;
      const line = one.ring.readNewest();
      if (line !== null) yield line;
    }
  }

  /** Packs one ring. False when there was nothing to pack. */
  packOne(): boolean {
    const [one] = this.#toPack;
    if (one === undefined) return false;
    this.#toPack.delete(one);
    one.ring.pack();
    return true;
  }

  /** Forgets what is too old at `now`, epoch ms. */
  expire(now: number): void {
    for (const one of this.#kept.values()) {
      const isOver = one.goneAt !== null && Math.abs(now - one.goneAt) > GONE_MS;
      if (isOver || !one.ring.expire(now)) this.#forget(one);
    }
  }

  #list({ namespace, name }: Names): readonly Kept<R>[] {
    return [...this.#kept.values()].filter((one) => one.name === name && one.namespace === namespace);
  }

  #return(one: Kept<R>): void {
    one.goneAt = null;
    this.#gone.delete(one);
  }

  #forget(one: Kept<R>): void {
    this.#kept.delete(one.uid);
    this.#gone.delete(one);
    this.#toPack.delete(one);
  }
}

function* join(all: readonly Iterable<string>[]): Generator<string> {
  for (const one of all) yield* one;
}
