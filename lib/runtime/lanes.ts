/**
 * Who is next, so that one namespace does not keep the others waiting?
 *
 * Items wait in lanes, one for each namespace. Lanes take turns; within a lane the order is that of arrival. If the
 * lanes share places, such as connections, each lane may hold only a part of them.
 */

/** Each lane may hold this number of places by default, also where there are many lanes. */
const MIN_SHARE = 4;

/** Urgent items in a row while others wait. Otherwise a lane with many urgent items would stop all that is not urgent. */
const MAX_URGENT_IN_ROW = 3;

interface LaneOptions {
  /** It goes before the others, at most three in a row. Urgent items of several lanes take turns too. */
  readonly isUrgent?: boolean;
}

/** An item that others may take the place of. */
interface Surplus<T> {
  readonly lane: string;
  readonly item: T;
  /** How many wait with it, itself included. */
  readonly count: number;
}

/** Items that wait, by lane. */
export class Lanes<T> {
  readonly #places: number;
  readonly #minShare: number;
  /** The lanes of each map take turns in its order. */
  readonly #urgent = new Map<string, T[]>();
  readonly #others = new Map<string, T[]>();
  /** Lanes in which an item waits, or which hold a place. */
  readonly #active = new Map<string, { waiting: number; held: number }>();
  #urgentInRow = 0;

  /**
   * `places` is the number of places that all lanes share. Only callers of `hold` use them. Each lane may hold `minShare` of
   * them.
   */
  constructor(places = Infinity, minShare = MIN_SHARE) {
    this.#places = places;
    this.#minShare = minShare;
  }

  /** Returns the number of items that wait, in one lane or in all; of one lane also those of one urgency. */
  count(lane: string | null = null, { isUrgent }: LaneOptions = {}): number {
    if (lane !== null && isUrgent !== undefined) return (isUrgent ? this.#urgent : this.#others).get(lane)?.length ?? 0;
    if (lane !== null) return this.#active.get(lane)?.waiting ?? 0;
    let count = 0;
    for (const { waiting } of this.#active.values()) count += waiting;
    return count;
  }

  add(lane: string, item: T, { isUrgent = false }: LaneOptions = {}): void {
    const lanes = isUrgent ? this.#urgent : this.#others;
    const items = lanes.get(lane);
    if (items === undefined) lanes.set(lane, [item]);
    else items.push(item);
    this.#change(lane, { waiting: 1 });
  }

  /** Removes the next item and returns it with its lane; `null` where none waits whose lane may hold a place. */
  take(): { readonly lane: string; readonly item: T } | null {
    const isUrgentFirst = this.#urgentInRow < MAX_URGENT_IN_ROW;
    const order = isUrgentFirst ? [this.#urgent, this.#others] : [this.#others, this.#urgent];
    for (const lanes of order) {
      for (const [lane, items] of lanes) {
        const [item] = items;
        if (item === undefined || !this.mayHold(lane)) continue;
        this.#urgentInRow = lanes === this.#urgent && this.#others.size > 0 ? this.#urgentInRow + 1 : 0;
        items.shift();
        // Behind all other lanes.
        lanes.delete(lane);
        if (items.length > 0) lanes.set(lane, items);
        this.#change(lane, { waiting: -1 });
        return { lane, item };
      }
    }
    return null;
  }

  /** Removes an item. Returns whether it was there. */
  remove(lane: string, item: T): boolean {
    for (const lanes of [this.#urgent, this.#others]) {
      const items = lanes.get(lane) ?? [];
      const index = items.indexOf(item);
      if (index < 0) continue;
      items.splice(index, 1);
      if (items.length === 0) lanes.delete(lane);
      this.#change(lane, { waiting: -1 });
      return true;
    }
    return false;
  }

  /** Puts another item in the place of one that waits. */
  replace(lane: string, item: T, by: T): void {
    for (const lanes of [this.#urgent, this.#others]) {
      const items = lanes.get(lane) ?? [];
      const index = items.indexOf(item);
      if (index >= 0) items[index] = by;
    }
  }

  /**
   * Returns the newest item of the lane in which most of its urgency wait, with their number; `null` if none waits.
   * Items are not urgent by default.
   */
  findSurplus({ isUrgent = false }: LaneOptions = {}): Surplus<T> | null {
    const lanes = isUrgent ? this.#urgent : this.#others;
    let [longest, count]: [string | null, number] = [null, 0];
    for (const [lane, { length }] of lanes) if (length > count) [longest, count] = [lane, length];
    const item = longest === null ? undefined : lanes.get(longest)?.at(-1);
    return longest === null || item === undefined ? null : { lane: longest, item, count };
  }

  /** Returns whether the lane holds less than its share. One more lane than there are gets its share at once. */
  mayHold(lane: string): boolean {
    const held = this.#active.get(lane)?.held ?? 0;
    const others = this.#active.size - (this.#active.has(lane) ? 1 : 0);
    return held < Math.max(this.#minShare, Math.floor(this.#places / (others + 2)));
  }

  /** The lane holds a place until `release`. */
  hold(lane: string): void {
    this.#change(lane, { held: 1 });
  }

  release(lane: string): void {
    this.#change(lane, { held: -1 });
  }

  #change(lane: string, { waiting = 0, held = 0 }: { readonly waiting?: number; readonly held?: number }): void {
    const now = this.#active.get(lane) ?? { waiting: 0, held: 0 };
    now.waiting += waiting;
    now.held += held;
    if (now.waiting + now.held === 0) this.#active.delete(lane);
    else this.#active.set(lane, now);
  }
}
