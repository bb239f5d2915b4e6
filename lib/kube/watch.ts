/**
 * What is in a collection, and what changes in it? List, then watch, again and again.
 *
 * Expired versions, and dropped and silent connections, are handled here. No change is missed: after a failure the
 * watch continues from its version as long as the server allows, because a list is expensive for a busy server.
 * Otherwise a new list replaces everything.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
 */
import { backoffMs } from "../runtime/backoff.ts";
import type { Clock, Timeout } from "../runtime/clock.ts";
import { getLoopSlice, type LoopSlice } from "../runtime/event_loop.ts";
import { isRecord } from "../units/untrusted.ts";
import { readLines } from "./body.ts";
import { toApiError } from "./errors.ts";
import { isSmallJson, parseJson } from "./json.ts";
import {
  type Collection,
  CollectionFailure,
  DEFAULT_PAGE_SIZE,
  fetchPage,
  fetchResponse,
  isKubeObject,
  type KubeObject,
  MAX_OBJECT_BYTES,
  MAX_PAGES,
  type Projection,
  projectObject,
  toBodyFailure,
  toStatusFailure,
} from "./list.ts";
import type { Transport } from "./transport.ts";

export interface WatchOptions<T> extends Collection {
  readonly clock: Clock;
  /** Gives a number in [0, 1), as Math.random does. */
  readonly random: () => number;
  /** Ends the iteration, without an error. */
  readonly signal: AbortSignal;
  /** Applied to each object at once, to keep memory small. An object for which it throws is reported and left out. */
  readonly project: (object: KubeObject) => T;
  /**
   * Called when every change so far has been received: the server showed it by a bookmark, or by a normal end of a
   * watch. A list shows it as well.
   */
  readonly onCurrent?: () => void;
  /** Takes the objects of a list one by one, as their page comes; then `listed` has none. So no list is held as a whole. */
  readonly onListing?: {
    /** A list begins. What came of one before it that was given up does not count. */
    readonly begin: () => void;
    readonly add: (object: T) => void;
  };
  /**
   * Called for every failure before it is retried, and awaited; with 0 failures, and not awaited, for an object that
   * `project` can't read. Must not reject. "relist": the consumer has dropped the objects, so a whole list has to come
   * before further changes.
   */
  readonly onError: (error: Error, consecutiveFailures: number) => void | Promise<void | "relist">;
  /**
   * Called when a watch has received nothing since its begin, not even a bookmark, and a list is requested instead.
   * This is not a failure: an API server sends no bookmarks for a kind that has not changed since the server's start.
   */
  readonly onQuiet?: () => void;
  /** Objects in a page of a list; 500 by default. */
  readonly pageSize?: number;
  /** A connection without a whole line for this long is dead: bookmarks come each 60 s. 90 s by default. */
  readonly silentMs?: number;
  /** About how long to go on without a new list, 1 h by default. Takes effect when a watch ends, each 5 to 10 min. */
  readonly relistMs?: number;
}

/** Yields the events of a collection until the signal aborts. Failures are reported and retried, not thrown. */
export async function* watchList<T>(transport: Transport, options: WatchOptions<T>): AsyncGenerator<WatchEvent<T>> {
  const { clock, random, signal, relistMs = DEFAULT_RELIST_MS, onCurrent = () => {}, onListing } = options;
  const slice = getLoopSlice(clock);
  // An error about one object is not a failure of the watch.
  const connection = { ...options, onError: (error: Error) => void options.onError(error, 0) };
  const failureCount = new FailureCount(clock);
  let listing = newListing<T>(options.pageSize);
  let resourceVersion: string | null = null;
  let relistDueMs = 0;
  let heardMs = 0;
  while (!signal.aborted) {
    try {
      if (resourceVersion === null) {
        const { pageSize, fullSize } = listing;
        if (listing.pages === 0) listing.begunMs = clock.monotonic();
        const page = await fetchPage(transport, listing.continueToken, { ...connection, pageSize });
        failureCount.succeed();
        if (listing.pages === 0) onListing?.begin();
        for (const object of page.objects) {
          if (onListing === undefined) {
            listing.objects.push(object);
            continue;
          }
          if (slice.isOver) await slice.wait();
          slice.measure(() => onListing.add(object));
        }
        listing.continueToken = page.continueToken;
        if (listing.smallPages > 0) listing.smallPages--;
        else listing.pageSize = Math.min(2 * pageSize, fullSize);
        listing.pages++;
        listing.fullPages += Math.max(pageSize / fullSize, MIN_SHARE);
        if (listing.fullPages > MAX_PAGES) throw tooManyPages(options);
        if (page.continueToken !== null) continue;
        resourceVersion = page.resourceVersion;
        heardMs = clock.monotonic();
        relistDueMs = heardMs + relistMs * (0.8 + 0.4 * random());
        const { objects, begunMs } = listing;
        listing = newListing(options.pageSize);
        yield { kind: "listed", objects, begunMs };
      }
      for await (const change of watchOnce(transport, resourceVersion, connection)) {
        failureCount.succeed();
        heardMs = clock.monotonic();
        resourceVersion = change.resourceVersion;
        if (change.event !== null) yield change.event;
        if (change.isCurrent) onCurrent();
      }
      if (clock.monotonic() >= relistDueMs) resourceVersion = null;
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof CollectionFailure)) throw error;
      if (error.kind === "quiet") {
        // A list shows whether the server answers, and the changes that a stuck watch would have received.
        resourceVersion = null;
        options.onQuiet?.();
        continue;
      }
      if (error.kind === "too_large" && resourceVersion === null && listing.pageSize > 1) {
        // Smaller pages go on from the same place. They grow again later, so a few large objects cost the others few pages.
        listing.pageSize = Math.ceil(listing.pageSize / 2);
        listing.smallPages = SMALL_PAGES;
        continue;
      }
      const failures = failureCount.fail();
      const nowMs = clock.monotonic();
      const isDoubtful = nowMs >= relistDueMs || (nowMs - heardMs >= TRUSTED_MS && !isAboutNoVersion(error));
      const isDropped = await options.onError(error, failures) === "relist";
      if (isDropped || mustRelist(error) || (resourceVersion !== null && isDoubtful)) {
        resourceVersion = null;
        listing = newListing(options.pageSize);
      }
      const delayMs = backoffMs(failures - 1, { baseMs: RETRY_BASE_MS, maxMs: RETRY_MAX_MS, random });
      const waitMs = Math.max(delayMs, Math.min(error.retryAfterMs ?? 0, RETRY_AFTER_MAX_MS));
      // Rejects only when the signal aborts, which ends the loop.
      await clock.sleep(waitMs, signal).catch(() => {});
    }
  }
}

/**
 * Yields the changes after a version, for 5 to 10 minutes. Returns when the server ends the connection normally, after
 * a last change that says so. Throws a CollectionFailure otherwise, and the signal's reason when it aborts.
 */
export async function* watchOnce<T>(
  transport: Transport,
  resourceVersion: string,
  options: ConnectionOptions<T>,
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
  const slice = getLoopSlice(clock);
  let version: string | null = null;
  using overtime = clock.timeout(timeoutSeconds * 1000 + OVERTIME_MS);
  const signal = AbortSignal.any([options.signal, overtime.signal]);
  try {
    const response = await fetchResponse(transport, params, { ...options, verb: "watch", signal, silentMs });
    using silence = new Silence(clock, silentMs);
    const heard = AbortSignal.any([signal, silence.signal]);
    for await (const lines of readLines(response, { limitBytes: MAX_OBJECT_BYTES, signal: heard })) {
      for (const line of lines) {
        options.signal.throwIfAborted();
        if (slice.isOver) await slice.wait();
        const event = isSmallJson(line)
          ? slice.measure(() => parseEvent(line, path))
          : await parseLargeEvent(line, { path, slice });
        if (slice.isOver) await slice.wait();
        const change = slice.measure(() => toChange(event, options, response));
        version = change.resourceVersion;
        yield change;
      }
      if (lines.length > 0) silence.startAnew();
    }
  } catch (error) {
    if (overtime.signal.aborted && !options.signal.aborted) return;
    const failure = toBodyFailure(error, { verb: "watch", path, signal });
    if (failure.kind !== "silent" || version !== null) throw failure;
    throw new CollectionFailure(failure.message, { kind: "quiet", cause: error });
  }
  const lastedMs = Math.round(clock.monotonic() - startedMs);
  if (lastedMs < SHORT_WATCH_MS) {
    throw new CollectionFailure(`Cannot watch "${path}": the server ended it after ${lastedMs} ms`, { kind: "short" });
  }
  yield { resourceVersion: version ?? resourceVersion, event: null, isCurrent: true };
}

type WatchEvent<T> =
  /** Everything in the collection: replaces all earlier events. Comes first, and again after each new list. */
  | {
    readonly kind: "listed";
    readonly objects: readonly T[];
    /** When its first page was asked for, monotonic ms. What was written before is in the list. */
    readonly begunMs: number;
  }
  | ObjectEvent<T>;

const DEFAULT_RELIST_MS = 3_600_000;

const RETRY_BASE_MS = 800;

const RETRY_MAX_MS = 30_000;

const RETRY_AFTER_MAX_MS = 120_000;

const HEALTHY_MS = 120_000;

/** A version is no longer trusted after this time without any event from a watch. */
const TRUSTED_MS = 300_000;

/** Counts failures in a row. Two minutes of successes without a failure between them start a new count. */
class FailureCount {
  readonly #clock: Clock;
  #failures = 0;
  #firstSuccessMs: number | null = null;
  #lastSuccessMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  succeed(): void {
    this.#lastSuccessMs = this.#clock.monotonic();
    this.#firstSuccessMs ??= this.#lastSuccessMs;
  }

  /** Returns the number of failures in a row, this one included. */
  fail(): number {
    const isHealthy = this.#firstSuccessMs !== null && this.#lastSuccessMs - this.#firstSuccessMs >= HEALTHY_MS;
    if (isHealthy) this.#failures = 0;
    this.#firstSuccessMs = null;
    return ++this.#failures;
  }
}

/** The pages of a list so far. They are kept while the next page is retried. */
interface Listing<T> {
  readonly objects: T[];
  readonly fullSize: number;
  /** When its first page was asked for, monotonic ms. All pages show the same moment, which is not before. */
  begunMs: number;
  pageSize: number;
  /** How many pages come before a larger one is tried. */
  smallPages: number;
  continueToken: string | null;
  pages: number;
  /** The pages, each as the share of a full one that was asked for. */
  fullPages: number;
}

/** A small page counts as so much of a full one at least: a list ends also where its server always names a next page. */
const MIN_SHARE = 0.02;

/** Where most objects are large, each larger page is read for nothing. So one page in nine is. */
const SMALL_PAGES = 8;

function newListing<T>(pageSize = DEFAULT_PAGE_SIZE): Listing<T> {
  return {
    objects: [],
    fullSize: pageSize,
    begunMs: 0,
    pageSize,
    smallPages: 0,
    continueToken: null,
    pages: 0,
    fullPages: 0,
  };
}

/**
 * Returns whether the version is lost. A server answers a version from its own future with silence, so `hung` is
 * included. Refused credentials are replaced in time, and a version that expires meanwhile has another failure.
 */
function mustRelist({ kind, code }: CollectionFailure): boolean {
  if (kind === "status") return code !== null && code < 500 && ![401, 403, 429].includes(code);
  return kind === "expired" || kind === "hung" || kind === "malformed" || kind === "too_large";
}

/** The server is down or busy, or refuses the user: that concerns every version, and a list as well. */
function isAboutNoVersion({ kind, code }: CollectionFailure): boolean {
  return kind === "unreachable" || (kind === "status" && code !== null && [401, 403, 429, 503].includes(code));
}

function tooManyPages({ path }: Collection): CollectionFailure {
  return new CollectionFailure(`Cannot list "${path}": more than ${MAX_PAGES} pages`, { kind: "malformed" });
}

interface ObjectEvent<T> {
  readonly kind: "added" | "modified" | "deleted";
  readonly object: T;
}

interface Change<T> {
  /** Opaque; the next connection goes on from here. */
  readonly resourceVersion: string;
  /** `null` for a bookmark, for the end of the watch and for an object that was left out. */
  readonly event: ObjectEvent<T> | null;
  /** The server confirms: every change up to this version was sent before. */
  readonly isCurrent: boolean;
}

interface ConnectionOptions<T> extends Collection, Projection<T> {
  readonly clock: Clock;
  /** Gives a number in [0, 1), as Math.random does. */
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** A connection without a whole line for this long is dead: bookmarks come each 60 s. 90 s by default. */
  readonly silentMs?: number;
}

/** Bytes without a whole line count as silence: a bad server may send one byte a minute for ever. */
class Silence implements Disposable {
  readonly #clock: Clock;
  readonly #silentMs: number;
  readonly #over = new AbortController();
  #timeout: Timeout;

  constructor(clock: Clock, silentMs: number) {
    this.#clock = clock;
    this.#silentMs = silentMs;
    this.#timeout = this.#start();
  }

  /** Aborts with a TimeoutError once it has lasted too long. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  startAnew(): void {
    this.#timeout[Symbol.dispose]();
    this.#timeout = this.#start();
  }

  [Symbol.dispose](): void {
    this.#timeout[Symbol.dispose]();
  }

  #start(): Timeout {
    const timeout = this.#clock.timeout(this.#silentMs);
    timeout.signal.addEventListener("abort", () => this.#over.abort(timeout.signal.reason), { once: true });
    return timeout;
  }
}

const DEFAULT_SILENT_MS = 90_000;

const SHORT_WATCH_MS = 1000;

/** How late a server may end a watch, after the requested time. */
const OVERTIME_MS = 30_000;

const KINDS = { ADDED: "added", MODIFIED: "modified", DELETED: "deleted" } as const;

function parseEvent(line: string, path: string): unknown {
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw malformed("a line that is not JSON", { path, cause });
  }
}

async function parseLargeEvent(
  line: string,
  { path, slice }: { readonly path: string; readonly slice: LoopSlice },
): Promise<unknown> {
  try {
    return await parseJson(line, slice);
  } catch (cause) {
    throw malformed("a line that is not JSON", { path, cause });
  }
}

function toChange<T>(event: unknown, options: ConnectionOptions<T>, response: Response): Change<T> {
  const { path } = options;
  const { type, object } = isRecord(event) ? event : {};
  if (type === "ERROR") {
    const failure = toStatusFailure(toApiError(response, object), { verb: "watch", path });
    // The next watch could fail for the same reason, so a new list is due: client-go relists here too.
    throw new CollectionFailure(failure.message, { kind: "expired", cause: failure.cause });
  }
  const metadata = isRecord(object) && isRecord(object.metadata) ? object.metadata : {};
  const { resourceVersion } = metadata;
  if (typeof resourceVersion !== "string") throw malformed("an event without a version", { path });
  if (type === "BOOKMARK") return { resourceVersion, event: null, isCurrent: true };
  if (type !== "ADDED" && type !== "MODIFIED" && type !== "DELETED") throw malformed("an event of no type", { path });
  if (!isKubeObject(object)) throw malformed("an object without a name or UID", { path });
  const projected = projectObject(object, options);
  const given = projected === null ? null : { kind: KINDS[type], object: projected };
  return { resourceVersion, event: given, isCurrent: false };
}

function malformed(what: string, { path, cause }: { readonly path: string; readonly cause?: unknown }) {
  return new CollectionFailure(`Cannot watch "${path}": ${what}`, { kind: "malformed", cause });
}
