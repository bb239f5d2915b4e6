/**
 * One connection of a watch: from its request to its end, the changes that it brings and the versions that they are of.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
 */
import type { Clock, Timeout } from "../runtime/clock.ts";
import { isRecord } from "../units/untrusted.ts";
import { toApiError } from "./api_error.ts";
import { readLines } from "./body.ts";
import { type Collection, fetchResponse, isKubeObject, type Projection, projectObject } from "./collection.ts";
import { CollectionFailure, toBodyFailure, toStatusFailure } from "./collection_failure.ts";
import type { Transport } from "./transport.ts";

export interface ObjectEvent<T> {
  readonly kind: "added" | "modified" | "deleted";
  readonly object: T;
}

export interface Change<T> {
  /** Opaque; the next connection goes on from here. */
  readonly resourceVersion: string;
  /** `null` for a bookmark, for the end of the watch and for an object that was left out. */
  readonly event: ObjectEvent<T> | null;
  /** The server says so: nothing has changed up to this version that was not given before. */
  readonly isCurrent: boolean;
}

export interface ConnectionOptions<T> extends Collection, Projection<T> {
  readonly clock: Clock;
  /** Gives a number in [0, 1), as Math.random does. */
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** A connection without a whole line for this long is dead: bookmarks come each 60 s. 90 s by default. */
  readonly silentMs?: number;
}

/**
 * Gives the changes after a version, for 5 to 10 minutes. Returns when the server ends the connection in good order, of
 * which it tells with a last change, throws a CollectionFailure otherwise, and the signal's reason when it aborts.
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
  let version: string | null = null;
  using overtime = clock.timeout(timeoutSeconds * 1000 + OVERTIME_MS);
  const signal = AbortSignal.any([options.signal, overtime.signal]);
  try {
    const response = await fetchResponse(transport, params, { ...options, verb: "watch", signal, silentMs });
    using silence = new Silence(clock, silentMs);
    const heard = AbortSignal.any([signal, silence.signal]);
    for await (const lines of readLines(response, { limitBytes: MAX_LINE_BYTES, signal: heard })) {
      for (const line of lines) {
        const change = toChange(line, options, response);
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

/** Bytes that make no line are silence too: a server, or who is in its place, may send one a minute for ever. */
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
/** How long after the time that it was asked for a server may end a watch. */
const OVERTIME_MS = 30_000;
const MAX_LINE_BYTES = 32 * 2 ** 20;

const KINDS = { ADDED: "added", MODIFIED: "modified", DELETED: "deleted" } as const;

function toChange<T>(line: string, options: ConnectionOptions<T>, response: Response): Change<T> {
  const { path } = options;
  let event: unknown;
  try {
    event = JSON.parse(line);
  } catch (cause) {
    throw malformed("a line that is not JSON", { path, cause });
  }
  const { type, object } = isRecord(event) ? event : {};
  if (type === "ERROR") {
    const failure = toStatusFailure(toApiError(response, object), { verb: "watch", path });
    // The next watch could end for the same reason, whatever it is, so a new list is due: client-go relists here too.
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
