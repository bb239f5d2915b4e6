/**
 * Lists a collection page by page, and names what can go wrong between us and an API server so that a watch can tell
 * how to go on. Objects are projected one by one, so that a page's full objects are garbage as soon as it is read.
 */
import type { Clock } from "../runtime/clock.ts";
import { isRecord } from "../units/untrusted.ts";
import { type ApiError, toApiError } from "./api_error.ts";
import { BodyTooLarge, readErrorText, readMessage, readText } from "./body.ts";
import type { Transport } from "./transport.ts";

/** What every object of the API has. */
export interface KubeObject {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly namespace?: string;
    readonly resourceVersion?: string;
  };
}

export interface Collection {
  readonly origin: string;
  /** E.g. `/api/v1/pods` or `/api/v1/namespaces/x/pods`. */
  readonly path: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

export interface ListOptions<T> extends Collection {
  readonly pageSize?: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Applied at once to each object. One for which it throws is reported and left out. */
  readonly project: (object: KubeObject) => T;
  readonly onError?: (error: Error) => void;
}

export interface Page<T> {
  readonly objects: readonly T[];
  /** Opaque; a watch goes on from here. */
  readonly resourceVersion: string;
  readonly continueToken: string | null;
}

/** status: refused; expired: the resource version or token is; hung: silent from the start; silent: after some bytes. */
export type FailureKind =
  | "status"
  | "expired"
  | "unreachable"
  | "hung"
  | "dropped"
  | "silent"
  | "malformed"
  | "too_large"
  | "short";

export interface FailureOptions {
  readonly kind: FailureKind;
  /** An ApiError where the server answered. */
  readonly cause?: unknown;
}

export class CollectionFailure extends Error {
  override readonly name = "CollectionFailure";
  readonly kind: FailureKind;
  /** HTTP status or the code of a Status; null where nobody answered. */
  readonly code: number | null;
  readonly retryAfterMs: number | null;

  constructor(message: string, { kind, cause }: FailureOptions) {
    super(message, { cause });
    this.kind = kind;
    const answer = cause instanceof Error && cause.name === "ApiError" ? cause as ApiError : null;
    this.code = answer?.code ?? null;
    this.retryAfterMs = answer?.retryAfterMs ?? null;
  }
}

export const MAX_PAGE_BYTES = 32 * 2 ** 20;
export const DEFAULT_PAGE_SIZE = 500;
/** Of 500 objects: a million. */
export const MAX_PAGES = 2000;

/** One page, from the start without a token. Throws CollectionFailure, and the signal's reason once it is aborted. */
export async function fetchPage<T>(
  transport: Transport,
  token: string | null,
  options: ListOptions<T>,
): Promise<Page<T>> {
  const { clock, signal, path, pageSize = DEFAULT_PAGE_SIZE } = options;
  const params = new URLSearchParams({ limit: String(pageSize), ...(token === null ? {} : { continue: token }) });
  const response = await request(transport, params, { ...options, verb: "list", silentMs: LIST_SILENT_MS });
  let text: string;
  try {
    text = await readText(response, { limitBytes: MAX_PAGE_BYTES, signal, clock, silentMs: LIST_SILENT_MS });
  } catch (error) {
    throw toBodyFailure(error, { verb: "list", path, signal });
  }
  return toPage(text, options);
}

export interface RequestOptions extends Collection {
  readonly verb: "list" | "watch";
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly silentMs: number;
}

/** A response that is fine; everything else is thrown as a CollectionFailure. */
export async function request(
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
    const why = timeout.signal.aborted ? `no answer within ${silentMs / 1000} s` : readMessage(error);
    const kind = timeout.signal.aborted ? "hung" : "unreachable";
    throw new CollectionFailure(`Cannot ${verb} "${path}": ${why}`, { kind, cause: error });
  }
  if (response.status === 200) return response;
  const text = await readErrorText(response, AbortSignal.any([signal, timeout.signal])).catch(() => "");
  signal.throwIfAborted();
  throw toStatusFailure(toApiError(response, parseOr(text)), options);
}

export function toStatusFailure(cause: ApiError, { verb, path }: Pick<RequestOptions, "verb" | "path">) {
  // 504 with this cause: the server's cache is behind the version we ask for, as after a restore of etcd.
  const isAhead = cause.details?.causes?.some(({ reason }) => reason === "ResourceVersionTooLarge") ?? false;
  const kind = cause.code === 410 || isAhead ? "expired" : "status";
  return new CollectionFailure(`Cannot ${verb} "${path}": ${cause.code} ${cause.message}`, { kind, cause });
}

/** Why a body ended early. Throws the signal's reason instead once it is aborted. */
export function toBodyFailure(
  cause: unknown,
  { verb, path, signal }: Pick<RequestOptions, "verb" | "path" | "signal">,
): CollectionFailure {
  signal.throwIfAborted();
  if (cause instanceof CollectionFailure) return cause;
  const isSilent = cause instanceof DOMException && cause.name === "TimeoutError";
  const kind = cause instanceof BodyTooLarge ? "too_large" : isSilent ? "silent" : "dropped";
  const why = isSilent ? "the connection went silent" : readMessage(cause);
  return new CollectionFailure(`Cannot ${verb} "${path}": ${why}`, { kind, cause });
}

/** `null` for an object that was reported and left out. */
export function projectObject<T>(object: unknown, options: Pick<ListOptions<T>, "project" | "onError">): T | null {
  if (!isKubeObject(object)) return null;
  try {
    return options.project(object);
  } catch (cause) {
    const { namespace, name } = object.metadata;
    const key = namespace === undefined ? name : `${namespace}/${name}`;
    options.onError?.(new Error(`Cannot read object "${key}": ${readMessage(cause)}`, { cause }));
    return null;
  }
}

export function isKubeObject(value: unknown): value is KubeObject {
  const metadata = isRecord(value) ? value.metadata : null;
  return isRecord(metadata) && typeof metadata.name === "string" && typeof metadata.uid === "string";
}

/** A server may take a minute to answer a list when it is busy; after that it gives up by itself. */
const LIST_SILENT_MS = 60_000;

function toPage<T>(text: string, options: ListOptions<T>): Page<T> {
  const body = parseOr(text);
  const metadata = isRecord(body) ? body.metadata : null;
  // Go writes an empty list as null.
  const items = isRecord(body) ? body.items ?? [] : null;
  if (!isRecord(metadata) || typeof metadata.resourceVersion !== "string" || !Array.isArray(items)) {
    throw new CollectionFailure(`Cannot list "${options.path}": the answer is not a list`, { kind: "malformed" });
  }
  const objects: T[] = [];
  for (const item of items) {
    if (!isKubeObject(item)) {
      const message = `Cannot list "${options.path}": an item has no name or UID`;
      throw new CollectionFailure(message, { kind: "malformed" });
    }
    const object = projectObject(item, options);
    if (object !== null) objects.push(object);
  }
  const token = metadata.continue;
  const continueToken = typeof token === "string" && token !== "" ? token : null;
  return { objects, resourceVersion: metadata.resourceVersion, continueToken };
}

/** The text itself where it isn't JSON, as toApiError takes it. */
function parseOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
