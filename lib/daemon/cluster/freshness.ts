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

/** A watched list. */
export interface WatchedList {
  readonly resource: string;
  /** `null` = all namespaces. */
  readonly namespace: string | null;
  readonly path: string;
  /** Nothing depends on it: readiness does not wait for it. */
  readonly isOptional?: boolean;
}

interface ListFreshnessOptions {
  readonly lists: readonly WatchedList[];
  readonly clock: Pick<Clock, "monotonic" | "sleep">;
  readonly log: Pick<Log, "info">;
  readonly metrics: Pick<Metrics, "setListAges">;
  readonly onTrouble: OnFailure;
}

/**
 * A list without contact for this long, in ms, is stale. A bookmark arrives each minute, a silent watch ends after 90
 * s, and the next try follows within 30 s. One failed try or a restarted API server fits into this time. If podfit
 * cannot see that an autoscaler was paused or deleted, it stops within this time.
 */
export const STALE_MS = 300_000;

/** A bookmark arrives each minute. */
const RECENT_MS = 75_000;

const CHECK_INTERVAL_MS = 5_000;

interface ListState {
  readonly list: WatchedList;
  /** The time of the last contact, monotonic ms; `null` before the first list. */
  updatedMs: number | null;
  /** It had no contact for too long. Single events do not end this state, because events before them may be missing. */
  isStale: boolean;
}

/**
 * The ages of all lists. The age is measured when it is asked for, so a process that was stopped for an hour knows it
 * at once.
 */
export class ListFreshness {
  readonly #options: ListFreshnessOptions;
  readonly #startedMs: number;
  /** By resource and namespace. */
  readonly #states = new Map<string, ListState>();

  constructor(options: ListFreshnessOptions) {
    this.#options = options;
    this.#startedMs = options.clock.monotonic();
    for (const list of options.lists) {
      this.#states.set(toListKey(list.resource, list.namespace), { list, updatedMs: null, isStale: false });
    }
  }

  /** Paths that were not listed yet: their objects are not known. */
  get unlisted(): readonly string[] {
    return this.#required().filter(({ updatedMs }) => updatedMs === null).map(({ list }) => list.path);
  }

  /** Stale lists, with the seconds since the last contact. */
  get stale(): readonly { readonly path: string; readonly ageSeconds: number }[] {
    return this.#required().filter((one) => this.#isStale(one))
      .map((one) => ({ path: one.list.path, ageSeconds: this.#getAgeSeconds(one) }));
  }

  /** Returns whether all objects of the resource (`pods`) in the namespace were listed once. */
  isListed(resource: string, namespace: string): boolean {
    return this.#find(resource, namespace)?.updatedMs !== null;
  }

  /** Returns whether the resource was listed and is not stale. A resource that is not watched counts as known. */
  isKnown(resource: string, namespace: string): boolean {
    const state = this.#find(resource, namespace);
    return state === undefined || (state.updatedMs !== null && !this.#isStale(state));
  }

  /**
   * Returns whether the watch of the resource had contact within that time: by default about a minute, in which a bookmark
   * arrives. A connection that is dead, without an end, is noticed later.
   */
  isRecent(resource: string, namespace: string, maxAgeMs = RECENT_MS): boolean {
    const state = this.#find(resource, namespace);
    if (state === undefined || state.updatedMs === null || this.#isStale(state)) return false;
    return this.#options.clock.monotonic() - state.updatedMs < maxAgeMs;
  }

  /** Returns whether the resource was listed, and its watch has had no contact since, for as long as makes a list stale. */
  isOutdated(resource: string, namespace: string): boolean {
    const updatedMs = this.#find(resource, namespace)?.updatedMs ?? null;
    return updatedMs !== null && this.#options.clock.monotonic() - updatedMs >= STALE_MS;
  }

  /** An event of the list arrived. */
  recordChange({ resource, namespace }: WatchedList): void {
    const state = this.#states.get(toListKey(resource, namespace));
    if (state === undefined || this.#isStale(state)) return;
    state.updatedMs = this.#options.clock.monotonic();
  }

  /** The whole list, or a bookmark, arrived. */
  recordSync({ resource, namespace }: WatchedList): void {
    const state = this.#states.get(toListKey(resource, namespace));
    if (state === undefined) return;
    if (this.#isStale(state)) {
      const { path } = state.list;
      this.#options.log.info("List is fresh again", { resource, path, ageSeconds: this.#getAgeSeconds(state) });
    }
    state.updatedMs = this.#options.clock.monotonic();
    state.isStale = false;
  }

  /** The right to the list was removed, so nothing waits for it. */
  forget({ resource, namespace }: WatchedList): void {
    const state = this.#states.get(toListKey(resource, namespace));
    if (state !== undefined) state.updatedMs = null;
  }

  /** Publishes the age of each resource and reports stale lists every 5 s, until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#check();
      await this.#options.clock.sleep(CHECK_INTERVAL_MS, signal).catch(() => {});
    }
  }

  #check(): void {
    const ages = new Map<string, number>();
    for (const state of this.#states.values()) {
      const { resource, isOptional } = state.list;
      // A required list that never comes is as bad as one that is stale, and has to show as such.
      if (state.updatedMs === null && isOptional === true) continue;
      this.#isStale(state);
      ages.set(resource, Math.max(ages.get(resource) ?? 0, this.#getAgeSeconds(state)));
    }
    this.#options.metrics.setListAges(ages);
  }

  #required(): readonly ListState[] {
    return [...this.#states.values()].filter(({ list }) => list.isOptional !== true);
  }

  /** Returns undefined for a resource that is not watched. */
  #find(resource: string, namespace: string): ListState | undefined {
    return this.#states.get(toListKey(resource, null)) ?? this.#states.get(toListKey(resource, namespace));
  }

  #isStale(state: ListState): boolean {
    const { updatedMs, list: { resource, path, isOptional } } = state;
    if (state.isStale) return true;
    if (updatedMs === null || isOptional === true) return false;
    if (this.#options.clock.monotonic() - updatedMs < STALE_MS) return false;
    state.isStale = true;
    this.#options.onTrouble({
      kind: "failure",
      level: "warn",
      message: "List is stale: podfit changes nothing that depends on it until it is fresh again",
      autoscaler: null,
      fields: { resource, path, ageSeconds: this.#getAgeSeconds(state) },
    });
    return true;
  }

  #getAgeSeconds({ updatedMs }: ListState): number {
    return Math.round((this.#options.clock.monotonic() - (updatedMs ?? this.#startedMs)) / 1000);
  }
}

function toListKey(resource: string, namespace: string | null): string {
  return `${resource}/${namespace ?? ""}`;
}

/** Answers a question about all objects of the resource (`pods`) in the namespace. */
type IsListKnown = (resource: string, namespace: string) => boolean;

interface NamespaceKnowledge {
  readonly cache: Pick<ClusterCache, "listTargetKinds">;
  /** Listed once, and not stale. */
  readonly isKnown: IsListKnown;
}

/**
 * Returns whether the lists that the status depends on have arrived. Without them, a target would look missing and pods
 * would look deleted.
 */
export function isEnoughForStatus({ namespace, autoscaler }: AutoscalerFacts, isListed: IsListKnown): boolean {
  if (!isListed("podresourceautoscalers", namespace) || !isListed("pods", namespace)) return false;
  return !autoscaler?.target || isListed(WORKLOAD_PLURALS[autoscaler.target.kind], namespace);
}

/**
 * Returns whether podfit may resize pods of the namespace. An unknown autoscaler could be the owner of a container, so
 * all lists must be fresh. Clauses: C12.
 */
export function isEnoughToDecide(namespace: string, { cache, isKnown }: NamespaceKnowledge): boolean {
  if (!isKnown("podresourceautoscalers", namespace) || !isKnown("pods", namespace)) return false;
  for (const kind of cache.listTargetKinds(namespace)) if (!isKnown(WORKLOAD_PLURALS[kind], namespace)) return false;
  return true;
}

/** Returns the first stale resource that stops decisions in the namespace; `null` = none. */
export function findStaleResource(
  namespace: string,
  { cache, isKnown, isListed }: NamespaceKnowledge & { readonly isListed: IsListKnown },
): string | null {
  // It is called for every autoscaler, each second. The cheap checks come first: `listTargetKinds` visits all
  // autoscalers of the namespace.
  for (const resource of ALWAYS) if (isListed(resource, namespace) && !isKnown(resource, namespace)) return resource;
  for (const kind of WORKLOAD_KINDS) {
    const resource = WORKLOAD_PLURALS[kind];
    if (!isListed(resource, namespace) || isKnown(resource, namespace)) continue;
    if (cache.listTargetKinds(namespace).has(kind)) return resource;
  }
  return null;
}

const ALWAYS = ["podresourceautoscalers", "pods"];
