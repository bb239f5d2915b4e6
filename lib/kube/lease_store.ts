/** One Lease on the API server: reads it, makes it, and writes it where nobody else has written it meanwhile. */
import type { Lease } from "../api/kubernetes.ts";
import { abortable } from "../runtime/abortable.ts";
import type { Clock } from "../runtime/clock.ts";
import { ApiError, toApiError } from "./api_error.ts";
import type { ApiClient } from "./client.ts";
import { type LeaseRecord, parseLease } from "./lease_record.ts";
import { readMessage } from "./network_error.ts";

/** Where the Lease is. */
export interface LeaseStoreOptions {
  readonly client: Pick<ApiClient, "core">;
  readonly namespace: string;
  readonly name: string;
  readonly clock: Pick<Clock, "timeout">;
  /** For how long a Lease is its holder's, where it does not say. */
  readonly durationMs: number;
  /** How long each request may take. */
  readonly timeoutMs: number;
}

export type LeaseVerb = "get" | "create" | "update";

/** A request that failed. Its message says which, why, and what to do where something can be done. */
export class LeaseError extends Error {
  override readonly name = "LeaseError";
  /** The HTTP status; 0 where no answer came, or one that makes no sense. */
  readonly code: number;
  readonly retryAfterMs: number | null;

  constructor(message: string, cause: unknown) {
    super(message, { cause });
    this.code = cause instanceof ApiError ? cause.code : 0;
    this.retryAfterMs = cause instanceof ApiError ? cause.retryAfterMs : null;
  }
}

/** Every call rejects with a LeaseError, and with the signal's reason as soon as the signal aborts. */
export interface LeaseStore {
  /** `null` = there is none. */
  readonly fetch: (signal: AbortSignal) => Promise<LeaseRecord | null>;
  /** As it is stored; `null` = somebody was faster. */
  readonly create: (lease: Lease, signal: AbortSignal) => Promise<LeaseRecord | null>;
  /** As it is stored; `null` = it is another by now, or there is none. */
  readonly update: (lease: Lease, signal: AbortSignal) => Promise<LeaseRecord | null>;
}

/** The Lease of that name. */
export function createLeaseStore({ client, ...options }: LeaseStoreOptions): LeaseStore {
  const { namespace, name, clock, durationMs, timeoutMs } = options;
  const path = { namespace, name };

  async function ask(
    verb: LeaseVerb,
    passing: readonly number[],
    { signal: ending, send }: { readonly signal: AbortSignal; readonly send: (signal: AbortSignal) => Sent },
  ): Promise<LeaseRecord | null> {
    using timeout = clock.timeout(timeoutMs);
    const signal = AbortSignal.any([ending, timeout.signal]);
    try {
      // A transport that holds on to a request must not hold up who leads.
      const { data, error, response } = await abortable(send(signal), signal);
      if (passing.includes(response.status)) return null;
      if (!response.ok) throw toApiError(response, error);
      const record = parseLease(data, durationMs);
      if (record === null) throw new Error("the answer is no Lease");
      return record;
    } catch (error) {
      ending.throwIfAborted();
      throw new LeaseError(describe(verb, error, options), error);
    }
  }

  return {
    fetch: (signal) =>
      ask("get", [404], {
        signal,
        send: (signal) =>
          client.core.GET("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}", {
            params: { path },
            signal,
          }),
      }),
    create: (body, signal) =>
      ask("create", [409], {
        signal,
        send: (signal) =>
          client.core.POST("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases", {
            params: { path: { namespace }, query: { fieldManager: "podfit" } },
            body,
            signal,
          }),
      }),
    update: (body, signal) =>
      ask("update", [404, 409], {
        signal,
        send: (signal) =>
          client.core.PUT("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}", {
            params: { path, query: { fieldManager: "podfit" } },
            body,
            signal,
          }),
      }),
  };
}

type Sent = Promise<{ readonly data?: unknown; readonly error?: unknown; readonly response: Response }>;

function describe(verb: LeaseVerb, error: unknown, { namespace, name }: Pick<LeaseStoreOptions, "namespace" | "name">) {
  const why = error instanceof ApiError ? `${error.code} ${error.message}` : readMessage(error);
  const advice = error instanceof ApiError && error.code === 403
    ? `; grant get, create and update on leases (coordination.k8s.io) in namespace "${namespace}"`
    : error instanceof ApiError && error.code === 404
    ? `; is there a namespace "${namespace}"?`
    : "";
  return `Cannot ${verb} Lease "${namespace}/${name}": ${why}${advice}`;
}
