/**
 * The watch of a kind that tenants write. Objects that are too large, or more than their namespace may have, are kept
 * without their spec. Lists are taken object by object, so that not even a list of large objects is held as a whole.
 */
import { fetchPage } from "../../kube/list.ts";
import type { Transport } from "../../kube/transport.ts";
import type { Clock } from "../../runtime/clock.ts";
import { Lanes } from "../../runtime/lanes.ts";
import { parseTime } from "../../units/time.ts";
import { isRecord, measureJson, type Problem } from "../../units/untrusted.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { WatchedList } from "./freshness.ts";
import {
  findTooLarge,
  type LimitedKind,
  MAX_OBJECT_BYTES,
  type ObjectEntry,
  type ObjectLimits,
} from "./object_limits.ts";

interface LimitedFacts {
  readonly uid: string;
  /** `null` = of the cluster. */
  readonly namespace: string | null;
  readonly name: string;
}

interface LimitedSourceOptions<T extends LimitedFacts> extends WatchedList {
  readonly kind: LimitedKind;
  /** `null` = only the size of each object is limited. */
  readonly counted: ObjectLimits | null;
  readonly parse: (object: unknown) => T;
  /** Objects that are another program's: they count as deleted. */
  readonly isForeign?: (object: unknown) => boolean;
  /** Returns the object without its settings, with these problems. */
  readonly refuse: (facts: T, problems: readonly Problem[]) => T;
  readonly find: (key: { readonly uid: string; readonly namespace: string; readonly name: string }) => T | null;
  readonly list: () => Iterable<T>;
  readonly set: (facts: T) => void;
  readonly remove: (facts: T) => void;
}

/** An object as it was parsed, and what its limits need. */
export interface Seen<T> {
  readonly facts: T;
  readonly isForeign: boolean;
  readonly createdAt: number;
  readonly bytes: number;
}

interface LimitedSource<T> extends WatchedList {
  readonly fieldSelector: null;
  readonly project: (object: unknown) => Seen<T>;
  readonly listing: { readonly begin: () => void; readonly add: (one: Seen<T>) => void };
  readonly replaceAll: () => Iterable<unknown>;
  readonly set: (one: Seen<T>) => void;
  readonly remove: (one: Seen<T>) => void;
  readonly waiting: WaitingObjects;
  /** Returns what is known of the object; another value once its watch has changed it. */
  readonly peek: (entry: ObjectEntry) => unknown;
}

/** Returns a source for the watch. */
export function createLimitedSource<T extends LimitedFacts>(options: LimitedSourceOptions<T>): LimitedSource<T> {
  const { kind, resource, namespace, path, counted, parse, isForeign = () => false, refuse, find, list } = options;
  const waiting = new WaitingObjects();
  let seen = new Set<string>();
  counted?.listen({ kind, namespace }, (entry, problem) => {
    if (problem === null) return waiting.add(entry);
    waiting.drop(entry);
    const facts = find(entry);
    if (facts !== null) options.set(refuse(facts, [problem]));
  });

  function set({ facts, isForeign, createdAt, bytes }: Seen<T>): void {
    const { uid, name } = facts;
    if (isForeign) return remove(facts);
    // Another object of this name was deleted. A list shows that only at its end, and until then both would count.
    const before = facts.namespace === null ? null : counted?.findNamed({ kind, namespace: facts.namespace, name });
    if (before && before.uid !== uid) {
      counted?.remove(before);
      waiting.drop(before);
    }
    const problem = counted === null || facts.namespace === null
      ? null
      : counted.put({ kind, namespace: facts.namespace, name, uid, createdAt, bytes });
    // It has its spec now, or does not count.
    waiting.drop(facts);
    options.set(problem === null ? facts : refuse(facts, [problem]));
  }

  function remove(facts: T): void {
    waiting.drop(facts);
    if (facts.namespace !== null) counted?.remove({ ...facts, namespace: facts.namespace });
    options.remove(facts);
  }

  return {
    resource,
    namespace,
    path,
    fieldSelector: null,
    waiting,
    peek: find,
    project(object) {
      const bytes = measureObject(object);
      const problem = findTooLarge(bytes);
      const facts = parse(trim(object, { isTooLarge: problem !== null }));
      return {
        facts: problem === null ? facts : refuse(facts, [problem]),
        isForeign: isForeign(object),
        createdAt: findCreatedAt(object),
        bytes: problem === null ? bytes : RECORD_BYTES,
      };
    },
    listing: {
      begin: () => void (seen = new Set()),
      add(one) {
        if (!one.isForeign) seen.add(one.facts.uid);
        set(one);
      },
    },
    *replaceAll() {
      const gone = [...list()].filter((one) =>
        (namespace === null || one.namespace === namespace) && !seen.has(one.uid)
      );
      seen = new Set();
      for (const facts of gone) yield remove(facts);
    },
    set,
    remove: ({ facts }) => remove(facts),
  };
}

/**
 * Objects that begin to count, and have to be fetched, because podfit has not kept their specs. Namespaces take turns. Each
 * object waits once: a few edits of one object let hundreds of others begin and cease to count each time.
 */
export class WaitingObjects {
  readonly #lanes = new Lanes<ObjectEntry>();
  readonly #byUid = new Map<string, ObjectEntry>();

  get count(): number {
    return this.#byUid.size;
  }

  add(entry: ObjectEntry): void {
    if (this.#byUid.has(entry.uid)) return;
    this.#byUid.set(entry.uid, entry);
    this.#lanes.add(entry.namespace, entry);
  }

  drop({ uid }: Pick<ObjectEntry, "uid">): void {
    const entry = this.#byUid.get(uid);
    if (entry === undefined) return;
    this.#byUid.delete(uid);
    this.#lanes.remove(entry.namespace, entry);
  }

  /** Removes the next one and returns it; `null` if none waits. */
  take(): ObjectEntry | null {
    const entry = this.#lanes.take()?.item ?? null;
    if (entry !== null) this.#byUid.delete(entry.uid);
    return entry;
  }
}

/** What remains of an object that is too large. */
const RECORD_BYTES = 1024;

/** Finalizers and the target of an object that is too large are kept up to this size. */
const MAX_PART_BYTES = 4096;

/** Returns the bytes of spec and metadata. managedFields are left out, because clients write them for the author. */
function measureObject(object: unknown): number {
  if (!isRecord(object)) return 0;
  const { spec, metadata } = object;
  const { managedFields: _, ...own } = isRecord(metadata) ? metadata : {};
  return measureJson([own, spec], MAX_OBJECT_BYTES);
}

/** Returns the object with what podfit keeps of it. A status that is too large counts as none. */
function trim(object: unknown, { isTooLarge }: { readonly isTooLarge: boolean }): unknown {
  if (!isRecord(object)) return object;
  const { status } = object;
  const kept = measureJson(status, MAX_OBJECT_BYTES) > MAX_OBJECT_BYTES ? { ...object, status: {} } : object;
  return isTooLarge ? { ...kept, metadata: trimMetadata(object["metadata"]), spec: trimSpec(object["spec"]) } : kept;
}

const SMALL_METADATA = ["name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp"];

function trimMetadata(metadata: unknown): unknown {
  if (!isRecord(metadata)) return metadata;
  const kept = Object.entries(metadata).filter(([key, value]) =>
    SMALL_METADATA.includes(key) || key === "deletionTimestamp" || (key === "finalizers" && isSmall(value))
  );
  return Object.fromEntries(kept);
}

/** The target, and whether its replicas are restored at the end, are what a ScaledObject still needs. */
function trimSpec(spec: unknown): unknown {
  if (!isRecord(spec)) return {};
  const { scaleTargetRef, advanced } = spec;
  const restores = isRecord(advanced) && advanced["restoreToOriginalReplicaCount"] === true;
  return {
    ...(isSmall(scaleTargetRef) && { scaleTargetRef }),
    ...(restores && { advanced: { restoreToOriginalReplicaCount: true } }),
  };
}

function isSmall(value: unknown): boolean {
  return measureJson(value, MAX_PART_BYTES) <= MAX_PART_BYTES;
}

function findCreatedAt(object: unknown): number {
  const metadata = isRecord(object) && isRecord(object["metadata"]) ? object["metadata"] : {};
  return parseTime(metadata["creationTimestamp"]) ?? 0;
}

interface ReadmissionsOptions {
  readonly origin: string;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly metrics: Pick<Metrics, "setObjectBytes">;
  readonly objects: ObjectLimits;
  readonly sources: readonly ReadmittingSource[];
}

/** A source, of a limited kind or not. */
interface ReadmittingSource extends WatchedList {
  readonly project: (object: unknown) => unknown;
  readonly set: (one: never) => void;
  readonly waiting?: WaitingObjects;
  readonly peek?: (entry: ObjectEntry) => unknown;
}

const INTERVAL_MS = 5_000;

/** Of each kind in one interval. Namespaces take turns. */
const MAX_FETCHES = 10;

/** Namespaces in the metric. */
const MAX_NAMESPACES = 20;

/** Fetches the objects that begin to count because others were deleted or became smaller. Clauses: L57. */
export class Readmissions {
  readonly #options: ReadmissionsOptions;

  constructor(options: ReadmissionsOptions) {
    this.#options = options;
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, metrics, objects, sources } = this.#options;
    while (!signal.aborted) {
      for (const source of sources) {
        if (source.waiting !== undefined) await this.#fetchSome(source, source.waiting, signal);
      }
      metrics.setObjectBytes(objects.listLargest(MAX_NAMESPACES));
      await clock.sleep(INTERVAL_MS, signal).catch(() => {});
    }
  }

  async #fetchSome(source: ReadmittingSource, waiting: WaitingObjects, signal: AbortSignal): Promise<void> {
    for (let count = 0; count < MAX_FETCHES; count++) {
      const entry = waiting.take();
      if (entry === null) return;
      if (!this.#counts(entry)) continue;
      try {
        await this.#fetch(source, entry, signal);
      } catch {
        // The watch reports why the server does not answer.
        waiting.add(entry);
        return;
      }
    }
  }

  /** A list of one name needs no other right than the watch. */
  async #fetch(source: ReadmittingSource, entry: ObjectEntry, signal: AbortSignal): Promise<void> {
    const { origin, transport, clock } = this.#options;
    const path = source.namespace === null
      ? source.path.replace(/[/]([^/]+)$/, `/namespaces/${entry.namespace}/$1`)
      : source.path;
    const fieldSelector = `metadata.name=${entry.name}`;
    const before = source.peek?.(entry);
    const { objects } = await fetchPage(transport, null, {
      origin,
      path,
      fieldSelector,
      clock,
      signal,
      project: (object) => object.metadata.uid === entry.uid ? source.project(object) : null,
    });
    // It may have been deleted meanwhile, or the watch has a newer version.
    if (this.#counts(entry) && source.peek?.(entry) === before) objects.forEach((one) => source.set(one as never));
  }

  #counts(entry: ObjectEntry): boolean {
    return this.#options.objects.isKnown(entry) && this.#options.objects.find(entry) === null;
  }
}
