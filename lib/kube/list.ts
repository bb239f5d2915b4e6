/**
 * Lists a collection page by page. Objects are projected one by one, so that a page's full objects are garbage as soon
 * as it is read.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks
 */
import type { Clock } from "../runtime/clock.ts";
import { isRecord } from "../units/untrusted.ts";
import { readText } from "./body.ts";
import {
  type Collection,
  fetchResponse,
  isKubeObject,
  parseJsonOrText,
  type Projection,
  projectObject,
} from "./collection.ts";
import { CollectionFailure, toBodyFailure } from "./collection_failure.ts";
import type { Transport } from "./transport.ts";

export interface ListOptions<T> extends Collection, Projection<T> {
  /** Objects in a page; DEFAULT_PAGE_SIZE by default. */
  readonly pageSize?: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export interface Page<T> {
  readonly objects: readonly T[];
  /** Opaque; a watch goes on from here. */
  readonly resourceVersion: string;
  /** Opaque; the next page starts here. `null` for the last page. */
  readonly continueToken: string | null;
}

/** How many bytes of a page are read at most. */
export const MAX_PAGE_BYTES = 32 * 2 ** 20;
/** Objects in a page, as kubectl asks for. */
export const DEFAULT_PAGE_SIZE = 500;
/** How many pages a list may have: a million objects in pages of 500. */
export const MAX_PAGES = 2000;

/**
 * Gives one page: the first without a token. Rejects with a CollectionFailure, and with the signal's reason when it
 * aborts.
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
    text = await readText(response, { limitBytes: MAX_PAGE_BYTES, signal: AbortSignal.any([signal, deadline.signal]) });
  } catch (error) {
    const failure = toBodyFailure(error, { verb: "list", path, signal });
    if (failure.kind !== "silent") throw failure;
    const why = `a page was not whole after ${PAGE_MS / 1000} s`;
    throw new CollectionFailure(`Cannot list "${path}": ${why}`, { kind: "silent", cause: error });
  }
  return toPage(text, options);
}

/** A busy server may take a minute to answer a list. After that it gives up itself. */
const ANSWER_MS = 60_000;
/**
 * The rest of a page has as long again, however it comes: who sends a byte a minute must not hold up a list for hours.
 * With each page a list may take so much longer.
 */
const PAGE_MS = 60_000;

function toPage<T>(text: string, options: ListOptions<T>): Page<T> {
  const body = parseJsonOrText(text);
  const metadata = isRecord(body) ? body.metadata : null;
  // Go writes an empty list as null.
  const items = isRecord(body) ? body.items ?? [] : null;
  if (!isRecord(metadata) || typeof metadata.resourceVersion !== "string" || !Array.isArray(items)) {
    throw malformed("the answer is not a list", options);
  }
  const objects: T[] = [];
  for (const item of items) {
    if (!isKubeObject(item)) throw malformed("an item has no name or UID", options);
    const object = projectObject(item, options);
    if (object !== null) objects.push(object);
  }
  const token = metadata.continue;
  const continueToken = typeof token === "string" && token !== "" ? token : null;
  return { objects, resourceVersion: metadata.resourceVersion, continueToken };
}

function malformed(what: string, { path }: Collection): CollectionFailure {
  return new CollectionFailure(`Cannot list "${path}": ${what}`, { kind: "malformed" });
}
