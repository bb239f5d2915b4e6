/**
 * How old is what is known? For each list that is watched: whether it has come, and since when the API server has not
 * shown that nothing of it was missed. What is too old is known no more: the autoscaler may be paused by now, the pod
 * may be another. Time is measured when asked, so that a process that was stopped for an hour knows it at once.
 */
import type { Clock } from "../../runtime/clock.ts";
import type { Log } from "../../runtime/log.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { OnTrouble } from "../report/trouble.ts";

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
export interface ContactsOptions {
  readonly lists: readonly WatchedList[];
  readonly clock: Pick<Clock, "monotonic" | "sleep">;
  readonly log: Pick<Log, "info">;
  readonly metrics: Pick<Metrics, "setContactAges">;
  readonly onTrouble: OnTrouble;
}

/**
 * So long without contact, and a list is known no more, ms. Bookmarks come each minute, a silent watch is given up after
 * 90 s, and the next try comes within 30 s: one that fails, or an API server that is restarted, fits in. Who pauses or
 * deletes an autoscaler is obeyed within this time, however little podfit hears.
 */
export const STALE_MS = 300_000;
const CHECK_MS = 5_000;

interface Contact {
  readonly list: WatchedList;
  /** When it was last heard of, monotonic ms; `null` before its first list. */
  heardMs: number | null;
  /** It was not heard of for too long: single events may be the first of many that were missed, and do not end that. */
  isStale: boolean;
}

/** The ages of all lists. */
export class Contacts {
  readonly #options: ContactsOptions;
  /** By resource and namespace. */
  readonly #contacts = new Map<string, Contact>();

  constructor(options: ContactsOptions) {
    this.#options = options;
    for (const list of options.lists) {
      this.#contacts.set(toListKey(list.resource, list.namespace), { list, heardMs: null, isStale: false });
    }
  }

  /** Paths that have not been listed yet: their objects are not known. */
  get unlisted(): readonly string[] {
    return this.#awaited().filter(({ heardMs }) => heardMs === null).map(({ list }) => list.path);
  }

  /** Lists that are not known any more, with the seconds since they were. */
  get stale(): readonly { readonly path: string; readonly ageSeconds: number }[] {
    return this.#awaited().filter((one) => this.#isStale(one))
      .map((one) => ({ path: one.list.path, ageSeconds: this.#readAgeSeconds(one) }));
  }

  /** Whether all objects of the resource (`pods`) that are in the namespace have been listed once. */
  isListed(resource: string, namespace: string): boolean {
    return this.#find(resource, namespace)?.heardMs !== null;
  }

  /** Whether they are known as they are now, or were not long ago. */
  isKnown(resource: string, namespace: string): boolean {
    const contact = this.#find(resource, namespace);
    return contact === undefined || (contact.heardMs !== null && !this.#isStale(contact));
  }

  /** A change of the list has come. */
  hearOfChange({ resource, namespace }: WatchedList): void {
    const contact = this.#contacts.get(toListKey(resource, namespace));
    if (contact === undefined || this.#isStale(contact)) return;
    contact.heardMs = this.#options.clock.monotonic();
  }

  /** All of the list up to now has come. */
  hearOfAll({ resource, namespace }: WatchedList): void {
    const contact = this.#contacts.get(toListKey(resource, namespace));
    if (contact === undefined) return;
    if (this.#isStale(contact)) {
      const { path } = contact.list;
      this.#options.log.info("Heard of again", { resource, path, ageSeconds: this.#readAgeSeconds(contact) });
    }
    contact.heardMs = this.#options.clock.monotonic();
    contact.isStale = false;
  }

  /** The right to it was taken away: nobody waits for it to be heard of. */
  forget({ resource, namespace }: WatchedList): void {
    const contact = this.#contacts.get(toListKey(resource, namespace));
    if (contact !== undefined) contact.heardMs = null;
  }

  /** Now and then says how old each resource is, and which lists have grown too old where nobody else asks. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#check();
      await this.#options.clock.sleep(CHECK_MS, signal).catch(() => {});
    }
  }

  #check(): void {
    const ages = new Map<string, number>();
    for (const contact of this.#contacts.values()) {
      if (contact.heardMs === null) continue;
      this.#isStale(contact);
      const { resource } = contact.list;
      ages.set(resource, Math.max(ages.get(resource) ?? 0, this.#readAgeSeconds(contact)));
    }
    this.#options.metrics.setContactAges(ages);
  }

  #awaited(): readonly Contact[] {
    return [...this.#contacts.values()].filter(({ list }) => list.isOptional !== true);
  }

  /** Undefined for what is not watched: all there is of it is known. */
  #find(resource: string, namespace: string): Contact | undefined {
    return this.#contacts.get(toListKey(resource, null)) ?? this.#contacts.get(toListKey(resource, namespace));
  }

  #isStale(contact: Contact): boolean {
    const { heardMs, list: { resource, path, isOptional } } = contact;
    if (contact.isStale) return true;
    if (heardMs === null || isOptional === true) return false;
    if (this.#options.clock.monotonic() - heardMs < STALE_MS) return false;
    contact.isStale = true;
    this.#options.onTrouble({
      kind: "failure",
      level: "warn",
      message: "Not heard of for too long: what depends on it is left alone until it is",
      autoscaler: null,
      fields: { resource, path, ageSeconds: this.#readAgeSeconds(contact) },
    });
    return true;
  }

  #readAgeSeconds({ heardMs }: Contact): number {
    return heardMs === null ? 0 : Math.round((this.#options.clock.monotonic() - heardMs) / 1000);
  }
}

function toListKey(resource: string, namespace: string | null): string {
  return `${resource}/${namespace ?? ""}`;
}
