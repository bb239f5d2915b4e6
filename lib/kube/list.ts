/**
 * How is a collection listed? Page by page, and each object is projected to what its reader keeps.
 *
 * A failure has a kind, so that a watch can choose how to go on.
 *
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks
 */
import type { Clock } from "../runtime/clock.ts";
import { getLoopSlice } from "../runtime/event_loop.ts";
import { isRecord } from "../units/untrusted.ts";
import { BodyTooLarge, readErrorText, readText } from "./body.ts";
import { type ApiError, getErrorMessage, toApiError } from "./errors.ts";
import { parseJson } from "./json.ts";
import type { Transport } from "./transport.ts";

export interface Page<T> {
  readonly objects: readonly T[];
  /** Opaque; a watch goes on from here. */
  readonly resourceVersion: string;
  /** Opaque; the next page starts here. `null` for the last page. */
  readonly continueToken: string | null;
}

/** Objects in a page, as kubectl asks for. */
export const DEFAULT_PAGE_SIZE = 500;

/** How many pages a list may have: a million objects in pages of 500. */
export const MAX_PAGES = 2000;

/**
 * Returns one page: the first without a token. Rejects with a CollectionFailure, and with the signal's reason when it
 * aborts. Objects are projected one by one, so that full objects are garbage at once.
 */
export async function fetchPage<T>(
  transport: Transport,
  token: string | null,
  options: ListOptions<T>,
): Promise<Page<T>> {
  const { clock, signal, path, pageSize = DEFAULT_PAGE_SIZE } = options;
  const params = new URLSearchParams({ limit: String(pageSize), ...(token === null ? {} : { continue: token }) });
  const response = await fetchResponse(transport, params, { ...options, verb: "list", silentMs: ANSWER_MS });
  using deadline = clock.timeout(PAGE_MS);
  let text: string;
  try {
    const limitBytes = pageSize === 1 ? MAX_OBJECT_BYTES : MAX_PAGE_BYTES;
    text = await readText(response, { limitBytes, signal: AbortSignal.any([signal, deadline.signal]) });
  } catch (error) {
    const failure = toBodyFailure(error, { verb: "list", path, signal });
    if (failure.kind !== "silent") throw failure;
    const why = `a page was not whole after ${PAGE_MS / 1000} s`;
    throw new CollectionFailure(`Cannot list "${path}": ${why}`, { kind: "silent", cause: error });
  }
  return await toPage(text, options);
}

/** The fields that every object of the API has. */
export interface KubeObject {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly namespace?: string;
    readonly resourceVersion?: string;
  };
}

export interface Collection {
  /** Without a trailing slash. */
  readonly origin: string;
  /** E.g. `/api/v1/pods` or `/api/v1/namespaces/x/pods`. */
  readonly path: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

export interface Projection<T> {
  /** Applied to each object at once, to keep memory small. An object for which it throws is reported and left out. */
  readonly project: (object: KubeObject) => T;
  readonly onError?: (error: Error) => void;
}

/**
 * Returns the response to a GET, once its head says 200. Rejects with a CollectionFailure otherwise, and with the
 * signal's reason when it aborts.
 */
export async function fetchResponse(
  transport: Transport,
  params: URLSearchParams,
  options: RequestOptions,
): Promise<Response> {
  const { origin, path, verb, clock, signal, silentMs, labelSelector, fieldSelector } = options;
  if (labelSelector) params.set("labelSelector", labelSelector);
  if (fieldSelector) params.set("fieldSelector", fieldSelector);
  using timeout = clock.timeout(silentMs);
  let response: Response;
  try {
    response = await transport(
      new Request(`${origin}${path}?${params}`, {
        headers: { accept: "application/json" },
        signal: AbortSignal.any([signal, timeout.signal]),
      }),
    );
  } catch (error) {
    signal.throwIfAborted();
    const why = timeout.signal.aborted ? `no answer within ${silentMs / 1000} s` : getErrorMessage(error);
    const kind = timeout.signal.aborted ? "hung" : "unreachable";
    throw new CollectionFailure(`Cannot ${verb} "${path}": ${why}`, { kind, cause: error });
  }
  if (response.status === 200) return response;
  const text = await readErrorText(response, AbortSignal.any([signal, timeout.signal])).catch(() => "");
  signal.throwIfAborted();
  throw toStatusFailure(toApiError(response, parseJsonOrText(text)), options);
}

/**
 * Returns the projection of an object; `null` for an object that was reported and left out, and for a value that is not
 * an object of the API.
 */
export function projectObject<T>(object: unknown, { project, onError }: Projection<T>): T | null {
  if (!isKubeObject(object)) return null;
  try {
    return project(object);
  } catch (cause) {
    const { namespace, name } = object.metadata;
    // It may be of any type, and need not become a text.
    const key = typeof namespace === "string" ? `${namespace}/${name}` : name;
    onError?.(new Error(`Cannot read object "${key}": ${getErrorMessage(cause)}`, { cause }));
    return null;
  }
}

/** Returns whether a value has the fields of an object of the API. */
export function isKubeObject(value: unknown): value is KubeObject {
  const metadata = isRecord(value) ? value.metadata : null;
  return isRecord(metadata) && typeof metadata.name === "string" && typeof metadata.uid === "string";
}

/** Parses JSON; returns the text if it is not JSON. */
export function parseJsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** A list or watch that failed. Its message names the collection's path. */
export class CollectionFailure extends Error {
  override readonly name = "CollectionFailure";
  readonly kind: FailureKind;
  /** The HTTP status or the code of a Status; `null` where the server did not answer. */
  readonly code: number | null;
  /** How long the server asks to wait, in ms; `null` where it does not say. */
  readonly retryAfterMs: number | null;

  constructor(message: string, { kind, cause }: FailureOptions) {
    super(message, { cause });
    this.kind = kind;
    const answer = cause instanceof Error && cause.name === "ApiError" ? cause as ApiError : null;
    this.code = answer?.code ?? null;
    this.retryAfterMs = answer?.retryAfterMs ?? null;
  }
}

/** Returns the failure for a refusal by the server. */
export function toStatusFailure(cause: ApiError, { verb, path }: FailedCall): CollectionFailure {
  // A 504 with this cause: the server's cache is behind the version that is asked for, as after a restore of etcd.
  const isAhead = cause.details?.causes?.some(({ reason }) => reason === "ResourceVersionTooLarge") ?? false;
  const kind = cause.code === 410 || isAhead ? "expired" : "status";
  return new CollectionFailure(`Cannot ${verb} "${path}": ${cause.code} ${cause.message}`, { kind, cause });
}

/**
 * Returns the failure for an error that ended a body early. Throws the signal's reason instead when the signal has
 * aborted.
 */
export function toBodyFailure(
  cause: unknown,
  { verb, path, signal }: FailedCall & { readonly signal: AbortSignal },
): CollectionFailure {
  signal.throwIfAborted();
  if (cause instanceof CollectionFailure) return cause;
  const isSilent = cause instanceof DOMException && cause.name === "TimeoutError";
  const kind = cause instanceof BodyTooLarge ? "too_large" : isSilent ? "silent" : "dropped";
  const why = isSilent ? "the connection went silent" : getErrorMessage(cause);
  return new CollectionFailure(`Cannot ${verb} "${path}": ${why}`, { kind, cause });
}

interface ListOptions<T> extends Collection, Projection<T> {
  /** Objects in a page; DEFAULT_PAGE_SIZE by default. */
  readonly pageSize?: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** How many bytes of a page are read at most: it is held as a whole. 500 pods have about 5 MiB. */
const MAX_PAGE_BYTES = 8 * 2 ** 20;

/**
 * How many bytes of one object are read at most. The API server stores at most 1.5 MiB of it, but it writes `<`, `>` and
 * `&` as six bytes, so that one object may be larger than a page.
 */
export const MAX_OBJECT_BYTES = 32 * 2 ** 20;

/** A busy server may take a minute to answer a list. After that it gives up itself. */
const ANSWER_MS = 60_000;

/**
 * The rest of a page has the same time: a server that sends a byte a minute must not block a list for hours. Each page
 * adds this to the time of a list.
 */
const PAGE_MS = 60_000;

/** The page is parsed in pieces, and the event loop may turn between two objects. */
async function toPage<T>(text: string, options: ListOptions<T>): Promise<Page<T>> {
  const slice = getLoopSlice(options.clock);
  const body = await parseJson(text, slice).catch(() => null);
  const metadata = isRecord(body) ? body.metadata : null;
  // Go writes an empty list as null.
  const items = isRecord(body) ? body.items ?? [] : null;
  if (!isRecord(metadata) || typeof metadata.resourceVersion !== "string" || !Array.isArray(items)) {
    throw malformed("the answer is not a list", options);
  }
  const objects: T[] = [];
  for (const item of items) {
    if (!isKubeObject(item)) throw malformed("an item has no name or UID", options);
    if (slice.isOver) await slice.wait();
    const object = slice.measure(() => projectObject(item, options));
    if (object !== null) objects.push(object);
  }
  options.signal.throwIfAborted();
  const token = metadata.continue;
  const continueToken = typeof token === "string" && token !== "" ? token : null;
  return { objects, resourceVersion: metadata.resourceVersion, continueToken };
}

function malformed(what: string, { path }: Collection): CollectionFailure {
  return new CollectionFailure(`Cannot list "${path}": ${what}`, { kind: "malformed" });
}

interface RequestOptions extends Collection {
  readonly verb: "list" | "watch";
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** How long to wait for the head of the answer. */
  readonly silentMs: number;
}

/**
 * - `status`: the server refused the request.
 * - `expired`: the server no longer has the resource version or the continue token, or does not have it yet.
 * - `unreachable`: the request failed before an answer.
 * - `hung`: no answer came.
 * - `quiet`: a watch was answered, and not one whole line of it came.
 * - `dropped`: the connection ended within the body.
 * - `silent`: nothing more came after some lines of a watch, or no whole page of a list in its time.
 * - `malformed`: the answer is not what the API promises.
 * - `too_large`: the answer has more bytes than podfit reads.
 * - `short`: the server ended a watch within a second.
 */
type FailureKind =
  | "status"
  | "expired"
  | "unreachable"
  | "hung"
  | "quiet"
  | "dropped"
  | "silent"
  | "malformed"
  | "too_large"
  | "short";

interface FailureOptions {
  readonly kind: FailureKind;
  /** An ApiError where the server answered. */
  readonly cause?: unknown;
}

/** The request that failed. */
interface FailedCall {
  readonly verb: "list" | "watch";
  readonly path: string;
}
