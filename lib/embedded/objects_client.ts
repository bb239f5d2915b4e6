/** How do kubelets and controllers write objects? By the path of their collection, over a Transport. */
import { readText } from "../kube/body.ts";
import { toApiError } from "../kube/errors.ts";
import type { ApiServer } from "../kube/transport.ts";
import type { Clock } from "../runtime/clock.ts";
import { isObject, type Json, type JsonObject } from "./json.ts";

/** Requests for objects by path. Each rejects with an ApiError when it is refused. */
export interface ObjectsClient {
  /** `null` when it is not there. */
  readonly get: (path: string) => Promise<JsonObject | null>;
  readonly create: (collection: string, object: JsonObject) => Promise<JsonObject>;
  readonly update: (path: string, object: JsonObject) => Promise<JsonObject>;
  readonly patch: (path: string, type: PatchType, patch: JsonObject) => Promise<JsonObject>;
  /** The object as it was left, or a Status; `null` when it is not there. */
  readonly delete: (path: string, options?: DeleteOptions) => Promise<JsonObject | null>;
}

/** How a patch is merged. */
type PatchType = "merge" | "strategic";

/** What a deletion asks for. */
interface DeleteOptions {
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: "Background";
  readonly preconditions?: { readonly uid: string };
}

/** What a client sends its requests with. */
interface ClientOptions {
  readonly server: Pick<ApiServer, "origin" | "transport">;
  readonly clock: Pick<Clock, "timeout">;
  /** Named in managedFields. */
  readonly agent: string;
  /** Ends what is under way. */
  readonly signal: AbortSignal;
}

/** A client of an API server, real or embedded. */
export function createObjectsClient(options: ClientOptions): ObjectsClient {
  const call = (method: string, path: string, sent?: Sent) => send(options, { method, path, sent });
  return {
    get: (path) => orNull(call("GET", path)),
    create: (collection, object) => call("POST", collection, { body: object, contentType: "application/json" }),
    update: (path, object) => call("PUT", path, { body: object, contentType: "application/json" }),
    patch: (path, type, patch) =>
      call("PATCH", path, {
        body: patch,
        contentType: type === "merge" ? "application/merge-patch+json" : "application/strategic-merge-patch+json",
      }),
    delete: (path, deletion = {}) =>
      orNull(call("DELETE", path, { body: { ...deletion } as JsonObject, contentType: "application/json" })),
  };
}

/** The code of a refusal; `null` for any other failure. */
export function findErrorCode(error: unknown): number | null {
  return error instanceof Error && error.name === "ApiError" ? (error as Error & { code: number }).code : null;
}

const TIMEOUT_MS = 15_000;

const MAX_BYTES = 32 * 2 ** 20;

interface Sent {
  readonly body: JsonObject;
  readonly contentType: string;
}

interface Call {
  readonly method: string;
  readonly path: string;
  readonly sent: Sent | undefined;
}

async function send(
  { server, clock, agent, signal: ending }: ClientOptions,
  { method, path, sent }: Call,
): Promise<JsonObject> {
  using timeout = clock.timeout(TIMEOUT_MS);
  const signal = AbortSignal.any([ending, timeout.signal]);
  const response = await server.transport(
    new Request(`${server.origin}${path}`, {
      method,
      headers: {
        accept: "application/json",
        "user-agent": agent,
        ...(sent === undefined ? {} : { "content-type": sent.contentType }),
      },
      body: sent === undefined ? null : JSON.stringify(sent.body),
      signal,
    }),
  );
  const body = parseOr(await readText(response, { limitBytes: MAX_BYTES, signal }));
  if (!response.ok) throw toApiError(response, body);
  if (!isObject(body)) throw new Error(`Cannot ${method} "${path}": the answer is not an object`);
  return body;
}

async function orNull(answer: Promise<JsonObject>): Promise<JsonObject | null> {
  try {
    return await answer;
  } catch (error) {
    if (findErrorCode(error) === 404) return null;
    throw error;
  }
}

/** The text itself where it isn't JSON, as toApiError takes it. */
function parseOr(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
