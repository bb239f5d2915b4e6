/**
 * What does a Lease contain, and how is it written? A write succeeds only if the Lease has not changed since it was
 * read.
 *
 * https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/lease-v1/
 */
import type { Lease } from "../api/kubernetes.ts";
import type { Clock } from "../runtime/clock.ts";
import { abortable } from "../runtime/tasks.ts";
import { isRecord } from "../units/untrusted.ts";
import type { ApiClient } from "./client.ts";
import { ApiError, getErrorMessage, toApiError } from "./errors.ts";

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

/**
 * One Lease on the API server. Every call rejects with a LeaseError, and with the signal's reason as soon as the signal
 * aborts.
 */
export interface LeaseStore {
  /** `null` = there is none. */
  readonly fetch: (signal: AbortSignal) => Promise<LeaseRecord | null>;
  /** Resolves to the stored Lease; `null` = another process was faster. */
  readonly create: (lease: Lease, signal: AbortSignal) => Promise<LeaseRecord | null>;
  /** Resolves to the stored Lease; `null` = it has changed, or there is none. */
  readonly update: (lease: Lease, signal: AbortSignal) => Promise<LeaseRecord | null>;
}

/** Returns the store of the Lease of that name. */
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
      // A transport that holds a request must not delay the election.
      const { data, error, response } = await abortable(send(signal), signal);
      if (passing.includes(response.status)) return null;
      if (!response.ok) throw toApiError(response, error);
      const record = parseLease(data, durationMs);
      if (record === null) throw new Error("the answer is not a Lease");
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

/** A Lease as it was read. Any program with the right may have written it. */
export interface LeaseRecord {
  /** `null` = it has no holder. */
  readonly holder: string | null;
  /** How long the holder keeps it after a change was seen, ms. */
  readonly durationMs: number;
  /** True if its last holder has released it; false if another program has removed the holder. */
  readonly isReleased: boolean;
  readonly transitions: number;
  /** Equal in two records if the Lease was not renewed between them. */
  readonly fingerprint: string;
  /** The object as it was read, to be written back with another `spec`. */
  readonly lease: Lease;
}

/**
 * Returns the record of a Lease, `null` for an invalid one. A duration that is invalid, or shorter than `durationMs`
 * without a release, counts as `durationMs`, because its holder uses that.
 */
export function parseLease(value: unknown, durationMs: number): LeaseRecord | null {
  if (!isRecord(value) || !isRecord(value["metadata"])) return null;
  if (typeof value["metadata"]["resourceVersion"] !== "string") return null;
  const spec = isRecord(value["spec"]) ? value["spec"] : {};
  const { holderIdentity, leaseDurationSeconds: seconds, leaseTransitions: transitions } = spec;
  const holder = typeof holderIdentity === "string" && holderIdentity !== "" ? holderIdentity : null;
  return {
    holder,
    durationMs: Math.min(Math.max(toCount(seconds) * 1000, durationMs), Math.max(MAX_DURATION_MS, durationMs)),
    isReleased: holder === null && seconds === RELEASED_SECONDS,
    transitions: toCount(transitions),
    fingerprint: JSON.stringify(spec),
    lease: value,
  };
}

/** Returns the first Lease of its name. */
export function newLease(name: string, hold: Hold): Lease {
  const time = formatMicroTime(hold.now);
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name },
    spec: { ...toSpec(hold), acquireTime: time, leaseTransitions: 0 },
  };
}

/** Returns the Lease with another holder, or with the same one that renews it. */
export function holdLease({ holder, transitions, lease }: LeaseRecord, hold: Hold): Lease {
  const isRenewal = holder === hold.holder;
  const taken = {
    acquireTime: formatMicroTime(hold.now),
    leaseTransitions: Math.min(transitions + 1, MAX_TRANSITIONS),
  };
  return { ...lease, spec: { ...lease.spec, ...toSpec(hold), ...(!isRenewal && taken) } };
}

/** Returns the released Lease: any candidate may take it at once. */
export function releaseLease({ lease }: LeaseRecord, now: number): Lease {
  const time = formatMicroTime(now);
  const released = { holderIdentity: "", leaseDurationSeconds: RELEASED_SECONDS, renewTime: time, acquireTime: time };
  return { ...lease, spec: { ...lease.spec, ...released } };
}

/** Returns epoch ms as a MicroTime, which has exactly six digits of a second's fraction. */
export function formatMicroTime(at: number): string {
  return new Date(at).toISOString().replace(/Z$/, "000Z");
}

/** Where the Lease is. */
interface LeaseStoreOptions {
  readonly client: Pick<ApiClient, "core">;
  readonly namespace: string;
  readonly name: string;
  readonly clock: Pick<Clock, "timeout">;
  /** How long a holder keeps a Lease that does not say. */
  readonly durationMs: number;
  /** The time limit of each request. */
  readonly timeoutMs: number;
}

type LeaseVerb = "get" | "create" | "update";

type Sent = Promise<{ readonly data?: unknown; readonly error?: unknown; readonly response: Response }>;

function describe(verb: LeaseVerb, error: unknown, { namespace, name }: Pick<LeaseStoreOptions, "namespace" | "name">) {
  const why = error instanceof ApiError ? `${error.code} ${error.message}` : getErrorMessage(error);
  const advice = error instanceof ApiError && error.code === 403
    ? `; grant get, create and update on leases (coordination.k8s.io) in namespace "${namespace}"`
    : error instanceof ApiError && error.code === 404
    ? `; is there a namespace "${namespace}"?`
    : "";
  return `Cannot ${verb} Lease "${namespace}/${name}": ${why}${advice}`;
}

/** The next holder of the Lease. */
interface Hold {
  readonly holder: string;
  readonly durationMs: number;
  /** Epoch ms, for people: no process computes with it. */
  readonly now: number;
}

/** A holder of podfit writes 15 s. A wrong or hostile duration must not keep every other process out for long. */
const MAX_DURATION_MS = 60_000;

/** What a release writes, as client-go does. */
const RELEASED_SECONDS = 1;

/** The field is an int32. */
const MAX_TRANSITIONS = 2 ** 31 - 1;

function toSpec({ holder, durationMs, now }: Hold): NonNullable<Lease["spec"]> {
  return {
    holderIdentity: holder,
    leaseDurationSeconds: Math.ceil(durationMs / 1000),
    renewTime: formatMicroTime(now),
  };
}

/** Returns 0 for what is not a whole number, or is below 0. */
function toCount(value: unknown): number {
  return Number.isSafeInteger(value) ? Math.max(0, Number(value)) : 0;
}
