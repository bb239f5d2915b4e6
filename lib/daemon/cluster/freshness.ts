/**
 * How old is each watched list, and is enough known to decide? A list without contact for 5 minutes is stale. A stale
 * or missing list stops only the decisions that depend on it.
 */
import type { Clock } from "../../runtime/clock.ts";
import type { Log } from "../../runtime/log.ts";
import type { OnFailure } from "../health.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { ClusterCache } from "./cache.ts";
import type { AutoscalerFacts } from "./facts.ts";
import { WORKLOAD_KINDS, WORKLOAD_PLURALS } from "./tables.ts";

// How old is what is known? For each list that is watched: whether it has come, and since when the API server has not
// shown that nothing of it was missed. What is too old is known no more: the autoscaler may be paused by now, the pod
// may be another. Time is measured when asked, so that a process that was stopped for an hour knows it at once.

/** One list that is watched. */
export interface WatchedList {
  readonly resource: string;
  /** `null` = all. */
  readonly namespace: string | null;
  readonly path: string;
  /** Nothing waits for it. */
  readonly isOptional?: boolean;
}

/** Which lists there are, and who hears of those that grow old. */
interface ListFreshnessOptions {
  readonly lists: readonly WatchedList[];
  readonly clock: Pick<Clock, "monotonic" | "sleep">;
  readonly log: Pick<Log, "info">;
  readonly metrics: Pick<Metrics, "setListAges">;
  readonly onTrouble: OnFailure;
}

/**
 * So long without contact, and a list is known no more, ms. Bookmarks come each minute, a silent watch is given up after
 * 90 s, and the next try comes within 30 s: one that fails, or an API server that is restarted, fits in. Who pauses or
 * deletes an autoscaler is obeyed within this time, however little podfit hears.
 */
export const STALE_MS = 300_000;

const CHECK_INTERVAL_MS = 5_000;

interface ListState {
  readonly list: WatchedList;
  /** When it was last heard of, monotonic ms; `null` before its first list. */
  updatedMs: number | null;
  /** It was not heard of for too long: single events may be the first of many that were missed, and do not end that. */
  isStale: boolean;
}

/** The ages of all lists. */
export class ListFreshness {
  readonly #options: ListFreshnessOptions;
  /** By resource and namespace. */
  readonly #states = new Map<string, ListState>();

  constructor(options: ListFreshnessOptions) {
    this.#options = options;
    for (const list of options.lists) {
      this.#states.set(toListKey(list.resource, list.namespace), { list, updatedMs: null, isStale: false });
    }
  }

  /** Paths that have not been listed yet: their objects are not known. */
  get unlisted(): readonly string[] {
    return this.#required().filter(({ updatedMs }) => updatedMs === null).map(({ list }) => list.path);
  }

  /** Lists that are not known any more, with the seconds since they were. */
  get stale(): readonly { readonly path: string; readonly ageSeconds: number }[] {
    return this.#required().filter((one) => this.#isStale(one))
      .map((one) => ({ path: one.list.path, ageSeconds: this.#getAgeSeconds(one) }));
  }

  /** Whether all objects of the resource (`pods`) that are in the namespace have been listed once. */
  isListed(resource: string, namespace: string): boolean {
    return this.#find(resource, namespace)?.updatedMs !== null;
  }

  /** Whether they are known as they are now, or were not long ago. */
  isKnown(resource: string, namespace: string): boolean {
    const contact = this.#find(resource, namespace);
    return contact === undefined || (contact.updatedMs !== null && !this.#isStale(contact));
  }

  /** A change of the list has come. */
  recordChange({ resource, namespace }: WatchedList): void {
    const contact = this.#states.get(toListKey(resource, namespace));
    if (contact === undefined || this.#isStale(contact)) return;
    contact.updatedMs = this.#options.clock.monotonic();
  }

  /** All of the list up to now has come. */
  recordSync({ resource, namespace }: WatchedList): void {
    const contact = this.#states.get(toListKey(resource, namespace));
    if (contact === undefined) return;
    if (this.#isStale(contact)) {
      const { path } = contact.list;
      this.#options.log.info("List is fresh again", { resource, path, ageSeconds: this.#getAgeSeconds(contact) });
    }
    contact.updatedMs = this.#options.clock.monotonic();
    contact.isStale = false;
  }

  /** The right to it was taken away: nobody waits for it to be heard of. */
  forget({ resource, namespace }: WatchedList): void {
    const contact = this.#states.get(toListKey(resource, namespace));
    if (contact !== undefined) contact.updatedMs = null;
  }

  /** Now and then says how old each resource is, and which lists have grown too old where nobody else asks. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#check();
      await this.#options.clock.sleep(CHECK_INTERVAL_MS, signal).catch(() => {});
    }
  }

  #check(): void {
    const ages = new Map<string, number>();
    for (const contact of this.#states.values()) {
      if (contact.updatedMs === null) continue;
      this.#isStale(contact);
      const { resource } = contact.list;
      ages.set(resource, Math.max(ages.get(resource) ?? 0, this.#getAgeSeconds(contact)));
    }
    this.#options.metrics.setListAges(ages);
  }

  #required(): readonly ListState[] {
    return [...this.#states.values()].filter(({ list }) => list.isOptional !== true);
  }

  /** Undefined for what is not watched: all there is of it is known. */
  #find(resource: string, namespace: string): ListState | undefined {
    return this.#states.get(toListKey(resource, null)) ?? this.#states.get(toListKey(resource, namespace));
  }

  #isStale(contact: ListState): boolean {
    const { updatedMs, list: { resource, path, isOptional } } = contact;
    if (contact.isStale) return true;
    if (updatedMs === null || isOptional === true) return false;
    if (this.#options.clock.monotonic() - updatedMs < STALE_MS) return false;
    contact.isStale = true;
    this.#options.onTrouble({
      kind: "failure",
      level: "warn",
      message: "List is stale: podfit changes nothing that depends on it until it is fresh again",
      autoscaler: null,
      fields: { resource, path, ageSeconds: this.#getAgeSeconds(contact) },
    });
    return true;
  }

  #getAgeSeconds({ updatedMs }: ListState): number {
    return updatedMs === null ? 0 : Math.round((this.#options.clock.monotonic() - updatedMs) / 1000);
  }
}

function toListKey(resource: string, namespace: string | null): string {
  return `${resource}/${namespace ?? ""}`;
}

// Is enough known to judge? A list that has not come, may not be read, or was not heard of for too long silences what
// depends on it and nothing else. Nodes are waited for by none: without their capacity only implausible usage goes
// unseen.

/** Says something of a list: of all objects of the resource (`pods`) that are in the namespace. */
type IsListKnown = (resource: string, namespace: string) => boolean;

/** What decisions in a namespace depend on, as far as it is known. */
interface NamespaceKnowledge {
  readonly cache: Pick<ClusterCache, "listTargetKinds">;
  /** Listed once, and known by now. */
  readonly isKnown: IsListKnown;
}

/** A target that was not listed would look missing, and pods that were not would look gone. */
export function isEnoughForStatus({ namespace, autoscaler }: AutoscalerFacts, isListed: IsListKnown): boolean {
  if (!isListed("podresourceautoscalers", namespace) || !isListed("pods", namespace)) return false;
  return !autoscaler?.target || isListed(WORKLOAD_PLURALS[autoscaler.target.kind], namespace);
}

/** Whoever is not known could be the owner of a container: until then nobody acts in the namespace (C12). */
export function isEnoughToDecide(namespace: string, { cache, isKnown }: NamespaceKnowledge): boolean {
  if (!isKnown("podresourceautoscalers", namespace) || !isKnown("pods", namespace)) return false;
  for (const kind of cache.listTargetKinds(namespace)) if (!isKnown(WORKLOAD_PLURALS[kind], namespace)) return false;
  return true;
}

/** The first resource for which nobody acts in the namespace because it was listed and is too old by now; `null` = none. */
export function findStaleResource(
  namespace: string,
  { cache, isKnown, isListed }: NamespaceKnowledge & { readonly isListed: IsListKnown },
): string | null {
  const isStale = (resource: string) => isListed(resource, namespace) && !isKnown(resource, namespace);
  const all = ["podresourceautoscalers", "pods"].find(isStale);
  if (all !== undefined) return all;
  // Asked for every autoscaler, each second: the kinds that are named cost a look at all autoscalers of the namespace.
  const kind = WORKLOAD_KINDS.find((kind) =>
    isStale(WORKLOAD_PLURALS[kind]) && cache.listTargetKinds(namespace).has(kind)
  );
  return kind === undefined ? null : WORKLOAD_PLURALS[kind];
}
