/** Objects by the place they are looked for in, such as their namespace, and by a key of their own. */
import { deleteWithin } from "../inventory/delete_within.ts";

/** Of a place that has none any more nothing stays. */
export class Table<T> {
  readonly #rows = new Map<string, Map<string, T>>();

  *all(): Generator<T> {
    for (const inPlace of this.#rows.values()) yield* inPlace.values();
  }

  list(place: string): Iterable<T> {
    return this.#rows.get(place)?.values() ?? [];
  }

  /** Those of one place; `null` = all. A list of its own: what is done with one of them may change the table. */
  within(place: string | null): readonly T[] {
    return [...(place === null ? this.all() : this.list(place))];
  }

  find(place: string, key: string): T | null {
    return this.#rows.get(place)?.get(key) ?? null;
  }

  set(place: string, key: string, row: T): void {
    const inPlace = this.#rows.get(place) ?? new Map<string, T>();
    this.#rows.set(place, inPlace.set(key, row));
  }

  delete(place: string, key: string): void {
    deleteWithin(this.#rows, place, key);
  }
}

/** Brings what is known to what there is now: who is not among `all` is gone. */
export function replaceAll<T extends { readonly uid: string }>(
  { known, all }: { readonly known: readonly T[]; readonly all: readonly T[] },
  { set, remove }: { readonly set: (one: T) => void; readonly remove: (one: T) => void },
): void {
  const uids = new Set(all.map(({ uid }) => uid));
  for (const one of known) if (!uids.has(one.uid)) remove(one);
  for (const one of all) set(one);
}
