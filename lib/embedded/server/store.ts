/**
 * What is stored, at which version, and what changed since then?
 * One counter gives the resource versions of all collections. An object is written as JSON once per change.
 */
import { type JsonObject, objectAt, textAt } from "../json.ts";

/** Every collection of an API server, under one counter of versions. */
export class Store {
  /** Changes of each collection that are kept for watches. */
  readonly #historyLimit: number;
  readonly #collections = new Map<string, Collection>();
  #version = 1;

  constructor({ historyLimit }: { readonly historyLimit: number }) {
    this.#historyLimit = historyLimit;
  }

  /** The newest resource version. */
  get version(): number {
    return this.#version;
  }

  collection(id: string): Collection {
    const found = this.#collections.get(id);
    if (found !== undefined) return found;
    const created = new Collection({ historyLimit: this.#historyLimit, startVersion: this.#version });
    this.#collections.set(id, created);
    return created;
  }

  /** Creates or replaces. The object is the store's from now on. */
  put(id: string, object: JsonObject): Entry {
    const entry = this.#stamp(object);
    this.collection(id).put(entry);
    return entry;
  }

  remove(id: string, object: JsonObject): Entry {
    const entry = this.#stamp(object);
    this.collection(id).remove(entry);
    return entry;
  }

  /** Every watch that starts from a version of the past finds it too old. */
  expireHistory(): void {
    for (const collection of this.#collections.values()) collection.expireHistory(this.#version);
  }

  #stamp(object: JsonObject): Entry {
    const version = ++this.#version;
    return new Entry(
      { ...object, metadata: { ...objectAt(object, "metadata"), resourceVersion: String(version) } },
      version,
    );
  }
}

/** What a change did to an object. */
export type ChangeKind = "ADDED" | "MODIFIED" | "DELETED";

/** One change of one object. */
export class Change {
  readonly kind: ChangeKind;
  readonly entry: Entry;
  /** The entry before; `null` for ADDED. */
  readonly previous: Entry | null;
  #line: Uint8Array | null = null;

  constructor(kind: ChangeKind, entry: Entry, previous: Entry | null) {
    this.kind = kind;
    this.entry = entry;
    this.previous = previous;
  }

  /** The event of a watch, one for all who watch. */
  get line(): Uint8Array {
    return this.#line ??= toEventLine(this.kind, this.entry.text);
  }

  /** All watches have it. A later reader writes it again; otherwise thousands of texts would be kept. */
  release(): void {
    this.#line = null;
  }
}

/** A line of a watch: an event of this type with an object, which is given as JSON. */
export function toEventLine(type: ChangeKind | "ERROR" | "BOOKMARK", object: string): Uint8Array {
  return new TextEncoder().encode(`{"type":"${type}","object":${object}}\n`);
}

/** The objects of one resource and their last changes. */
export class Collection {
  readonly #historyLimit: number;
  readonly #slots = new Map<string, Slot>();
  readonly #byNode = new Map<string, Set<Slot>>();
  readonly #listeners = new Map<string | null, Set<Listener>>();
  #sorted: Slot[] | null = null;
  #history: Change[] = [];
  /** Changes up to this version are forgotten. */
  #forgottenUpTo: number;

  constructor({ historyLimit, startVersion }: { readonly historyLimit: number; readonly startVersion: number }) {
    this.#historyLimit = historyLimit;
    this.#forgottenUpTo = startVersion - 1;
  }

  get(namespace: string | null, name: string): Entry | null {
    return this.#slots.get(toKey(namespace, name))?.entry ?? null;
  }

  list({ namespace = null, node = null }: Scope = {}): readonly Entry[] {
    const slots = node === null ? this.#inOrder() : [...this.#byNode.get(node) ?? []].sort(byKey);
    const entries = slots.map(({ entry }) => entry);
    if (namespace === null) return entries;
    return entries.filter(({ object }) => textAt(object, "metadata", "namespace") === namespace);
  }

  put(entry: Entry): void {
    const key = keyOf(entry.object);
    const slot = this.#slots.get(key);
    if (slot === undefined) {
      const added: Slot = { key, entry };
      this.#slots.set(key, added);
      this.#sorted = null;
      this.#index(added);
      this.#notify(new Change("ADDED", entry, null));
      return;
    }
    const previous = slot.entry;
    if (nodeOf(previous.object) !== nodeOf(entry.object)) this.#unindex(slot);
    slot.entry = entry;
    this.#index(slot);
    this.#notify(new Change("MODIFIED", entry, previous));
  }

  /** `entry` is the object's last state, at the version of its removal. */
  remove(entry: Entry): void {
    const key = keyOf(entry.object);
    const slot = this.#slots.get(key);
    if (slot === undefined) return;
    this.#unindex(slot);
    this.#slots.delete(key);
    this.#sorted = null;
    this.#notify(new Change("DELETED", entry, slot.entry));
  }

  /** The changes after a version, in order; `null` when they are forgotten. */
  changesAfter(version: number): readonly Change[] | null {
    if (version < this.#forgottenUpTo) return null;
    let from = this.#history.length;
    while (from > 0 && (this.#history[from - 1]?.entry.version ?? 0) > version) from--;
    return this.#history.slice(from);
  }

  expireHistory(version: number): void {
    this.#history = [];
    this.#forgottenUpTo = version;
  }

  /** Calls the listener for each change from now on, with a node for those of its pods alone. Returns how to end it. */
  listen(listener: Listener, node: string | null): () => void {
    const listeners = this.#listeners.get(node) ?? new Set();
    this.#listeners.set(node, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(node) === listeners) this.#listeners.delete(node);
    };
  }

  #inOrder(): readonly Slot[] {
    return this.#sorted ??= [...this.#slots.values()].sort(byKey);
  }

  #notify(change: Change): void {
    this.#history.push(change);
    // Cut seldom, so that a change costs no copy of the whole history.
    if (this.#history.length >= 2 * this.#historyLimit) {
      const forgotten = this.#history.splice(0, this.#history.length - this.#historyLimit);
      this.#forgottenUpTo = forgotten.at(-1)?.entry.version ?? this.#forgottenUpTo;
    }
    const nodes = new Set([null, nodeOf(change.entry.object), change.previous && nodeOf(change.previous.object)]);
    for (const node of nodes) for (const listener of this.#listeners.get(node) ?? []) listener(change);
    change.release();
  }

  #index(slot: Slot): void {
    const node = nodeOf(slot.entry.object);
    if (node === null) return;
    const slots = this.#byNode.get(node) ?? new Set();
    this.#byNode.set(node, slots.add(slot));
  }

  #unindex(slot: Slot): void {
    const node = nodeOf(slot.entry.object);
    if (node !== null) this.#byNode.get(node)?.delete(slot);
  }
}

/** A stored object. Its metadata has the version as text. */
export class Entry {
  readonly object: JsonObject;
  readonly version: number;
  #text: string | null = null;

  constructor(object: JsonObject, version: number) {
    this.object = object;
    this.version = version;
  }

  /** The object as JSON. */
  get text(): string {
    return this.#text ??= JSON.stringify(this.object);
  }
}

/** Which objects of a collection are meant. */
interface Scope {
  readonly namespace?: string | null;
  /** Pods bound to this node. */
  readonly node?: string | null;
}

/** Receives each change, in order. */
type Listener = (change: Change) => void;

/** Keeps its place in the order while its entry is replaced. */
interface Slot {
  readonly key: string;
  entry: Entry;
}

function toKey(namespace: string | null, name: string): string {
  return `${namespace ?? ""}/${name}`;
}

function keyOf(object: JsonObject): string {
  const metadata = objectAt(object, "metadata");
  return toKey(textAt(metadata, "namespace"), textAt(metadata, "name"));
}

function nodeOf(object: JsonObject): string | null {
  return textAt(object, "spec", "nodeName") || null;
}

function byKey(a: Slot, b: Slot): number {
  return a.key < b.key ? -1 : 1;
}
