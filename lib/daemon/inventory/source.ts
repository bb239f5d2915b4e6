/** One watch: the address of its list, what is read of its objects, and what that keeps current. */
import type { WatchedList } from "./contacts.ts";

/** What one watch does with what it learns. An optional one may be forbidden: then there are none to know of (C54). */
export interface Source<T> extends WatchedList {
  readonly fieldSelector: string | null;
  readonly project: (object: unknown) => T;
  readonly replaceAll: (objects: readonly T[]) => void;
  readonly set: (object: T) => void;
  readonly remove: (object: T) => void;
}

/** The namespace of a path prefix; `null` = all. */
export function readNamespace(prefix: string): string | null {
  return prefix === "" ? null : prefix.slice("/namespaces/".length);
}
