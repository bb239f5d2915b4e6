/**
 * What is in a collection, and what changes in it, for as long as the signal lasts: list, then watch, again and again,
 * through expired versions, dropped and silent connections, refusals and garbage. Nothing is missed between a failure
 * and its recovery: either the watch goes on from where it was, or a new list replaces everything.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
 */
import { backoffMs } from "../runtime/backoff.ts";
import type { Clock } from "../runtime/clock.ts";
import { toApiError } from "./api_error.ts";
import { readLines } from "./body.ts";
import {
  type Collection,
  CollectionFailure,
  DEFAULT_PAGE_SIZE,
  fetchPage,
  isKubeObject,
  type KubeObject,
  MAX_PAGES,
  projectObject,
  request,
  toBodyFailure,
  toStatusFailure,
} from "./list.ts";
import { isRecord } from "../units/untrusted.ts";
import type { Transport } from "./transport.ts";

export type WatchEvent<T> =
  /** All there is, and in sync: replaces everything told before. Comes first, and again after each relist. */
  | { readonly kind: "listed"; readonly objects: readonly T[] }
  | { readonly kind: "added" | "modified" | "deleted"; readonly object: T };

export interface WatchOptions<T> extends Collection {
  readonly clock: Clock;
  /** In [0, 1), as Math.random gives it. */
  readonly random: () => number;
  /** Ends the iteration, without an error. */
  readonly signal: AbortSignal;
  /** Applied at once to each object, to keep memory small. One for which it throws is reported and left out. */
  readonly project: (object: KubeObject) => T;
  /** Told of every failure before it is retried; 0 failures for an object that `project` can't read. */
  readonly onError: (error: Error, consecutiveFailures: number) => void;
  readonly pageSize?: number;
  /** Bookmarks come each 60 s, so a connection silent for longer is dead. */
  readonly silentMs?: number;
  /** A new list after about so long, whatever happens; takes effect when a watch ends (each 5 to 10 min). */
  readonly relistMs?: number;
}

export async function* watchList<T>(transport: Transport, options: WatchOptions<T>): AsyncGenerator<WatchEvent<T>> {
  const { clock, random, signal, relistMs = DEFAULT_RELIST_MS } = options;
  const health = new Health(clock);
  let listing = newListing<T>(options.pageSize);
  let resourceVersion: string | null = null;
  let relistDueMs = 0;
  while (!signal.aborted) {
    try {
      if (resourceVersion === null) {
        const page = await fetchPage(transport, listing.continueToken, toListOptions(options, listing.pageSize));
        health.good();
        for (const object of page.objects) listing.objects.push(object);
        listing.continueToken = page.continueToken;
        if (++listing.pages > MAX_PAGES) throw malformed(`more than ${MAX_PAGES} pages`, { ...options, verb: "list" });
        if (page.continueToken !== null) continue;
        resourceVersion = page.resourceVersion;
        relistDueMs = clock.monotonic() + relistMs * (0.8 + 0.4 * random());
        const { objects } = listing;
        listing = newListing(options.pageSize);
        yield { kind: "listed", objects };
      }
      for await (const change of watchOnce(transport, resourceVersion, options)) {
        health.good();
        resourceVersion = change.resourceVersion;
        if (change.event !== null) yield change.event;
      }
      if (clock.monotonic() >= relistDueMs) resourceVersion = null;
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof CollectionFailure)) throw error;
      const failures = health.failed();
      const isStale = clock.monotonic() >= relistDueMs || failures >= TRUSTED_FAILURES;
      if (mustRelist(error) || (resourceVersion !== null && isStale)) {
        resourceVersion = null;
        listing = newListing(error.kind === "too_large" ? Math.ceil(listing.pageSize / 2) : options.pageSize);
      }
      options.onError(error, failures);
      const waitMs = backoffMs(failures - 1, { baseMs: RETRY_BASE_MS, maxMs: RETRY_MAX_MS, random });
      await clock.sleep(Math.max(waitMs, Math.min(error.retryAfterMs ?? 0, RETRY_AFTER_MAX_MS)), signal).catch(
        () => {},
      );
    }
  }
}

const DEFAULT_SILENT_MS = 90_000;
const DEFAULT_RELIST_MS = 3_600_000;
const RETRY_BASE_MS = 800;
const RETRY_MAX_MS = 30_000;
const RETRY_AFTER_MAX_MS = 120_000;
const HEALTHY_MS = 120_000;
/** So many failures in a row cast doubt on the place in the stream, whatever they say. */
const TRUSTED_FAILURES = 5;
const SHORT_WATCH_MS = 1000;
/** After the time at which the server was asked to end a watch. */
const OVERTIME_MS = 30_000;
const MAX_LINE_BYTES = 32 * 2 ** 20;

/** Counts failures in a row: a stretch of two minutes without one, with signs of life, starts over. */
class Health {
  readonly #clock: Clock;
  #failures = 0;
  #goodFrom: number | null = null;
  #goodUntil = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  good(): void {
    this.#goodUntil = this.#clock.monotonic();
    this.#goodFrom ??= this.#goodUntil;
  }

  failed(): number {
    if (this.#goodFrom !== null && this.#goodUntil - this.#goodFrom >= HEALTHY_MS) this.#failures = 0;
    this.#goodFrom = null;
    return ++this.#failures;
  }
}

/** Pages so far; kept while a page is retried. */
interface Listing<T> {
  readonly objects: T[];
  readonly pageSize: number;
  continueToken: string | null;
  pages: number;
}

function newListing<T>(pageSize = DEFAULT_PAGE_SIZE): Listing<T> {
  return { objects: [], pageSize, continueToken: null, pages: 0 };
}

function toListOptions<T>(options: WatchOptions<T>, pageSize: number) {
  return { ...options, pageSize, onError: (error: Error) => options.onError(error, 0) };
}

/**
 * Where nothing says otherwise the place in the stream is still good. A watch that never says a word is how a server
 * answers a version of its own future. Refused credentials heal, and a version that grew too old meanwhile says so.
 */
function mustRelist({ kind, code }: CollectionFailure): boolean {
  if (kind === "status") return code !== null && code < 500 && ![401, 403, 429].includes(code);
  return kind === "expired" || kind === "hung" || kind === "malformed" || kind === "too_large";
}

interface Change<T> {
  readonly resourceVersion: string;
  /** `null` for a bookmark and for an object left out. */
  readonly event: WatchEvent<T> | null;
}

/** One connection; returns when the server ends it in good order. */
async function* watchOnce<T>(
  transport: Transport,
  resourceVersion: string,
  options: WatchOptions<T>,
): AsyncGenerator<Change<T>> {
  const { clock, random, path, silentMs = DEFAULT_SILENT_MS } = options;
  const timeoutSeconds = 300 + Math.floor(random() * 301);
  const params = new URLSearchParams({
    watch: "true",
    allowWatchBookmarks: "true",
    resourceVersion,
    timeoutSeconds: String(timeoutSeconds),
  });
  const startedMs = clock.monotonic();
  let hasSpoken = false;
  using overtime = clock.timeout(timeoutSeconds * 1000 + OVERTIME_MS);
  const signal = AbortSignal.any([options.signal, overtime.signal]);
  try {
    const response = await request(transport, params, { ...options, verb: "watch", signal, silentMs });
    for await (const lines of readLines(response, { limitBytes: MAX_LINE_BYTES, signal, clock, silentMs })) {
      hasSpoken = true;
      for (const line of lines) yield toChange(line, options, response);
    }
  } catch (error) {
    if (overtime.signal.aborted && !options.signal.aborted) return;
    const failure = toBodyFailure(error, { verb: "watch", path, signal });
    if (failure.kind !== "silent" || hasSpoken) throw failure;
    throw new CollectionFailure(failure.message, { kind: "hung", cause: error });
  }
  const lastedMs = Math.round(clock.monotonic() - startedMs);
  if (lastedMs >= SHORT_WATCH_MS) return;
  throw new CollectionFailure(`Cannot watch "${path}": the server ended it after ${lastedMs} ms`, { kind: "short" });
}

const KINDS = { ADDED: "added", MODIFIED: "modified", DELETED: "deleted" } as const;

function toChange<T>(line: string, options: WatchOptions<T>, response: Response): Change<T> {
  let event: unknown;
  try {
    event = JSON.parse(line);
  } catch (cause) {
    throw malformed("a line that is not JSON", { path: options.path, cause });
  }
  const { type, object } = isRecord(event) ? event : {};
  if (type === "ERROR") {
    const failure = toStatusFailure(toApiError(response, object), { verb: "watch", path: options.path });
    // Whatever ended the stream this way, the next watch could end the same: client-go relists too.
    throw new CollectionFailure(failure.message, { kind: "expired", cause: failure.cause });
  }
  const metadata = isRecord(object) && isRecord(object.metadata) ? object.metadata : {};
  const { resourceVersion } = metadata;
  if (typeof resourceVersion !== "string") throw malformed("an event without a version", options);
  if (type === "BOOKMARK") return { resourceVersion, event: null };
  if (type !== "ADDED" && type !== "MODIFIED" && type !== "DELETED") throw malformed("an event of no type", options);
  if (!isKubeObject(object)) throw malformed("an object without a name or UID", options);
  const projected = projectObject(object, { ...options, onError: (error) => options.onError(error, 0) });
  return { resourceVersion, event: projected === null ? null : { kind: KINDS[type], object: projected } };
}

interface Malformed {
  readonly path: string;
  readonly verb?: "list" | "watch";
  readonly cause?: unknown;
}

function malformed(what: string, { path, verb = "watch", cause }: Malformed): CollectionFailure {
  return new CollectionFailure(`Cannot ${verb} "${path}": ${what}`, { kind: "malformed", cause });
}
