/**
 * How many objects, and how many bytes of them, does podfit keep for one namespace?
 *
 * podfit has one memory for a whole cluster, so no namespace may fill it. The oldest objects count. What does not count
 * is kept without its spec, and its own condition Ready says what to do. The result depends on the objects alone, so
 * that it is the same after a restart.
 */
import type { ObjectBounds } from "../../resources/pod_resource_autoscaler/parse.ts";
import type { Problem } from "../../units/untrusted.ts";

/** The kinds that share the bytes of their namespace. */
export type LimitedKind = "PodResourceAutoscaler" | "ScaledObject" | "TriggerAuthentication";

/** What is known of an object whether or not it counts. */
export interface ObjectEntry {
  readonly kind: LimitedKind;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Epoch ms. */
  readonly createdAt: number;
  /** Of its metadata and spec as JSON; of a larger object a little more than MAX_OBJECT_BYTES. */
  readonly bytes: number;
}

/** Called when an object begins or ceases to count because another one has changed; `null` = it counts. */
type OnVerdict = (entry: ObjectEntry, problem: Problem | null) => void;

/** A larger object is kept without its spec. The largest real ones have some KiB. */
export const MAX_OBJECT_BYTES = 64 * 1024;

export const DEFAULT_OBJECT_BOUNDS: ObjectBounds = {
  maxAutoscalers: 500,
  maxScaledObjects: 500,
  maxBytes: 4 * 2 ** 20,
};

/** The objects of all namespaces. */
export class ObjectLimits {
  readonly #bounds: ObjectBounds;
  readonly #namespaces = new Map<string, NamespaceObjects>();
  readonly #listeners: { readonly kind: LimitedKind; readonly namespace: string | null; readonly on: OnVerdict }[] = [];

  constructor(bounds: ObjectBounds = DEFAULT_OBJECT_BOUNDS) {
    this.#bounds = bounds;
  }

  /** `namespace`: `null` = all. */
  listen(of: { readonly kind: LimitedKind; readonly namespace: string | null }, on: OnVerdict): void {
    this.#listeners.push({ ...of, on });
  }

  /** The object is new or has changed. Returns why it does not count; `null` if it does. */
  put(entry: ObjectEntry): Problem | null {
    const objects = this.#namespaces.get(entry.namespace) ?? new NamespaceObjects(this.#bounds);
    this.#namespaces.set(entry.namespace, objects);
    this.#notify(objects.put(entry), entry.uid);
    return this.find(entry);
  }

  remove({ namespace, uid }: Pick<ObjectEntry, "namespace" | "uid">): void {
    const objects = this.#namespaces.get(namespace);
    if (objects === undefined) return;
    this.#notify(objects.remove(uid), uid);
    if (objects.bytes === 0) this.#namespaces.delete(namespace);
  }

  isKnown({ namespace, uid }: Pick<ObjectEntry, "namespace" | "uid">): boolean {
    return this.#namespaces.get(namespace)?.has(uid) ?? false;
  }

  /** Returns the object that was put last under the name, whether or not it counts; `null` if there is none. */
  findNamed({ kind, namespace, name }: Pick<ObjectEntry, "kind" | "namespace" | "name">): ObjectEntry | null {
    return this.#namespaces.get(namespace)?.findNamed(kind, name) ?? null;
  }

  /** Returns why the object does not count; `null` if it does, or is unknown. */
  find({ namespace, uid }: Pick<ObjectEntry, "namespace" | "uid">): Problem | null {
    return this.#namespaces.get(namespace)?.find(uid) ?? null;
  }

  /** Returns the bytes of the objects, also of those that do not count, of the namespaces that have most. */
  listLargest(count: number): ReadonlyMap<string, number> {
    const all = [...this.#namespaces].map(([namespace, { bytes }]) => [namespace, bytes] as const);
    return new Map(all.sort(([, a], [, b]) => b - a).slice(0, count));
  }

  #notify(changed: readonly ObjectEntry[], by: string): void {
    for (const entry of changed) {
      if (entry.uid === by) continue;
      const { kind, namespace } = entry;
      const to = this.#listeners.find((one) =>
        one.kind === kind && (one.namespace === null || one.namespace === namespace)
      );
      to?.on(entry, this.find(entry));
    }
  }
}

type Excess = "TooMany" | "OverBudget";

/** The objects of one namespace. The oldest of each kind count, and of these the oldest whose bytes fit together. */
class NamespaceObjects {
  readonly #bounds: ObjectBounds;
  readonly #entries = new Map<string, ObjectEntry>();
  /** By kind and name. */
  readonly #named = new Map<string, ObjectEntry>();
  readonly #counted: Record<LimitedKind, ObjectEntry[]> = {
    PodResourceAutoscaler: [],
    ScaledObject: [],
    TriggerAuthentication: [],
  };
  /** By uid, those above the number of their kind. */
  readonly #surplus: Record<LimitedKind, Map<string, ObjectEntry>> = {
    PodResourceAutoscaler: new Map(),
    ScaledObject: new Map(),
    TriggerAuthentication: new Map(),
  };
  /** By uid, those whose bytes do not fit. */
  #heavy: ReadonlyMap<string, ObjectEntry> = new Map();
  /** Of the counted ones. */
  #countedBytes = 0;
  #bytes = 0;

  constructor(bounds: ObjectBounds) {
    this.#bounds = bounds;
  }

  get bytes(): number {
    return this.#bytes;
  }

  has(uid: string): boolean {
    return this.#entries.has(uid);
  }

  findNamed(kind: LimitedKind, name: string): ObjectEntry | null {
    return this.#named.get(toNameKey({ kind, name })) ?? null;
  }

  find(uid: string): Problem | null {
    const entry = this.#entries.get(uid);
    if (entry === undefined) return null;
    if (this.#surplus[entry.kind].has(uid)) return this.#toProblem(entry, "TooMany");
    return this.#heavy.has(uid) ? this.#toProblem(entry, "OverBudget") : null;
  }

  /** Returns the objects that begin or cease to count. */
  put(entry: ObjectEntry): readonly ObjectEntry[] {
    // Most changes are of the status alone.
    const before = this.#entries.get(entry.uid);
    if (before?.bytes === entry.bytes && compareAge(before, entry) === 0) return [];
    this.#take(entry.uid);
    this.#entries.set(entry.uid, entry);
    this.#named.set(toNameKey(entry), entry);
    this.#bytes += entry.bytes;
    const counted = this.#counted[entry.kind];
    counted.splice(findPlace(counted, entry), 0, entry);
    this.#countedBytes += entry.bytes;
    const youngest = counted.length > this.#getMax(entry.kind) ? counted.pop() : undefined;
    if (youngest === undefined) return this.#weigh();
    this.#countedBytes -= youngest.bytes;
    this.#surplus[entry.kind].set(youngest.uid, youngest);
    return [youngest, ...this.#weigh()];
  }

  /** As `put`. */
  remove(uid: string): readonly ObjectEntry[] {
    const entry = this.#take(uid);
    return entry === null ? [] : [...this.#promote(entry.kind), ...this.#weigh()];
  }

  /** Takes an object out and returns it; `null` if it is unknown. */
  #take(uid: string): ObjectEntry | null {
    const entry = this.#entries.get(uid);
    if (entry === undefined) return null;
    this.#entries.delete(uid);
    if (this.#named.get(toNameKey(entry))?.uid === uid) this.#named.delete(toNameKey(entry));
    this.#bytes -= entry.bytes;
    if (this.#surplus[entry.kind].delete(uid)) return entry;
    const counted = this.#counted[entry.kind];
    const place = counted.findIndex((one) => one.uid === uid);
    if (place >= 0) counted.splice(place, 1);
    this.#countedBytes -= entry.bytes;
    return entry;
  }

  /** The oldest of the surplus takes a free place. */
  #promote(kind: LimitedKind): readonly ObjectEntry[] {
    const surplus = this.#surplus[kind];
    if (surplus.size === 0 || this.#counted[kind].length >= this.#getMax(kind)) return [];
    let oldest: ObjectEntry | null = null;
    for (const one of surplus.values()) if (oldest === null || compareAge(one, oldest) < 0) oldest = one;
    if (oldest === null) return [];
    surplus.delete(oldest.uid);
    this.#counted[kind].push(oldest);
    this.#countedBytes += oldest.bytes;
    return [oldest];
  }

  /** Finds again whose bytes fit. Returns those that have changed. */
  #weigh(): readonly ObjectEntry[] {
    const max = this.#bounds.maxBytes ?? Infinity;
    if (this.#countedBytes <= max && this.#heavy.size === 0) return [];
    const before = this.#heavy;
    const heavy = new Map<string, ObjectEntry>();
    let bytes = 0;
    for (const entry of this.#countedBytes <= max ? [] : Object.values(this.#counted).flat().sort(compareAge)) {
      bytes += entry.bytes;
      if (bytes > max) heavy.set(entry.uid, entry);
    }
    this.#heavy = heavy;
    return [
      ...[...heavy.values()].filter(({ uid }) => !before.has(uid)),
      ...[...before.values()].filter(({ uid }) => !heavy.has(uid) && this.#entries.has(uid)),
    ];
  }

  #getMax(kind: LimitedKind): number {
    const { maxAutoscalers, maxScaledObjects } = this.#bounds;
    return (kind === "PodResourceAutoscaler" ? maxAutoscalers : maxScaledObjects) ?? Infinity;
  }

  #toProblem({ kind, namespace }: ObjectEntry, reason: Excess): Problem {
    const path = "metadata.namespace";
    if (reason === "TooMany") {
      const flag = kind === "PodResourceAutoscaler"
        ? "--max-autoscalers-per-namespace"
        : "--max-scaled-objects-per-namespace";
      const message =
        `podfit keeps the oldest ${this.#getMax(kind)} ${kind}s of namespace "${namespace}" (${flag}), and ` +
        "this one is younger: delete others, or ask the operator of podfit for a larger number";
      return { path, message, reason };
    }
    const kib = Math.floor((this.#bounds.maxBytes ?? 0) / 1024);
    const message = `podfit keeps ${kib} KiB of autoscalers, ScaledObjects and TriggerAuthentications of namespace ` +
      `"${namespace}" (--max-object-bytes-per-namespace), those of the oldest, and this one does not fit: make selectors and ` +
      "queries shorter, delete others, or ask the operator of podfit for a larger number";
    return { path, message, reason };
  }
}

function toNameKey({ kind, name }: Pick<ObjectEntry, "kind" | "name">): string {
  return `${kind}/${name}`;
}

/** Returns why an object is kept without its spec; `null` if it is not too large. */
export function findTooLarge(bytes: number): Problem | null {
  if (bytes <= MAX_OBJECT_BYTES) return null;
  const message = `this object has more than ${MAX_OBJECT_BYTES / 1024} KiB, and podfit uses none of that size: make ` +
    "selectors, queries and annotations shorter, or make several objects of it";
  return { path: "spec", message, reason: "TooLarge" };
}

/** The older one first. Of the same second the order is that of names, then of kinds. */
function compareAge(a: ObjectEntry, b: ObjectEntry): number {
  if (a.createdAt !== b.createdAt) return a.createdAt - b.createdAt;
  if (a.name !== b.name) return a.name < b.name ? -1 : 1;
  return a.kind < b.kind ? -1 : a.kind > b.kind ? 1 : 0;
}

/** Returns where the entry belongs among sorted ones. */
function findPlace(sorted: readonly ObjectEntry[], entry: ObjectEntry): number {
  let [from, to] = [0, sorted.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    const one = sorted[middle];
    if (one !== undefined && compareAge(one, entry) <= 0) from = middle + 1;
    else to = middle;
  }
  return from;
}
