/**
 * What do controllers have of the cluster? A cache that list and watch keep current.
 * What a controller wrote is put in at once, so that no controller acts twice on old data. Older versions are ignored.
 */
import type { ApiServer } from "../../kube/transport.ts";
import { watchList } from "../../kube/watch.ts";
import type { Clock } from "../../runtime/clock.ts";
import { type JsonObject, listAt, textAt } from "../json.ts";

/** The collections that controllers can watch, by kind. */
export const WATCHED = {
  nodes: "/api/v1/nodes",
  leases: "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases",
  namespaces: "/api/v1/namespaces",
  serviceaccounts: "/api/v1/serviceaccounts",
  pods: "/api/v1/pods",
  replicasets: "/apis/apps/v1/replicasets",
  deployments: "/apis/apps/v1/deployments",
  statefulsets: "/apis/apps/v1/statefulsets",
  daemonsets: "/apis/apps/v1/daemonsets",
} as const;

/** A kind that controllers watch. */
export type Watched = keyof typeof WATCHED;

/** What a cache is filled from. */
interface CacheOptions {
  readonly kinds: readonly Watched[];
  readonly server: Pick<ApiServer, "origin" | "transport">;
  readonly clock: Clock;
  readonly random: () => number;
  readonly onError: (error: unknown) => void;
  /** An object came, changed or went. */
  readonly onChange: (kind: Watched, object: JsonObject) => void;
}

interface CachedKind {
  readonly objects: Map<string, JsonObject>;
  /** The keys of controlled objects by the UID of their controller. */
  readonly owned: Map<string, Map<string, JsonObject>>;
}

/** UIDs of what is gone, remembered for as long as older news of it may come. */
const MAX_GONE = 10_000;

/** The objects that controllers look at, kept up to date by watches. */
export class Cache {
  readonly #options: CacheOptions;
  readonly #shelves = new Map<Watched, CachedKind>();
  readonly #gone = new Set<string>();
  readonly #unsynced: Set<Watched>;

  constructor(options: CacheOptions) {
    this.#options = options;
    this.#unsynced = new Set(options.kinds);
  }

  get kinds(): readonly Watched[] {
    return this.#options.kinds;
  }

  /** Until then nothing is known for sure to be missing. */
  get isSynced(): boolean {
    return this.#unsynced.size === 0;
  }

  get(kind: Watched, key: string): JsonObject | null {
    return this.#shelf(kind).objects.get(key) ?? null;
  }

  list(kind: Watched): readonly JsonObject[] {
    return [...this.#shelf(kind).objects.values()];
  }

  listOwned(kind: Watched, ownerUid: string): readonly JsonObject[] {
    return [...this.#shelf(kind).owned.get(ownerUid)?.values() ?? []];
  }

  /** Takes an object as a write answered it or a watch reported it. */
  put(kind: Watched, object: JsonObject): void {
    const shelf = this.#shelf(kind);
    const key = keyOf(object);
    const known = shelf.objects.get(key);
    if (this.#gone.has(uidOf(object)) || (known !== undefined && versionOf(known) >= versionOf(object))) return;
    if (known !== undefined) this.#disown(shelf, known);
    shelf.objects.set(key, object);
    const owner = getController(object)?.uid;
    if (owner !== undefined) {
      const owned = shelf.owned.get(owner) ?? new Map();
      shelf.owned.set(owner, owned.set(key, object));
    }
    this.#options.onChange(kind, object);
  }

  remove(kind: Watched, object: JsonObject): void {
    this.#gone.add(uidOf(object));
    const [oldest] = this.#gone;
    if (this.#gone.size > MAX_GONE && oldest !== undefined) this.#gone.delete(oldest);
    const shelf = this.#shelf(kind);
    const known = shelf.objects.get(keyOf(object));
    if (known === undefined || uidOf(known) !== uidOf(object)) return;
    shelf.objects.delete(keyOf(object));
    this.#disown(shelf, known);
    this.#options.onChange(kind, object);
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.kinds.map((kind) => this.#watch(kind, signal)));
  }

  async #watch(kind: Watched, signal: AbortSignal): Promise<void> {
    const { server, clock, random, onError } = this.#options;
    const changes = watchList(server.transport, {
      origin: server.origin,
      path: WATCHED[kind],
      clock,
      random,
      signal,
      onError,
      project: (object) => object as unknown as JsonObject,
    });
    for await (const change of changes) {
      if (change.kind === "deleted") this.remove(kind, change.object);
      else if (change.kind !== "listed") this.put(kind, change.object);
      else {
        const uids = new Set(change.objects.map(uidOf));
        for (const object of this.list(kind)) if (!uids.has(uidOf(object))) this.remove(kind, object);
        this.#unsynced.delete(kind);
        for (const object of change.objects) this.put(kind, object);
        // All that waited for this list to be complete.
        if (this.isSynced) { for (const one of this.#shelves.keys()) this.#reportAll(one); }
      }
    }
  }

  #reportAll(kind: Watched): void {
    for (const object of this.list(kind)) this.#options.onChange(kind, object);
  }

  #disown({ owned }: CachedKind, object: JsonObject): void {
    const owner = getController(object)?.uid;
    if (owner === undefined) return;
    owned.get(owner)?.delete(keyOf(object));
    if (owned.get(owner)?.size === 0) owned.delete(owner);
  }

  #shelf(kind: Watched): CachedKind {
    const found = this.#shelves.get(kind);
    if (found !== undefined) return found;
    const shelf: CachedKind = { objects: new Map(), owned: new Map() };
    this.#shelves.set(kind, shelf);
    return shelf;
  }
}

/** `namespace/name`, or the name alone. */
export function keyOf(object: JsonObject): string {
  const namespace = textAt(object, "metadata", "namespace");
  const name = textAt(object, "metadata", "name");
  return namespace === "" ? name : `${namespace}/${name}`;
}

/** The UID of an object, empty where it has none. */
export function uidOf(object: JsonObject): string {
  return textAt(object, "metadata", "uid");
}

/** The owner that controls an object. */
interface Controller {
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

/** The owner that controls an object; `null` where none does. */
export function getController(object: JsonObject): Controller | null {
  const found = listAt(object, "metadata", "ownerReferences").find(({ controller }) => controller === true);
  if (found === undefined) return null;
  return { kind: textAt(found, "kind"), name: textAt(found, "name"), uid: textAt(found, "uid") };
}

/** Is the deletion of this object under way? */
export function isDeleting(object: JsonObject): boolean {
  return textAt(object, "metadata", "deletionTimestamp") !== "";
}

/** Resource versions are numbers: https://kep.k8s.io/5504 */
function versionOf(object: JsonObject): number {
  return Number(textAt(object, "metadata", "resourceVersion"));
}
