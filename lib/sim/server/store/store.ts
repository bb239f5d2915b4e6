/**
 * What is stored, at which version, and what changed since: collections of objects by group and plural name, one
 * counter of resource versions over all of them. An object is written as JSON once per change, whoever asks for it.
 */
import { type JsonObject, objectAt } from "../../json.ts";
import { Collection } from "./collection.ts";
import { Entry } from "./entry.ts";

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
