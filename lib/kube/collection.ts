/**
 * What lists and watches of a collection have in common: its address, the request, and the projection of each object to
 * what its reader keeps of it.
 */
import type { Clock } from "../runtime/clock.ts";
import { isRecord } from "../units/untrusted.ts";
import { toApiError } from "./api_error.ts";
import { readErrorText } from "./body.ts";
import { CollectionFailure, toStatusFailure } from "./collection_failure.ts";
import { readMessage } from "./network_error.ts";
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

export interface RequestOptions extends Collection {
  readonly verb: "list" | "watch";
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** How long to wait for the head of the answer. */
  readonly silentMs: number;
}

/**
 * Gives the response to a GET, once its head says 200. Rejects with a CollectionFailure for everything else, and with
 * the signal's reason when it aborts.
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
    const why = timeout.signal.aborted ? `no answer within ${silentMs / 1000} s` : readMessage(error);
    const kind = timeout.signal.aborted ? "hung" : "unreachable";
    throw new CollectionFailure(`Cannot ${verb} "${path}": ${why}`, { kind, cause: error });
  }
  if (response.status === 200) return response;
  const text = await readErrorText(response, AbortSignal.any([signal, timeout.signal])).catch(() => "");
  signal.throwIfAborted();
  throw toStatusFailure(toApiError(response, parseJsonOrText(text)), options);
}

/** Gives the projection of an object; `null` for one that was reported and left out, or is no object of the API. */
export function projectObject<T>(object: unknown, { project, onError }: Projection<T>): T | null {
  if (!isKubeObject(object)) return null;
  try {
    return project(object);
  } catch (cause) {
    const { namespace, name } = object.metadata;
    // It may be of any type, and need not become a text.
    const key = typeof namespace === "string" ? `${namespace}/${name}` : name;
    onError?.(new Error(`Cannot read object "${key}": ${readMessage(cause)}`, { cause }));
    return null;
  }
}

/** Says whether a value has what every object of the API has. */
export function isKubeObject(value: unknown): value is KubeObject {
  const metadata = isRecord(value) ? value.metadata : null;
  return isRecord(metadata) && typeof metadata.name === "string" && typeof metadata.uid === "string";
}

/** Parses JSON, and gives a text that isn't JSON as it is. */
export function parseJsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
